#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that has no address space left, so that any allocation of its own may fail: whatever
# needs no thread is done in it again and again, ROUNDS (40) times, and the process sees no error;
# nor does it if a thread is held for the longest time that we ever wait. tests/gate/limits.t shows
# that sampling would do harm.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

start_full()
{
	MALLOC_CONF=$PROF start_victim idle 2
	prlimit --pid "$pid" --as=1000000
	snapshot "$pid"
}

for ((round = 1; round <= ${ROUNDS:-40}; round++)); do
	start_full
	ctl_fails 1 sampling_without_room "round $round: activate" activate "$pid"
	for verb in status deactivate status; do
		ctl_ok "round $round: $verb" "$verb" "$pid"
	done
	assert_untouched "$pid" "round $round: untouched"
	stop_target "$pid"
done

# Delay each of our processes in its 14th ptrace(2), as on a machine that gives it no CPU.
# is_held: one of its threads is stopped by a tracer
is_held()
{
	cat /proc/"$pid"/task/*/status | grep -q $'^State:\tt'
}

start_full
strace -f -qq -o "$T/trace" -e trace=ptrace -e inject=ptrace:delay_enter=13000000:when=14 \
	"$CTL" "${patient[@]}" status "$pid" >"$T/out" 2>"$T/err" </dev/null &
ctl=$!
own "$ctl"
ok 'a thread is held' within 60 is_held
wait "$ctl"
status=$?
err=$(<"$T/err")
[[ $status == [089] ]]
is $? 0 'a thread that is held for long: the exit status' || diag "exit $status, $err"
diag "exit $status, $err"
assert_untouched "$pid" 'a thread that is held for long: untouched'
stop_target "$pid"

done_testing
