#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record: one command that leaves the target as it was, however it ends; undo, if it was killed.

# A private /run, so that no other test's recordings are undone here.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m "$0" "$@"
mount -t tmpfs -o mode=755 none /run || exit 99
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/recording.sh
. tests/recording.sh

export MALLOC_CONF=$PROF

# --- a complete recording ---
start_victim leaky
snapshot "$pid"
ctl_ok 'record' record "$pid" -d 1s -o "$T/one.heap" --json
is "$(json '[.pid, .base.file, .file, .early, .adopted, .changed.prof.active, .changed.prof.thread_active_init] | tostring')" \
	"[$pid,\"$T/one.base.heap\",\"$T/one.heap\",false,false,true,false]" 'record: its document'
ok 'record: the first profile' is_profile "$T/one.base.heap"
ok 'record: the last profile' is_profile "$T/one.heap"
is "$(stat -c %s "$T/one.heap")" "$(json .bytes)" 'record: its size'
like "$(sed -n 's/^# duration_ns //p' "$T/one.heap")" '^[0-9]{10,}$' 'record: the last profile says how long'
is "$(grep -c '^# duration_ns' "$T/one.base.heap")" 0 'record: the first profile does not'
is "$(stat -c %a "$T/one.base.heap")" 600 'record: only the owner can access the profiles'
is "$(active_of "$pid")" false 'record: profiling is off again'
is "$(find /run/jeprof-ctl -type f ! -name lock ! -name dumps | wc -l)" 0 'record: no journal is left'
assert_untouched "$pid" 'record leaves it untouched'
ctl_fails 10 'output_exists choose_or_force' 'record replaces nothing unasked' record "$pid" -d 1s -o "$T/one.heap"
ctl_fails 2 'recording_to_stdout name_the_last_file' 'record -o - is refused' record "$pid" -o -
ctl_fails 2 keep_without_interval '--keep alone is refused' record "$pid" --keep 3
is "$(active_of "$pid")" false 'refusals turn nothing on'
ctl_ok 'record for people' record "$pid" -d 300ms -o "$T/two.heap"
like "$out" "two.base.heap \(at the beginning\).*two.heap \(at the end\)" 'record for people: its files'
# At least as long as requested, and no longer than the last profile says, which is written later.
said=$(sed -nE 's/^recorded .* for ([0-9]+\.[0-9]) s;.*/\1/p' <<<"$err")
ok 'record for people: how long' awk -v said="$said" -v ns="$(sed -n 's/^# duration_ns //p' "$T/two.heap")" \
	'BEGIN { exit !(said >= 0.3 && said <= ns / 1e9) }' || diag "$err"
unlike "$err" ' left, ' 'record for people: no progress where there is no terminal'
ctl_ok 'record -f' record "$pid" -d 300ms -o "$T/rendered.heap" -f folded,pprof,folded --json
is "$(json '.difference.files | join(" ")')" "$T/rendered.pb.gz $T/rendered.folded" 'record -f: its files, each once'
ok 'record -f: they are there' test -s "$T/rendered.folded" -a -s "$T/rendered.pb.gz"
ctl_ok 'record -q -f' record "$pid" -d 300ms -o "$T/quiet.heap" -f svg -q
is "$out" "$T/quiet.base.heap"$'\n'"$T/quiet.heap"$'\n'"$T/quiet.svg" 'record -q -f: the names alone'
ctl_fails 2 'format_unknown available_formats' 'record -f: an unknown format' record "$pid" -f wood,folded -o "$T/w.heap"
ctl_fails 2 'raw_holds_a_profile convert_a_profile' 'record -f: raw holds no difference' \
	record "$pid" -d 1m -f folded,raw -o "$T/w.heap"
