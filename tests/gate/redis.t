#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All commands on Debian's redis-server, whose own DEBUG MALLCTL is an independent witness.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

mallctl()
{
	redis DEBUG MALLCTL "$1"
}

# switch NAME: print a bool, which can only be read by writing it: redis prints the old value, and
# the old value is then written again
switch()
{
	local old

	old=$(redis DEBUG MALLCTL "$1" 0)
	[ "$old" = 0 ] || redis DEBUG MALLCTL "$1" "$old" >/dev/null
	echo "$old"
}

# records_of FILE: print the records of a profile: each stack with its counters for all threads
records_of()
{
	awk '/^@/ { stack = $0; getline; print stack, $0 }' "$1" | sort
}

MALLOC_CONF=$PROF start_redis
load_redis 5000
snapshot "$pid"

# --- inspection ---
ctl_ok 'check' check "$pid" --json
is "$(json .ready)" true 'check: ready'
is "$(json .pid)" "$pid" 'check: names the process'
is "$(json '[.checks[] | select(.ok != true)] | length')" 0 'check: everything is ok'
ctl_ok 'check for people' check "$pid"
ctl_ok 'status' status "$pid" --json
is "$(json .config.prof)" true 'status: config.prof'
is "$(json .opt.prof)" true 'status: opt.prof'
is "$(json .prof.active)" false 'status: prof.active'
is "$(switch prof.active)" 0 'redis says the same'
ctl_ok 'status for people' status "$pid"
like "$(sed -n 1p "$T/out")" 'opt\.prof.*true' 'status: its first line is opt.prof'
like "$(sed -n 2p "$T/out")" 'prof\.active.*false' 'status: its second line is prof.active'
like "$(sed -n 3p "$T/out")" 'prof\.thread_active_init.*true' 'status: its third line is prof.thread_active_init'
ctl_ok 'list' list --json
is "$(jq -r --argjson p "$pid" '.. | objects | select(.pid? == $p) | .linkage' "$T/out")" shared 'list: it is listed'
assert_untouched "$pid" 'inspection leaves it untouched'

# --- activate ---
ctl_ok 'activate' activate "$pid" --json
is "$(json '[.changed, .before, .after, .pid] | @csv')" "true,false,true,$pid" 'activate: changed'
like "$(json .pause_us)" '^[0-9]+$' 'activate: says how long it was stopped'
is "$(switch prof.active)" 1 'redis says that it is active'
assert_untouched "$pid" 'activate leaves it untouched'
load_redis 20000 300
snapshot "$pid"
ctl_ok 'status while active' status "$pid" --json
is "$(json .prof.active)" true 'status: active'

# --- dump ---
ctl_ok 'deactivate' deactivate "$pid" --json
is "$(json '[.changed, .before, .after] | @csv')" true,true,false 'deactivate: changed'
is "$(switch prof.active)" 0 'redis says that it is no longer active'

# Our dump is taken between two of redis's own: if those are equal, ours must be, too.
for attempt in 1 2 3 4 5; do
	redis DEBUG MALLCTL-STR prof.dump "$T/oracle1.heap" >/dev/null
	rm -f "$T/ours.heap"
	run_ctl dump "$pid" -o "$T/ours.heap" --json
	redis DEBUG MALLCTL-STR prof.dump "$T/oracle2.heap" >/dev/null
	cmp -s <(records_of "$T/oracle1.heap") <(records_of "$T/oracle2.heap") && break
	diag "redis's own dumps differ in attempt $attempt"
done
is "$status" 0 'dump' || diag "$err"
is "$(json .file)" "$T/ours.heap" 'dump: names the file'
is "$(json .bytes)" "$(stat -c %s "$T/ours.heap")" 'dump: counts its bytes'
is "$(json .via)" memfd 'dump: came through a memfd'
ok 'dump: is a profile' is_profile "$T/ours.heap"
like "$(stacks_of "$T/ours.heap" | wc -l)" '^[1-9][0-9]*$' 'dump: has stacks'
ok 'dump: the stacks and counters of redis'\''s own dump' \
	diff <(records_of "$T/oracle2.heap") <(records_of "$T/ours.heap")
