#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our own limits (EMFILE, ENFILE, ENOMEM, EAGAIN, EIO), at any system call of any of our processes:
# the command ends, blames nothing else, leaves no file behind, and leaves the target as it was. For
# each command, the same few places are tried each time; tests/long/errno.t tries all.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/errno.sh
. tests/errno.sh

most=20
start_failing
loop_commands
ok 'there were faults' test "$runs" -ge 80
diag "$runs faults in all"

# --- places that the few above do not include ---

# failing_at CALL ERROR PATH COMMAND...: run it with each such CALL for PATH failing
failing_at()
{
	local fault=$1:error=$2 path=$3

	shift 3
	timeout $((60 * SLOW)) strace -f -qq -o "$T/trace" -P "$path" -e "inject=$fault" \
		"$CTL" "${patient[@]}" --timeout 20s "$@" >"$T/out" 2>"$T/err"
	status=$?
	ok "$1: $fault at ${path##*/}: control: it failed" grep -q INJECTED "$T/trace"
}
ctl_ok 'profiling is turned off' deactivate "$pid"
for error in EMFILE ENFILE ENOMEM; do
	failing_at openat $error /proc/self/mountinfo check "$pid"
	like "$(<"$T/out")" '/proc/self/mountinfo: ' "check: $error: the limit is named"
	unlike "$(<"$T/out")" 'private cgroup namespace' "check: $error: no namespace is blamed"
	failing_at openat $error /proc/self/mountinfo activate "$pid"
	is "$status" 0 "activate: $error: it is a warning" || diag "$(<"$T/err")"
	like "$(<"$T/err")" 'sampling takes is not known: cannot open /proc/self/mountinfo: ' \
		"activate: $error: the limit is named"
	unlike "$(<"$T/err")" 'private cgroup namespace' "activate: $error: no namespace is blamed"
	ctl_ok "$error: profiling is turned off" deactivate "$pid"
done
for error in EIO ENOMEM; do
	failing_at newfstatat $error "/run/jeprof-ctl/$pid" record "$pid" -d 10ms -o "$T/failing.heap"
	is "$status" 10 "record: $error: nothing was begun" || diag "$(<"$T/err")"
	like "$(<"$T/err")" 'cannot journal the changes' "record: $error: the limit is named"
	unlike "$(<"$T/err")" 'not a file of jeprof-ctl' "record: $error: the file is not blamed"
done
assert_untouched "$pid" 'places of their own: untouched'

# --- control: taking what cannot be read for absent is detected. At all places once, as few of them show it. ---
CTL=$ROOT/$B/tests/careless/jeprof-ctl-blaming
said=$(tests/drivers/errno-loop "$VICTIMS/failing" "$CTL" "$pid" "$T/board.$pid" "$T/errno" 10000 \
	activate PID "${patient[@]}" --timeout 20s 2>&1)
is $? 1 'control: a build that blames the target is detected'
like "$said" 'blames the target' 'control: the driver names the fault'

done_testing
