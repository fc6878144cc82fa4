#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A call that does not return in time: a dump waits for a lock, which a thread of the program holds
# while it writes a dump of its own into a pipe that nobody reads. We detach, and report the state
# of the call; the call ends by itself when it can.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

threads()
{
	awk '/^Threads:/ { print $2 }' "/proc/$pid/status"
}
has_threads()
{
	[ "$(threads)" -eq "$1" ]
}
# A thread is in creat(2) or openat(2), so it holds the lock for dumps.
writes_a_dump()
{
	cat /proc/"$pid"/task/*/syscall | grep -Eq '^(85|257) '
}
hold()
{
	before=$(answers_of "$pid")
	tell "$pid" thread "$T/pipe"
	within 60 writes_a_dump || bail_out 'the program does not write a dump'
}
let_go()
{
	cat "$T/pipe" >"$T/own.heap"
	within 60 has_answered "$pid" $((before + 1)) && is "$(tail -n 1 "$T/said.$pid")" 0 "$1: its own dump is made" &&
		ok "$1: it has no more threads than before" within 60 has_threads 1
}

MALLOC_CONF=$PROF,prof_active:true start_dumper dumper
order "$pid" grow 100
ctl_ok 'a dump' dump "$pid" -o "$T/first.heap"
mkfifo "$T/pipe"
snapshot "$pid"

hold
ctl_fails 9 'call_goes_on call_late look_at_it' \
	'a call that waits too long' --timeout 4s dump "$pid" -o "$T/late.heap"
ok 'no file is left' test ! -e "$T/late.heap"
ok 'nobody traces the program' grep -qx $'TracerPid:\t0' "/proc/$pid/status"
is "$(threads)" 3 'the call is still waiting'
let_go 'timed out'

hold
"$CTL" "${patient[@]}" --timeout 6s dump "$pid" -o "$T/late.heap" >/dev/null 2>"$T/err" &
ctl=$!
ok 'the call is begun' within 6 has_threads 3
kill -STOP "$pid"
wait "$ctl"
is $? 9 'a program that is stopped meanwhile'
like "$(<"$T/err")" "$pid was stopped in the middle of a call, which it will finish on its own.*kill -CONT $pid" \
	'the cause is reported, with the fix'
is "$(awk '/^State:/ { print $2 }' "/proc/$pid/status")" T 'it is still stopped'
kill -CONT "$pid"
let_go 'continued'

assert_untouched "$pid"
ctl_ok 'the next dump' dump "$pid" -o "$T/next.heap"
is "$(stacks_of "$T/next.heap" | wc -l)" "$(stacks_of "$T/own.heap" | wc -l)" 'it has all stacks'

done_testing
