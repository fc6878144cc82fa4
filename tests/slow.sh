# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # pid, ctl, tracer and status are for the test
# For tests in which processes of ours get no CPU time. Sourced after tests/lib.sh.

# find_tracer PID: find its child with its own session. Sets `tracer`.
find_tracer()
{
	local children child

	tracer=
	read -ra children 2>/dev/null <"/proc/$1/task/$1/children"
	for child in "${children[@]}"; do
		[ "$(sed 's/.*) //' "/proc/$child/stat" 2>/dev/null | cut -d' ' -f4)" != "$child" ] || tracer=$child
	done
	[ "$tracer" ]
}

is_ended()
{
	[[ $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) =~ ^(Z|$) ]]
}

# begin ARGUMENTS...: run a command in the background. Sets `ctl` and `tracer`.
begin()
{
	"$CTL" "$@" >"$T/out" 2>"$T/err" </dev/null &
	ctl=$!
	own "$ctl"
	within 60 find_tracer "$ctl" || bail_out "no tracer: $(<"$T/err")"
}

# end: wait for it. Sets `status` and `err`.
end()
{
	wait "$ctl"
	status=$?
	err=$(<"$T/err")
}

# start_filler: start a target whose only thread blocks writing to a full pipe, where it is never
# stopped. Sets `pid`.
start_filler()
{
	mkfifo "$T/full"
	exec {full}<>"$T/full"
	MALLOC_CONF=$PROF LD_PRELOAD=libjemalloc.so.2 cat /dev/zero >"$T/full" &
	pid=$!
	own "$pid"
	within 60 grep -q '^1 ' "/proc/$pid/syscall" || bail_out 'the pipe does not fill up'
	exec {full}<&-
}
