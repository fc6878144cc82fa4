#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each refusal: its exit status, its cause, its fix, and a target that is not affected.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF

# has_fix REGEX NAME: the last message must suggest this fix
has_fix()
{
	like "$err" "fix: .*($1)" "$2: the fix is shown"
}

# --- no such process ---
gone()
{
	local last

	sleep 60 &
	last=$!
	kill "$last"
	wait "$last" 2>/dev/null
	echo "$last"
}
absent=$(gone 2>/dev/null)
for command in check status activate deactivate dump; do
	run_ctl "$command" "$absent"
	is "$status" 3 "$command: no such process"
	like "$out$err" 'no (such )?process|not running|does not exist' "$command: no such process: the cause is reported"
done
run_ctl activate "$absent" --json
is "$status" 3 'with --json too'
is "$(json .error.code)" no_process 'with --json: its code'
like "$(json .error.message)" 'process' 'with --json: its message'
ctl_fails 3 no_process 'a pid above 4194304' activate 4999999
ctl_fails 3 'name_not_there see_list' 'no process of that name' activate --comm nobody-has-this

# The id of a thread is not a process.
start_victim idle 2
snapshot "$pid"
for tid in "/proc/$pid/task"/*; do
	[ "${tid##*/}" = "$pid" ] && continue
	ctl_fails 2 'is_thread give_the_process' 'a thread id is refused, and the process named' activate "${tid##*/}"
	like "$err" "a thread of process $pid" 'a thread id: the process is named'
done
assert_untouched "$pid"
stop_target "$pid"

# --- it ends at any moment: that is reported in time, never by exit status 0 without a file ---
odd=''
for i in 1 2 3 4 5 6 7 8; do
	start_victim busy 2
	victim=$pid
	"$CTL" "${patient[@]}" dump "$victim" -o "$T/ends.$i.heap" >"$T/out" 2>"$T/err" &
	ctl=$!
	sleep "0.00$((i * 2))"
	end_child "$victim" -KILL
	wait "$ctl"
	status=$?
	wait "$victim" 2>/dev/null
	case $status in
	0) is_profile "$T/ends.$i.heap" || odd+=" 0-without-profile" ;;
	3 | 9) [ -e "$T/ends.$i.heap" ] && odd+=" $status-with-file" ;;
	*) odd+=" $status:$(<"$T/err")" ;;
	esac
done 2>/dev/null
is "$odd" '' 'a target that is killed meanwhile: 0 with a profile, or 3 or 9 without'

# --- no jemalloc ---
start_victim idle-plain
snapshot "$pid"
ctl_fails 5 'no_jemalloc preload_jemalloc' 'a program without jemalloc' activate "$pid"
has_fix '.' 'a program without jemalloc'
run_ctl check "$pid" --json
is "$status" 5 'a program without jemalloc: check'
is "$(json .ready)" false 'a program without jemalloc: not ready'
assert_untouched "$pid"
stop_target "$pid"

# --- no profiling ---
MALLOC_CONF='' start_redis
snapshot "$pid"
for command in activate dump reset; do
	ctl_fails 6 'opt_prof_false restart_with_prof' "redis without prof:true: $command" "$command" "$pid"
	has_fix 'MALLOC_CONF=.*prof:true' "redis without prof:true: $command"
done
ctl_ok 'redis without prof:true: status' status "$pid" --json
is "$(json .opt.prof)" false 'redis without prof:true: status says opt.prof'
run_ctl check "$pid"
is "$status" 6 'redis without prof:true: check'
ctl_ok 'redis without prof:true: deactivate changes nothing' deactivate "$pid" --json
is "$(json .changed)" false 'redis without prof:true: deactivate, changed'
assert_untouched "$pid"
stop_target "$pid"

for v in je rjem; do
	MALLOC_CONF='' start_victim idle-$v
	snapshot "$pid"
	ctl_fails 6 'opt_prof_false restart_with_prof' "$v without prof:true" activate "$pid"
	[ $v = je ] && name=JE_MALLOC_CONF || name=_RJEM_MALLOC_CONF
	has_fix "$name=.*prof:true" "$v without prof:true: the variable's own name"
	assert_untouched "$pid"
	stop_target "$pid"
done

# --- a caller without privileges ---
start_victim idle
snapshot "$pid"
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
	"$CTL" "${patient[@]}" activate "$pid" >"$T/out" 2>"$T/err" </dev/null
is "$?" 4 'nobody: exit status'
err=$(<"$T/err")
like "$err" 'uid 0.*uid 65534' 'nobody: the cause'
has_fix 'root|sudo|CAP_SYS_PTRACE' 'nobody'
assert_untouched "$pid"

# --- another tracer ---
"$VICTIMS/tracer" "$pid" >"$T/tracer" &
tracer=$!
own "$tracer"
within 60 grep -q ready "$T/tracer" || bail_out 'the tracer did not start'
tests/drivers/photo take "$pid" "$T/photo.$pid"
for command in check activate dump; do
	run_ctl "$command" "$pid"
	is "$status" 7 "another tracer: $command"
	like "$out$err" "$tracer" "another tracer: $command names it"
done
has_fix '.' 'another tracer'
assert_untouched "$pid" 'with another tracer: untouched, the tracer still there'
end_child "$tracer" -KILL
wait "$tracer" 2>/dev/null
ctl_ok 'it works when the tracer is gone' activate "$pid"
stop_target "$pid"

# --- stopped ---
start_victim busy
kill -STOP "$pid"
snapshot "$pid"
for command in activate dump; do
	ctl_fails 8 'target_stopped continue_first' "a stopped process: $command" "$command" "$pid"
	has_fix 'CONT' "a stopped process: $command"
