#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What an injection adds to a target, and targets that have no room for it: none dies, and none is
# left with more threads, arenas or mappings than before, as far as that is possible.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh
# shellcheck source=tests/guard.sh
. tests/guard.sh

CARELESS=$B/tests/careless/jeprof-ctl-footprint

# status_kib KEY: print this value of the target
status_kib()
{
	awk -v key="$1:" '$1 == key { print $2 }' "/proc/$pid/status"
}

# leave LIMIT KIB: leave the target that much of RLIMIT_AS or RLIMIT_DATA
leave()
{
	local -A counted=([as]=VmSize [data]=VmData)

	prlimit --pid "$pid" "--$1=$((($(status_kib "${counted[$1]}") + $2) << 10))"
}

footprint()
{
	echo "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l) threads, $(wc -l <"/proc/$pid/maps") mappings, $(status_kib VmSize) KiB"
}

# short_calls NAME FAILS: calls in a borrowed thread must work and add nothing; the checks FAILS
# must fail. Sampling takes more memory in a program that allocates, but this one does not.
short_calls()
{
	local name=$1 before

	before=$(footprint)
	ctl_ok "$name: status" status "$pid"
	run_ctl check "$pid" --json
	is "$(json '[.checks[] | select(.ok == false) | .name] | join(",")')" "$2" "$name: check: ${2:-nothing} fails"
	ctl_ok "$name: activate" activate "$pid" --force
	ctl_ok "$name: get" get "$pid" prof.active stats.allocated
	ctl_ok "$name: threads" threads "$pid" --json
	is "$(json .missed)" 0 "$name: threads: none was missed"
	ctl_ok "$name: deactivate" deactivate "$pid"
	is "$(footprint)" "$before" "$name: the target is no larger than before"
}

# no_thread NAME REGEX: a dump needs a thread; it must be refused, with the numbers, and add nothing
no_thread()
{
	local name=$1 before

	before=$(footprint)
	ctl_fails 1 'raise_limit_or_do_without in_target' \
		"$name: dump is refused, with the numbers" dump "$pid" --force -o "$T/no.heap"
	like "$err" "cannot safely create a thread: it has .* left \\($2.*\\), and up to .* may be needed" \
		"$name: dump: the numbers"
	ok "$name: dump: no file is left" test ! -e "$T/no.heap"
	ctl_fails 1 'raise_limit_or_do_without get_single_values' "$name: stats are refused" stats "$pid"
	is "$(footprint)" "$before" "$name: refusals: the target is no larger than before"
}

# --- address space and private memory ---
export MALLOC_CONF=prof:true,prof_active:false
for limit in as data; do
	for kib in 0 1300 3000 6000; do
		start_victim cramped 2
		leave "$limit" "$kib"
		snapshot "$pid"
		short_calls "RLIMIT_${limit^^}, $kib KiB left" "$([ "$kib" -gt 4096 ] || echo prof.lg_sample,)dump"
		no_thread "RLIMIT_${limit^^}, $kib KiB left" "RLIMIT_${limit^^}"
		ctl_fails 1 'no_room_bytes raise_limit_or_do_without drop_mode_thread' \
			"RLIMIT_${limit^^}, $kib KiB left: --mode thread is refused" status "$pid" --mode thread
		assert_untouched "$pid" "RLIMIT_${limit^^}, $kib KiB left: untouched"
		stop_target "$pid"
	done
done
start_victim cramped 2
leave as 3000
snapshot "$pid"
ctl_ok 'a dump in the target needs no thread' dump "$pid" --in-target "$T/in.heap" --force
ok 'a dump in the target: a profile' is_profile "$T/in.heap"
assert_untouched "$pid" 'a dump in the target: untouched'
stop_target "$pid"
start_victim cramped 2
leave as 40000
snapshot "$pid"
ctl_ok 'with room: dump' dump "$pid" --force -o "$T/yes.heap"
assert_untouched "$pid" 'with room: untouched'
stop_target "$pid"

# Control: without these checks the new thread gets no arena, and crashes the program.
died=0
for kib in 1300 2000 3000; do
	start_victim cramped
	leave as "$kib"
	"$CARELESS" "${patient[@]}" status "$pid" >"$T/careless.log" 2>&1
	within 10 test ! -e "/proc/$pid/maps" -o ! -s "/proc/$pid/maps" && died=$((died + 1))
	stop_target "$pid" 2>/dev/null
