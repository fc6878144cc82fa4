#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: threads that allocate nothing meanwhile, and then end. jemalloc marks all threads when
# hooks are installed or removed, and does not clean up after one that ends with the mark
# (tsd_cleanup(), tsd.c): its lists then lead to a stack that another thread uses.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

# reuse NAME: let other threads reuse the stacks of those that ended, and jemalloc walk its lists
reuse()
{
	tell threads 64
	tell idle 32
	tell end
	run_ctl get "$pid" epoch
	is "$status" 0 "$1: jemalloc goes through its lists" || diag "$err"
	ok "$1: it is alive" kill -0 "$pid"
}

# Control: without sampling, they do no harm.
start_victim keepers
tell idle 16
tell end
reuse control
stop_target "$pid"

for when in during after; do
	start_victim keepers
	tell idle 16
	start_sample "$when" "${rate[@]}"
	tell leak 8
	[ "$when" = after ] || tell end
	end_sample "$when"
	[ "$when" = during ] || tell end
	reuse "threads that end $when it"
	stop_target "$pid"
done

# --- two with different blocks, in turns: calls of ending threads lead from one to the other ---
id=$(readelf -n "$B/gen/sampler/target.so" | sed -n 's/.*Build ID: //p')
perl -0777 -pe 'BEGIN { $id = pack("H*", shift) } s/\Q$id\E/"\0" x length($id)/e' "$id" "$CTL" >"$T/other"
chmod +x "$T/other"
ours=$CTL
start_victim keepers
for CTL in "$ours" "$T/other" "$ours" "$T/other"; do
	tell idle 16
	start_sample turns "${rate[@]}"
	tell leak 8
	end_sample turns
	tell end
done
CTL=$ours
is "$(blocks_of "$pid")" 2 'in turns: each has a block'
reuse 'in turns'
stop_target "$pid"

# --- control: with tsd_cleanup() in its place again, they are not cleaned up ---
start_victim keepers
tell idle 16
start_sample unguarded "${rate[@]}"
tell leak 8
tests/drivers/unguard "$pid" "$(nm "$B/gen/sampler/target.so" | sed -n 's/ . sampler_end$//p')"
is "$?" 0 'control: the guard is removed'
end_sample unguarded
tell end
post threads 64
damaged()
{
	! kill -0 "$pid" 2>/dev/null || ! "$CTL" --timeout 10s get "$pid" epoch >/dev/null 2>&1
}
ok 'control: without it they are not cleaned up: the target dies or hangs' within 60 damaged
kill -KILL "$pid" 2>/dev/null

done_testing