: >"$T/late.html"
ctl_fails 10 'output_exists choose_or_force' 'record -f: a file that exists' record "$pid" -d 1m -f folded,html -o "$T/late.heap"
like "$err" '/late\.html exists' 'record -f: the file is named'
ok 'record -f: found before the recording' test ! -e "$T/late.base.heap"
: >"$T/row.0003.heap"
ctl_fails 10 'output_exists choose_or_force' 'a series: a file that exists' record "$pid" -d 1m --interval 1s -o "$T/row.heap"
like "$err" '/row\.0003\.heap exists' 'a series: the file is named'
ok 'a series: found before the recording' test ! -e "$T/row.base.heap"
ctl_ok 'a series: other files may exist' record "$pid" -d 600ms --interval 200ms -o "$T/row.heap"
ctl_fails 2 'in_option must_be_more_than_0' 'record for no time' record "$pid" -d 0 -o "$T/w.heap"
ctl_fails 2 'interval_too_long record_for_longer' 'an interval that is longer than the recording' record "$pid" --interval 1m -o "$T/w.heap"
ctl_fails 2 'in_option must_be_more_than_0' 'a series without an interval' record "$pid" --interval 0s -o "$T/w.heap"
# On a terminal, it shows the time left. tests/long/record.t tests what depends on time.
on_terminal 130 -d 3s
like "$(<"$T/tty130")" "\\[[#.]+\\] [123]s left, $first, $rss" 'record on a terminal: progress'
unlike "$(<"$T/tty130")" "left, $now" 'record on a terminal: no growth of what was counted once'
on_terminal 70 -d 3s
like "$(<"$T/tty70")" $'\r'"$pid \\([^)]*\\) [123]s left, $first, $rss" 'record on a narrow terminal: without the bar'
on_terminal 24 -d 3s
like "$(<"$T/tty24")" $'\r'"$pid \\([^)]*\\) [123]s left" 'record on a very narrow terminal: progress'
is "$(tr '\r' '\n' <"$T/tty24" | awk -v pid="$pid " 'index($0, pid) == 1 && length > 23' | wc -l)" 0 'record on a very narrow terminal: nothing wraps'

# --- what is allocated, in a program that grows slowly ---
allocated()
{
	ctl_ok "what is allocated $1" get "$pid" stats.allocated stats.arenas.4096.tcache_bytes --json
	json '.stats.allocated - .stats.arenas["4096"].tcache_bytes' >"$T/allocated"
}
leaky=$pid
start_victim idle
allocated before
before=$(<"$T/allocated")
ctl_ok 'record, what is allocated' record "$pid" -d 300ms -o "$T/rest.heap" --json
recorded=$(json '"\(.allocated_before_bytes) \(.allocated_after_bytes)"')
allocated after
is "$(awk -v said="$recorded" -v before="$before" -v after="$(<"$T/allocated")" 'BEGIN { split(said, a)
	print (a[1] > before * 0.8 && a[1] < a[2] * 1.5 && a[2] < after * 1.5) }')" 1 \
	"record: what is allocated at its dumps: $recorded, $before before and $(<"$T/allocated") after"
stop_target "$pid"
pid=$leaky

# Each part takes its own snapshot: jemalloc and the C library keep some memory
# (tests/gate/twice.t).
# --- a series ---
snapshot "$pid"
ctl_ok 'a series' record "$pid" -d 2s --interval 200ms --keep 3 -o "$T/s.heap" --json
is "$(json '.series | length')" 3 'a series: the newest three are kept'
is "$(find "$T" -name 's.0*.heap' | sort | paste -sd' ')" "$(json '.series | join(" ")')" 'a series: and no others'
ok 'a series: profiles' is_profile "$(json '.series[0]')"
ok 'a series: with base and end' test -s "$T/s.base.heap" -a -s "$T/s.heap"
assert_untouched "$pid" 'a series leaves it untouched'

# --- a signal ends it early ---
snapshot "$pid"
for signal in INT TERM HUP; do
	start_recording -d 300s --json
	kill -"$signal" "$recorder"
	wait "$recorder"
	is "$?" 0 "SIG$signal: exit status 0"
	is "$(json .early "$T/bg.out")" true "SIG$signal: it is reported"
	ok "SIG$signal: the last profile is there" is_profile "$T/bg.heap"
	is "$(active_of "$pid")" false "SIG$signal: profiling is off again"
done
assert_untouched "$pid" 'signals leave it untouched'

