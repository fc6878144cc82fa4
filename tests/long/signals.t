#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signals and job control: a target under a storm of signals loses none and gets none twice; one
# that is stopped before, during or after the work on it stays stopped, and its parent sees nothing
# else. ROUNDS and STOPS set how often (60 and 40; 1000 and 500 with LONG=1).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=${ROUNDS:-$([ -n "${LONG:-}" ] && echo 1000 || echo 60)}
stops=${STOPS:-$([ -n "${LONG:-}" ] && echo 500 || echo 40)}
export MALLOC_CONF=$PROF

start_victim signals
# Pending and blocked signals change in a storm.
export OWN_CHANGES='SigPnd ShdPnd SigBlk'
tests/drivers/rounds "$CTL" "$pid" "$T/board.$pid" "$rounds" "$T" >"$T/rounds" 2>"$T/rounds.err"
is $? 0 "$rounds rounds in a storm of signals: none lost, none twice, all in order" ||
	diag "$(<"$T/rounds.err")"
diag "$(<"$T/rounds")"
like "$(json .done "$T/rounds")" '^[1-9]' 'some were done'

# The control: a tracer that swallows signals is detected.
for ((tries = 0; tries < 20; tries++)); do
	"$VICTIMS/attach" "$pid" eat 2>/dev/null
	is_harmed && break
done
ok 'a tracer that swallows signals is noticed' within 60 is_harmed
stop_target "$pid"

# --- job control --------------------------------------------------------------------------

launch()
{
	: >"$T/child"
	start_victim launch "$VICTIMS/idle" "$T/child" 1
	launcher=$pid
	parent=$T/board.$launcher
	pid=$(tests/drivers/photo ready "$T/child")
}
stopped()
{
	[ "$(awk '/^State:/ { print $2 }' "/proc/$pid/status")" = T ]
}
# parent_saw: print how often the parent saw stopped, continued, and anything else
parent_saw()
{
	od -A n -t u8 -j 64 -N 24 "$parent" | xargs
}
parent_sees()
{
	[ "$(parent_saw)" = "$1" ]
}

launch
ctl_ok 'activate, for the first time' activate "$pid"
kill -STOP "$pid"
ok 'the target is stopped' within 60 stopped
ctl_fails 8 target_stopped 'a stopped target is left alone' activate "$pid"
ctl_fails 8 target_stopped 'nor used in direct mode' --mode inline get "$pid" prof.active
ok 'it is still stopped' stopped
ok 'its parent saw one stop' parent_sees '1 0 0'
kill -CONT "$pid"
ok 'its parent saw it go on' within 60 parent_sees '1 1 0'

tests/drivers/job-control "$CTL" "$pid" "$T/child" "$parent" "$stops" "$T" >"$T/jobs" 2>"$T/jobs.err"
is $? 0 "stopped $stops times while it was worked on: it stops, which is seen once" ||
	diag "$(<"$T/jobs.err")"
diag "$(<"$T/jobs")"
like "$(json .hit "$T/jobs")" '^[1-9]' 'some of these while it was traced'

ctl_ok 'dump, after all that' dump "$pid" -o "$T/after.heap"
kill -TSTP "$pid"
ok 'stopped after the work: it stays stopped' within 60 stopped
kill -CONT "$pid"
is "$(within 60 parent_sees "$((stops + 2)) $((stops + 2)) 0" && echo seen)" seen \
	"its parent saw all of that, and nothing else: $(parent_saw)"

# The control: an attach of the old kind, by a tracer that exits too early.
for ((tries = 0; tries < 20; tries++)); do
	"$VICTIMS/attach" "$pid" old
	within 1 stopped && break
done
ok 'a careless attach is noticed by the parent' within 60 parent_sees "$((stops + 3)) $((stops + 2)) 0"
kill -CONT "$pid"
stop_target "$launcher"

done_testing
