#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes and threads that come and go: children, short-lived threads, a leader that has exited,
# targets that cannot be stopped, a reused pid, a pending cancellation, and our own processes being
# stopped. ROUNDS sets how often these are repeated (20; 200 with LONG=1).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh
# shellcheck source=tests/freezer.sh
. tests/freezer.sh

LONG=${LONG:-}

rounds=${ROUNDS:-$([ -n "${LONG:-}" ] && echo 200 || echo 20)}
careless=$ROOT/build/tests/careless/jeprof-ctl
export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:14,prof_prefix:$T/own

# driven NAME ARGUMENTS...: run tests/drivers/death, which must exit with 0
driven()
{
	local name=$1

	shift
	tests/drivers/death "$@" >"$T/driven" 2>"$T/driven.err"
	is $? 0 "$name"
	diag "$(cat "$T/driven" "$T/driven.err")"
}

# --- children -----------------------------------------------------------------------------

# children KIND COUNT: inject while the target forks; no child may have a memory file of ours
children()
{
	start_victim death "$1"
	tests/drivers/death children "$pid" >"$T/children" 2>"$T/children.err" &
	watcher=$!
	own "$watcher"
	ONLY=activate,dump,deactivate tests/drivers/storm run "$CTL" "$pid" "$T/board.$pid" "$2" "$T" \
		>"$T/storm" 2>"$T/storm.err"
	is $? 0 "$1: $2 injections, no harm" || diag "$(<"$T/storm.err")"
	end_child "$watcher" -TERM
	wait "$watcher"
	is $? 0 "$1: no child has a file of ours" || diag "$(<"$T/children.err")"
	like "$(json .looked "$T/children")" '^[1-9]' "$1: there were children"
	stop_target "$pid"
}
children forks "$rounds"
children vforks "$rounds"

# The control: a memory file that a child inherits is found.
start_victim death leaks
ok 'a child with a memory file is noticed' sh -c "! timeout 10 tests/drivers/death children $pid"
stop_target "$pid"

# --- a target that cannot be stopped ------------------------------------------------------

state_is()
{
	[ "$(awk '/^State:/ { print $2 }' "/proc/$1/status" 2>/dev/null)" = "$2" ]
}

start_victim death vfork
ok 'the only thread waits in vfork' within 60 state_is "$pid" D
ctl_fails 8 no_safe_moment 'it is left alone' activate "$pid" --timeout 2s
ctl_fails 8 no_safe_moment 'in direct mode, too' --mode inline activate "$pid" --timeout 2s
ok 'it is not traced' grep -q '^TracerPid:.0$' "/proc/$pid/status"
tests/drivers/death set "$T/board.$pid"
ok 'its child ends, and it goes on' within 60 state_is "$pid" S
snapshot "$pid"
ctl_ok 'then activate works' activate "$pid"
assert_untouched "$pid" 'and is as it was'
stop_target "$pid"

start_victim death vfork2
ok 'the main thread waits in vfork' within 60 state_is "$pid" D
ctl_ok 'another thread is borrowed' activate "$pid"
ctl_ok 'for a dump as well' dump "$pid" -o "$T/vfork.heap"
ok 'the main thread still waits' state_is "$pid" D
tests/drivers/death set "$T/board.$pid"
ok 'its child ends, and it goes on, too' within 60 state_is "$pid" S
snapshot "$pid"
assert_untouched "$pid" 'no change was found'
stop_target "$pid"

# --- threads ------------------------------------------------------------------------------

start_victim death spawn
tests/drivers/storm run "$CTL" "$pid" "$T/board.$pid" "$rounds" "$T" >"$T/storm" 2>"$T/storm.err"
is $? 0 "threads without end: $rounds injections, no harm" || diag "$(<"$T/storm.err")"
diag "$(<"$T/storm")"
ok 'threads without end: not traced' grep -q '^TracerPid:.0$' "/proc/$pid/status"
stop_target "$pid"

