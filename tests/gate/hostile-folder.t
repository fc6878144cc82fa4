#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target whose folder is of a file system that never answers: who looks at it sleeps in the kernel
# and cannot be ended. That costs jeprof-ctl a child, and the command ends in time.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mknod -m 600 "$T/fuse" c 10 229 || bail_out 'no device for FUSE'
mkdir "$T/folder"

# In a mount namespace of its own, which ends with the processes in it.
unshare -m "$VICTIMS/silent" "$T/fuse" "$T/folder" whole >"$T/silent.out" 2>&1 </dev/null &
silent=$!
own "$silent"
within 60 grep -q mapped "$T/silent.out" || bail_out "silent did not start: $(<"$T/silent.out")"
wrap=(nsenter -m -t "$silent")
MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"

state_of()
{
	awk '/^State:/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

# sleeps PID: in the kernel, after it was sent SIGKILL
sleeps()
{
	kill -KILL "$1"
	[ "$(state_of "$1")" = D ]
}

# The control: who looks at it without care.
/usr/bin/python3 -c "import os; print('looks', flush=True); os.listdir('/proc/$pid/root$T/folder')" >"$T/reader" 2>&1 &
reader=$!
own "$reader"
# openat(2) is all that it does from now on.
within 60 grep -q looks "$T/reader"
within 60 grep -q '^257 ' "/proc/$reader/syscall"
ok 'control: who looks at the folder sleeps in the kernel' within 60 sleeps "$reader"
sleep 0.3
is "$(state_of "$reader")" D 'control: and is not ended by SIGKILL'

# ends_in_time NAME ARGUMENTS...
ends_in_time()
{
	local name=$1

	shift
	run_ctl --timeout 5s "$@"
	is "$status" 8 "$name: it ends in time"
	like "$err" "cannot look at the target's folder: it took longer than" "$name: what happened is said"
}

ends_in_time 'dump --in-target' dump "$pid" --in-target "$T/folder/a.heap"
ends_in_time 'prefix' prefix "$pid" "$T/folder/a"
ctl_ok 'check: it succeeds' --timeout 10s check "$pid"
ctl_ok 'a dump elsewhere' dump "$pid" --in-target "$T/b.heap"
ctl_ok 'a dump to here' dump "$pid" -o "$T/c.heap"
assert_untouched "$pid"

# The server of the file system ends: so does all that waits.
stop_target "$silent"
gone()
{
	! pgrep -f "^$CTL " >/dev/null
}
ok 'the server has ended: nothing of ours remains' within 60 gone

done_testing