# --- turned off meanwhile ---
start_recording -d 300s
ctl_ok 'turned off meanwhile' deactivate "$pid"
kill -TERM "$recorder"
wait "$recorder"
is "$?" 0 'turned off meanwhile: the recording ends well'
like "$(<"$T/bg.err")" 'warning: profiling was disabled during the recording' 'turned off meanwhile: with a warning'
ctl_ok 'nobody turns it off' record "$pid" -d 300ms -o "$T/mine.heap"
unlike "$err" 'warning' 'nobody turns it off: no warning'

# --- two at once ---
snapshot "$pid"
start_recording -d 300s
ctl_fails 7 'recorded_by end_recording' 'a second recording is refused' record "$pid" -d 1s -o "$T/second.heap"
like "$err" "by process $recorder" 'a second recording: the first one is named'
like "$err" "kill -TERM $recorder" 'a second recording: the fix is shown'
ctl_ok 'status while it is recorded' status "$pid"
like "$err" "by process $recorder, which turns profiling off when it ends" 'status while it is recorded: it is reported'
ctl_fails 7 'recorded_by end_recording' 'undo of a running recording is refused' undo "$pid"
like "$err" "by process $recorder" 'undo of a running recording: it is named'
ctl_ok 'undo of all' undo --json
is "$(json '.recordings[0] | [.pid, .state] | tostring')" "[$pid,\"recording\"]" 'undo of all: leaves it alone'
is "$(active_of "$pid")" true 'two at once: the first goes on'
kill -TERM "$recorder"
wait "$recorder"
is "$(active_of "$pid")" false 'two at once: and restores everything'
assert_untouched "$pid" 'two at once leave it untouched'

# --- profiling that was on already ---
snapshot "$pid"
"$CTL" "${patient[@]}" activate "$pid" >/dev/null 2>&1
ctl_ok 'profiling that is on' record "$pid" -d 300ms -o "$T/adopted.heap" --json
is "$(json '[.adopted, .opt.prof_active, .stopped, .changed.prof.active] | tostring')" '[true,false,false,false]' \
	'profiling that is on: it is reported'
is "$(active_of "$pid")" true 'profiling that is on stays on'
ctl_ok 'profiling that is on, as text' record "$pid" -d 300ms -o "$T/adopted.text.heap"
like "$err" 'profiling was on before, turned on after the start by .*, and still is' 'profiling that is on: and what turned it on'
rm -f "$T/bg.base.heap"
"$CTL" "${patient[@]}" record "$pid" -d 300s --force -o "$T/bg.heap" --json >"$T/bg.out" 2>"$T/bg.err" </dev/null &
recorder=$!
own "$recorder"
within 60 test -s "$T/bg.base.heap"
ctl_ok 'it is turned off meanwhile' deactivate "$pid"
kill -TERM "$recorder"
wait "$recorder"
is "$(json '[.adopted, .stopped, .warning_id] | tostring' "$T/bg.out")" '[true,true,"profiling_was_disabled"]' \
	'it is turned off meanwhile: it is reported'
is "$(active_of "$pid")" false 'it is turned off meanwhile: and stays off'
assert_untouched "$pid" 'nothing else was touched'
mine=$pid
MALLOC_CONF=prof:true,prof_thread_active_init:false start_victim leaky
snapshot "$pid"
ctl_ok 'a program that was started with it' record "$pid" -d 300ms -o "$T/started.heap"
like "$err" 'profiling was on before, as the program was started \(opt.prof_active\), and still is' \
	'a program that was started with it: it is reported'
like "$err" "warning: prof.thread_active_init is false.*threads $pid --activate all" \
	'a program whose threads are not sampled: a warning, with its fix'
assert_untouched "$pid" 'a program that was started with it: untouched'
pid=$mine

# has_slept PID TIMES: at least that often
has_slept()
{
	[ "$(awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$1/status")" -ge "$2" ]
}

# --- memory grows, but not in jemalloc ---
start_outside
start_recording -d 300s
echo >"$T/map"
ok 'it maps memory' within 60 grep -q mapped "$T/maps"
kill -TERM "$recorder"
wait "$recorder"
like "$(<"$T/bg.out")" "RSS grew by 6[0-9.]+M, the program's allocations by [0-9.]+[KB]?, and the memory taken by sampling by up to [0-9.]+[KMB]?: jeprof-ctl explain $pid" \
	'memory outside jemalloc: it is reported, with where to look'
