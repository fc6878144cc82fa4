#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory of a target that is never delivered, a page of its own file system: the tracer that reads
# it cannot be killed. It is left behind after a bounded time, and that is reported.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# A probe in a library that the drowner maps would wait for its memory, and so would every fork(2)
# on the machine: no test may watch meanwhile.
WATCH_SYSTEM=1 WATCH_ALONE=1
# shellcheck source=tests/watching.sh
. tests/watching.sh

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
install -m 755 "$VICTIMS/drowner" "$T/"
mkdir -m 777 "$T/mount"
mknod -m 666 "$T/fuse" c 10 229 # as udev makes it

# start_drowner: start it. Sets `pid`, and `page`, the address of the page that is never delivered.
start_drowner()
{
	"${nobody[@]}" "$T/drowner" "$T/fuse" "$T/mount" >"$T/drowner.out" 2>"$T/drowner.err" &
	pid=$!
	own "$pid"
	within 60 grep -q 0x "$T/drowner.out" || bail_out "no such file system: $(<"$T/drowner.err")"
	page=$(cut -d' ' -f2 "$T/drowner.out")
}

state_of()
{
	awk '/^State:/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

gone()
{
	[[ $(state_of "$1") =~ ^Z?$ ]]
}

# Control: a process that reads that page cannot be killed.
start_drowner
/usr/bin/python3 - "$pid" "$page" >"$T/reader.out" 2>&1 <<'PYTHON' &
import os, sys
mem = os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY)
print("reading", flush=True)
os.pread(mem, 1, int(sys.argv[2], 16))
PYTHON
reader=$!
own "$reader"
within 60 grep -q reading "$T/reader.out"
within 60 eval '[ "$(state_of $reader)" = D ]'
kill -KILL "$reader"
sleep 1
is "$(state_of "$reader")" D 'control: SIGKILL does not end a reader of the page'

# The output pipes are read to their ends: a process that is left behind must not hold them open.
# (Except in a sanitizer build, in which it keeps standard error, for reports.)
get_version()
{
	timeout 60 "$CTL" --max-pause 3s get "$pid" version
	echo "exit $?"
}
began=$SECONDS
if is_sanitized; then
	said=$(get_version 2>"$T/said" && cat "$T/said")
else
	said=$(get_version 2>&1)
fi
like "$said" 'exit 9' 'get: it ends'
like "$said" 'the tracer \(process [0-9]+\) cannot be killed: it waits in the kernel \(state D, in [a-z_0-9]+\), perhaps for memory of process '"$pid"' that a file system does not deliver; until then thread [0-9]+ stays stopped' \
	'get: the cause'
like "$said" 'fix: .*stop the server of its file system.*fuse/connections' 'get: the fix'
diag "it took $((SECONDS - began)) s"
tracer=$(sed -n 's/.*tracer (process \([0-9]*\)).*/\1/p' <<<"$said")
is "$(state_of "$tracer")" D 'the tracer is left behind'
is "$(awk '/^Tgid:/ { print $2 }' "/proc/$tracer/status")" "$tracer" 'its id is the reported one'

# Other processes do not have to wait for it.
start=$pid
MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"
ctl_ok 'meanwhile: activate works on another process' activate "$pid"
assert_untouched "$pid" 'meanwhile: untouched'
pid=$start

# When the server of the file system ends, so does everything that waits for it.
stop_target "$pid"
ok 'the server has ended: so does the tracer' within 60 gone "$tracer"
ok 'the server has ended: so does the reader' within 60 gone "$reader"

done_testing
