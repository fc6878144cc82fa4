#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# explain: where the memory of a process is.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

MIB=1048576

# near NAME PART WANTED_MIB: it must be near that, within 2 % of the resident memory
near()
{
	local got rss

	got=$(json ".parts.$2")
	rss=$(json .rss_bytes)
	ok "$1" test "$((got > $3 * MIB ? got - $3 * MIB : $3 * MIB - got))" -le "$((rss / 50))" ||
		diag "$2: $got of $rss, wanted $(($3 * MIB))"
}

# What smaps_rollup counts, not VmRSS, which may differ by pages that each processor has not yet
# counted (percpu_counter, since Linux 6.2).
resident()
{
	awk '/^Rss/ { print $2 * 1024 }' "/proc/$pid/smaps_rollup"
}

# explains NAME: explain it, as JSON: the parts must add up to the total, and this must be between
# what the kernel counts before and after, within 2 %
explains()
{
	local rss before after

	before=$(resident)
	ctl_ok "$1" explain "$pid" --json
	after=$(resident)
	rss=$(json .rss_bytes)
	is "$(json '[.parts[]] | add')" "$rss" "$1: its parts add up"
	ok "$1: the total is what the kernel counts" \
		test "$rss" -ge "$((before - before / 50))" -a "$rss" -le "$((after + after / 50))" ||
		diag "$rss; from $before to $after"
}

# --- memory of many owners, and address space that nobody uses ---
export MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:0,narenas:1,thp:never
start_victim owned 48
snapshot "$pid"
explains 'many owners'
near 'memory that malloc handed out' allocated 40
near 'memory that was freed, but kept' dirty 24
# jemalloc counts pages as resident that it has not used yet: 2 MiB more in some starts.
ok 'what the program mapped itself: between the bounds' \
	test "$(json .parts.anonymous)" -le $((49 * MIB)) -a "$(json .anonymous_max_bytes)" -ge $((48 * MIB)) ||
	diag "$(json '[.parts.anonymous, .anonymous_max_bytes] | tostring')"
ok 'the bounds are close' test "$(json .parts.anonymous)" -ge $((42 * MIB)) -a "$(json .anonymous_max_bytes)" -le $((58 * MIB)) ||
	diag "$(json '[.parts.anonymous, .anonymous_max_bytes] | tostring')"
near 'shared memory' shared 20
near 'the heap of brk' heap 6
near 'stacks' stacks 12
near 'variables' data 5
is "$(json '[.advice[].id] | tostring')" '["memory_of_others","memory_is_allocated","memory_is_free"]' \
	'many owners: the largest part first, then those with a remedy'
is "$(json '.mappings[0] | [.kind, .path, .size_bytes] | tostring')" "[\"anonymous\",null,$((48 * MIB))]" \
	'the largest mapping comes first'
ctl_ok 'many owners, for people' explain "$pid"
like "$out" "^$pid \\(owned\\): 1[0-9]{2}M resident" 'for people: the total'
like "$out" ' 4[2-8]\.[0-9]M +[0-9]+%  other private memory, up to (4[89]|5[0-9])\.[0-9]M' 'for people: a part'
like "$out" "4[2-8]\\.[0-9]M to (4[89]|5[0-9])\\.[0-9]M of 1[0-9]{2}M resident are private memory that did not come from jemalloc" 'for people: the largest part'
run_ctl check "$pid" --json
is "$(json '.memory | [([.parts[]] | add) == .rss_bytes, .parts.allocated, .sampled, .advice[0].id] | tostring')" \
	'[true,0,null,"memory_unasked"]' 'check: as far as the kernel shows it'
like "$(json '.memory.advice[0].fix')" "explain $pid" 'check: the fix is to run explain'
run_ctl check "$pid"
like "$out" $'^1[0-9]{2}M of 1[0-9]{2}M resident are private memory; .* not asked for its share\n  fix: ' 'check, for people: that comes first'
assert_untouched "$pid" 'many owners: untouched'

# --- control: without the mapping it is not found ---
start_victim owned 0
explains 'without a mapping of its own'
near 'without a mapping of its own: none is found' anonymous 0
is "$(json .sampled)" false 'without sampling'
is "$(json '.advice[0].id')" memory_is_allocated 'without a mapping of its own: most is allocated'
like "$(json '.advice[0].fix')" "record $pid" 'without a mapping of its own: the fix'

# --- no jemalloc, or one that cannot be called ---
start_victim idle-plain
snapshot "$pid"
explains 'without jemalloc'
is "$(json '[.stats, .parts.allocated, .warning_id] | tostring')" '[null,0,"no_jemalloc"]' 'without jemalloc: a warning'
assert_untouched "$pid" 'without jemalloc: untouched'
start_victim owned 48
kill -STOP "$pid"
explains 'a stopped process'
is "$(json '[.stats, .advice[0].id] | tostring')" '[null,"memory_unsplit"]' \
	'a stopped process: the share of jemalloc is unknown'
like "$(json .warning)" 'stopped' 'a stopped process: the cause'
kill -CONT "$pid"

# --- another allocator next to jemalloc: CPython keeps small objects in its own arenas ---
cat >"$T/objects.py" <<'PYTHON'
import sys
kept = [str(i) * 3 for i in range(1_000_000)]
sys._debugmallocstats()
print("ready", file=sys.stderr, flush=True)
sys.stdin.read()
PYTHON
mkfifo "$T/go"
LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 /usr/bin/python3 "$T/objects.py" <>"$T/go" 2>"$T/arenas" &
pid=$!
own "$pid"
within 60 grep -q ready "$T/arenas"
arenas=$(sed -nE 's/^([0-9]+) arenas \* [0-9]+ bytes\/arena += +([0-9,]+)$/\2/p' "$T/arenas" | tr -d ,)
snapshot "$pid"
explains python
ok 'python: its arenas, between the bounds' test "$(json .parts.anonymous)" -le "$arenas" -a \
	"$(json .anonymous_max_bytes)" -ge "$arenas" || diag "$arenas: $out"
ok 'python: the bounds are close' test "$(($(json .anonymous_max_bytes) - $(json .parts.anonymous)))" \
	-le "$(($(json .rss_bytes) / 5))" || diag "$out"
is "$(json '.advice[0] | [.id, .action] | tostring')" '["memory_of_runtime","restart"]' 'python: their owner is named'
like "$(json '.advice[0].fix')" 'PYTHONMALLOC=malloc' 'python: the fix'
assert_untouched "$pid" 'python: untouched'

# --- processes that may not be inspected ---
start_victim idle
ctl_fails 3 no_process 'no such process' explain 4194304
wrap_before=("${runner[@]}")
runner=(setpriv --reuid 65534 --regid 65534 --clear-groups)
run_ctl explain "$pid"
is "$status" 4 "another user's process is refused"
runner=("${wrap_before[@]}")
done_testing