ctl_ok 'control: nothing grows' record "$pid" -d 300ms -o "$T/still.heap"
unlike "$out" 'RSS grew' 'control: it is not reported'
stop_target "$pid"
pid=$mine

# --- it is killed ---
snapshot "$pid"
start_recording -d 300s
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
is "$(active_of "$pid")" true 'killed: profiling is left on'
ctl_ok 'killed: status' status "$pid"
like "$err" "by process $recorder\) was killed.*jeprof-ctl undo $pid" 'killed: status reports it, with the fix'
ctl_ok 'killed: status as JSON' status "$pid" --json
is "$(json .warning_id)" recording_left 'killed: status as JSON reports it'
ctl_ok 'killed: list' list --json
is "$(json ".[] | select(.pid == $pid).warning_id")" recording_left 'killed: list reports it'
ctl_ok 'killed: check' check "$pid"
like "$out" "warning recording .*by process $recorder\) was killed.*
  fix: turn it off: jeprof-ctl undo $pid" 'killed: check warns, with the fix'
ctl_ok 'undo of all' undo --json
is "$(json '.recordings[0] | [.pid, .comm, .state, .changed.prof.active] | tostring')" "[$pid,\"leaky\",\"undone\",true]" \
	'undo of all: restored'
is "$(active_of "$pid")" false 'undo: profiling is off'
ctl_ok 'undo: status' status "$pid" --json
is "$(json .warning_id)" null 'undo: status has no warning any more'
ctl_ok 'undo again' undo "$pid" --json
is "$(json '.recordings[0].state')" nothing 'undo again: there is nothing to restore'
states=
for _ in {1..5}; do
	start_recording -d 300s
	kill -KILL "$recorder"
	run_ctl undo --json
	states+="$status $(json '.recordings[0].state') "
	wait "$recorder" 2>/dev/null
done
is "$states" '0 undone 0 undone 0 undone 0 undone 0 undone ' 'undo right after a kill: a dying recorder does not count as running'
# A recorder that takes long to die holds its lock until then.
start_recording -d 300s
mkfifo "$T/go"
tests/drivers/linger "$recorder" <>"$T/go" >"$T/linger" 2>&1 &
lingers=$!
own "$lingers"
ok 'a recorder that dies slowly' within 60 grep -q ready "$T/linger"
kill -KILL "$recorder"
ok 'a recorder that dies slowly: it was killed' within 60 grep -q dying "$T/linger"
"$CTL" "${patient[@]}" undo --json >"$T/undo" 2>&1 &
undo=$!
own "$undo"
ok 'a recorder that dies slowly: undo waits for it' within 60 has_slept "$undo" 50
echo >"$T/go"
wait "$lingers" "$recorder" 2>/dev/null
wait "$undo"
is "$? $(json ".recordings[] | select(.pid == $pid) | .state" "$T/undo")" '0 undone' 'a recorder that dies slowly: then it is undone'
is "$(active_of "$pid")" false 'a recorder that dies slowly: profiling is off'
start_recording -d 300s
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ctl_ok 'the next recording takes over' record "$pid" -d 300ms -o "$T/next.heap" --json
is "$(json .changed.prof.active)" true 'the next recording: the old one was undone first'
is "$(active_of "$pid")" false 'the next recording: off'
assert_untouched "$pid" 'killed and undone, it is untouched'

