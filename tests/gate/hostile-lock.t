#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Concurrent runs of jeprof-ctl on one process are serialized by a lock that only the tool's own
# user can take. Neither other users nor killed runs delay it; jeprof-ctl also works without it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
export MALLOC_CONF=$PROF
lock=/run/jeprof-ctl/lock

# hold_up MICROSECONDS: start a run that holds the lock for that long before it attaches. Sets
# `held`, and `holder`, its own pid.
hold_up()
{
	# LeakSanitizer cannot work in a traced process, as it traces its own.
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -qq -o "$T/held.strace" -e trace=ptrace -e "inject=ptrace:delay_enter=$(($1 * SLOW)):when=1" \
		"$CTL" "${patient[@]}" activate "$pid" >"$T/held.out" 2>"$T/held.err" &
	held=$!
	own "$held"
	within 60 is_locked && holder=$(awk -v end=" $pid $pid" '/POSIX/ && index($0, end) { print $5 }' /proc/locks)
}

is_locked()
{
	grep -q "POSIX .*:$(stat -c %i "$lock") $pid $pid\$" /proc/locks
}

start_victim idle 2
snapshot "$pid"
first=$pid

# --- a lock that anybody can take delays nobody ---
"${nobody[@]}" flock -F "/proc/$pid" sleep 1000 &
own $!
within 60 grep -q "FLOCK .*:$(stat -c %i "/proc/$pid") " /proc/locks || bail_out 'nobody locks the folder'
flock -n "/proc/$pid" true
is $? 1 'control: a stranger holds the lock of the folder in /proc'
ctl_ok 'a stranger has locked the folder in /proc: activate' activate "$pid"
"${nobody[@]}" flock "$lock" true 2>"$T/err"
like "$(<"$T/err")" 'Permission denied' 'a stranger cannot open the lock'
is "$(stat -c '%u %a' /run/jeprof-ctl "$lock" | xargs)" '0 700 0 600' 'only root has access to the lock and its folder'

# --- the holder is named ---
hold_up 3000000
ctl_fails 7 'locked_by wait_for_other poke' 'the holder is named' \
	deactivate "$pid"
like "$err" "process $pid: process $holder \(jeprof-ctl\)" 'the holder: pid and name'
MALLOC_CONF=$PROF start_victim idle-je 2
ctl_ok 'another process is not locked' status "$pid"
stop_target "$pid"
wait "$held" 2>/dev/null
is $? 0 'the holder succeeds'
pid=$first

# --- a killed holder blocks nothing ---
hold_up 3000000
kill -KILL "$holder"
wait "$held" 2>/dev/null
ctl_ok 'the holder was killed: deactivate' --wait 10s deactivate "$pid"
assert_untouched "$pid" 'the holder was killed: untouched'

# --- no folder for it: jeprof-ctl works without it, which -v reports ---
# shellcheck disable=SC2016 # the inner shell's arguments
runner=(unshare -m sh -c 'mount -t tmpfs -o ro none /run && exec "$@"' sh)
ctl_ok 'a read-only /run: activate' -v activate "$pid"
like "$err" 'concurrent runs are not serialized: .*(Read-only|No such)' 'a read-only /run: reported'
# shellcheck disable=SC2016
runner=(unshare -m sh -c 'mount -t tmpfs none /run && mkdir -m 777 /run/jeprof-ctl && exec "$@"' sh)
ctl_ok 'a folder that others may write to: deactivate' -v deactivate "$pid"
like "$err" 'concurrent runs are not serialized: .*not permitted' 'a folder that others may write to: reported'
runner=()
assert_untouched "$pid" 'without a lock: untouched'

# --- a user, who has another folder; and another user who created it first ---
user=$((20000 + $$ % 20000))
wrap=(setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all)
MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"
at_end+=("rm -rf /tmp/jeprof-ctl-$user")
runner=("${wrap[@]}" env -u XDG_RUNTIME_DIR)
wrap=()
ctl_ok 'a user: activate' activate "$pid"
is "$(stat -c '%u %a' "/tmp/jeprof-ctl-$user" "/tmp/jeprof-ctl-$user/lock" | xargs)" "$user 700 $user 600" 'a user: only that user has access to the lock'
rm -rf "/tmp/jeprof-ctl-$user"
"${nobody[@]}" mkdir "/tmp/jeprof-ctl-$user"
"${nobody[@]}" /usr/bin/python3 - "/tmp/jeprof-ctl-$user/lock" "$pid" <<'PYTHON' &
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX, 1, int(sys.argv[2]))
time.sleep(1000)
PYTHON
own $!
within 60 grep -q " $pid $pid\$" /proc/locks || bail_out 'nobody locks'
ctl_ok 'a stranger made the folder first: deactivate' -v deactivate "$pid"
like "$err" 'concurrent runs are not serialized' 'a stranger made the folder first: it is not used'
runner=()
assert_untouched "$pid" 'a user: untouched'

# --- root and the owner: ptrace(2) itself keeps them apart ---
"$VICTIMS/tracer" "$pid" >"$T/tracer.out" 2>&1 &
own $!
within 60 grep -q '^TracerPid:.*[1-9]' "/proc/$pid/status"
ctl_fails 7 'process_traced let_tracer_detach poke' 'another tracer came first' activate "$pid"

done_testing
