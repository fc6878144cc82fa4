#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record of several processes: all at once, with one of them stopped at a time; and what is left
# when it is interrupted or killed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
targets=()
for _ in 1 2 3; do
	start_victim leaky
	targets+=("$pid")
	snapshot "$pid"
done
MALLOC_CONF=prof:false start_victim leaky
off=$pid
snapshot "$off"
mkdir "$T/p"

of()
{
	jq -r --argjson p "$1" ".[] | select(.pid == \$p) | $2" "$T/out"
}

# how_many_on: print for each process whether profiling is on
how_many_on()
{
	"$CTL" "${patient[@]}" get "${targets[0]}" prof.active -q
	"$CTL" "${patient[@]}" get "${targets[1]}" prof.active -q
	"$CTL" "${patient[@]}" get "${targets[2]}" prof.active -q
}

is_all()
{
	[ "$(how_many_on | sort | uniq -c | tr -s ' ')" = " 3 $1" ]
}

# Their memory grows by itself while they are sampled: each part takes a new snapshot.
untouched()
{
	for p in "${targets[@]}"; do
		assert_untouched "$p" "$1: $p is untouched" && snapshot "$p"
	done
}

journals()
{
	find /run/jeprof-ctl -type f ! -name lock ! -name dumps | wc -l
}

# begin: record all in the background, and wait until all are on. Sets `recorder`.
begin()
{
	"$CTL" "${patient[@]}" record "${targets[@]}" --wait 30s -d 10m -o "$T/p/" "$@" >"$T/out" 2>"$T/err" </dev/null &
	recorder=$!
	own "$recorder"
	ok 'a recording of three: it has begun' within 60 eval '[ "$(journals)" = 3 ] && is_all true' || diag "$(<"$T/err")"
}

# --- a complete recording ---
run_ctl record "${targets[@]}" "$off" -d 300ms -o "$T/p/" --json
is "$status" 6 'three, and one that is refused: its reason is the exit status' || diag "$err$out"
is "$(jq -r '[.[].pid] | sort | join(" ")' "$T/out")" "$(printf '%s\n' "${targets[@]}" "$off" | sort -n | paste -sd ' ')" \
	'a document for each'
for p in "${targets[@]}"; do
	is "$(of "$p" '[.early, .adopted, .changed.prof.active, .duration_ms >= 300] | tostring')" '[false,false,true,true]' "$p: its document"
	ok "$p: its first profile" is_profile "$(of "$p" .base.file)"
	ok "$p: its last profile" is_profile "$(of "$p" .file)"
done
is "$(of "$off" .error.id)" opt_prof_false 'the error of one'
ok 'all are off again' is_all false
is "$(journals)" 0 'no journal is left'
rm "$T/p/"*
ctl_ok 'for people' record "${targets[@]}" -d 300ms -o "$T/p/" -f folded
is "$(grep -c '^==> [0-9]* (leaky) <==$' "$T/out")" 3 'for people: headings'
is "$(grep -c '(at the end)' "$T/out")" 3 'for people: the files'
is "$(find "$T/p" -name '*.folded' | wc -l)" 3 'for people: a difference of each'
is "$(grep -c '^recorded ' "$T/err")" 3 'for people: how each ended'
untouched 'record'
rm "$T/p/"*

# --- one at a time ---
# Each tracer is a process for one target and one visit: its calls must be contiguous.
timeout 120 strace -f -o "$T/cut" -e trace=ptrace "$CTL" "${patient[@]}" record "${targets[@]}" -d 100ms -o "$T/p/" >/dev/null 2>&1
tracers=$(awk '/ptrace\(/ { print $1 }' "$T/cut" | uniq)
ok 'one at a time: control: there are tracers' test "$(wc -l <<<"$tracers")" -ge 6
is "$(sort <<<"$tracers" | uniq -d)" '' 'one at a time: none works while another does'
untouched 'one at a time'
rm -f "$T/p/"*

# --- Ctrl-C ---
begin
kill -INT "$recorder"
wait "$recorder"
is $? 0 'interrupted: the shorter recording succeeds'
is "$(grep -c 'ended by a signal' "$T/err")" 3 'interrupted: all of them'
is "$(find "$T/p" -name '*Z.heap' | wc -l)" 3 'interrupted: all profiles are there'
ok 'interrupted: all are off again' is_all false
untouched 'interrupted'

