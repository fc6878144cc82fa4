#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: recordings and samplings in the background, whose results are kept: what they are, how they
# end, and that the process is left as it was, whichever process of ours is killed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/recording.sh
. tests/recording.sh
# shellcheck source=tests/serve.sh
. tests/serve.sh

# begin NAME [QUERY]: record `pid`. Sets `id`.
begin()
{
	at "$1" -X POST "/api/v1/processes/$pid/record?duration=24h${2:+&$2}"
	is "$code" 202 "$1: it begins" || diag "$body"
	id=$(jq -r .id "$T/body")
}

# run_is NAME ID STATE: is the run in this state?
run_is()
{
	at "$1" "/api/v1/runs/$2"
	[ "$(jq -r .state "$T/body")" = "$3" ]
}

stop()
{
	at "$1" -X POST "/api/v1/runs/$2/stop"
}

# worker_of ID: print the process that works on it
worker_of()
{
	local p

	for p in $(pgrep -P "$serve"); do
		find "/proc/$p/fd" -lname "$T/*.runs/$1" 2>/dev/null | grep -q . && echo "$p"
	done
}

schema=doc/schema/jeprof-ctl.json
as_schema()
{
	ok "$2" tests/drivers/schema-check "$schema" "$1" "$T/body"
}

MALLOC_CONF=$PROF,lg_prof_sample:17 start_victim leaky
leaky=$pid
snapshot "$pid"

# --- a complete run ---
start_serve one
at one /api/v1/runs
is "$code $body" '200 {"runs":[]}' 'nothing is there at first'
is "$(stat -c '%a' "$T/one.runs")" 700 'only the owner can access the folder'
begin one sample_rate=64K
first=$id
as_schema run 'a run that has begun: as the schema says'
is "$(jq -c '[.kind, .state, .pid, .comm, .by, .duration_ms, .sample_bytes, .error, .result, .profile_bytes]' "$T/body")" \
	"[\"record\",\"running\",$pid,\"leaky\",\"uid $(id -u)\",86400000,65536,null,null,null]" 'its description'
is "$(jq -r '.remaining_ms + .elapsed_ms' "$T/body")" 86400000 'the time that remains'
ok 'the profile of the beginning is there' test "$(jq .base_bytes "$T/body")" -gt 0
like "$(<"$T/head")" "Location: /api/v1/runs/$first" 'its location'
is "$(active_of "$pid")" true 'it is sampled'
at one "/api/v1/processes/$pid/status"
is "$code" 200 'meanwhile, others can inspect the process'
at one "/api/v1/runs"
as_schema runs 'the list: as the schema says'
is "$(jq -c '[.runs[] | [.id, .state]]' "$T/body")" "[[$first,\"running\"]]" 'the list'
at one "/api/v1/runs?pid=1"
is "$(jq -c .runs "$T/body")" '[]' 'the list of another process'
at one -X POST "/api/v1/processes/$pid/record"
is "$code $(jq -c '[.error.id, .error.about.number]' "$T/body")" "409 [\"run_at_work\",$first]" 'a second one: the running one is named'
at one -X DELETE "/api/v1/runs/$first"
is "$code $(jq -r .error.id "$T/body")" '409 run_goes_on' 'it is not removed'
at one "/api/v1/runs/$first/profile"
is "$code $(jq -r .error.id "$T/body")" '404 no_run_profile' 'there is no profile of its end yet'
# Allocate 4 MB, and forget them immediately.
printf '\0\020\0\0\0\0\0\0' | dd of="$T/board.$pid" bs=8 seek=7 conv=notrunc status=none
within 60 eval '[ "$(od -An -tu8 -j 56 -N 8 "$T/board.$pid" | tr -d " ")" = 0 ]'
stop one "$first"
is "$code $(jq -r .state "$T/body")" '200 stopped' 'it ends early'
as_schema run 'a run that has ended: as the schema says'
is "$(jq -c '[.error, .elapsed_ms, .remaining_ms, .result.adopted]' "$T/body")" '[null,null,null,false]' 'how it ended'
like "$(jq -r .result.warning "$T/body")" 'keeps the old rate until its next sample, after 128K' 'with a warning about the finer rate'
ok 'its cost' test "$(jq .result.stops "$T/body")" -ge 2 -a "$(jq .result.pause_us "$T/body")" -gt 0
is "$(active_of "$pid")" false 'profiling is off again'
stop one "$first"
is "$code $(jq -r .state "$T/body")" '200 stopped' 'stopping it again changes nothing'
is "$(said one "op=record result=began uid=.* run=$first ")" 1 'the log says that it began'
is "$(said one "op=record result=ok .*comm=\"leaky\" run=$first .*stops=[1-9]")" 1 'and that it ended'
ok 'its names are kept, although it ended early' test -s "$T/one.runs/$first/profile.raw" -a -s "$T/one.runs/$first/profile.base.raw"
assert_untouched "$pid" 'recorded: untouched'

