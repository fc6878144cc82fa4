#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample and probes where jemalloc samples by itself: 5.3.1 reports its own samples, so that other
# allocations stay on its fast path.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

archive=$(tests/make-jemalloc marked 5.3.1) || bail_out 'there is no jemalloc 5.3.1'
cc -std=gnu17 -O2 -g -fPIC -fno-optimize-sibling-calls -pthread -I. -D_GNU_SOURCE= -o "$T/keepers" \
	tests/target/keepers.c tests/target/victim.c -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lm \
	-ldl >"$T/build.log" 2>&1 || bail_out "keepers: $(tail -n 5 "$T/build.log")"
unset LD_LIBRARY_PATH
export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:16

# at SYMBOL: print its address in the process
at()
{
	local base

	base=$(awk -v f="$T/keepers" '$6 == f { sub(/-.*/, "", $1); print $1; exit }' "/proc/$pid/maps")
	echo $((0x$base + 0x$(nm "$T/keepers" | awk -v s="$1" '$3 == s { print $1 }')))
}

# hooks: print jemalloc's two hooks of its own samples
hooks()
{
	for hook in prof_sample_hook prof_sample_free_hook; do
		dd if="/proc/$pid/mem" bs=8 skip=$(($(at $hook) / 8)) count=1 status=none | od -An -tu8
	done | xargs
}

# set_hook HOOK ADDRESS: as the program may do
set_hook()
{
	perl -e 'print pack("Q", shift)' "$2" |
		dd of="/proc/$pid/mem" bs=8 seek=$(($(at "$1") / 8)) conv=notrunc status=none
}

own=(--max-overhead 10000)

# --- what each function allocates, and how much of it is live ---
start_keepers "$T/keepers"
start_sample plain "${own[@]}" --save "$T/plain.heap"
like "$(<"$T/plain.err")" "jemalloc's own samples" 'it says whose samples these are'
is "$(state_of "$pid")" "$in_phase 1 1" 'it is sampled'
like "$(hooks)" '^[1-9][0-9]* [1-9][0-9]*$' 'the hooks are installed'
keep_each
keep_going leak 32
end_sample plain
is_out plain
is "$(hooks)" '0 0' 'plain: no hook is left'
is "$(head -n 1 "$T/plain.heap")" heap_v2/65536 "plain: the rate is jemalloc's"
each_as_kept 64
unlike "$(<"$T/plain.err")" 'fix:' 'plain: record would not be cheaper'
# Control: jemalloc's own profile, of the same samples and more.
ctl_ok 'control: dump' dump "$pid" -o "$T/dump.heap"
is_near "$(bytes_of "$T/dump.heap" leak_blocks)" 64 'control: leak_blocks in its own profile'
tell free
assert_untouched "$pid"

# --- objects that were sampled before are freed meanwhile ---
keep_going leak 16
start_sample before "${own[@]}" --save "$T/before.heap"
tell free
keep_going churn 16
keep_going leak 16
end_sample before
is_near "$(bytes_of "$T/before.heap" leak_blocks)" 16 'sampled before: not counted'
is_out before
tell free
assert_untouched "$pid" 'sampled before: untouched'

# --- killed: the process removes it at its next sample ---
start_sample killed "${own[@]}"
keep_going leak 16
end_child "$sampler" -KILL
wait "$sampler" 2>/dev/null
ok 'killed: nobody reads it' within 60 eval '[[ $(state_of "$pid") == *" 0 0" ]]'
unlike "$(hooks)" '^0 0$' 'killed: control: it is there until something is sampled'
keep_going churn 16
is_out killed kept
is "$(hooks)" '0 0' 'killed: no hook is left'
tell free
assert_untouched "$pid" 'killed: untouched'
start_sample idle "${own[@]}"
end_child "$sampler" -KILL
wait "$sampler" 2>/dev/null
ok 'killed while it is idle: nobody reads it' within 60 eval '[[ $(state_of "$pid") == *" 0 0" ]]'
ctl_ok 'killed while it is idle: undo' undo "$pid"
is "$(hooks) $(state_of "$pid")" "0 0 $out_phase 0 0" 'killed while it is idle: undo removes it'
start_sample unused "${own[@]}"
end_sample unused 1
like "$(<"$T/unused.err")" 'jemalloc sampled no allocation of .*fix: ' 'nothing sampled: an error'
is_out unused
assert_untouched "$pid" 'undo: untouched'