done
is "$(awk '{ sub(/.*\) /, ""); print $1 }' "/proc/$pid/stat")" T 'a stopped process is still stopped'
ok 'a stopped process looks as before' tests/drivers/photo check "$pid" "$T/photo.$pid"
kill -CONT "$pid"
snapshot "$pid"
ctl_ok 'after SIGCONT it works' activate "$pid"
assert_untouched "$pid"
stop_target "$pid"

# --- 32 bits ---
# start_small NAME: start a program that the kernel may be unable to run; true if it can
start_small()
{
	(exec "$VICTIMS/$1") 2>/dev/null &
	pid=$!
	own "$pid"
	within 60 has_begun
	[[ $(readlink "/proc/$pid/exe") == */$1 ]]
}
has_begun()
{
	[[ $(readlink "/proc/$pid/exe") != "$(readlink "/proc/$$/exe")" ]]
}

if start_small small32; then
	snapshot "$pid"
	run_ctl activate "$pid"
	like "$status" '^(1|5)$' 'a 32-bit target: exit status'
	like "$err" '32-bit' 'a 32-bit target: the cause'
	assert_untouched "$pid"
	stop_target "$pid"
else
	skip 'the kernel does not run 32-bit programs' 'a 32-bit target'
fi

# --- the x32 ABI: 32-bit addresses on an x86-64 machine ---
if start_small smallx32; then
	snapshot "$pid"
	ctl_fails 1 'is an x32 program' 'an x32 target' activate "$pid"
	assert_untouched "$pid"
	stop_target "$pid"
else
	skip 'the kernel does not run x32 programs' 'an x32 target'
fi

# --- seccomp: the suggested fixes work ---
walled()
{
	start_victim walled "$@"
	snapshot "$pid"
}
walled kill-process clone3
ctl_fails 1 'filter_punishes_thread in_target' 'no thread: dump' dump "$pid" -o "$T/no.heap"
has_fix '--in-target PATH' 'no thread: dump'
ctl_ok 'no thread: dump --in-target' dump "$pid" --in-target "$T/in.heap"
ctl_fails 1 'filter_punishes_thread get_single_values' 'no thread: stats' stats "$pid"
has_fix 'get PID stats.allocated' 'no thread: stats'
ctl_ok 'no thread: get' get "$pid" stats.allocated
assert_untouched "$pid"
stop_target "$pid"

walled kill-process openat
ctl_fails 1 'filter_punishes_thread no_profile_behind_filter' 'no file: dump' dump "$pid" -o "$T/no.heap"
has_fix 'cannot be profiled under this filter' 'no file: dump'
unlike "$err" 'in-target' 'no file: --in-target is not suggested'
ctl_fails 1 'filter_punishes_call no_profile_behind_filter' 'no file: dump --in-target' dump "$pid" --in-target "$T/in.2.heap"
assert_untouched "$pid"
stop_target "$pid"

walled kill-process rt_sigreturn
ctl_fails 1 'filter_punishes_thread no_profile_behind_filter' 'no way back: dump' dump "$pid" -o "$T/no.heap"
unlike "$err" 'in-target' 'no way back: --in-target is not suggested'
ctl_fails 1 'filter_punishes_thread nothing_called_safely' 'no way back: status' status "$pid"
unlike "$err" 'mode poke' 'no way back: status: --mode poke is not suggested'
ctl_fails 1 'filter_punishes_thread nothing_called_safely poke' 'no way back: activate' activate "$pid"
has_fix 'no function can be called .*--mode poke' 'no way back: activate'
ctl_ok 'no way back: activate --mode poke' activate "$pid" --mode poke
ctl_fails 1 'filter_punishes_thread nothing_called_safely poke' 'no way back: deactivate' deactivate "$pid"
has_fix '--mode poke' 'no way back: deactivate'
ctl_ok 'no way back: deactivate --mode poke' deactivate "$pid" --mode poke
assert_untouched "$pid"
stop_target "$pid"
MALLOC_CONF='' walled kill-process rt_sigreturn
ctl_fails 1 'filter_punishes_thread nothing_called_safely' 'no way back, no profiling: activate' activate "$pid"
unlike "$err" 'mode poke' 'no way back, no profiling: poke, which would fail, is not suggested'
assert_untouched "$pid"
stop_target "$pid"
ok 'no profile is left' test ! -e "$T/no.heap"

# --- a kernel thread, a zombie, ourselves ---
run_ctl activate 2
like "$status" '^(3|4|5)$' 'a kernel thread is refused' || diag "$err"
# A shell would still wait for its child, so the child ends after its parent has executed sleep(1).
bash -c 'until grep -q sleep /proc/$$/comm; do :; done & echo $!; exec sleep 60' >"$T/zombie" &
pid=$!
own "$pid"
within 60 eval '[ -s "$T/zombie" ] && grep -q "^State:.*Z" "/proc/$(<"$T/zombie")/status"'
for command in check status activate dump; do
	run_ctl "$command" "$(<"$T/zombie")"
	is "$status" 3 "$command: a zombie is refused"
	like "$out$err" "process $(<"$T/zombie") has ended: it is a zombie that its parent \(process $pid\) has not waited for" \
		"$command: the zombie and its parent are named"
done
ctl_fails 2 'in_pid not_in_range' 'pid 0 is refused' activate 0
ctl_fails 2 'in_pid not_in_range' 'a negative pid is refused' activate -- -1

done_testing
