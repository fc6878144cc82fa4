#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# threads: what jemalloc knows about each thread, and sampling in threads started without it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# count FILTER: count the threads in the last document
count()
{
	json "[.threads[] | select($1)] | length"
}

objects()
{
	rm -f "$T/profile.heap"
	run_ctl dump "$pid" -o "$T/profile.heap"
	awk '/^ *t\*:/ { print $2 + 0; exit }' "$T/profile.heap"
}

# rounds: print how many rounds the slowest of the permanent threads has made
rounds()
{
	on_board '.beats | min'
}

has_reached()
{
	[ "$(rounds)" -ge "$1" ]
}

# all_work: let each of these threads make 20 rounds: enough to be sampled, if it is allowed to
all_work()
{
	within 60 has_reached $(($(rounds) + 20)) || bail_out 'the victim does not work'
}

has_objects()
{
	[ "$(objects)" -ge "$1" ]
}

# --- threads that are sampled ---
export MALLOC_CONF=$PROF
start_victim crowd 5
snapshot "$pid"
ctl_ok 'threads' threads "$pid" --json
is "$(count true)" 6 'threads: all of them'
is "$(count '.thread.prof.active == true')" 6 'threads: active, as they are by default'
is "$(count '.name == "crowd-5"')" 1 'threads: by name'
is "$(json '[.threads[].tid] | tostring')" "[$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | paste -sd,)]" \
	'threads: by tid, in order'
is "$(count '.thread.allocated < 2000')" 0 'threads: what they allocated'
is "$(count '.thread.deallocated > .thread.allocated')" 0 'threads: what they freed is less'
is "$(json '[.missed, .threads[0].reason, .threads[0].changed] | tostring')" '[0,null,false]' 'threads: none was missed'
like "$(json .pause_us)" '^[1-9][0-9]*$' 'threads: the pause is reported'
allocated='.threads[] | select(.name == "crowd-1").thread.allocated'
before=$(json "$allocated")
all_work
ctl_ok 'threads again' threads "$pid" --json
ok 'threads: what they allocated has grown' test "$(json "$allocated")" -gt "$before"
ctl_ok 'threads for people' threads "$pid"
like "$(sed -n 1p "$T/out")" '^TID +NAME +PROF\.ACTIVE +ALLOCATED +DEALLOCATED +NOTE' 'threads for people: titles'
like "$(grep crowd-1 "$T/out")" '^[0-9]+ +crowd-1 +true +[0-9.]+[BKM]? +[0-9.]+[BKM]? +-$' 'threads for people: a row'
like "$err" '^stopped one thread at a time, 7 times' 'threads for people: the cost'
crowd_rate()
{
	json ".threads[] | select(.name == \"$1\").rate | (.allocated > 0) == $2 and (.deallocated > 0) == $2"
}
"$CTL" "${patient[@]}" threads "$pid" --interval 600s --json >"$T/out" 2>"$T/err" </dev/null &
looks=$!
own "$looks"
# It is in poll(2), for 600,000 ms.
ok 'rates: it waits' within 60 grep -qs '^7 0x[0-9a-f]* 0x2 0x927c0 ' "/proc/$looks/syscall"
all_work
kill -TERM "$looks"
wait "$looks"
is "$?" 0 'rates: a signal ends the wait'
is "$(count '.rate.allocated == null')" 0 'rates: of each thread'
is "$(crowd_rate crowd-1 true)" true 'rates: a thread that works allocates and frees'
is "$(json '[.threads[].rate.allocated] | . == (sort | reverse)')" true 'rates: the fastest come first'
ctl_ok 'rates for people' threads "$pid" --interval 200ms
like "$(sed -n 1p "$T/out")" '^TID +NAME +ALLOCATED/S +DEALLOCATED/S +ALLOCATED +NOTE' 'rates for people: titles'
ctl_fails 2 exclusive '--interval with --activate' threads "$pid" --interval 1s --activate all
ctl_ok 'activate those that are active' threads "$pid" --activate all --json
is "$(count .changed)" 0 'activate those that are active: nothing changed'
like "$(json .warning)" 'prof\.active is false' 'activate those that are active: a warning that prof.active is false'
assert_untouched "$pid" 'threads leaves it untouched'
ctl_fails 2 'in_tids not_in_range' '--activate without a thread id is refused' threads "$pid" --activate some
ctl_fails 2 no_tids '--activate with nothing is refused' threads "$pid" --activate ,
ctl_fails 3 no_thread_of '--activate of another process'"'"'s thread is refused' threads "$pid" --activate "$pid,$$"
ctl_fails 3 no_process 'no such process' threads 4194304
assert_untouched "$pid" 'refusals leave it untouched'
"$CTL" "${patient[@]}" threads "$pid" --interval 600s --json >"$T/out" 2>"$T/err" </dev/null &
looks=$!
own "$looks"
ok 'a process that ends meanwhile: it waits' within 60 grep -qs '^7 0x[0-9a-f]* 0x2 0x927c0 ' "/proc/$looks/syscall"
stop_target "$pid"
wait "$looks"
is "$?" 9 'a process that ends meanwhile: so does the wait'
is "$(json '[(.threads | length), ([.threads[].rate.allocated] | unique), .warning_id] | tostring')" \
	'[6,[null],"ended_meanwhile"]' 'a process that ends meanwhile: what was known is shown, and why there is no rate'

