#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: programs that call jemalloc's own functions (mallocx(3)) with arenas and thread caches of
# their own, that allocate in ending threads, and that free in other threads, whichever function
# allocated. The profile is right, and the program, which checks its blocks, sees no difference.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

orders=(arenas caches moves resizes ends storm)

# It uses its memory once, more than later. Without decay, how much address space it needs afterwards
# does not depend on time.
MALLOC_CONF=narenas:2,dirty_decay_ms:-1 start_victim callers
for order in "${orders[@]}"; do
	tell "$order" 96
done
tell free
snapshot "$pid"
assert_untouched "$pid" 'control: no call failed before it is sampled'

start_sample plain "${rate[@]}" --save "$T/plain.heap"
for order in "${orders[@]}"; do
	keep_going "$order" 32
done
end_sample plain
is_out plain
unlike "$(<"$T/plain.err")" 'too fast' 'no sample was lost'
assert_untouched "$pid" 'no call failed: untouched'

live arena_blocks 32
allocated arena_blocks 64
is "$(bytes_of "$T/plain.heap" cache_blocks)" 0 'cache_blocks: nothing lives'
allocated cache_blocks 32
live move_blocks 32
allocated move_blocks 40 # the former quarter, too
live resize_blocks 32
allocated resize_blocks 72 # 1 MB, a quarter, and 1 MB
live allocate_at_end 32
allocated allocate_at_end 64
is "$(bytes_of "$T/plain.heap" storm_blocks)" 0 'storm_blocks: nothing lives'
allocated storm_blocks 32

# What was there before is freed meanwhile, which says nothing about new blocks at these addresses.
start_sample plain "${rate[@]}" --save "$T/plain.heap" --force
tell free
keep_going arenas 32
keep_going storm 32
tell free
keep_going moves 16
end_sample plain
is "$(bytes_of "$T/plain.heap" arena_blocks)" 0 'freed by dallocx: nothing lives'
live move_blocks 16
is_out 'again'
assert_untouched "$pid" 'again: untouched'
done_testing
