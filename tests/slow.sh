# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # pid, ctl, tracer and status are for the test
# For tests of processes of ours that get no CPU. Sourced after tests/lib.sh.

# The tracer leads a session of its own: sets `tracer`.
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

# begin ARGUMENTS...: a command beside the test; sets `ctl` and `tracer`
begin()
{
	"$CTL" "$@" >"$T/out" 2>"$T/err" </dev/null &
	ctl=$!
	own "$ctl"
	within 60 find_tracer "$ctl" || bail_out "no tracer: $(<"$T/err")"
}

# end: its exit status and what it said, in `status` and `err`
end()
{
	wait "$ctl"
	status=$?
	err=$(<"$T/err")
}

# start_filler: a target whose only thread fills a pipe, where it is never stopped; sets `pid`
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