# --- its profile ---
at one "/api/v1/runs/$first/profile"
cp "$T/body" "$T/whole.heap"
ok 'the profile: as jemalloc wrote it' cmp "$T/body" "$T/one.runs/$first/profile.heap"
like "$(<"$T/head")" "filename=\"run-$first.heap\"" 'its name'
for format in pprof folded json speedscope html svg text; do
	at one "/api/v1/runs/$first/profile?format=$format"
	is "$code" 200 "profile: $format" || diag "$body"
	ok "profile: $format: it is not empty" test -s "$T/body"
done
at one "/api/v1/runs/$first/profile?format=folded"
like "$body" 'forget_blocks' 'the profile has names'
at one "/api/v1/runs/$first/diff?format=folded"
like "$body" 'forget_blocks' 'what grew'
at one "/api/v1/runs/$first/diff"
is "$code $(jq -r type "$T/body")" '200 object' 'what grew, as JSON'

# --- a second run, and both ---
begin one
second=$id
ok 'its number is a later one' test "$second" -gt "$first"
stop one "$second"
at one "/api/v1/runs/$second/diff?base=$first&format=folded"
is "$code" 200 'a difference of two runs' || diag "$body"
like "$(<"$T/head")" "filename=\"run-$second.growth.folded\"" 'the name of a difference'
at one "/api/v1/runs/$first/diff?format=html"
page_data "$T/body"
marked=$(json '.functions.name as $name | [.significance.functions[] | $name[.]] | unique | join(" ")')
ok 'the page of a difference marks what is significant' test -n "$marked"
is "$marked" "$("$CTL" diff "$T/one.runs/$first/profile.base.raw" "$T/one.runs/$first/profile.raw" --no-fold --json |
	jq -r '[.functions[] | select(.significant) | .function] | unique | join(" ")')" 'the same ones that diff marks'
at one "/api/v1/runs/$second/diff?base=$first&format=html"
page_data "$T/body"
is "$(json .significance.confidence)" 0.99 'so does the page of two runs'
at one "/api/v1/runs/$first/profile?format=html"
page_data "$T/body"
is "$(json .significance)" null 'control: the page of a profile does not'
at one "/api/v1/runs/$second/diff?base=1"
is "$code $(jq -r .error.id "$T/body")" '404 no_run' 'a difference with a missing run'
at one -X DELETE "/api/v1/runs/$second"
is "$code $body" '204 ' 'it is removed'
ok 'it is gone' test ! -e "$T/one.runs/$second"
at one "/api/v1/runs/$second"
is "$code $(jq -r .error.id "$T/body")" '404 no_run' 'and no longer found'

# --- runs that cannot begin ---
at one -X POST "/api/v1/processes/$pid/record?start_time=1"
is "$code $(jq -r .error.id "$T/body")" '404 ended_meanwhile' 'a reused pid'
MALLOC_CONF=prof:false start_victim idle
at one -X POST "/api/v1/processes/$pid/record"
is "$code $(jq -r .error.id "$T/body")" '501 opt_prof_false' 'one without profiling'
is "$(find "$T/one.runs" -mindepth 1 -maxdepth 1 | wc -l)" 1 'nothing of them is kept'
stop_target "$pid"

# --- a process that ends ---
MALLOC_CONF=$PROF start_victim idle
begin one
kill "$pid"
within 60 run_is one "$id" failed
is "$(jq -c '[.error.code, .profile_bytes]' "$T/body")" '["lost",null]' 'a process that ends: the cause is reported'
as_schema run 'one that failed: as the schema says'
ok 'the profile of the beginning is kept' test "$(jq .base_bytes "$T/body")" -gt 0
pid=$leaky

# Each part takes its own snapshot: jemalloc keeps address space for what is sampled
# (tests/gate/twice.t).
# --- the service ends ---
snapshot "$pid"
begin one
third=$id
end_serve one
is "$(active_of "$pid")" false 'the service ends: profiling is off again'
assert_untouched "$pid" 'the service ends: untouched'
start_serve one --keep 3
ok 'it is there after a restart' run_is one "$third" stopped
like "$(jq -c '[.profile_bytes, .base_bytes]' "$T/body")" '^\[[1-9][0-9]*,[1-9][0-9]*\]$' 'with both profiles'
ok 'the first one as well' run_is one "$first" stopped
ctl_fails 7 'runs_taken give_runs' 'a second service does not get the folder' serve --socket "$T/two.sock" --runs "$T/one.runs"

# --- our processes are killed ---
snapshot "$pid"
begin one
worker=$(worker_of "$id")
is "$(wc -w <<<"$worker")" 1 'one process records'
kill -KILL "$worker"
within 60 run_is one "$id" interrupted
within 60 eval '[ "$(active_of '"$pid"')" = false ]'
is "$(active_of "$pid")" false 'killed: profiling is off again'
within 60 grep -q interrupted "$T/one.runs/$id/run.json"
as_schema run 'one that was killed: as the schema says'
is "$(said one "op=record result=failed .* run=$id .*died: Killed")" 1 'the log has the cause' || diag "$(<"$T/one.err")"
assert_untouched "$pid" 'killed: untouched'