# --- a tracer that gets no processor until its time is over: it examines the thread nevertheless ---
start_victim idle 1
snapshot "$pid"
CTL=$ROOT/$B/tests/careless/jeprof-ctl-held ctl_ok 'no processor in time' threads "$pid" --json
is "$(json '[.missed, (.threads | length), .threads[0].reason] | tostring')" '[0,1,null]' \
	'no processor in time: no thread is missed'
assert_untouched "$pid" 'no processor in time: untouched'
stop_target "$pid"

# --- threads that were started without sampling ---
export MALLOC_CONF=prof:true,prof_thread_active_init:false,lg_prof_sample:10
start_victim crowd 5
all_work
snapshot "$pid"
is "$(objects)" 0 'control: nothing is sampled'
ctl_ok 'threads that do not sample' threads "$pid" --json
is "$(count '.thread.prof.active == false')" 6 'threads that do not sample: it is shown for each'
like "$(json .warning)" 'thread_active_init is false' 'threads that do not sample: a warning about new threads'
ctl_ok 'activate' activate "$pid" --json
like "$(json .warning)" "threads $pid --activate all" 'activate names the fix'
all_work
is "$(objects)" 0 'control: activate alone does not reach them'
one=$(json '.threads[] | select(.name == "crowd-3") | .tid' <(run_ctl threads "$pid" --json; cat "$T/out"))
ctl_ok 'one thread' threads "$pid" --activate "$one" --json
is "$(json '[.threads[] | [.tid, .changed, .thread.prof.active]] | tostring')" "[[$one,true,true]]" 'one thread: that one and no other'
all_work
first=$(objects)
like "$first" '^[1-9]' 'one thread: it samples now'
ctl_ok 'all threads' threads "$pid" --activate all --json
is "$(count .changed)" 5 'all threads: the others changed'
is "$(count '.thread.prof.active == true')" 6 'all threads: all sample'
assert_untouched "$pid" 'activating threads leaves it untouched'
all_work
ok 'all threads: several times as many samples' within 60 has_objects $((first * 2))
stop_target "$pid"

# --- very many, and some that come and go ---
export MALLOC_CONF=prof:true,prof_thread_active_init:false,lg_prof_sample:12
# A hundred take few samples, as each occupies 16 KiB.
MALLOC_CONF=${MALLOC_CONF/12/19} start_victim crowd 100
snapshot "$pid"
ctl_ok '100 threads' threads "$pid" --activate all --json
is "$(count true)" 101 '100 threads: all of them'
is "$(count '.thread.prof.active == true and .changed')" 101 '100 threads: all were set'
assert_untouched "$pid" '100 threads: untouched'
stop_target "$pid"
start_victim crowd 20 churn
for round in 1 2 3; do
	ctl_ok "threads that come and go, $round" threads "$pid" --activate all --json
	is "$(count '.name | startswith("crowd-")')" 20 "threads that come and go, $round: those that stay are there"
	is "$(count '(.name | startswith("crowd-")) and .thread.prof.active != true')" 0 \
		"threads that come and go, $round: and are set"
