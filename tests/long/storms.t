#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Storms: programs that only allocate, throw, load, fork or create threads, and every command on
# them, including the first call in a fresh process. Nothing may hang, and nothing may change.
# SCALE sets how often (1: about 300 injections; 71 with LONG=1).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

scale=${SCALE:-$([ -n "${LONG:-}" ] && echo 71 || echo 1)}
careless=$ROOT/build/tests/careless/jeprof-ctl
export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:14,prof_prefix:$T/own
total=0 refused=0

# counted NAME STATUS: check a run of tests/drivers/storm, and add up its counts from $T/storm
counted()
{
	is "$2" 0 "$1"
	[ "$2" -eq 0 ] || diag "$(<"$T/storm.err")"
	total=$((total + $(json ".accepted" "$T/storm" | grep -x "[0-9]*" || echo 0)))
	refused=$((refused + $(json ".refused" "$T/storm" | grep -x "[0-9]*" || echo 0)))
	rm -f "$T"/own*
}

# storm COUNT VICTIM ARGUMENTS...: inject again and again while the victim works
storm()
{
	local times=$(($1 * scale))

	shift
	start_victim "$@"
	tests/drivers/storm run "$CTL" "$pid" "$T/board.$pid" "$times" "$T" >"$T/storm" 2>"$T/storm.err"
	counted "$*: $times injections, no harm" $?
	ok "$*: not traced" grep -q '^TracerPid:.0$' "/proc/$pid/status"
	stop_target "$pid"
}

# fresh COUNT VICTIM ARGUMENTS...: make the first call in COUNT new processes
fresh()
{
	local times=$(($1 * scale)) name=$2

	shift 2
	tests/drivers/storm fresh "$CTL" "$times" "$T" "$VICTIMS/$name" "$@" >"$T/storm" 2>"$T/storm.err"
	counted "$name $*: the first call in $times processes, no harm" $?
}

storm 48 storm small 1
storm 17 storm small 8
storm 17 storm large 1
storm 17 storm realloc 1
storm 17 storm aligned 1
storm 17 storm cross 4
storm 17 throws 1
storm 17 throws 4
storm 3 storm dlopen 1 # it is nearly always in the loader: each injection waits for its moment
storm 17 storm fork 1
storm 17 storm threads 1
storm 17 storm setxid 1
fresh 34 storm small 1
fresh 17 storm realloc 4
fresh 17 idle 1
diag "all together: $total injections; $refused times no safe moment was found"
ok 'there were enough of them' [ "$total" -ge $((285 * scale)) ]

# It is blocked, but called from the allocator: never safe, however long one waits.
start_victim storm inside 1
snapshot "$pid"
is_left_alone '(allocator|C library)' 'a thread that is always in the allocator is left alone' \
	activate "$pid" --timeout 2s
unlike "$err" ' in 0 attempts' 'there were attempts'
is_left_alone '(allocator|C library)' 'inline, too' activate "$pid" --timeout 2s --mode inline
unlike "$err" ' in 0 attempts' 'inline: there were attempts'
assert_untouched "$pid" 'nothing was changed'
start_victim storm huge 1
run_ctl activate "$pid" --timeout 2s
like "$status $err" '^(0 |8 .*no safe moment was found)' 'a thread that moves large blocks: done or left alone'
stop_target "$pid"

# The control: the same storms do harm when no thread is ever refused. Which of them do, and after
# how many tries, is chance: the first harm is enough.
harmed()
{
	local status

	start_victim "$@"
	TIMEOUT=3s PATIENCE=5 tests/drivers/storm run "$careless" "$pid" "$T/board.$pid" 600 "$T" \
		>"$T/storm" 2>"$T/storm.err"
	status=$?
	diag "$*, without the protection: $(tail -n 1 "$T/storm.err" | cut -c 1-200)"
	stop_target "$pid" -KILL
	[ "$status" -eq 1 ]
}
harm=none
for kind in fork dlopen fork dlopen; do
	harmed storm "$kind" 1 && harm=$kind && break
done
unlike "$harm" none 'without the safety check a storm is harmed'
harm=none
for _ in 1 2 3; do
	CARELESS=setxid harmed storm setxid 1 && harm=setxid && break
done
is "$harm" setxid 'with all signals blocked a storm of setegid hangs'

done_testing