# --- Ctrl-C again, while profiles are read ---
# lock_reports: lock the turn in which the recorder's children read profiles. Sets `holder`.
lock_reports()
{
	local fd

	fd=$(find "/proc/$recorder/fd" -lname '*memfd:turn*')
	python3 -c 'import fcntl, sys, time
turn = open(sys.argv[1], "r+b", 0)
fcntl.lockf(turn, fcntl.LOCK_EX, 1, 1)
open(sys.argv[2], "w").close()
time.sleep(1000)' "$fd" "$T/locked" &
	holder=$!
	own "$holder"
}
rm "$T/p/"*
begin
lock_reports
ok 'interrupted twice: control: profiles cannot be read' within 60 test -e "$T/locked"
kill -INT "$recorder"
ok 'interrupted twice: all are off again' within 60 eval '[ "$(journals)" = 0 ] && is_all false'
ok 'interrupted twice: control: it has not ended' kill -0 "$recorder"
kill -INT "$recorder"
ok 'interrupted twice: it ends' within 60 eval '! kill -0 "$recorder"' || kill -KILL "$recorder" "$holder"
wait "$recorder"
is $? 1 'interrupted twice: the exit status'
is "$(grep -c 'interrupted$' "$T/err")" 3 'interrupted twice: it is reported for each'
unlike "$(<"$T/err")" undo 'interrupted twice: there is nothing to undo'
is "$(find "$T/p" -name '*Z.heap' | wc -l)" 3 'interrupted twice: all profiles are there'
end_child "$holder" -KILL
untouched 'interrupted twice'
rm "$T/p/"*

# --- Ctrl-C before the beginning ---
# Any of them may have the first turn: the order is not defined.
strace -qq "${targets[@]/#/-p}" -o /dev/null &
strace=$!
own "$strace"
for p in "${targets[@]}"; do
	within 60 grep -q "^TracerPid:.$strace" "/proc/$p/status"
done
"$CTL" "${patient[@]}" record "${targets[@]}" --wait 10m -d 10m -o "$T/p/" >"$T/out" 2>"$T/err" </dev/null &
recorder=$!
own "$recorder"
# The one that has the turn waits for the other tracer, the rest wait for their turn.
ok 'interrupted at first: it waits' within 60 eval '[ "$(pgrep -cP "$recorder")" = 3 ]'
kill -INT "$recorder"
ok 'interrupted at first: it ends' within 60 eval '! kill -0 "$recorder"' || kill -KILL "$recorder"
wait "$recorder"
unlike "$(<"$T/err")" 'recorded' 'interrupted at first: nothing was recorded'
is "$(find "$T/p" -type f | wc -l)" 0 'interrupted at first: no file'
end_child "$strace"
ok 'interrupted at first: all are off' is_all false
untouched 'interrupted at first'

# --- stderr is closed ---
timeout 120 "$CTL" "${patient[@]}" record "${targets[@]}" "$off" -d 300ms -o "$T/p/" >"$T/out" 2>&-
is $? 6 'stderr is closed: the exit status is that of the one that failed'
is "$(grep -c '(at the end)' "$T/out")" 3 'stderr is closed: the others are recorded'
untouched 'stderr is closed'
rm -f "$T/p/"*

# --- the recorder is killed ---
begin --force
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ok 'killed: the others end cleanly' within 60 eval '[ "$(journals)" = 0 ] && is_all false'
untouched 'killed'
rm "$T/p/"*

# --- all our processes are killed ---
begin
mapfile -t children < <(pgrep -P "$recorder")
is "${#children[@]}" 3 'all killed: control: a child for each'
kill -STOP "$recorder"
kill -KILL "${children[@]}" "$recorder"
wait "$recorder" 2>/dev/null
is "$(journals)" 3 'all killed: the journals are left'
ok 'all killed: control: all are on' is_all true
ctl_ok 'all killed: undo of two' undo "${targets[0]}" "${targets[1]}" --json
is "$(json '[.recordings[] | .state] | join(" ")')" 'undone undone' 'all killed: undo of two: one document'
is "$(how_many_on | paste -sd ' ')" 'false false true' 'all killed: undo of two: only those'
ctl_ok 'all killed: undo' undo
ok 'all killed: all are off' is_all false
is "$(journals)" 0 'all killed: no journal is left'
untouched 'all killed'
rm -f "$T/p/"*

# --- one child is killed ---
begin
victim=$(awk '$1 == "recorder" { print $2 }' "/run/jeprof-ctl/${targets[1]}")
kill -KILL "$victim"
ok 'a child killed: it is reported' within 60 grep -q "the recorder of process ${targets[1]} was killed" "$T/err"
like "$(<"$T/err")" "undo ${targets[1]}" 'a child killed: the fix is undo'
kill -INT "$recorder"
wait "$recorder"
is $? 9 'a child killed: the exit status'
is "$(grep -c '(at the end)' "$T/out")" 2 'a child killed: the others are recorded'
ctl_ok 'a child killed: undo' undo
ok 'a child killed: all are off' is_all false
untouched 'a child killed'

# --- a target ends ---
start_victim leaky
mortal=$pid
targets[2]=$mortal
begin --force
kill -KILL "$mortal"
ok 'a target ended: it is reported' within 60 grep -q "process $mortal has ended" "$T/err"
kill -INT "$recorder"
wait "$recorder"
is $? 9 'a target ended: the exit status'
is "$(grep -c '(at the end)' "$T/out")" 2 'a target ended: the others are recorded'
unset 'targets[2]'
untouched 'a target ended'
assert_untouched "$off" 'the one that could not be recorded is untouched'

done_testing
