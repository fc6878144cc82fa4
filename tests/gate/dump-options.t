#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Dumps only while sampling is on, and profiles with no more stacks than their reader accepts.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# --- dump --if-active ---

mkdir "$T/own"
export MALLOC_CONF=$PROF,prof_prefix:$T/own/it
start_victim idle 2
snapshot "$pid"
inactive=$pid
ctl_fails 6 'prof_inactive activate' 'inactive' dump "$pid" --if-active -o "$T/it.heap"
like "$err" "prof.active is false in $pid \(idle\)" 'inactive: the cause'
like "$err" "fix: start sampling: jeprof-ctl activate $pid" 'inactive: the fix'
ctl_fails 6 prof_inactive 'inactive: to stdout' dump "$pid" --if-active -o -
ctl_fails 6 prof_inactive 'inactive: in a format' dump "$pid" --if-active -f pprof -o "$T/it.pb.gz"
ctl_fails 6 prof_inactive 'inactive: in the target' dump "$pid" --if-active --in-target "$T/own/there.heap"
ctl_fails 6 prof_inactive 'inactive: by its own prefix' dump "$pid" --if-active --in-target
run_ctl dump "$pid" --if-active --json -o "$T/it.heap"
is "$status $(json .error.id) $(json .error.code)" '6 prof_inactive no_profiling' 'inactive: in JSON'
is "$(find "$T/own" -type f; find "$T" -maxdepth 1 -name 'it.*')" '' 'inactive: no file anywhere'
ctl_ok 'inactive, without --if-active' dump "$pid" -o "$T/old.heap"
like "$err" 'prof.active is false: the profile contains only' 'inactive, without --if-active: a warning'
is "$("$CTL" "${patient[@]}" -q get "$pid" prof.active)" false 'inactive, without --if-active: it stays off'

start_victim idle 2
snapshot "$pid"
ctl_ok 'activate' activate "$pid"
ctl_ok 'active' dump "$pid" --if-active -o "$T/it.heap"
ok 'active: a profile' is_profile "$T/it.heap"
unlike "$err" 'prof.active' 'active: no warning'
ctl_ok 'active: in the target' dump "$pid" --if-active --in-target "$T/own/there.heap"
ok 'active: in the target: a profile' is_profile "$T/own/there.heap"
ctl_ok 'active: by its own prefix' dump "$pid" --if-active --in-target
mkdir "$T/both"
run_ctl dump "$inactive" "$pid" --if-active -o "$T/both/"
is "$status" 6 'one of two is active: exit status'
is "$(find "$T/both" -name "*.heap" | sed 's/.*\/idle\.//; s/\..*//')" "$pid" 'one of two is active: it is dumped'
assert_untouched "$inactive" 'inactive: untouched'
assert_untouched "$pid" 'active: untouched'
stop_target "$inactive"
stop_target "$pid"

# --- --max-stacks ---

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:0
mkfifo "$T/orders"
: >"$T/orders.said"
start_victim dumper "$T/orders"
# 100 blocks in one stack, and 300 stacks with one block each.
echo 'grow 100' >"$T/orders"
echo 'stacks 300' >"$T/orders"
answered() { [ "$(wc -l <"$T/orders.said")" -eq 2 ]; }
ok 'it allocates' within 60 answered
snapshot "$pid"
ctl_ok 'all of it' report "$pid" --save "$T/all.heap" -f json -o "$T/all.json"
stacks=$(jq '.stacks | length' "$T/all.json")
totals=$(jq -c .totals "$T/all.json")
ok 'all of it: many stacks' test "$stacks" -gt 300

# bounded FILE N: print how many stacks it has, how many of them are "(other)", and the last one,
# and whether the rest are the largest
bounded()
{
	jq -r --slurpfile all "$T/all.json" --argjson n "$2" '. as $p
		| [.stacks[] | .frames[0][0] as $f | { name: $p.functions[$f].name, v: .values[1] }]
		| "\(length) \([.[] | select(.name == "(other)")] | length) \(.[-1].name) \(
			([.[:-1][].v] | sort) == ([$all[0].stacks[].values[1]] | sort | .[length - $n + 1:]))"' "$1"
}

for n in 1 2 100 $((stacks - 1)); do
	ctl_ok "at most $n" convert "$T/all.heap" "$T/it.json" --max-stacks "$n" --force
	is "$(bounded "$T/it.json" "$n")" "$n 1 (other) true" "at most $n: the largest, then the others"
	is "$(jq -c .totals "$T/it.json")" "$totals" "at most $n: the same totals"
done
for n in 0 "$stacks" $((stacks + 1)); do
	ctl_ok "$n of $stacks" convert "$T/all.heap" "$T/it.json" --max-stacks "$n" --force
	ok "$n of $stacks: all of them" cmp "$T/it.json" "$T/all.json"
done
ctl_ok 'the two largest' report "$T/all.heap" -f folded --max-stacks 2
like "$out" ';grow [0-9]{6}'$'\n''?' 'the two largest: a stack'
like "$out" '(^|'$'\n'')\(other\) [0-9]+' 'the two largest: the others together'
is "$(wc -l <"$T/out")" 2 'the two largest: two lines'
ctl_ok 'pprof' report "$T/all.heap" -f pprof --max-stacks 50 -o "$T/it.pb.gz"
ctl_ok 'pprof: report reads it' report "$T/it.pb.gz" --json -n 0 --no-fold
is "$(json .stacks) $(json '.total | round')" "50 $(jq '.totals[1] | round' "$T/all.json")" 'pprof: the number of samples, and the total'
ctl_ok 'dump' dump "$pid" -f pprof --max-stacks 50 -o "$T/dumped.pb.gz"
ctl_ok 'dump: report reads it' report "$T/dumped.pb.gz" --json
is "$(json .stacks)" 50 'dump: the number of samples'
ctl_fails 2 max_stacks_without_format 'a bare dump' dump "$pid" --max-stacks 5 -o "$T/it.heap"
ctl_fails 2 max_stacks_without_format 'raw' convert "$T/all.heap" "$T/it.raw" --max-stacks 5
ctl_fails 2 max_stacks_without_format 'a table' report "$T/all.heap" --max-stacks 5
assert_untouched "$pid"

done_testing
