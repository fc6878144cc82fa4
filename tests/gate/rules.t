#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve --rules: a rule that fires leads to a run, which is kept as others are; invalid files of
# rules are refused; and the process is left as it was, whichever process of ours is killed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/recording.sh
. tests/recording.sh
# shellcheck source=tests/serve.sh
. tests/serve.sh
# shellcheck source=tests/events.sh
. tests/events.sh

once="--cooldown 24h --again 0 --interval 100ms"

# rules NAME LINES...: write the rules of that service
rules()
{
	printf '%s\n' "${@:2}" >"$T/$1.rules"
	chmod 600 "$T/$1.rules"
}

# fired NAME FILTER: print all events of rules that are kept, through jq
fired()
{
	at "$1" '/api/v1/events?wait=0&since=0'
	jq -c "select(.type == \"rule\") | $2" "$T/body"
}

# run_is NAME ID STATE: is the run in this state?
run_is()
{
	at "$1" "/api/v1/runs/$2"
	[ "$(jq -r .state "$T/body")" = "$3" ]
}

# newest NAME STATE: is the newest run in this state? Sets `id`.
newest()
{
	at "$1" /api/v1/runs
	id=$(jq -r '.runs[0].id' "$T/body")
	[ "$(jq -r '.runs[0].state' "$T/body")" = "$2" ]
}

# records NAME: has the newest run begun to record? A run is listed from before that; if it fails then, it is not kept.
records()
{
	newest "$1" running && [ -s "$T/$1.runs/$id/profile.base.heap" ]
}

# rule_process: print the child that is not the front, of a service with one rule
rule_process()
{
	pgrep -P "$serve" | grep -vxF "$(pgrep -P "$serve" -f libexec/jeprof-ctl/http)"
}

# --- a rule that fires ---
MALLOC_CONF=prof:true,lg_prof_sample:12 start_victim leaky
leaky=$pid
snapshot "$leaky"
rules one '# what is at work' '' "  first: --children $leaky --when 'rss>1' $once # once" \
	"Second-2: --children $leaky --when \"rss>1\" --when 'rss>9999G' $once --do dump"
start_serve one --rules "$T/one.rules"
says one '^rule first: guarding 1 process, and any that start later'
ok 'both fire' within 60 eval '[ "$(fired one .name | sort -u | wc -l)" = 2 ]' || diag "$(<"$T/one.err")"
grep '"type":"rule"' "$T/body" >"$T/fired"
cp "$T/fired" "$T/body"
ok 'an event: as the schema says' tests/drivers/schema-check --bites doc/schema/jeprof-ctl.json event_rule "$T/fired"
is "$(of '[.name, .rule, .pid, .comm, .action, .ok]' | tr ' ' '\n' | sort | paste -sd ' ')" \
	"[\"Second-2\",\"rss>1\",$leaky,\"leaky\",\"dump\",true] [\"first\",\"rss>1\",$leaky,\"leaky\",\"dump\",true]" 'an event: its contents'
run=$(jq 'select(.name == "first") | .run' "$T/fired")
other=$(jq 'select(.name == "Second-2") | .run' "$T/fired")
at one "/api/v1/runs/$run"
ok 'its run: as the schema says' tests/drivers/schema-check --bites doc/schema/jeprof-ctl.json run "$T/body"
is "$(of '[.kind, .state, .pid, .comm, .by, .rule.name, .rule.text, .rule.action, .base_bytes]')" \
	"[\"guard\",\"done\",$leaky,\"leaky\",\"first\",\"first\",\"rss>1\",\"dump\",null]" 'its run: its contents'
ok 'its run: how much memory was in use' test "$(jq .rule.level_bytes "$T/body")" -gt 1
at one "/api/v1/runs/$run/profile?format=folded"
is "$code" 200 'its profile'
like "$body" 'replace_in_pool' 'its profile has names'
ok 'names were looked up when it was taken' test -s "$T/one.runs/$run/profile.raw"
at one "/api/v1/runs/$run/diff?base=$other&format=json"
is "$code" 200 'a difference of two'
at one /api/v1/runs
ok 'the list: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json runs "$T/body"
is "$(jq -c '[.runs[].id] | sort' "$T/body")" "$(jq -nc "[$run,$other] | sort")" 'the list has both'
at one /metrics
is "$(grep -c '^jeprof_ctl_rule_runs_total{rule="\(first\|Second-2\)",result="ok"} 1$' "$T/body")" 2 'both are counted'
is "$(said one "op=rule result=ok rule=first pid=$leaky comm=\"leaky\" run=$run\$")" 1 'the run is logged'
at one -X DELETE "/api/v1/runs/$run"
is "$code" 204 'it is removed'
at one "/api/v1/runs/$run"
is "$code" 404 'it is gone'
end_serve one
ok 'the other one is kept' test -s "$T/one.runs/$other/profile.heap"
assert_untouched "$leaky" 'fired: untouched'

