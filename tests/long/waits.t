#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program of one thread that waits with a timeout, while command after command is run on it:
# its waits end when they are due, whichever system call it is; where that cannot be, none is
# lengthened by more than its own timeout.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

anew=$ROOT/build/tests/careless/jeprof-ctl-anew
ms=1000
seconds=6
slack=$((400 * SLOW)) # of a machine that has other things to do, beyond what it does to who is left alone

# ticks PID N: a word of struct ticks, in tests/target/ticks.c
ticks()
{
	od -A n -t u8 -j $((64 + 8 * $2)) -N 8 "$T/board.$1" | tr -d ' '
}

# pester PROGRAM PID: status after status, for a while
pester()
{
	local deadline=$((SECONDS + seconds))

	while [ "$SECONDS" -lt "$deadline" ]; do
		timeout -k 5 $((120 * SLOW)) "$1" -q "${patient[@]}" status "$2" >/dev/null 2>>"$T/said.$2"
		echo "$?" >>"$T/statuses.$2"
		sleep 0.1
	done
}

# ticking CALL: a victim that waits in it; and one beside it that no command is run on
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
	# What a kernel's own timer does with a millisecond is not ours.
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

# round PROGRAM CALL...: some at a time
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

# --- behind a filter, where a thread is stopped twice -------------------------------------------

wrap=("$VICTIMS/fenced" nnp)
round "$CTL" epoll_wait rt_sigtimedwait
wrap=()
check epoll_wait register "${of[0]}"
check rt_sigtimedwait memory "${of[1]}"

# --- and said ------------------------------------------------------------------------------------

# What has to begin again is said. That the timeout lies in memory is not known before: SO_RCVTIMEO.
ticking recv
ctl_ok 'recv: a command that stops it once' deactivate "$pid"
like "$err" 'the timeout of a system call was restarted 1 time' 'what it cost is said'
run_ctl deactivate "$pid" --json
within 60 test "$(ticks "$pid" 0)" -ge 1
run_ctl deactivate "$pid" --json
is "$(json .prolonged)" 1 'and in JSON'
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

# --- the control ---------------------------------------------------------------------------------

round "$anew" epoll_wait epoll_pwait2 recv io_pgetevents
for pid in "${of[@]}"; do
	late=$(ticks "$pid" 1)
	ok 'control: waits made anew with their whole time are noticed' \
		test "$late" -gt $((ms * 500)) -o "$(ticks "$pid" 0)" -lt $((seconds * 1000 / ms - 1)) ||
		diag "$late us"
	stop_ticking "$pid"
done

done_testing