done
ok 'control: without these checks programs die' test "$died" -gt 0

# --- memory of a control group ---
# leave_in_group MIB: let `group` have so much left
leave_in_group()
{
	echo $(($(<"$group_used") + ($1 << 20))) >"$group_limit"
}

start_victim cramped 2
snapshot "$pid"
if make_group 1024; then
	echo "$pid" >"$group/cgroup.procs"
	leave_in_group 2
	short_calls 'cgroup, 2 MiB left' prof.lg_sample,dump
	no_thread 'cgroup, 2 MiB left' "${group_limit##*/} of $group"
	assert_untouched "$pid" 'cgroup, 2 MiB left: untouched'
else
	skip 'cgroups cannot limit memory here' 'cgroup'
fi
stop_target "$pid"

# grown MIB CONF: start a grower in a new group. When it holds that much, 8 MiB are left.
grown()
{
	make_group 1024 || return
	in_group start_grower "$2"
	hold "$1"
	leave_in_group 8
}

# A profile takes memory of the target, too: one with many samples may be large.
if grown 64 prof:true,lg_prof_sample:12; then
	snapshot "$pid"
	ctl_fails 1 'raise_limit_or_do_without in_target' 'cgroup, 8 MiB left, many samples: dump is refused' \
		dump "$pid" --force -o "$T/no.heap"
	like "$err" 'up to (9|1[01])\.[0-9]M may be needed' 'cgroup, 8 MiB left, many samples: the numbers'
	assert_untouched "$pid" 'cgroup, 8 MiB left, many samples: untouched'
	stop_target "$pid"
	grown 64 prof:true,lg_prof_sample:19 || bail_out 'no control group a second time'
	snapshot "$pid"
	ctl_ok 'cgroup, 8 MiB left, few samples: dump' dump "$pid" --force -o "$T/yes.heap"
	assert_untouched "$pid" 'cgroup, 8 MiB left, few samples: untouched'
else
	skip 'cgroups cannot limit memory here' 'cgroup, many samples'
fi
stop_target "$pid"

# --- threads that never called jemalloc ---
export MALLOC_CONF=prof:true,prof_thread_active_init:false
start_victim cramped 5
snapshot "$pid"
before=$(footprint)
ctl_ok 'threads without data' threads "$pid" --json
is "$(json '[.threads[] | select(.thread.allocated == 0 and .thread.prof.active == false)] | length')" 5 \
	'threads without data: have allocated nothing, and begin as configured'
is "$(json '[.threads[] | select(.thread.allocated > 0)] | length')" 1 'threads without data: the first thread has'
ctl_ok 'threads without data: rates' threads "$pid" --interval 10ms --json
is "$(json '[.threads[] | select(.thread.allocated == 0 and .rate.allocated == 0)] | length')" 5 \
	'threads without data: they allocate nothing'
run_ctl threads "$pid" --activate all --json
is "$status" 8 'threads without data: not all can be activated'
is "$(json '[.threads[] | select(.changed)] | length')" 1 'threads without data: the first one is activated'
is "$(json '[.threads[] | select(.reason // "" | test("has not called jemalloc yet"))] | length')" 5 \
	'threads without data: the others are not, with the cause'
is "$(footprint)" "$before" 'threads without data: the target is no larger than before'
assert_untouched "$pid" 'threads without data: untouched'
stop_target "$pid"

# --- only one thread has called jemalloc, and another is more convenient ---
export MALLOC_CONF=prof:true,prof_active:false

# start_settled CALL [NUMBERS]: start it, and wait until all of its threads are in their calls
all_settled() { [ "$(cut -d ' ' -f 1 "/proc/$pid"/task/*/syscall | sort | uniq -c | paste -sd ' ' | tr -s ' ')" = "$1" ]; }
start_settled()
{
	start_victim settled "$1"
	within 60 all_settled "$2" || bail_out "settled is not in $1"
}

# arenas: print their number; the thread that reads it may add one. What is done is added to $T/said.
arenas()
{
	run_ctl stats "$pid" -f json -v
	cat "$T/err" >>"$T/said"
	jq '."jemalloc"."stats.arenas" | keys | map(select(test("^[0-9]+$"))) | length' "$T/out"
}

