#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The tracer is killed at each of its ptrace(2) requests in turn: "nothing was changed" must be
# reported until registers are set for the first time, and never afterwards.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Its threads only sleep, so that no registers are set to hide an EINTR.
LIE=honest start_victim lied-to
snapshot "$pid"

# kill_at NUMBER MODE: the same run, killed at that request. Sets `status` and `err`.
kill_at()
{
	strace -f -qq -e trace=ptrace -e "inject=ptrace:signal=KILL:when=$1" -o "$T/killed" \
		"$CTL" "${patient[@]}" --mode "$2" get "$pid" version >"$T/out" 2>"$T/err"
	status=$?
	err=$(head -n 1 "$T/err")
}

# reached MODE: print how far the tracers got: nothing, sent (a thread was sent off), call
reached()
{
	awk -v mode="$1" '
		match($0, /PTRACE_SEIZE, [0-9]+/) { seized[substr($0, RSTART + 14, RLENGTH - 14)] = 1 }
		/SETREGSET, [0-9]+, NT_PRSTATUS/ {
			match($0, /SETREGSET, [0-9]+/)
			tid = substr($0, RSTART + 11, RLENGTH - 11)
			if (mode == "inline" || !(tid in seized))
				call = 1
			sent = 1
		}
		END { print call ? "call" : sent ? "sent" : "nothing" }' "$T/killed"
}

declare -A told=(
	[nothing]='8:.*nothing was changed'
	[sent]='9:.*jemalloc was not called, but a thread of the target was creating the helper thread'
	[call]='9:.*the target finishes the call on its own'
)
for mode in thread inline; do
	declare -A times=([nothing]=0 [sent]=0 [call]=0)
	wrong=
	for ((i = 1; i < 200; i++)); do
		kill_at "$i" "$mode"
		[ "$status" -ne 0 ] || break
		at=$(reached "$mode")
		times[$at]=$((times[$at] + 1))
		[[ $status:$err =~ ^${told[$at]} ]] || wrong+=" $i ($at): $status: $err"
	done
	is "$wrong" '' "$mode mode: killed at each request: the report is true"
	diag "$mode mode: nothing ${times[nothing]}, sent ${times[sent]}, call ${times[call]}"
	ok "$mode mode: before a thread was sent off" test "${times[nothing]}" -gt 2
	ok "$mode mode: after the call was begun" test "${times[call]}" -gt 2
	[ "$mode" = inline ] || ok "$mode mode: in between" test "${times[sent]}" -gt 2
	within 60 eval '[ "$(find /proc/$pid/task -mindepth 1 -maxdepth 1 | wc -l)" = 2 ]'
	assert_untouched "$pid" "$mode mode: untouched"
done

done_testing