# --- it is killed, and then the user decides ---
decided=$pid
snapshot "$decided"
# kill_recording: kill a recording that has turned profiling on
kill_recording()
{
	pid=$decided
	start_recording -d 300s
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null
}
kill_recording
ctl_ok 'killed, then activate' activate "$decided"
ctl_ok 'killed, then activate, then undo' undo --json
is "$(json '.recordings | length')" 0 'activate takes over: nothing is left to undo'
is "$(active_of "$decided")" true 'activate takes over: undo leaves it on'
run_ctl deactivate "$decided"
kill_recording
ctl_ok 'killed, then set prof.active' set "$decided" prof.active true
ctl_ok 'killed, then set, then undo' undo "$decided" --json
is "$(active_of "$decided")" true 'set takes over: undo leaves it on'
run_ctl deactivate "$decided"
kill_recording
ctl_ok 'killed, then deactivate' deactivate "$decided"
ctl_ok 'killed, then deactivate, then undo' undo "$decided"
is "$(active_of "$decided")" false 'deactivate: off'
kill_recording
ctl_ok 'control: killed, and nobody decides' undo "$decided"
is "$(active_of "$decided")" false 'control: undo turns it off'
start_recording -d 300s
ctl_ok 'activate while it is recorded' activate "$decided"
like "$err" "by process $recorder, which turns profiling off when it ends" 'activate while it is recorded: a warning'
kill -TERM "$recorder"
wait "$recorder"
is "$(active_of "$decided")" false 'activate while it is recorded: off at the end'
assert_untouched "$decided" 'the user decides: untouched'

# --- journals that are not ours ---
snapshot "$pid"
ln -s "$T/elsewhere" "/run/jeprof-ctl/$pid"
ctl_fails 4 'journal_foreign check_owner_and_remove' 'a link is not followed' record "$pid" -d 1s -o "$T/l.heap"
ok 'a link is not followed: nothing was made' test ! -e "$T/elsewhere"
ctl_ok 'undo ignores it' undo --json
is "$(json '.recordings | length')" 0 'undo ignores it: no recording'
rm "/run/jeprof-ctl/$pid"
printf 'pid %d\nstart 1\nprogram 1\nrecorder 1\nprof.active false\nend 1\n' "$pid" >"/run/jeprof-ctl/$pid"
chown 65534 "/run/jeprof-ctl/$pid"
ctl_fails 4 'journal_foreign check_owner_and_remove' 'a journal of another user is refused' record "$pid" -d 1s -o "$T/l.heap"
rm "/run/jeprof-ctl/$pid"
chmod 777 /run/jeprof-ctl
ctl_fails 4 'folder_unsafe check_owner_and_remove' 'a folder that others may write to is refused' record "$pid" -d 1s -o "$T/l.heap"
chmod 700 /run/jeprof-ctl
printf 'pid %d\nstart 1\nprogram 1\nrecorder 1\nprof.active false\nend 1\n' "$pid" >"/run/jeprof-ctl/$pid"
ctl_ok 'a journal of a process that is gone' undo "$pid" --json
is "$(json '.recordings[0].state')" ended 'a journal of a process that is gone: nothing is restored'
printf 'pid %d\nstart' "$pid" >"/run/jeprof-ctl/$pid"
ctl_ok 'a truncated journal' undo "$pid" --json
is "$(json '.recordings[0].state')" nothing 'a truncated journal: nothing is restored'
is "$(active_of "$pid")" false 'journals: nothing was changed'
assert_untouched "$pid" 'journals: untouched'

# --- no room ---
snapshot "$pid"
mkdir "$T/small" && mount -t tmpfs -o size=4k none "$T/small" && mounted+=("$T/small")
ctl_fails 10 'output_failed make_room' 'no room at the beginning' record "$pid" -d 1s -o "$T/small/x.heap"
mount -o remount,size=300k "$T/small"
start_recording -d 300s -o "$T/small/x.heap"
dd if=/dev/zero of="$T/small/fill" bs=1k count=250 2>/dev/null
kill -TERM "$recorder"
wait "$recorder"
is "$?" 10 'no room at the end: exit status 10'
is "$(active_of "$pid")" false 'no room at the end: everything was restored'
ok 'no room at the end: no partial profile' test ! -e "$T/small/x.heap"
assert_untouched "$pid" 'no room: untouched'

# --- the target ends meanwhile ---
start_recording -d 300s
stop_target "$pid"
wait "$recorder"
is "$?" 9 'the target ends: exit status 9'
like "$(<"$T/bg.err")" 'has ended.*fix: only the first profile was written: .*base.heap' 'the target ends: it is reported'
is "$(find /run/jeprof-ctl -type f ! -name lock ! -name dumps | wc -l)" 0 'the target ends: no journal is left'

