#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of the allocated memory a profile covers, and why it does not cover the rest.

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# covered TITLE FILE MIN MAX: it must cover MIN to MAX % of the allocated bytes
covered()
{
	ctl_ok "$1" report "$2" --json
	is "$(json "100 * .total / .allocated | . >= $3 and . <= $4")" true "$1: $3 to $4 %"
}

# --- allocated before sampling began: 40 MiB ---
export MALLOC_CONF=$PROF
start_victim owned 0
snapshot "$pid"
ctl_ok 'record' record "$pid" -d 300ms -o "$T/late.heap"
like "$out" 'AFTER covers 0 of 4[0-9.]+M allocated \(0%\): the rest was allocated before sampling began' 'record: what the profile does not cover'
like "$(<"$T/late.heap")" $'\n# allocated 4[0-9]{7}\n' 'a profile says how much was allocated'
like "$(<"$T/late.heap")" $'\n# opt.prof_active false\n' 'a profile says whether it was sampled from the start'
covered 'the report of a recording' "$T/late.heap" 0 1
ctl_ok 'report' report "$T/late.heap"
like "$out" $'^inuse_space[^\n]*\ncovers 0 of 4[0-9.]+M allocated \(0%\): the rest was allocated before sampling began\n' \
	'report: the coverage, below the total'
ctl_ok 'report of objects' report "$T/late.heap" --inuse-objects
unlike "$out" covers 'report of objects: no coverage'
ctl_ok 'dump' dump "$pid" -o "$T/dump.heap"
like "$(<"$T/dump.heap")" $'\n# allocated 4[0-9]{7}\n' 'dump: the same'
ctl_ok 'dump in the target' dump "$pid" --in-target "$T/in.heap"
like "$(<"$T/in.heap")" $'\n# allocated 4[0-9]{7}\n' 'dump in the target: the same'
ctl_ok 'a sum of two processes' report "$T/late.heap" "$T/dump.heap" --sum --json
is "$(json '.allocated > 80000000')" true 'a sum: allocated bytes are added up'
sed '/^# allocated/d' "$T/dump.heap" >"$T/unknown.heap"
ctl_ok 'a sum with a profile that lacks it' report "$T/late.heap" "$T/unknown.heap" --sum --json
is "$(json '[.allocated, .opt.prof_active] | tostring')" '[null,false]' 'a sum with a profile that lacks it: unknown'
sed 's/^# allocated .*/# allocated 9223372036854775807/; s/^# opt.prof_active .*/# opt.prof_active maybe/' "$T/dump.heap" >"$T/wild.heap"
ctl_ok 'impossible values, in JSON' report "$T/wild.heap" --json
is "$(json '[.allocated > 9000000000000000000, .opt.prof_active] | tostring')" '[true,null]' 'impossible values, in JSON: as given'
ctl_ok 'impossible values' report "$T/wild.heap"
like "$out" 'allocated \(0%\): the rest was allocated before sampling began, or in threads' 'impossible values: when sampling began is unknown'
ctl_ok 'a difference' diff "$T/late.base.heap" "$T/late.heap"
like "$out" 'AFTER covers 0 of 4' 'a difference: the coverage of the second'
assert_untouched "$pid" 'counting leaves it untouched'
stop_target "$pid"

# --- sampled from the start ---
export MALLOC_CONF=prof:true,lg_prof_sample:12
start_victim owned 0
ctl_ok 'from the start' dump "$pid" -o "$T/all.heap"
like "$(<"$T/all.heap")" $'\n# opt.prof_active true\n' 'from the start: noted in the profile'
covered 'from the start' "$T/all.heap" 90 110
ctl_ok 'from the start' report "$T/all.heap"
unlike "$out" covers 'from the start: no coverage'
stop_target "$pid"

# --- sampled from the start, except in its threads ---
export MALLOC_CONF=prof:true,prof_thread_active_init:false,lg_prof_sample:12
start_victim owned 0
ctl_ok 'no thread is sampled' dump "$pid" -o "$T/none.heap"
ctl_ok 'no thread is sampled' report "$T/none.heap"
like "$out" 'covers 0 of 4[0-9.]+M allocated \(0%\): it was sampled from the start: the rest was allocated in threads that are not sampled' \
	'no thread is sampled: the cause'
stop_target "$pid"

done_testing
