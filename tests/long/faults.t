#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fault loop: the N-th system call of a kind fails, or its caller is killed there, for every
# N until the command succeeds. However jeprof-ctl copes, the target must be as it was.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# The system calls of the tracer.
calls=ptrace,pread64,pwrite64,waitid,wait4

export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16
# Not the idle victim: if a tracer dies before it can do anything, epoll_wait returns EINTR.
start_victim busy 3
snapshot "$pid"
ctl_ok 'the first activation' activate "$pid"
ctl_ok 'the first dump' dump "$pid" -o "$T/first.heap"
ctl_ok 'the first deactivation' deactivate "$pid"
assert_untouched "$pid" 'before the first fault'

faults=0
fault_loop()
{
	local fault=$1 name=$2

	shift 2
	tests/drivers/fault-loop "$CTL" "$pid" "$T/board.$pid" "$T" "$fault" "$calls" "$@" >"$T/loop" 2>"$T/loop.err"
	is $? 0 "$name: the victim is intact after each fault"
	diag "$(<"$T/loop")" "$(<"$T/loop.err")"
	some=$(json .faults "$T/loop")
	faults=$((faults + ${some:-0}))
	assert_untouched "$pid" "$name: untouched"
}

fault_loop error=EIO 'activate, each call fails' activate PID
fault_loop signal=KILL 'activate, killed at each call' activate PID
fault_loop signal=KILL 'inline, killed at each call' --mode inline deactivate PID
# The kernel creates no file there: the call fails, and sets errno.
EXIT=1 fault_loop signal=KILL 'inline, a call that sets errno' --mode inline dump PID --in-target /proc/none
if [ -n "${LONG:-}" ]; then
	fault_loop error=EIO 'dump, each call fails' dump PID -o OUT
	fault_loop signal=KILL 'dump, killed at each call' dump PID -o OUT
	fault_loop error=ESRCH 'dump, each call finds nobody' dump PID -o OUT
fi
like "$faults" '^[1-9][0-9]+$' 'there were faults' # the loops would pass even without a fault
diag "$faults faults in all"

done_testing
