#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process whose memory never answers: a mapping of its own FUSE file system, which any user may
# create. Processes that read it sleep in the kernel and cannot be killed. jeprof-ctl only loses the
# process that reads it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# On ordinary hosts every user may open /dev/fuse.
mknod -m 666 "$T/fuse" c 10 229 || bail_out 'no device for FUSE'
install -d -m 755 -o 65534 "$T/mnt"
install -m 755 "$VICTIMS/silent" "$T/"

# start_silent: start it. Sets `pid`.
start_silent()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$T/silent" "$T/fuse" "$T/mnt" >"$T/silent.out" 2>&1 </dev/null &
	pid=$!
	own "$pid"
	within 60 grep -q mapped "$T/silent.out" || bail_out "silent did not start: $(<"$T/silent.out")"
}

state_of()
{
	awk '/^State:/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

MALLOC_CONF=$PROF start_victim idle
innocent=$pid
snapshot "$innocent"
start_silent
silent=$pid

# --- control: reading that memory carelessly ---
start=$(awk '/lib\.so/ { sub(/-.*/, "", $1); print $1; exit }' "/proc/$silent/maps")
python3 -c "import os; os.pread(os.open('/proc/$silent/mem', os.O_RDONLY), 16, 0x$start)" 2>/dev/null &
reader=$!
own "$reader"
sleeps() { [ "$(state_of "$reader")" = D ]; }
ok 'control: a reader of its memory sleeps in the kernel' within 60 sleeps
kill -KILL "$reader"
sleep 0.3
is "$(state_of "$reader")" D 'control: it cannot be killed'

# --- list ---
run_ctl list --json
is "$status" 0 'list succeeds'
is "$(json ".[] | select(.pid == $innocent) | .opt.prof")" true 'list: shows other processes'
is "$(json ".[] | select(.pid == $silent) | .pid")" '' 'list: omits the silent one'
like "$err" 'not inspected' 'list: a warning'

# --- one process ---
ctl_fails 8 'child_late give_it_time' 'status ends in time' \
	--timeout 1500ms status "$silent"
like "$err" 'took longer than 1\.[0-5] s' 'status: the time limit is reported'
run_ctl --timeout 1500ms check "$silent"
like "$out" 'took longer than' 'check reports it, too'

# A command that treats signals as requests to stop does not wait for it.
"$CTL" threads "$silent" --timeout 600s >"$T/out" 2>"$T/err" &
ctl=$!
own "$ctl"
child_sleeps() { [ "$(state_of "$(cut -d' ' -f1 "/proc/$ctl/task/$ctl/children")")" = D ]; }
ok 'threads: waits for its child' within 60 child_sleeps
kill -INT "$ctl"
wait "$ctl"
is "$?" 1 'threads: SIGINT ends it'
is "$(<"$T/err")" 'jeprof-ctl: interrupted' 'threads: no other message'

# --- watch --all: one silent process is there at the start, another one comes later ---
# shellcheck source=tests/watching.sh
. tests/watching.sh
MALLOC_CONF=$PROF start_dumper dumper
dumper=$pid
start_watch all --all
like "$(<"$T/all.talk")" 'could not inspect [0-9]+ of the processes: reading .* takes too long' 'watch: the silent process is reported'
install -d -m 755 -o 65534 "$T/mnt2"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	"$T/silent" "$T/fuse" "$T/mnt2" >"$T/silent2.out" 2>&1 </dev/null &
own $!
within 60 grep -q mapped "$T/silent2.out" || bail_out "silent did not start: $(<"$T/silent2.out")"
order "$dumper" dump "$T/seen.heap"
seen_it() { events_of all "$dumper" | grep -qF "$T/seen.heap"; }
ok 'watch: dumps of others are seen' within 60 seen_it
end_watch all
assert_untouched "$innocent" 'the other process: untouched'
done_testing
