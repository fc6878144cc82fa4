#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check --conf: what it reports, and that real jemallocs behave accordingly.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# --- reports ---
run_ctl check --conf prof:true,prof_active:false
is "$status" 0 'a good string: exit 0'
is "${out##*$'\n'}" ok 'a good string: ok'
run_ctl check --conf 'prof:true, prof_active:false'
is "$status" 2 'a blank: exit 2'
like "$out" "error .*' ' is not allowed in a name" 'a blank: the cause'
like "$out" 'fix: remove the blank' 'a blank: the fix'
run_ctl check --conf lg_prof_sample:64
is "$status" 0 'a value that is clipped is no error'
like "$out" 'jemalloc 3\.6\.0: .*Out-of-range' 'a value that versions differ on: the oldest'
like "$out" 'jemalloc 4\.0\.4 to 5\.3\.1: .*lg_prof_sample:63' 'a value that versions differ on: the newer ones'
run_ctl check --conf prof_bt_max:100 --jemalloc 5.3.0
is "$status" 2 'an option of later versions: exit 2 for an older one'
run_ctl check --conf prof_bt_max:100 --jemalloc 5.3.1
is "$status" 0 'an option of later versions: exit 0 for a later one'
run_ctl check --conf $'prof:\e[31mtrue'
unlike "$out" $'\e' 'escape sequences are not printed raw'
run_ctl check --conf ''
is "$status" 0 'an empty string is valid'

run_ctl check --json --conf prof_actve:true,lg_prof_interval:20,prof:true
is "$status" 2 'JSON: exit 2'
is "$(json .ok)" false 'JSON: ok'
is "$(json .jemalloc)" null 'JSON: all versions'
is "$(json '.findings[0] | "\(.level) \(.at) \(.fix)"')" 'error 0 did you mean prof_active?' 'JSON: a finding'
is "$(json '.findings[] | select(.detail | test("1024 for each GiB")).level')" warning 'JSON: a warning about too many dumps'
is "$(json '.readings | length')" 1 'JSON: one reading'
is "$(json '.readings[0] | .from, .to' | xargs)" '3.6.0 5.3.1' 'JSON: of all versions'

ctl_fails 2 'needs_process give_a_process' 'without a process and without --conf' check
ctl_fails 2 jemalloc_without_conf '--jemalloc with no --conf' check 1 --jemalloc 5.3.0
ctl_fails 2 no_version 'an invalid version' check --conf prof:true --jemalloc new
ctl_fails 2 exclusive '--jemalloc with a process' check $$ --conf prof:true --jemalloc 5.3.0

# --- as a process would read it: its version matters, and it is not touched ---
MALLOC_CONF='' start_victim idle
snapshot "$pid"
run_ctl check "$pid" --conf prof_bt_max:100 --json
is "$status" 2 'a process: its version does not know prof_bt_max'
like "$(json .jemalloc)" '^5\.3\.0' 'a process: its version is named'
run_ctl check "$pid" --conf prof:true
is "$status" 0 'a process: a string that it would accept'
assert_untouched "$pid"
stop_target "$pid"

# --- a real jemalloc (those of other suites: tests/matrix/conf.t) ---
# shellcheck source=tests/conf.sh
. tests/conf.sh
agrees 5.3.0 "$VICTIMS/options" "$(ldconfig -p | awk '/libjemalloc\.so\.2.*x86-64/ { print $NF; exit }')"

done_testing
