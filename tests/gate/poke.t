#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --mode poke: sets prof.active by writing its byte, when no call can be made.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

state_of()
{
	awk '/^State:/ { print $2 }' "/proc/$1/status"
}
active()
{
	"$CTL" "${patient[@]}" get "$pid" prof.active -q
}

export MALLOC_CONF=$PROF
start_redis
load_redis 1000
snapshot "$pid"

# It writes one byte, and stops no thread.
# traced ARGUMENTS...: run it, and leave what all its processes do to others in $T/calls
traced()
{
	runner=(strace -f -o "$T/cut" -e "trace=ptrace,process_vm_writev,pwrite64,kill,tgkill,pidfd_send_signal")
	ctl_ok "$*" "$@" "$pid"
	runner=()
	tests/drivers/whole_calls.py "$T/cut" >"$T/calls"
}
touching='^[0-9]* \(ptrace\|process_vm_writev\|tgkill\|pidfd_send_signal\)('
traced activate --mode poke
like "$err" 'wrote one byte; no thread was stopped' 'what it did is reported'
is "$(grep '^[0-9]* pwrite64' "$T/calls" | grep -c '(.*, "\\1", 1, [0-9]*) *= 1$')" 1 'one byte is written' || diag "$(<"$T/calls")"
is "$(grep -c '^[0-9]* pwrite64' "$T/calls")" 1 'nothing else is written'
is "$(grep -c "$touching" "$T/calls")" 0 'nothing is traced' || diag "$(<"$T/calls")"
is "$(active)" true 'mallctl returns the new value'
traced status
ok 'control: a call is traced' grep -q '^[0-9]* ptrace(' "$T/calls"
assert_untouched "$pid"
load_redis 20000 300
ctl_ok 'a dump' dump "$pid" -o "$T/on.heap"
ok 'threads that already existed are sampled' test "$(stacks_of "$T/on.heap" | wc -l)" -gt 0
ctl_ok 'again' activate --mode poke "$pid" --json
is "$(json '[.changed, .before, .after] | join(" ")')" 'false true true' 'nothing is changed'
ctl_ok 'deactivate' deactivate --mode poke "$pid"
is "$(active)" false 'it is off'

# A stopped process, and one that is traced by another process. Control: a call is refused.
kill -STOP "$pid"
within 60 eval '[ "$(state_of "$pid")" = T ]'
ctl_fails 8 'target_stopped continue_first poke' 'a stopped process: a call is refused, and the fix names poke' activate "$pid"
ctl_ok 'a stopped process' activate --mode poke "$pid" --json
is "$(state_of "$pid")" T 'it stays stopped'
kill -CONT "$pid"
is "$(active)" true 'it is active when continued'
strace -qq -o /dev/null -p "$pid" &
strace=$!
own "$strace"
within 60 eval 'grep -q "^TracerPid:.$strace" "/proc/$pid/status"'
ctl_fails 7 'process_traced let_tracer_detach poke' 'a traced process: a call is refused, and the fix names poke' deactivate "$pid"
ctl_ok 'a traced process' deactivate --mode poke "$pid"
is "$(awk '/^TracerPid:/ { print $2 }' "/proc/$pid/status")" "$strace" 'its tracer stays attached'
stop_target "$strace"
is "$(active)" false 'it is off'

snapshot "$pid"

# A killed recording is undone.
"$CTL" "${patient[@]}" record "$pid" --wait 30s -d 300s -o "$T/rec.heap" >/dev/null 2>&1 &
recorder=$!
own "$recorder"
within 60 eval '[ "$(active)" = true ]' || bail_out 'no recording'
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
kill -STOP "$pid"
ctl_ok 'undo of a killed recording, in a stopped process' undo --mode poke "$pid" --json
is "$(json '.recordings[0] | [.state, .changed.prof.active] | join(" ")')" 'undone true' 'prof.active was restored'
kill -CONT "$pid"
is "$(active)" false 'it is off'
ctl_ok 'nothing is left to undo' undo "$pid" --json
is "$(json '.recordings[0].state')" nothing 'undo reports that'
assert_untouched "$pid"

# What it cannot do is refused, and changes nothing.
ctl_fails 2 poke_makes_no_call 'a dump' dump --mode poke "$pid" -o "$T/no.heap"
ok 'no file is left' test ! -e "$T/no.heap"
stop_target "$pid"
MALLOC_CONF=prof:false start_redis
snapshot "$pid"
ctl_fails 6 'opt_prof_false restart_with_prof' 'without opt.prof' activate --mode poke "$pid"
assert_untouched "$pid" 'without opt.prof: untouched'
stop_target "$pid"
MALLOC_CONF=$PROF,prof_thread_active_init:false start_redis
ctl_ok 'without prof_thread_active_init' activate --mode poke "$pid" --json
like "$(json .warning)" 'prof_thread_active_init is false' 'a warning that nothing is sampled'
stop_target "$pid"