start_victim leaky
start_recording -d 300s --interval 100ms --keep 2 -o "$T/fallen.heap"
ok 'the target ends in a series: there are profiles' within 60 test -e "$T/fallen.0003.heap"
stop_target "$pid"
wait "$recorder"
newest=$(find "$T" -name 'fallen.0*.heap' | sort | tail -n 1)
like "$(<"$T/bg.err")" "fix: see the profiles so far: $T/fallen.base.heap, and 2 up to $newest" 'the target ends in a series: its profiles are named'

# Only a thread that executes a call ends: the process goes on.
LIE=third-dump-ends-thread start_victim lied-to
snapshot "$pid"
ctl_fails 9 'worker_lost see_profiles' 'it ends in a dump of a series' \
	record "$pid" --mode thread -d 10m --interval 100ms -o "$T/cut.heap"
like "$err" "fix: see the profiles so far: $T/cut.base.heap, and 1 up to $T/cut.0001.heap" \
	'it ends in a dump of a series: its profiles are named'
ok 'it ends in a dump of a series: they are there' is_profile "$T/cut.0001.heap"
assert_untouched "$pid" 'it ends in a dump of a series: untouched'
stop_target "$pid"

# --- it becomes another program: changes are gone with the old one ---
start_victim leaky
start_recording -d 300s
printf '\377%.0s' 1 2 3 4 5 6 7 8 | dd of="$T/board.$pid" bs=8 seek=7 conv=notrunc 2>/dev/null
ok 'another program: control: it is replaced' within 60 grep -q sleep "/proc/$pid/comm"
kill -TERM "$recorder"
wait "$recorder"
is "$?" 9 'another program: exit status 9'
like "$(<"$T/bg.err")" 'another program' 'another program: it is reported'
is "$(find /run/jeprof-ctl -type f ! -name lock ! -name dumps | wc -l)" 0 'another program: no journal is left'
stop_target "$pid"

# --- thread_active_init is restored, too ---
MALLOC_CONF=$PROF,prof_thread_active_init:false start_victim leaky
snapshot "$pid"
ctl_ok 'prof.thread_active_init false' record "$pid" -d 300ms -o "$T/init.heap" --json
is "$(json '.changed.prof | tostring')" '{"active":true,"lg_sample":false,"thread_active_init":true}' 'prof.thread_active_init: changed'
is "$("$CTL" "${patient[@]}" get "$pid" prof.thread_active_init -q)" false 'prof.thread_active_init: restored'
assert_untouched "$pid" 'prof.thread_active_init: untouched'
stop_target "$pid"

# --- refusals ---
MALLOC_CONF=prof:false start_victim leaky
snapshot "$pid"
ctl_fails 6 'opt_prof_false restart_with_prof' 'without opt.prof' record "$pid" -d 1s -o "$T/no.heap"
is "$(find "$T" -name 'no.*' | wc -l)" 0 'without opt.prof: no file'
assert_untouched "$pid" 'without opt.prof: untouched'
stop_target "$pid"
ctl_fails 3 no_process 'no such process' record 4194304 -d 1s

# --- another user ---
mkdir "$T/xdg" "$T/out.d" && chown 65534 "$T/xdg" "$T/out.d"
wrap=(setpriv --reuid 65534 --regid 65534 --clear-groups)
start_victim leaky
snapshot "$pid"
wrap=()
XDG_RUNTIME_DIR=$T/xdg setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
	"$CTL" "${patient[@]}" record "$pid" -d 300ms -o "$T/out.d/u.heap" >"$T/out" 2>"$T/err"
is "$?" 0 'another user' || diag "$(<"$T/err")"
is "$(stat -c '%u %a' "$T/xdg/jeprof-ctl")" '65534 700' 'another user: its own folder'
ok 'another user: its profile' is_profile "$T/out.d/u.heap"
assert_untouched "$pid" 'another user: untouched'
stop_target "$pid"

# --- a real program ---
start_redis
load_redis 5000
snapshot "$pid"
ctl_ok 'redis' record "$pid" -d 500ms -o "$T/redis.heap" --json
ok 'redis: the last profile' is_profile "$T/redis.heap"
is "$(active_of "$pid")" false 'redis: profiling is off again'
assert_untouched "$pid" 'redis: untouched'

done_testing
