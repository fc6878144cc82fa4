#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The output of each command with --json conforms to the schema, which detects violations.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

schema=doc/schema/jeprof-ctl.json
printed=" watch watch_event watch_lost probes probe " # tested where there are watches, and tests/gate/probes.t
printed+="event event_operation event_dump event_rule event_lost " # tests/gate/events.t, tests/gate/rules.t
printed+="discover run runs " # no command prints these: tests/unit/test_discover.c, tests/gate/runs.t

# is_as NAME STATUS TITLE ARGUMENTS...: the output must conform, and damage to it must be detected
is_as()
{
	local name=$1 want=$2 title=$3

	shift 3
	run_ctl "$@" --json
	is "$status" "$want" "$title: exit status" || diag "$err"
	ok "$title: as the schema says" tests/drivers/schema-check --bites "$schema" "$name" "$T/out" ||
		diag "$(tests/drivers/schema-check --bites "$schema" "$name" "$T/out" 2>&1)"
	printed+="$name "
}

# --- the schema itself ---
ok 'it is valid' tests/drivers/schema-check "$schema"
jq '."$defs".version.type = "strnig"' "$schema" >"$T/invalid.json"
like "$(tests/drivers/schema-check "$T/invalid.json" 2>&1)" "'strnig' is not" 'control: one with an unknown type is not'

# --- without a process ---
is_as version 0 version version
is_as error 3 'no such process' status 4194304
is_as error 2 'a usage error' status
is_as conf 0 'a configuration' check --conf prof:true
is_as conf 2 'an invalid one' check --conf prof:ture,lg_prof_sample:99,x

# --- a process ---
MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"
is_as list 0 list list --comm idle
ok 'list: it is there' jq -e --argjson pid "$pid" 'any(.pid == $pid)' "$T/out"
is_as check 0 check check "$pid"
is_as status 0 status status "$pid"
is_as explain 0 explain explain "$pid"
is_as get 0 get get "$pid" version opt.prof prof.lg_sample
is_as several 3 'several, of which one does not exist' reset "$pid" 4194304
is_as several 0 'those of a name' status --comm idle
is_as error 2 'get, no such name' get "$pid" nothing.of.the.kind
is_as set 0 set set "$pid" prof.active true
is_as activate 0 'activate, active already' activate "$pid"
is_as gdump 0 gdump gdump "$pid" off
is_as error 1 'gdump, refused' gdump "$pid" on
is_as prefix 0 prefix prefix "$pid" "$T/prefix"
is_as reset 0 reset reset "$pid"
is_as threads 0 threads threads "$pid"
is_as dump 0 dump dump "$pid" -o "$T/one.heap"
is_as dump 0 'dump, by the target' dump "$pid" --in-target="$T/by-target.heap"
is_as record 0 record record "$pid" -d 200ms -o "$T/two.heap"
is_as dump 0 'another dump' dump "$pid" -o "$T/three.heap"
is_as undo 0 undo undo
is_as bundle 0 'a bundle of a process' bundle "$pid" -o "$T/process.tar"
is_as report 0 'report of a bundle' report "$T/process.tar"
ok 'it shows where the memory is' jq -e .memory.advice "$T/out"
is_as activate 0 deactivate deactivate "$pid"
is_as dump 0 'a dump with a warning' dump "$pid" -o "$T/warned.heap"
ok 'it has a warning' jq -e .warning "$T/out"
assert_untouched "$pid"
stop_target "$pid"

# --- a guard: its profiles, the documents next to them, and what it cannot profile ---
MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"
for action in dump 'record 100ms'; do
	mkdir "$T/guarded"
	is_as guard 0 "guard, $action" guard "$pid" --when 'every 1ms' --do "$action" --count 1 -o "$T/guarded"
	ok "guard, $action: the document beside the profile is the same" cmp <(jq -S . "$T/out") <(jq -S . "$T"/guarded/*.json)
	rm -r "$T/guarded"
done
mkdir "$T/guarded"
"$CTL" "${patient[@]}" guard "$pid" --when 'every 1ms' --json -o "$T/guarded" >"$T/failed" 2>"$T/err" &
guard=$!
own "$guard"
within 60 test -s "$T/failed"
mv "$T/guarded" "$T/away"
within 60 grep -q '"ok":false' "$T/failed"
kill -INT "$guard"
wait "$guard"
grep '"ok":false' "$T/failed" >"$T/out"
ok 'guard, what fails: as the schema says' tests/drivers/schema-check --bites "$schema" guard "$T/out" ||
	diag "$(tests/drivers/schema-check --bites "$schema" guard "$T/out" 2>&1)"
is "$(jq -r .error.code "$T/out" | sort -u)" output 'guard, what fails: the cause is reported'
assert_untouched "$pid"
stop_target "$pid"

# --- a process that cannot be profiled, and one without symbols ---
MALLOC_CONF=prof:false start_victim idle
is_as check 6 'check, not ready' check "$pid"
is_as status 0 'status without profiling' status "$pid"
is_as threads 0 'threads without profiling' threads "$pid"
is_as explain 0 'explain without profiling' explain "$pid"
is_as error 6 'a dump without profiling' dump "$pid" -o "$T/none.heap"
stop_target "$pid"

# --- a killed recording ---
MALLOC_CONF=$PROF start_victim idle
"$CTL" record "$pid" "${patient[@]}" -d 60s -o "$T/killed.heap" >/dev/null 2>&1 &
recorder=$!
own "$recorder"
within 60 test -s "$T/killed.base.heap" # it has begun
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
is_as undo 0 'undo, something' undo "$pid"
ok 'something was restored' jq -e '.recordings[0].state == "undone"' "$T/out"
stop_target "$pid"

# --- a service ---
# shellcheck source=tests/systemd.sh
. tests/systemd.sh
mkdir -m 755 /run/systemd/system
unit a.service
is_as enable 0 'enable, only shown' enable a -n
is_as enable 0 enable enable a -y
is_as disable 0 disable disable a -y
is_as error 2 'enable, without an answer' enable a

# --- files ---
is_as report 0 report report "$T/three.heap"
is_as report 0 'report, objects' report --inuse-objects "$T/three.heap"
is_as report 0 'report, not folded' report --no-fold "$T/three.heap"
is_as diff 0 diff diff "$T/one.heap" "$T/three.heap"
is_as leaks 0 leaks leaks "$T/one.heap" "$T/two.heap" "$T/three.heap"
is_as bundle 0 'a bundle of a profile' bundle "$T/three.heap" -o "$T/profile.tar"
is_as error 1 'no profile' report README.md

# --- all documents ---
known=$(jq -r '."$defs" | keys[]' "$schema" | grep -vxE 'call|cost|folded|growth|leak|memory|mode|process|value|values|warnings?')
for name in $known; do
	like "$printed" " $name " "a document was printed for $name"
done
is "$(tests/drivers/schema-check "$schema" version <<<'{"version": 1}' >/dev/null; echo $?)" 1 'control: an invalid document is rejected'

done_testing
