#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program with 2,000 threads: each is visited, and a command that is killed or stopped midway
# harms none of them.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

MANY=2000
# Without samples: jemalloc's samples in 2,000 threads would need memory of their own.
export MALLOC_CONF=prof:true,prof_active:false,prof_thread_active_init:false

# count FILTER: print how many threads of the last document match
count()
{
	json "[.threads[] | select($1)] | length"
}

start_victim crowd "$MANY"
snapshot "$pid"
ctl_ok "$MANY threads" threads "$pid" --json
is "$(count true)" $((MANY + 1)) "$MANY threads: all of them"
is "$(json '[.missed, .unasked] | tostring')" '[0,0]' "$MANY threads: all answered"
is "$(count '.thread.allocated < 2000')" 0 "$MANY threads: with what they allocated"
is "$(json '[.threads[].tid] | unique | length')" $((MANY + 1)) "$MANY threads: each once"
ctl_ok "$MANY threads: --activate" threads "$pid" --activate all --json
is "$(count '.changed and .thread.prof.active')" $((MANY + 1)) "$MANY threads: --activate: all were set"
assert_untouched "$pid" "$MANY threads: untouched"

# Killed and stopped midway.
for seconds in 0.1 0.2 0.3 0.4 0.5; do
	timeout -s KILL "$seconds" "$CTL" "${patient[@]}" threads "$pid"
	timeout -s TERM "$seconds" "$CTL" "${patient[@]}" threads "$pid" --json >"$T/out" 2>"$T/err"
	diag "stopped after $seconds s: $(json .unasked) not asked"
done >"$T/stops" 2>&1
sed -n '/^# stopped/p' "$T/stops"
ctl_ok "$MANY threads, after that" threads "$pid" --json
is "$(json '[.missed, .unasked] | tostring')" '[0,0]' "$MANY threads, after that: all answered"
assert_untouched "$pid" "$MANY threads, after that: untouched"
stop_target "$pid"

done_testing