# --- a run that cannot be made ---
rules failed "every: --children $leaky --when 'every 100ms'"
kill -STOP "$leaky"
start_serve failed --rules "$T/failed.rules"
ok 'it fails: an event reports it' within 60 eval '[ -n "$(fired failed .error.id)" ]'
grep '"type":"rule"' "$T/body" | head -n 1 >"$T/fired"
ok 'it fails: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json event_rule "$T/fired"
is "$(jq -c '[.name, .ok, .run]' "$T/fired")" '["every",false,null]' 'it fails: its event'
says failed '^jeprof-ctl: warning: rule every: '
at failed /metrics
is "$(grep -c '^jeprof_ctl_rule_runs_total{rule="every",result="failed"} 1$' "$T/body")" 1 'it fails: it is counted'
kill -CONT "$leaky"
ok 'it is tried again' within 120 eval '[ "$(fired failed .ok | tail -n 1)" = true ]'
end_serve failed
assert_untouched "$leaky" 'failed: untouched'
stop_target "$leaky"

# --- a run that fails after it has begun: what there is of it is kept ---
MALLOC_CONF=$PROF start_victim idle
rules begun "begun: --children $pid --when 'rss>1' --do 'record 24h' $once"
start_serve begun --rules "$T/begun.rules"
ok 'it records' within 60 records begun
newest begun running
kill -KILL "$pid"
ok 'its process is killed: an event reports it' within 60 eval '[ -n "$(fired begun .error.id)" ]'
is "$(fired begun '[.ok, .run]')" "[false,$id]" 'the event names the run'
at begun "/api/v1/runs/$id"
is "$(jq -c '[.state, .error.id]' "$T/body")" "$(fired begun '["failed", .error.id]')" 'the run has the same error'
is "$(said begun "op=rule result=failed rule=begun pid=$pid comm=\"idle\" run=$id\$")" 1 'the run is logged as failed'
end_serve begun

# --- several at once: each run has its own number ---
declare -a crowd
for _ in 1 2 3 4; do
	MALLOC_CONF=prof:true start_victim idle
	crowd+=("$pid")
	snapshot "$pid"
done
rules many "a: --children ${crowd[0]} --when 'every 1ms'" "b: --children ${crowd[1]} --when 'every 1ms'" \
	"c: --children ${crowd[2]} --when 'every 1ms'" "d: --children ${crowd[3]} --when 'every 1ms'"
start_serve many --rules "$T/many.rules" --keep 0
ok 'four rules, again and again' within 60 eval '[ "$(fired many "select(.ok) | .name" | sort | uniq -c | awk "\$1 >= 3" | wc -l)" = 4 ]'
grep '"type":"rule"' "$T/body" >"$T/fired"
is "$(jq -c 'select(.ok | not)' "$T/fired")" '' 'none fails'
is "$(jq .run "$T/fired" | sort -u | wc -l)" "$(wc -l <"$T/fired")" 'each run has a number of its own'
end_serve many
for p in "${crowd[@]}"; do
	assert_untouched "$p" 'many: untouched'
	stop_target "$p"
done

# --- events that could not be reported are counted ---
# At most 40 messages are read before the rule is restarted, which drops the rest.
cp "$VICTIMS/idle" "$T/rule-crowd"
crowd=()
for _ in {1..10}; do
	MALLOC_CONF=prof:true start_victim "$T/rule-crowd"
	crowd+=("$pid")
	snapshot "$pid"
