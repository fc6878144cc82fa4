#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target whose folder is on a file system that never answers: a process that looks at it sleeps in
# the kernel and cannot be killed. jeprof-ctl only loses a child to it, and ends in time.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mknod -m 600 "$T/fuse" c 10 229 || bail_out 'no device for FUSE'
mkdir "$T/folder"

# In its own mount namespace, which ends with the processes in it.
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

# sleeps PID: does it sleep in the kernel, in spite of SIGKILL?
sleeps()
{
	kill -KILL "$1"
	[ "$(state_of "$1")" = D ]
}

# Control: a process that looks at it carelessly.
/usr/bin/python3 -c "import os; print('looks', flush=True); os.listdir('/proc/$pid/root$T/folder')" >"$T/reader" 2>&1 &
reader=$!
own "$reader"
# From now on, it only calls openat(2).
within 60 grep -q looks "$T/reader"
within 60 grep -q '^257 ' "/proc/$reader/syscall"
ok 'control: a reader of the folder sleeps in the kernel' within 60 sleeps "$reader"
sleep 0.3
is "$(state_of "$reader")" D 'control: SIGKILL does not end it'

# ends_in_time NAME ARGUMENTS...: the command must end in time, and say why it failed
ends_in_time()
{
	local name=$1

	shift
	run_ctl --timeout 5s "$@"
	is "$status" 8 "$name: it ends in time"
	like "$err" "cannot look at the target's folder: it took longer than" "$name: the cause"
}

ends_in_time 'dump --in-target' dump "$pid" --in-target "$T/folder/a.heap"
ends_in_time 'prefix' prefix "$pid" "$T/folder/a"
ctl_ok 'check: it succeeds' --timeout 10s check "$pid"
ctl_ok 'a dump elsewhere' dump "$pid" --in-target "$T/b.heap"
ctl_ok 'a dump to here' dump "$pid" -o "$T/c.heap"
assert_untouched "$pid"

# When the server of the file system ends, so does everything that waits for it.
stop_target "$silent"
gone()
{
	! pgrep -f "^$CTL " >/dev/null
}
ok 'the server has ended: nothing of ours remains' within 60 gone

done_testing
