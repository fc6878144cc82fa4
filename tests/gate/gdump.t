#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jemalloc's dumps at new maxima can hang a program: we never turn them on unless told to.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

mkdir -m 777 "$T/own"
conf=prof:true,prof_active:false,lg_prof_sample:0,prof_prefix:$T/own/own
dumps()
{
	find "$T/own" -name "own.$pid.*.heap" | wc -l
}
value()
{
	run_ctl get "$pid" "$1"
	echo "$out"
}
# has_fix NAME: the last message must suggest a fix
has_fix()
{
	like "$err" 'fix: record --interval .*--force' "$1: the fix"
}

# --- started with gdump off ---
MALLOC_CONF=$conf start_dumper dumper
snapshot "$pid"
ctl_fails 1 'gdump_may_deadlock record_interval_or_force' 'gdump on: refused' gdump "$pid" on
has_fix 'gdump on'
ctl_fails 1 'gdump_may_deadlock record_interval_or_force' 'set prof.gdump: refused' set "$pid" prof.gdump true
has_fix 'set prof.gdump'
like "$(value prof.gdump)" false 'it is still off'
ctl_ok 'check' check "$pid" --json
is "$(json '.checks[] | select(.name == "opt.prof_gdump").ok')" true 'check reports nothing'
assert_untouched "$pid"
ctl_ok 'activate' activate "$pid"
ctl_ok 'gdump on, by force' gdump "$pid" on --force
order "$pid" grow 3000
ok 'jemalloc dumps' test "$(dumps)" -gt 0
ctl_ok 'gdump off' gdump "$pid" off
before=$(dumps)
order "$pid" stacks 30000
is "$answer" 30000 'without these dumps, a program with many stacks keeps working'
is "$(dumps)" "$before" 'no more dumps are made'
stop_target "$pid"

# --- started with gdump on ---
MALLOC_CONF=$conf,prof_gdump:true start_dumper dumper
snapshot "$pid"
ctl_fails 1 'gdump_may_deadlock record_interval_or_force' 'activate: refused' activate "$pid"
has_fix 'activate'
ctl_fails 1 'gdump_may_deadlock record_interval_or_force' 'set prof.active: refused' set "$pid" prof.active true
ctl_fails 1 'gdump_may_deadlock record_interval_or_force' 'record: refused' record "$pid" -d 1s -o "$T/no.heap"
ok 'record: no file' test ! -e "$T/no.heap"
like "$(value prof.active)" false 'nothing is active'
run_ctl check "$pid" --json
is "$status $(json '.checks[] | select(.name == "opt.prof_gdump").ok')" '1 false' 'check reports it'
assert_untouched "$pid"

# Control: it does hang. The program is blocked in futex(2), and makes no more dumps.
stands()
{
	local dumps

	dumps=$(dumps)
	sleep 2
	[ "$(dumps)" -eq "$dumps" ] && grep -q '^202 ' "/proc/$pid/syscall"
}
ctl_ok 'activate, by force' activate "$pid" --force
tell "$pid" stacks 30000
ok 'control: the program hangs' within 60 stands
is "$(answers_of "$pid")" 0 'control: it never answers'

done_testing