# A process that cannot be restored now is restored as soon as possible.
snapshot "$pid"
begin one
worker=$(worker_of "$id")
kill -STOP "$pid"
kill -KILL "$worker"
within 60 eval '[ "$(said one "is stopped")" -ge 2 ]' # it was tried again
ok 'stopped, and killed: it is left as it was' run_is one "$id" left
as_schema run 'one that is left: as the schema says'
kill -CONT "$pid"
within 120 run_is one "$id" interrupted
is "$(active_of "$pid")" false 'continued: profiling is off again'
assert_untouched "$pid" 'stopped, and killed: untouched'

snapshot "$pid"
begin one
end_child "$serve" -KILL
wait "$serve" 2>/dev/null
# The worker noticed that, and ended cleanly.
within 60 eval '[ "$(active_of '"$pid"')" = false ]'
is "$(active_of "$pid")" false 'the service killed: profiling is off again'
start_serve one --keep 3
within 60 run_is one "$id" stopped
ok 'what it recorded is there' run_is one "$id" stopped
assert_untouched "$pid" 'the service killed: untouched'

snapshot "$pid"
begin one
worker=$(worker_of "$id")
kill -STOP "$worker" # it must not end cleanly
end_child "$serve" -KILL
wait "$serve" 2>/dev/null
kill -KILL "$worker"
is "$(active_of "$pid")" true 'control: both killed: profiling is on'
start_serve one --keep 3
within 60 run_is one "$id" interrupted
within 60 eval '[ "$(active_of '"$pid"')" = false ]'
is "$(active_of "$pid")" false 'both killed: the next one restores it'
within 60 grep -q interrupted "$T/one.runs/$id/run.json"
assert_untouched "$pid" 'both killed: untouched'

# --- how many are kept ---
begin one
stop one "$id"
at one /api/v1/runs
is "$(jq -c '.runs | length' "$T/body")" 3 'the newest three are kept'
is "$(jq '.runs[0].id' "$T/body")" "$id" 'the newest comes first'
printf 'no JSON' >"$T/one.runs/$id/run.json"
at one "/api/v1/runs/$id"
is "$code $(jq -r .error.id "$T/body")" '500 run_unreadable' 'an invalid document'
at one /api/v1/runs
is "$code $(jq -c '.runs | length' "$T/body")" '200 2' 'the others are listed'
end_serve one

# --- --runs none ---
start_serve none --runs none
at none -X POST "/api/v1/processes/$pid/record"
is "$code $(jq -r .error.id "$T/body")" '500 no_runs' 'nothing is kept, and nothing recorded'
at none /api/v1/runs
is "$code $body" '200 {"runs":[]}' 'the list is empty'
end_serve none
: >"$T/file"
ctl_fails 10 'runs_failed give_runs' 'a file instead of a folder' serve --socket "$T/two.sock" --runs "$T/file"
mkdir -m 777 "$T/open"
ctl_fails 4 'runs_not_ours give_runs' 'a folder that others may write to' serve --socket "$T/two.sock" --runs "$T/open"

# --- a compromised front ---
snapshot "$pid"
use_false_front
start_serve false
connect_to "$T/false.sock"
order "ask record $pid duration_ms=86400000 id=1"
hears '^answer 1 refusal 0 code 0 .*run [1-9]'
id=$(sed -n 's/^answer 1 .* run \([0-9]*\) .*/\1/p' "${FRONT%/*}/HEARD" | tail -n 1)
order "ask run 0 run=$id id=2" "ask run_profile 0 run=$id flags=128 format=4 id=3" "ask run 0 run=18446744073709551615 id=4" \
	"ask run_profile 0 run=$id base=18446744073709551615 id=5" "ask run_delete 0 run=$id id=6"
for i in 2 3 4 5 6; do hears "^answer $i refusal 0"; done
is "$(heard '^answer 2 refusal 0 code 0 ')" 1 'control: a permitted request is answered'
is "$(heard '^answer [345] refusal 0 code 2 ')" 3 'missing runs are not found'
is "$(heard '^answer 6 refusal 0 code 7 ')" 1 'a running recording is not removed'
order 'exit 1'
says false 'front end exited'
is "$(active_of "$pid")" true 'without the front, the run goes on'
hears '^began' 2
connect_to "$T/false.sock"
order "ask run_stop 0 run=$id id=7"
hears "^answer 7 refusal 0 code 0 .*stopped"
is "$(heard '^answer 7 .*stopped')" 1 'and the next front can end it'
is_ended false "ask record $pid" "ask record $pid duration_ms=86400001" 'ask run 0' 'ask run_stop 0' 'ask run_delete 0' 'ask run_profile 0'
end_serve false
start_serve read --read-only
connect_to "$T/read.sock"
order "ask record $pid duration_ms=1000 id=10" "ask sample $pid duration_ms=1000 id=11" "ask run_delete 0 run=1 id=12" "ask run_stop 0 run=1 id=13"
for i in 10 11 12 13; do hears "^answer $i refusal 2"; done
is "$(heard '^answer 1[0-3] refusal 2')" 4 'read-only: nothing is recorded, ended or removed'
end_serve read
is "$(active_of "$pid")" false 'at the end: it is off'
assert_untouched "$pid" 'at the end: untouched'

done_testing