# arenas_late PROGRAM: the same, but its tracer gets no CPU for 0.3 s whenever it wants to look at a
# thread
arenas_late()
{
	local runner=(strace -f -qq -o "$T/late" -e trace=openat -e inject=openat:delay_enter=300000)
	local task CTL=$1

	for task in "/proc/$pid/task"/*; do
		runner+=(-P "$task/status")
	done
	arenas
}

start_settled nanosleep ' 1 230 3 34'
snapshot "$pid"
: >"$T/said"
is "$(arenas_late "$CTL")" 2 'a late tracer: one arena, and that of our thread'
like "$(grep -c DELAYED "$T/late")" '^[1-9]' 'a late tracer: control: it was late'
unlike "$(<"$T/said")" 'so it gets an arena' 'a late tracer: none is reported'
assert_untouched "$pid" 'a late tracer: untouched'
stop_target "$pid"
start_settled nanosleep ' 1 230 3 34'
is "$(arenas_late "$CARELESS")" 3 'a late tracer: control: without these checks another one is borrowed'
stop_target "$pid"

start_settled write ' 1 1 3 34'
snapshot "$pid"
: >"$T/said"
is "$(arenas)" 3 'it may not be borrowed: another one gets an arena'
like "$(<"$T/said")" ' no other may be borrowed, so it gets an arena' 'it may not be borrowed: that is reported'
assert_untouched "$pid" 'it may not be borrowed: untouched'
stop_target "$pid"

# --- a daemon with jemalloc's background threads ---
residue()
{
	local i

	for ((i = 0; i < ROUNDS; i++)); do
		"$CTL" -v "${patient[@]}" status "$pid" && "$CTL" -v "${patient[@]}" activate "$pid" &&
			"$CTL" -v "${patient[@]}" get "$pid" prof.active && "$CTL" -v "${patient[@]}" threads "$pid" &&
			"$CTL" -v "${patient[@]}" deactivate "$pid" || return 1
	done
	# ready or not: a redis-server that the tests start has no place to write its own dumps
	"$CTL" -v "${patient[@]}" check "$pid" || [ $? -eq 1 ]
}

ROUNDS=${ROUNDS:-4}
# Once more if another thread had to be borrowed, as the first one got no CPU: see above.
for _ in {1..10}; do
	: >"$T/said"
	start_redis --jemalloc-bg-thread yes
	untouched=$(arenas)
	stop_target "$pid"
	start_redis --jemalloc-bg-thread yes
	snapshot "$pid"
	before=$(footprint)
	residue >"$T/out" 2>>"$T/said"
	is $? 0 'redis-server: all commands' || diag "$(<"$T/said")"
	is "$(footprint)" "$before" "redis-server: as many threads and mappings after $((ROUNDS * 5 + 1)) commands as before"
	now=$(arenas)
	assert_untouched "$pid" 'redis-server: untouched'
	grep 'so it gets an arena' "$T/said" || break
	stop_target "$pid"
done
is "$now" "$untouched" 'redis-server: as many arenas'
ctl_ok 'redis-server: a dump, which takes a thread' dump "$pid" --force -o "$T/redis.heap"
before=$(footprint)
for _ in 1 2 3; do
	ctl_ok 'redis-server: another dump' dump "$pid" --force -o "$T/redis.heap"
done
is "$(footprint)" "$before" 'redis-server: our threads reuse what the first one left'
stop_target "$pid"

# If no task is left, a new arena makes jemalloc try forever to create a thread.
complaints()
{
	grep -c 'background thread creation' "${sock%/*}/log"
}
full()
{
	start_redis --jemalloc-bg-thread yes
	echo "$pid" >"$group/cgroup.procs" &&
		echo $(($(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l) + $1)) >"$group/pids.max"
}
if make_pids_group; then
	for spare in 0 1 2; do
		full "$spare"
		snapshot "$pid"
		short_calls "pids.max, $spare to spare" dump
		no_thread "pids.max, $spare to spare" pids.max
		is "$(complaints)" 0 "pids.max, $spare to spare: jemalloc reports no error"
		assert_untouched "$pid" "pids.max, $spare to spare: untouched"
		stop_target "$pid"
	done
	full 0
	"$CARELESS" "${patient[@]}" status "$pid" >"$T/careless.log" 2>&1
	loud() { [ "$(complaints)" -gt 10 ]; }
	ok 'control: without these checks jemalloc retries forever' within 10 loud
	stop_target "$pid"
else
	skip 'cgroups cannot limit the number of processes here' 'pids.max'
fi

done_testing