start_victim death leader
# /proc shows neither memory nor files of such a process: check its threads and its board instead.
alone()
{
	local status=(/proc/"$pid"/task/*/status)

	[ "${#status[@]}" -eq 3 ] && ! grep -L '^TracerPid:.0$' "${status[@]}" | grep -q .
}
beats()
{
	is_unharmed && on_board -e ".beats[0] > $1 and .beats[1] > $1"
}
ok 'the main thread has ended' within 60 state_is "$pid" Z
ctl_ok 'without it: status' status "$pid"
ctl_ok 'without it: check' check "$pid"
ctl_ok 'without it: activate' activate "$pid"
ctl_ok 'without it: dump' dump "$pid" -o "$T/leader.heap"
ok 'the dump is a profile' is_profile "$T/leader.heap"
ctl_ok 'without it: stats' stats "$pid" -f json
ctl_ok 'without it: direct mode' --mode inline deactivate "$pid"
ctl_ok 'without it: list' list
like "$out" "(^|[^0-9])${pid}[^0-9]" 'it is listed'
ok 'its threads are no longer traced' within 60 alone
ok 'its threads go on' within 60 beats "$(($(on_board '.beats | max') + 2))"
stop_target "$pid"

# --- frozen -------------------------------------------------------------------------------

start_victim busy 2
# frozen VERSION: freeze the target in a cgroup; it must be left alone
frozen()
{
	if ! enter_freezer "$1"; then
		skip 'cgroups cannot freeze a process here' "frozen, $1"
		return
	fi
	snapshot "$pid"
	ok "$1: it is frozen" freeze
	ctl_fails 8 'cgroup_frozen thaw' "$1: a frozen target is left alone" activate "$pid"
	ctl_fails 8 'cgroup_frozen thaw' "$1: in direct mode, too" --mode inline activate "$pid"
	thaw
	assert_untouched "$pid" "$1: untouched, once it is thawed"
	ctl_ok "$1: then activate works" activate "$pid"
	assert_untouched "$pid" "$1: and is untouched"
	leave_freezer
}
frozen v2
frozen v1
stop_target "$pid"

# --- a reused pid -------------------------------------------------------------------------

if unshare -p -f --mount-proc sh -c 'echo 100 >/proc/sys/kernel/ns_last_pid' 2>/dev/null; then
	reused=(unshare -p -f --mount-proc tests/drivers/death reuse)
	# The steps before the tracer attaches: look at the target, create the tracer, open the
	# memory, attach.
	for call in socketpair setsid setpriority ptrace; do
		ok "the pid is reused before $call: left alone" "${reused[@]}" "$CTL" "$VICTIMS/idle" "$call"
	done
	# The control: nobody checks that it is still the same program.
	CARELESS='exec' "${reused[@]}" "$careless" "$VICTIMS/idle" ptrace >"$T/driven" 2>"$T/driven.err"
	like "$(<"$T/driven.err")" '^the new process was touched' 'a careless run is noticed'
else
	skip 'pids cannot be chosen here' 'a reused pid'
fi

# --- a pending cancellation ---------------------------------------------------------------

driven 'pthread_cancel is pending: it acts when it would have acted' \
	cancel "$CTL" "$VICTIMS/death" defer "$rounds" "$T"
driven 'pthread_cancel is pending, asynchronous and disabled: the same' \
	cancel "$CTL" "$VICTIMS/death" disable "$rounds" "$T"

# The rest takes a long time, or luck.
if [ -n "$LONG" ]; then
	# The control: a dump in a borrowed thread reaches open(2), a cancellation point, and the
	# thread ends.
	harm=$(tests/drivers/death cancel "$careless" "$VICTIMS/death" defer 9 "$T" 2>&1)
	like "$harm" 'round 7: dump .*(ended while|cancelled too early|exit)' 'a thread cancelled by our call is noticed'

	# --- our own processes are stopped --------------------------------------------------------

	start_victim busy 3
	snapshot "$pid"
	driven "tracer and controller stopped, $rounds times: the target goes on" \
		stops "$CTL" "$pid" "$T/board.$pid" "$rounds" "$T"
	like "$(json '.hit > 0 and ([to_entries[] | select(.key | test("^tracer [89]"))] | length > 0)' "$T/driven")" \
		true 'some of these while it was traced, so that some runs failed'
	assert_untouched "$pid" 'after that it is as it was'
fi

done_testing