done
is "$(seen_harm)" '[0,0,0,0]' 'threads that come and go: no harm seen'
ok 'threads that come and go: not traced' grep -q '^TracerPid:.0$' "/proc/$pid/status"
stop_target "$pid"

# --- threads about to end: jemalloc has freed their data ---
start_victim crowd 3 ending
ending="(.name | startswith(\"crowd-\") | not) and .tid != $pid"
is_one_there()
{
	run_ctl threads "$pid" --json
	[ "$(count "$ending")" -gt 0 ]
}
ok 'threads that end: control: one is there' within 60 is_one_there
ctl_ok 'threads that end: --activate' threads "$pid" --activate all --json
is "$(json .missed)" 0 'threads that end: they do not count as failures'
is "$(count "$ending and .thread.prof.active != true")" 0 'threads that end: they are left out'
is "$(count '.thread.prof.active == true' | sed 's/^[4-9]$/all/')" all 'threads that end: the others are set'
ok 'threads that end: not traced' grep -q '^TracerPid:.0$' "/proc/$pid/status"
stop_target "$pid"

# --- a thread that cannot be borrowed ---
start_victim crowd 3 stuck
snapshot "$pid"
ctl_ok 'a thread that cannot be reached' threads "$pid" --json
is "$(json .missed)" 1 'a thread that cannot be reached: counted'
is "$(json '.threads[] | select(.name == "stuck") | .thread | tostring')" \
	'{"allocated":null,"deallocated":null,"prof":{"active":null}}' 'a thread that cannot be reached: unknown, not guessed'
like "$(json '.threads[] | select(.name == "stuck") | .reason')" 'system call' 'a thread that cannot be reached: the cause is reported'
run_ctl threads "$pid" --activate all --json
is "$status" 8 'a thread that cannot be reached: the exit status of --activate'
is "$(count .changed)" 4 'a thread that cannot be reached: the others are set'
assert_untouched "$pid" 'a thread that cannot be reached: untouched'
stop_target "$pid"

# --- stopped or timed out before all were queried: each of the first 200 takes 60 ms ---
start_victim crowd 5 stuck 200
snapshot "$pid"
others='.name | startswith("crowd-")'
# is_partial NAME REGEX: the last document must be incomplete, for a reason that matches REGEX
is_partial()
{
	is "$status" 8 "$1: exit 8"
	is "$(json .unasked)" "$(count '.reason == "it was not asked"')" "$1: threads not queried are counted"
	is "$(count "(.reason == \"it was not asked\") and ($others)")" 5 "$1: the last ones were not queried"
	ok "$1: the others did not answer" test "$(json .missed)" -ge 205
	like "$(json .warning)" "^$2: $(json .unasked) of 206 threads were not queried, so this is incomplete" "$1: a warning"
}
run_ctl threads "$pid" --timeout 4s --json
is_partial '--timeout' 'timed out'
run_ctl threads "$pid" --activate all --timeout 4s --json
is_partial '--timeout, --activate' 'timed out'
is "$(json ".threads[] | select(.tid == $pid) | [.changed, .thread.allocated > 0] | tostring")" '[true,true]' \
	'--timeout, --activate: what was changed is reported' || diag "$(json ".threads[] | select(.tid == $pid)")"
# By a signal, on a terminal, which shows the progress.
for signal in INT HUP TERM; do
	script -qefc "exec '$CTL' ${patient[*]} threads $pid >'$T/out'" "$T/tty" </dev/null >"$T/script" 2>&1 &
	script=$!
	own "$script"
	ok "SIG$signal: progress" within 60 grep -q '[2-9] of 206 threads' "$T/tty"
	read -r ctl <"/proc/$script/task/$script/children"
	kill -"$signal" "$ctl"
	wait "$script"
	is $? 8 "SIG$signal: exit 8"
	like "$(<"$T/tty")" 'interrupted by a signal: [0-9]+ of 206 threads were not queried, so this is incomplete' \
		"SIG$signal: it is reported"
	is "$(wc -l <"$T/out")" 207 "SIG$signal: all threads are in the table"
	like "$(grep "^$pid " "$T/out")" ' [0-9.]+[BKM]? +[0-9.]+[BKM]? +-$' "SIG$signal: with what is known"
	rm "$T/tty"