done
taken()
{
	grep -ls '"state": *"done"' "$T/lost.runs"/*/run.json | wc -l
}
rules lost "lost: --comm rule-crowd --when 'every 1ms'"
start_serve lost --rules "$T/lost.rules" --keep 0
says lost '^rule lost: guarding 10 processes'
rule=$(rule_process)
kill -STOP "$serve"
ok 'nobody listens: it goes on' within 120 eval '[ "$(taken)" -ge 60 ]'
kill -KILL "$rule"
kill -CONT "$serve"
lost()
{
	at lost '/api/v1/events?wait=0&since=0'
	jq -c 'select(.type == "lost" and .what == "rules")' "$T/body"
}
ok 'some are lost' within 60 eval '[ -n "$(lost)" ]'
lost >"$T/lost"
ok 'lost: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json event_lost "$T/lost"
# Up to 8 runs may have been made at once, but not reported yet.
ok 'lost: the number is right' test "$(($(jq .count "$T/lost" | head -n 1) + $(fired lost .run | sort -u | wc -l)))" -ge $((60 - 8)) ||
	diag "$(<"$T/lost")"
says lost '^rule lost: guarding 10 processes' 2
before=$(fired lost .run | tail -n 1)
has_newer()
{
	[ "$(fired lost .run | tail -n 1)" -gt "$before" ]
}
ok 'the restarted rule goes on' within 60 has_newer
end_serve lost
for p in "${crowd[@]}"; do
	assert_untouched "$p" 'lost: untouched'
	stop_target "$p"
done

# --- our processes are killed ---
MALLOC_CONF=$PROF start_victim idle
snapshot "$pid"
rules long "long: --children $pid --when 'rss>1' --do 'record 24h' $once"
start_serve long --rules "$T/long.rules"
ok 'it records' within 60 records long
newest long running
ok 'it is sampled' within 60 is_on "$pid"
first=$id
at long -X POST "/api/v1/runs/$id/stop"
is "$code $(jq -r .error.id "$T/body")" '409 run_of_rule' 'it cannot be ended early'
at long -X DELETE "/api/v1/runs/$id"
is "$code $(jq -r .error.id "$T/body")" '409 run_goes_on' 'it cannot be removed'
at long -X POST "/api/v1/processes/$pid/record"
is "$code $(jq -c '[.error.id, .error.about.number]' "$T/body")" "409 [\"run_at_work\",$id]" 'its process cannot be recorded as well'
is "$(rule_process | wc -l)" 1 'control: one process has the rule'
kill -KILL "$(rule_process)"
says long 'rule long is not active: .*died: Killed'
ok 'the rule is killed: its recording ends cleanly' within 60 run_is long "$first" stopped
says long '^rule long: guarding 1 process' 2
ok 'it is started again, and fires' within 60 eval 'records long && [ "$id" != "$first" ]'
newest long running
ok 'it is sampled again' within 60 is_on "$pid"
second=$id
end_serve long
is "$(active_of "$pid")" false 'the service ends: profiling is off again'
start_serve long --runs "$T/long.runs"
ok 'the service ended: its profile is there' run_is long "$second" stopped
is "$(jq -c '[.kind, .rule.name]' "$T/body")" '["guard","long"]' 'after a restart without rules: its rule is still known'
end_serve long
assert_untouched "$pid" 'the service ended: untouched'

# All of them at once.
snapshot "$pid"
start_serve long --rules "$T/long.rules"
ok 'it records once more' within 60 records long
newest long running
worker=$(pgrep -P "$(rule_process)")
is "$(wc -w <<<"$worker")" 1 'one process records'
kill -STOP "$worker" # it must not end cleanly
kill -KILL "$(rule_process)" "$serve"
wait "$serve" 2>/dev/null
kill -KILL "$worker"
is "$(active_of "$pid")" true 'control: all are killed: profiling is on'
start_serve long --runs "$T/long.runs"
ok 'the next service restores it' within 60 run_is long "$id" interrupted
within 60 eval '[ "$(active_of '"$pid"')" = false ]'
is "$(active_of "$pid")" false 'and profiling is off again'
within 60 grep -q interrupted "$T/long.runs/$id/run.json"
end_serve long
assert_untouched "$pid" 'all are killed: untouched'

# Only the worker, while the service continues.
snapshot "$pid"
start_serve long --rules "$T/long.rules"
ok 'it records at last' within 60 records long
newest long running
third=$id
kill -KILL "$(pgrep -P "$(rule_process)")"
ok 'the worker is killed: the process is restored' within 60 run_is long "$third" interrupted
ok 'the worker is killed: an event' within 60 eval '[ "$(fired long .ok | head -n 1)" = false ]'
end_serve long
within 60 eval '[ "$(active_of '"$pid"')" = false ]'
is "$(active_of "$pid")" false 'the worker was killed: profiling is off again'
assert_untouched "$pid" 'the worker was killed: untouched'

# --- a restarted rule holds nothing of operations in progress ---
# memory_files PID: print how many it has
memory_files()
{
	find "/proc/$1/fd" -lname '*memfd:*' | wc -l
}
snapshot "$pid"
rules idle 'idle: --comm no-such-name'
start_serve idle --rules "$T/idle.rules"
says idle '^rule idle: guarding 0 processes'
first=$(rule_process)
files=$(memory_files "$first")
ok 'control: it has a memory file, for its answer' test "$files" -gt 0
at idle -X POST "/api/v1/processes/$pid/record?duration=24h"
is "$code" 202 'an operation goes on'
operation=$(rule_process | grep -vxF "$first")
kill -KILL "$first"
says idle '^rule idle: guarding 0 processes' 2
is "$(memory_files "$(rule_process | grep -vxF "$operation")")" "$files" 'the restarted rule has no memory file of it'
end_serve idle
assert_untouched "$pid" 'started again: untouched'

# --- refusals ---
# refused NAME STATUS IDS LINES...: it must be refused at the start, before it serves
refused()
{
	local name=$1 status=$2 ids=$3

	rules bad "${@:4}"
	ctl_fails "$status" "$ids" "refused: $name" serve --socket "$T/bad.sock" --runs "$T/bad.runs" --rules "$T/bad.rules"
}
good="a: --all --when 'rss>1'"
for option in '-o x' '--output x' '--for 1s' '--count 1' '--keep 1' '--max-bytes 1M' '--on-profile true' '--json' '-q' "$pid" \
	"-p $pid" '--help'; do
	refused "$option" 2 'in_rules_line rule_option leave_rule_option' "$good" "b: --all $option"
done
for name in 'a b:' ':' 'a.b:' "$(printf 'x%.0s' {1..33}):" '--all' 'a' "'a':"; do
	refused "the name $name" 2 'in_rules_line rule_malformed write_a_rule' "$good" "$name --all"
done
refused 'a name twice' 2 'in_rules_line rule_twice' "$good" "$good"
refused 'a quotation mark' 2 'in_rules_line rule_quotes' "a: --all --when 'rss>1"
refused 'an unknown option' 2 'in_rules_line option_unknown did_you_mean' 'a: --all --whne x'
refused 'no process' 2 'in_rules_line watch_needs_processes' "a: --when 'rss>1'"
refused 'an invalid condition' 2 'in_rules_line in_option until_unknown when_examples' "a: --all --when 'swap>1'"
refused 'an unknown action' 2 'in_rules_line in_option action_unknown actions' 'a: --all --do jump'
refused 'a file without a rule' 2 'no_rules write_a_rule' '# nothing' ''
mapfile -t lines < <(printf 'r%s: --all\n' {1..33})
refused 'too many rules' 2 'in_rules_line too_many_rules' "${lines[@]}"
rules bad '' '# one' 'a: --all --count 1'
run_ctl serve --socket "$T/bad.sock" --runs "$T/bad.runs" --rules "$T/bad.rules"
like "$err" "$T/bad\.rules, line 3: --count is not allowed in a rule of a service" 'the line and the option are named'
like "$err" 'fix: leave it out' 'the fix is shown'
rules bad "$good"
ctl_fails 2 'rules_need_runs give_runs' 'refused: without a folder of runs' serve --socket "$T/bad.sock" --runs none --rules "$T/bad.rules"
rules bad 'a: --all --activate'
ctl_fails 2 'in_rules_line exclusive' 'refused: a change, with --read-only' serve --socket "$T/bad.sock" --read-only --rules "$T/bad.rules"
rules bad 'a: --all --do record'
ctl_fails 2 'in_rules_line exclusive' 'refused: a recording, with --read-only' serve --socket "$T/bad.sock" --read-only --rules "$T/bad.rules"
rules bad "$good"
chmod 620 "$T/bad.rules"
ctl_fails 1 'rules_not_ours chmod_config' 'refused: others may write to it' serve --socket "$T/bad.sock" --rules "$T/bad.rules"
chmod 600 "$T/bad.rules"
chown 54321 "$T/bad.rules"
ctl_fails 1 'rules_not_ours chmod_config' 'refused: it belongs to another user' serve --socket "$T/bad.sock" --rules "$T/bad.rules"
ctl_fails 1 'rules_not_ours chmod_config' 'refused: a folder' serve --socket "$T/bad.sock" --rules "$T"
ctl_fails 1 rules_unreadable 'refused: no file' serve --socket "$T/bad.sock" --rules "$T/no-such"
printf 'a: --all\0 --when x\n' >"$T/zero.rules"
ctl_fails 2 'in_rules_line rule_malformed write_a_rule' 'refused: a zero byte' serve --socket "$T/bad.sock" --rules "$T/zero.rules"
ok 'none of them has served' test ! -e "$T/bad.sock" -a ! -e "$T/bad.runs"
rules good "q: --comm \"no such\"' name' --when rss'>'1 --on-profile-exec /bin/true"
start_serve good --rules "$T/good.rules"
says good '^rule q: guarding 0 processes'
is "$(said good '^rule q: guarding 0 processes')" 1 'control: a valid file'
end_serve good

done_testing