# --- a child of the process ---
start_sample child "${own[@]}" --save "$T/child.heap"
keep_going leak 16
start_child
is "$(state_of "$child" | cut -d' ' -f1)" "$out_phase" 'the child has left'
is "$(pid=$child hooks)" '0 0' 'the child has no hook'
keep_going leak 16
end_sample child
is_near "$(bytes_of "$T/child.heap" leak_blocks)" 32 'only what the process itself holds'
tell reap
is "$(beat 3)" 0 'the child ended well'
is_out child
tell free
assert_untouched "$pid" 'a child: untouched'

# --- for other readers ---
start_probing "probes in" "$T/probes.out" "$T/probes.err" "$CTL" "${patient[@]}" probes "$pid" -d 10m "${own[@]}"
like "$(<"$T/probes.err")" "a sample every 64.0K, by jemalloc's own samples" 'probes: it says whose samples these are'
unlike "$(hooks)" '^0 0$' 'probes: the hooks are installed'
tell churn 8
end_child "$prober" -INT
wait "$prober"
is "$?" 0 'probes: ends'
unlike "$(<"$T/probes.err")" 'allocations' 'probes: allocations are not counted'
is_out probes
assert_untouched "$pid" 'probes: untouched'

# --- by the hooks of all allocations ---
# by_hooks NAME ARGUMENTS...
by_hooks()
{
	local name=$1 before

	shift
	before=$(hooks)
	start_sample "$name" "${own[@]}" "$@" --save "$T/$name.heap"
	unlike "$(<"$T/$name.err")" 'own samples' "$name: not by its own samples"
	is "$(hooks)" "$before" "$name: their hooks are as they were"
	keep_going leak 16
	end_sample "$name"
	is_near "$(bytes_of "$T/$name.heap" leak_blocks)" 16 "$name: leak_blocks"
	is_out "$name"
	tell free
}
by_hooks rate --sample-rate 64K
# As a program with a hook of its own.
usable=$(at malloc_usable_size)
set_hook prof_sample_hook "$usable"
rate_bytes=524288 by_hooks taken
is "$(hooks)" "$usable 0" 'taken: its own hook stays'
set_hook prof_sample_hook 0
ctl_ok 'prof.active: off' set "$pid" prof.active false
rate_bytes=524288 by_hooks prof.active
ctl_ok 'prof.active: on' set "$pid" prof.active true
assert_untouched "$pid" 'by hooks: untouched'

# It replaces one meanwhile: that one stays.
start_sample replaced "${own[@]}"
tell leak 8
set_hook prof_sample_hook "$usable"
end_sample replaced
is "$(hooks)" "$usable 0" 'replaced: its own hook stays'
is_out replaced
set_hook prof_sample_hook 0
tell free
assert_untouched "$pid" 'replaced: untouched'
stop_target "$pid"

# Not all of its threads are sampled.
MALLOC_CONF+=,prof_thread_active_init:false start_victim "$T/keepers"
rate_bytes=524288 by_hooks threads
stop_target "$pid"

# --- programs that do not tell how threads end: without symbols, or with musl ---
strip -s -o "$T/stripped" "$T/keepers"
musl_version=5.3.1
# shellcheck source=tests/musl.sh
. tests/musl.sh
build_musl_static keepers musl -Wl,-u,sigaction
for program in "$T/stripped" "$musl/musl"; do
	name=${program##*/}
	start_keepers "$program"
	ctl_fails 1 ends_unguarded "$name: control: not by the hooks of all allocations" \
		sample "$pid" -d 1s "${rate[@]}"
	start_sample "$name" "${own[@]}" --save "$T/$name.heap"
	keep_going leak 16
	keep_going churn 16
	end_sample "$name"
	is "$(head -n 1 "$T/$name.heap")" heap_v2/65536 "$name: by its own samples"
	report_of "$T/$name.heap"
	is_near "$(jq '.total | round' "$T/report")" 16 "$name: what lives"
	is_out "$name"
	tell free
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
done
is_near "$(bytes_of "$T/musl.heap" leak_blocks)" 16 'musl: leak_blocks'

# --- threads that end meanwhile ---
start_victim "$T/keepers"
tell idle 16
start_sample ends "${own[@]}"
tell leak 8
tell end
end_sample ends
tell threads 64
run_ctl get "$pid" epoch
is "$status" 0 'threads that end: jemalloc goes through its lists' || diag "$err"
stop_target "$pid"

done_testing
