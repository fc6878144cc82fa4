# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh, most by the test
# Failures by our own limits, injected at system calls of jeprof-ctl's processes. Sourced after tests/lib.sh.

runs=0

# loop NAME COMMAND...: make system calls of the command fail, $most of them; 0: every one
loop()
{
	local name=$1

	shift
	mkdir -p "$T/errno"
	tests/drivers/errno-loop "$VICTIMS/failing" "$CTL" "$pid" "$T/board.$pid" "$T/errno" "$most" \
		"$@" "${patient[@]}" --timeout 20s >"$T/loop" 2>"$T/loop.err"
	is $? 0 "$name: our limits are reported as ours"
	diag "$(<"$T/loop")" "$(head -c 4000 "$T/loop.err")"
	some=$(json .runs "$T/loop")
	runs=$((runs + ${some:-0}))
	assert_untouched "$pid" "$name: untouched"
}

# start_failing: a target for loop, in which all commands have been run once. Sets `comm`.
start_failing()
{
	comm=failing-$$
	cp "$VICTIMS/idle" "$T/$comm"
	MALLOC_CONF=$PROF start_victim "$T/$comm" 2
	ctl_ok 'the first activation' activate "$pid"
	ctl_ok 'the first deactivation' deactivate "$pid"
	snapshot "$pid"
}

# loop_commands: the commands that both tiers test
loop_commands()
{
	loop list list --comm "$comm"
	loop check check PID
	loop status status PID
	loop activate activate PID
	ctl_ok 'a dump has something to show' activate "$pid"
	loop dump dump PID -o OUT
}
