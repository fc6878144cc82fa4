#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits of our own (EMFILE, ENFILE, ENOMEM, EAGAIN, EIO), at any system call of any of our processes:
# the command ends, blames nobody else, leaves no file behind, and the target as it was.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

most=$([ -n "${LONG:-}" ] && echo 0 || echo 50)
runs=0

# loop NAME COMMAND...: each call of it fails once
loop()
{
	local name=$1

	shift
	mkdir -p "$T/errno"
	tests/errno-loop "$VICTIMS/failing" "$CTL" "$pid" "$T/board.$pid" "$T/errno" "$most" \
		"$@" "${patient[@]}" --timeout 20s >"$T/loop" 2>"$T/loop.err"
	is $? 0 "$name: our limits are said to be ours"
	diag "$(<"$T/loop")" "$(head -c 4000 "$T/loop.err")"
	some=$(json .runs "$T/loop")
	runs=$((runs + ${some:-0}))
	assert_untouched "$pid" "$name: untouched"
}

comm=e$RANDOM
cp "$VICTIMS/idle" "$T/$comm"
MALLOC_CONF=$PROF start_victim "$T/$comm" 2
ctl_ok 'the first activation' activate "$pid"
ctl_ok 'the first deactivation' deactivate "$pid"
snapshot "$pid"
loop list list --comm "$comm"
loop check check PID
loop status status PID
loop activate activate PID
ctl_ok 'a dump has something to show' activate "$pid"
loop dump dump PID -o OUT
if [ -n "${LONG:-}" ]; then
	loop threads threads PID
	loop stats stats PID
	ctl_ok 'nobody else profiles it' deactivate "$pid"
	loop record record PID -d 10ms -o OUT
fi
like "$runs" '^[1-9][0-9]{2,}$' 'there were faults'
diag "$runs faults in all"

# --- control: one that takes what it cannot read for what is not there is found out ---
CTL=$ROOT/$B/tests/careless/jeprof-ctl-blaming
most=50
said=$(tests/errno-loop "$VICTIMS/failing" "$CTL" "$pid" "$T/board.$pid" "$T/errno" "$most" \
	status PID "${patient[@]}" --timeout 20s 2>&1)
is $? 1 'control: one that blames the target is seen'
like "$said" 'blames the target|does not say why' 'control: it does'

done_testing