done
run_ctl threads "$pid" --timeout 4s -q
is "$status" 8 '--timeout, with -q: exit 8'
like "$err" 'timed out: [0-9]+ of 206 threads were not queried' '--timeout, with -q: it is reported'
assert_untouched "$pid" 'stopped: untouched'
stop_target "$pid"

# --- the tracer is killed in one of the threads that it visits in turn ---
start_victim crowd 6
snapshot "$pid"
strace -f -qq -e trace=ptrace,clone -o "$T/calls" "$CTL" "${patient[@]}" --timeout 120s threads "$pid" >"$T/out" 2>"$T/err"
# Requests of the tracer of the first calls, and the most by one that visits threads. On a busy
# machine there are several: one that searches too long for a thread ends, and the next continues.
read -r first requests visited <<<"$(awk '/ptrace\(/ { if (!first) first = $1; if (++n[$1] > most && $1 != first) most = n[$1] }
	/PTRACE_SEIZE/ && $1 != first { visited++ }
	END { print n[first], most, visited }' "$T/calls")"
is "$visited" 7 'a tracer that is killed: control: all threads are visited'
odd='' reached=0
for ((i = 2 * first; i <= requests + 1; i += 5)); do
	strace -f -qq -e trace=ptrace -e "inject=ptrace:signal=KILL:when=$i" -o "$T/killed" \
		"$CTL" "${patient[@]}" --timeout 120s threads "$pid" --json >"$T/out" 2>"$T/err"
	status=$?
	grep -q 'killed by SIGKILL' "$T/killed" && reached=$((reached + 1))
	# The thread is queried again by another tracer, or its possible state is reported. If that
	# happens twice, the command ends.
	case $status in
	0) [ "$(count '.reason == null or (.reason | test("the tracer was killed"))')" = 7 ] || odd+=" $i:$(<"$T/out")" ;;
	9) [[ $(json .error.message) == 'the tracer was killed; the target finishes the call on its own' ]] || odd+=" $i:$(<"$T/out")" ;;
	*) odd+=" $i:$status:$(<"$T/out")" ;;
	esac
done
is "$odd" '' 'a tracer that is killed: each thread is accounted for'
ok 'a tracer that is killed: control: in many places' test "$reached" -gt 5
diag "a tracer that is killed: $reached times, $first and $requests requests"
assert_untouched "$pid" 'a tracer that is killed: untouched'
stop_target "$pid"

# --- busy threads ---
export MALLOC_CONF=$PROF
start_victim busy 2
snapshot "$pid"
ctl_ok 'busy threads' threads "$pid" --json
is "$(count true)" 3 'busy threads: all of them'
assert_untouched "$pid" 'busy threads: untouched'
stop_target "$pid"

# --- nothing to read ---
MALLOC_CONF=prof:false start_victim crowd 2
snapshot "$pid"
ctl_ok 'without opt.prof' threads "$pid" --json
is "$(json '[.threads[].thread.prof.active] | unique | tostring')" '[null]' 'without opt.prof: thread.prof.active is unknown'
is "$(count '.thread.allocated > 0')" 3 'without opt.prof: what they allocated is known'
like "$(json .warning)" 'opt\.prof is false' 'without opt.prof: a warning'
ctl_fails 6 'opt_prof_false restart_with_prof' 'without opt.prof: --activate is refused' threads "$pid" --activate all
assert_untouched "$pid" 'without opt.prof: untouched'
stop_target "$pid"
start_victim idle-plain
ctl_fails 5 'no_jemalloc preload_jemalloc' 'without jemalloc' threads "$pid"

done_testing