ctl_ok 'dump to standard output' dump "$pid" -o -
ok 'dump: standard output is a profile' is_profile "$T/out"
(cd "$T" && "$CTL" "${patient[@]}" dump "$pid" >out 2>err)
named=$(cd "$T" && echo redis-server."$pid".*.heap)
like "$named" "^redis-server\.$pid\.[0-9]{8}T?-?[0-9]{6}Z?\.heap\$" 'dump: chooses a file name'
ok 'dump: that file is a profile' is_profile "$T/$named"
assert_untouched "$pid" 'dump leaves it untouched'

# --- the target's own files ---
ctl_ok 'prefix' prefix "$pid" "$T/own" --json
ctl_ok 'dump --in-target by the prefix' dump "$pid" --in-target --json
ok 'dump --in-target: its file is a profile' is_profile "$(ls "$T"/own.*.heap)"
like "$(json .file)" "^($T/own\.$pid\.0\.m0\.heap|null)\$" 'dump --in-target: names the file'
ctl_ok 'dump --in-target PATH' dump "$pid" --in-target "$T/chosen.heap" --json
is "$(json .file)" "$T/chosen.heap" 'dump --in-target PATH: names the file'
ok 'dump --in-target PATH: is a profile' is_profile "$T/chosen.heap"
is "$(json .bytes)" "$(stat -c %s "$T/chosen.heap")" 'dump --in-target PATH: its size'
like "$(<"$T/chosen.heap")" "# pid $pid"$'\n''# comm redis-server'$'\n''(# [^'$'\n'']*'$'\n'')*# build-id ' \
	'dump --in-target PATH: the profile names its process'
ctl_fails 10 'inside_failed name_a_folder_in_target' 'dump --in-target: a missing folder' \
	dump "$pid" --in-target "$T/no-such-folder/x.heap"
like "$err" 'no-such-folder' 'dump --in-target: a missing folder: it is named'
assert_untouched "$pid" 'dumps by the target leave it untouched'

# --- reset, gdump ---
ctl_ok 'reset --lg-sample' reset "$pid" --lg-sample 14 --json
is "$(mallctl prof.lg_sample)" 14 'redis has the new rate'
ctl_ok 'reset --sample-rate' reset "$pid" --sample-rate 64K
is "$(mallctl prof.lg_sample)" 16 'redis has the next rate'
unlike "$err" 'keeps the old rate' 'a coarser rate: no warning'
# A new rate has no effect until the next sample, which is far away.
ctl_ok 'reset to a rate that never comes' reset "$pid" --sample-rate 1T
sample_some()
{
	redis DEBUG POPULATE 20000 "$1" 64 >"$T/populate"
	run_ctl dump "$pid" -o "$T/$1.heap"
	sed -n '2s/^  t\*: \([0-9]*\):.*/\1/p' "$T/$1.heap"
}
ctl_ok 'activate' activate "$pid"
sample_some interval >"$T/count" # the intervals that had begun
is "$(sample_some never)" "$(<"$T/count")" 'no further sample is taken'
ctl_ok 'reset to a finer rate' reset "$pid" --sample-rate 4K
like "$err" 'warning: each thread keeps the old rate until its next sample, after 1.0T on average' 'a finer rate: a warning says when it takes effect'
is "$(sample_some missing)" 0 'until then, nothing is sampled'
run_ctl reset "$pid" --sample-rate 8K --json
is "$(json '.warning // "none"')" none 'a coarser rate: no warning in JSON'
run_ctl reset "$pid" --sample-rate 4K --json
is "$(json .warning_id)" finer_later 'a finer rate: in JSON, too'
ctl_ok 'deactivate' deactivate "$pid"
ctl_ok 'reset alone' reset "$pid"
is "$(mallctl prof.lg_sample)" 12 'reset alone keeps the rate'
ctl_ok 'gdump on' gdump "$pid" on --force --json
is "$(json '[.changed, .before, .after] | @csv')" true,false,true 'gdump on: changed'
is "$(switch prof.gdump)" 1 'redis says that gdump is on'
ctl_ok 'gdump off' gdump "$pid" off --json
is "$(json '[.changed, .before, .after] | @csv')" true,true,false 'gdump off: changed'
is "$(switch prof.gdump)" 0 'redis says that gdump is off'
assert_untouched "$pid" 'reset and gdump leave it untouched'

