# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh, most by the test
# Makes system calls of jeprof-ctl's processes fail as if by our own limits. Sourced after
# tests/lib.sh.

runs=0

# loop NAME COMMAND...: make at most $most system calls of the command fail, one at a time; 0: all
# of them
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

# start_failing: start a target for loop in which activate and deactivate have run once. Sets
# `comm`.
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
	ctl_ok 'activate, so that a dump has samples' activate "$pid"
	loop dump dump PID -o OUT
}
