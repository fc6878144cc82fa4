#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A single-threaded program that waits with a timeout, while command after command is run on it: its
# waits end when they are due, whichever system call it is; where that is impossible, no wait is
# prolonged by more than its own timeout.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

anew=$ROOT/build/tests/careless/jeprof-ctl-anew
ms=1000
seconds=6
slack=$((400 * SLOW)) # for a busy machine, added to the delay of the victim that is left alone

# ticks PID N: print a word of struct ticks, in tests/target/ticks.c
ticks()
{
	od -A n -t u8 -j $((64 + 8 * $2)) -N 8 "$T/board.$1" | tr -d ' '
}

# pester PROGRAM PID: run status after status, for a while
pester()
{
	local deadline=$((SECONDS + seconds))

	while [ "$SECONDS" -lt "$deadline" ]; do
		timeout -k 5 $((120 * SLOW)) "$1" -q "${patient[@]}" status "$2" >/dev/null 2>>"$T/said.$2"
		echo "$?" >>"$T/statuses.$2"
		sleep 0.1
	done
}

# ticking CALL: start a victim that waits in it, and another one, on which no command is run
ticking()
{
	MALLOC_CONF=$PROF start_victim ticks "$1" "$ms"
	alone=$pid
	MALLOC_CONF=$PROF start_victim ticks "$1" "$ms"
	alone_of[$pid]=$alone
	snapshot "$pid"
}
declare -A alone_of

stop_ticking()
{
	stop_target "${alone_of[$1]}"
	stop_target "$1"
}

check()
{
	local call=$1 where=$2 pid=$3 late early alone least=$((seconds * 1000 / ms / 2)) most=$slack

	alone=$(ticks "${alone_of[$pid]}" 1)
	late=$(ticks "$pid" 1)
	early=$(ticks "$pid" 2)
	# A kernel's own timers may be a millisecond off, which is not our doing.
	ok "$call: no wait ends too early" test "$early" -le 2000 || diag "$early us"
	[[ $where == @(register|kernel) ]] || { least=$((least / 2)) most=$((ms + slack)); }
	ok "$call: waits end" test "$(ticks "$pid" 0)" -ge "$least" || diag "$(ticks "$pid" 0) waits ended"
	ok "$call: none ends later than it may" test "$late" -le $((most * 1000 + alone)) ||
		diag "$late us, and $alone us where nothing was stopped"
	is "$(sort -u "$T/statuses.$pid")" 0 "$call: each command was done" || diag "$(<"$T/said.$pid")"
	diag "$call ($where): $(wc -l <"$T/statuses.$pid") commands, $(ticks "$pid" 0) waits, latest $late us (left alone: $alone us)"
	assert_untouched "$pid" "$call: the target is untouched"
	stop_ticking "$pid"
}

# round PROGRAM CALL...: pester several victims at a time
round()
{
	local program=$1 call jobs=()

	shift
	of=()
	for call; do
		ticking "$call"
		of+=("$pid")
		pester "$program" "$pid" &
		own $!
		jobs+=($!)
	done
	wait "${jobs[@]}"
}

"$VICTIMS/ticks" list >"$T/list"
while mapfile -t -n 4 some && [ ${#some[@]} -gt 0 ]; do
	round "$CTL" "${some[@]% *}"
	for i in "${!some[@]}"; do
		check "${some[i]% *}" "${some[i]#* }" "${of[i]}"
	done
done <"$T/list"

# --- behind a filter, so that a thread is stopped twice -----------------------------------------

wrap=("$VICTIMS/fenced" nnp)
round "$CTL" epoll_wait rt_sigtimedwait
wrap=()
check epoll_wait register "${of[0]}"
check rt_sigtimedwait memory "${of[1]}"

# --- and reported --------------------------------------------------------------------------------

# Restarted waits are reported. For SO_RCVTIMEO, it is not known in advance that the timeout is in
# memory.
ticking recv
ctl_ok 'recv: a command that stops it once' deactivate "$pid"
like "$err" 'the timeout of a system call was restarted 1 time' 'the cost is reported'
run_ctl deactivate "$pid" --json
within 60 test "$(ticks "$pid" 0)" -ge 1
run_ctl deactivate "$pid" --json
is "$(json .prolonged)" 1 'and in JSON'
within 60 test "$(ticks "$pid" 0)" -ge 2
ctl_ok 'recv: status' status "$pid"
like "$err" 'the timeout of a system call was restarted [1-9][0-9]* times?' 'recv: status: the cost is reported'
stop_ticking "$pid"

# --- a recording ---------------------------------------------------------------------------------

for call in epoll_wait rt_sigtimedwait; do
	ticking "$call"
	ctl_ok "$call: a recording" record "$pid" -d 4s --interval 500ms -o "$T/$call.heap"
	ok "$call: waits end meanwhile" test "$(ticks "$pid" 0)" -ge 2
	ok "$call: in time" test "$(ticks "$pid" 1)" -le $((slack * 1000 + $(ticks "${alone_of[$pid]}" 1))) || diag "$(ticks "$pid" 1) us"
	assert_untouched "$pid" "$call: the target is untouched by a recording"
	stop_ticking "$pid"
done

# --- the control: restarting waits with their full timeout is detected ---------------------------

round "$anew" epoll_wait epoll_pwait2 recv io_pgetevents
for pid in "${of[@]}"; do
	late=$(ticks "$pid" 1)
	ok 'control: waits restarted with their full timeout are noticed' \
		test "$late" -gt $((ms * 500)) -o "$(ticks "$pid" 0)" -lt $((seconds * 1000 / ms - 1)) ||
		diag "$late us"
	stop_ticking "$pid"
done

done_testing