# --- stats, get, set ---
redis=$pid
ctl_ok 'stats -f json' stats "$pid" -f json
like "$(json .jemalloc.version)" '^5\.' 'stats -f json: jemalloc'\''s own document'
ctl_ok 'stats -f text' stats "$pid" -f text
like "$out" 'Begin jemalloc statistics' 'stats -f text: jemalloc'\''s own text'
ctl_ok 'stats -f prom' stats "$pid" -f prom
like "$out" 'jemalloc_[a-z_]+(\{[^}]*\})? [0-9]' 'stats -f prom: metrics'
start_victim idle-je 1
idle=$pid
pid=$redis
ctl_ok 'stats -f prom, of two' stats "$redis" "$idle" "$redis" -f prom
is "$(awk '
	/^#/ { if (seen[$2, $3]++) print "twice:", $0; next }
	{ sub(/\{.*/, "", $1); if ($1 != last && n[$1]) print "apart:", $1; last = $1; n[$1]++ }
	END { for (m in n) if (n[m] > 2 || !seen["TYPE", m]) print "odd:", m }' "$T/out")" \
	'' 'stats -f prom, of two: each metric is contiguous, and described once'
for one in "$redis" "$idle"; do
	like "$out" "jemalloc_allocated_bytes\{pid=\"$one\",comm=\"[^\"]+\"\} [1-9]" "stats -f prom, of two: $one"
done
stop_target "$idle"
ctl_ok 'get' get "$pid" prof.active opt.lg_prof_sample version --json
is "$(json .prof.active)" false 'get: a bool'
is "$(json .opt.lg_prof_sample)" 12 'get: a size'
like "$(json .version)" '^5\.' 'get: a string'
ctl_ok 'set' set "$pid" prof.active true --json
is "$(switch prof.active)" 1 'set: redis confirms it'
ctl_ok 'set back' set "$pid" prof.active off
is "$(switch prof.active)" 0 'set back: redis confirms it'
ctl_fails 2 'name_unknown see_mallctl_names' 'get refuses an unknown name' get "$pid" no.such.name
like "$err" 'no\.such\.name' 'get: the name is shown'
ctl_fails 2 value_malformed 'set refuses a value of another type' set "$pid" prof.active 17
ctl_fails 2 name_read_only 'set refuses a read-only name' set "$pid" version x
ctl_fails 2 name_dangerous 'set refuses a dangerous name' set "$pid" arena.0.reset
ctl_ok 'version' version
assert_untouched "$pid" 'stats, get and set leave it untouched'

# --- by name ---
comm=t$RANDOM
cp "$VICTIMS/idle" "$T/$comm"
MALLOC_CONF=$PROF start_victim "$T/$comm"
snapshot "$pid"
ctl_ok '--comm finds it' activate --comm "$comm" --json
is "$(json '.[].pid')" "$pid" '--comm: the right one'
ctl_ok '-p' deactivate -p "$pid"
assert_untouched "$pid"
MALLOC_CONF=$PROF start_victim "$T/$comm"
ctl_fails 2 'name_ambiguous name_one_by_pid' '--comm: two of that name are listed' get --comm "$comm" version
like "$err" "$pid" '--comm: by their pids'

done_testing