hidden=$VICTIMS/matrix/stripped/libhidden-rjem.so
wrap=(env LD_PRELOAD="$hidden")
start_victim idle-plain 3
wrap=()
snapshot "$pid"
ctl_fails 8 'active_uncertain symbols_or_no_poke' 'neither the variable nor malloc has a symbol' \
	activate --mode poke "$pid"
assert_untouched "$pid" 'without names: untouched'
stop_target "$pid"

# A user's own process needs no privileges; another user's is refused.
install -d -m 777 "$T/user"
wrap=(setpriv --reuid 65534 --clear-groups --inh-caps=-all)
start_victim idle-plain 3
stop_target "$pid"
wrap=(setpriv --reuid 65534 --clear-groups --inh-caps=-all env LD_PRELOAD=libjemalloc.so.2)
start_victim idle-plain 3
wrap=()
runner=(setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
ctl_ok "a user's own process" activate --mode poke "$pid"
runner=(setpriv --reuid 65533 --clear-groups --inh-caps=-all --bounding-set=-all)
ctl_fails 4 'target_unwritable_by_us poke_needs_rights' "another user's" deactivate --mode poke "$pid"
runner=()
is "$(active)" true 'nothing was changed'
stop_target "$pid"

# The program is replaced by one with the same layout between the inspection and the write: this
# goes to the inspected memory, which is gone. Control: a write by pid reaches the new program.
begin_replaced()
{
	rm -f "$T/go"
	LD_PRELOAD=libjemalloc.so.2 setarch -R bash -c 'trap "exec bash -c \"kill -STOP \\\$\\\$; echo \\\$\\\$; read -r\"" USR1
		echo ready >"$0"; while :; do read -r -t 1; done' "$T/go" <"$T/never" >"$T/replaced" 2>&1 &
	pid=$!
	own "$pid"
	within 60 test -s "$T/go" || bail_out 'it did not start'
}
exe_start()
{
	awk '$6 ~ /libjemalloc/ { print $1; exit }' "/proc/$pid/maps"
}
mkfifo "$T/never"
exec 9<>"$T/never"
begin_replaced
before=$(exe_start)
ctl_ok 'a shell' status "$pid" --json
at=$(json .jemalloc.prof_active)
runner=(strace -f -qq -o /dev/null -e trace=pwrite64 -e "inject=pwrite64:delay_enter=$((3000000 * SLOW)):when=1")
(run_ctl activate --mode poke "$pid" && echo "$status" >"$T/late") &
late=$!
sleep $((1 * SLOW))
kill -USR1 "$pid"
within 60 eval '[ "$(state_of "$pid")" = T ]'
wait "$late"
is "$(<"$T/late")" 9 'the write fails, as that memory is gone'
runner=()
is "$(exe_start)" "$before" 'the new program has the same layout'
like "$(<"$T/err")" 'has ended' 'the cause is reported'
byte()
{
	python3 -c 'import sys
with open(f"/proc/{sys.argv[1]}/mem", "rb", 0) as mem:
    mem.seek(int(sys.argv[2], 16))
    print(mem.read(1)[0])' "$pid" "$at"
}
is "$(byte)" 0 'nothing is written to the new program'
python3 - "$pid" "$at" <<'EOF'
import ctypes, sys
byte = ctypes.create_string_buffer(b"\1", 1)
class iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
here = iovec(ctypes.addressof(byte), 1)
there = iovec(int(sys.argv[2], 16), 1)
ctypes.CDLL(None).process_vm_writev(int(sys.argv[1]), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
EOF
is "$(byte)" 1 'control: a write by pid reaches the new program'
kill -CONT "$pid"

# --- if the search for a safe moment takes all the time, a fix is still suggested ---
MALLOC_CONF=$PROF start_victim stacks coroutine
within 60 eval '[ "$(on_board ".beats[0]")" -gt 0 ]'
snapshot "$pid"
ctl_fails 8 'no_safe_moment on_custom_stack another_try_will_not_help poke' \
	'a coroutine: the fix is --mode poke' activate "$pid" --timeout 1s
ctl_ok 'a coroutine: --mode poke works' activate "$pid" --mode poke
ctl_ok 'a coroutine: and deactivates' deactivate "$pid" --mode poke
assert_untouched "$pid" 'a coroutine: untouched'
stop_target "$pid"

done_testing
