#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What each command needs for a process of another user: it must work with exactly the capabilities
# that jeprof-ctl(8) names; with one less it must be refused, and name the missing one.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

wrap=(setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all)
MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:6 start_victim idle 2
wrap=()
snapshot "$pid"

# with CAPABILITY...: run jeprof-ctl as root with only these
with()
{
	local caps=("${@/#/+}")

	runner=(setpriv "--bounding-set=-all$(printf ',%s' "${caps[@]}")" --inh-caps=-all)
}

with sys_ptrace dac_read_search
is "$("${runner[@]}" awk '/^CapEff:/ { print $2 }' /proc/self/status)" 0000000000080004 'no other capabilities'
ctl_ok 'list' list --json
is "$(json ".[] | select(.pid == $pid) | .opt.prof")" true 'list: sees into the process'
ctl_ok 'check' check "$pid"
ctl_ok 'status' status "$pid"
ctl_ok 'get' get "$pid" version
ctl_ok 'activate' activate "$pid" --json
is "$(json .changed)" true 'activate: changed'
ctl_ok 'activate, inline' activate "$pid" --mode inline
ctl_ok 'dump' dump "$pid" -o "$T/a.heap"
ok 'dump: a profile' is_profile "$T/a.heap"
ctl_ok 'stats' stats "$pid" -f json
ctl_ok 'threads' threads "$pid"
ctl_ok 'bundle' bundle "$pid" -o "$T/a.tar.gz"
ctl_ok 'deactivate' deactivate "$pid" --json
is "$(json .changed)" true 'deactivate: changed'
ctl_ok 'record' record "$pid" -d 1s -o "$T/b.heap"
mkdir -m 777 "$T/open"
ctl_ok 'prefix' prefix "$pid" "$T/open/own"
assert_untouched "$pid" 'untouched'

# As in a Docker container with SYS_PTRACE.
with sys_ptrace dac_override
ctl_ok 'CAP_DAC_OVERRIDE instead: activate' activate "$pid"
ctl_ok 'CAP_DAC_OVERRIDE instead: deactivate' deactivate "$pid"
ctl_ok '--mode poke: activate' activate --mode poke "$pid"
ctl_ok '--mode poke: deactivate' deactivate --mode poke "$pid"
with sys_ptrace dac_read_search
ctl_fails 4 'target_unwritable_by_us poke_needs_rights' '--mode poke without CAP_DAC_OVERRIDE' activate --mode poke "$pid"

for command in status activate dump stats threads bundle deactivate; do
	args=("$pid")
	case $command in dump | bundle) args+=(-o "$T/no") ;; stats) args+=(-f json) ;; esac
	with dac_read_search
	ctl_fails 4 'no_cap_sys_ptrace add_cap_sys_ptrace' "$command without CAP_SYS_PTRACE" "$command" "${args[@]}"
	with sys_ptrace
	ctl_fails 4 'no_cap_dac_read_search add_cap_dac_read_search' "$command without CAP_DAC_READ_SEARCH" "$command" "${args[@]}"
done
run_ctl check "$pid"
is "$status" 4 'check without CAP_DAC_READ_SEARCH'
ok 'no file is left' test ! -e "$T/no"

# Commands that need none.
with kill
ctl_ok 'report' report "$T/a.heap"
ctl_ok 'list shows what it can see' list
stop_target "$pid"

# --- behind a filter: reading it also takes CAP_SYS_ADMIN ---
wrap=(setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all "$T/fenced" clone3-nosys)
install -m 755 "$VICTIMS/fenced" "$T/"
MALLOC_CONF=$PROF start_victim idle 2
wrap=()
snapshot "$pid"
with sys_ptrace dac_read_search
ctl_fails 4 'filters_forbidden root_on_host poke' 'behind a filter, without CAP_SYS_ADMIN' activate "$pid"
with sys_ptrace dac_read_search sys_admin
ctl_ok 'behind a filter, with CAP_SYS_ADMIN' activate "$pid"
assert_untouched "$pid" 'behind a filter: untouched'
stop_target "$pid"

# --- in another user namespace, which that user owns ---
wrap=(setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all unshare -U)
MALLOC_CONF=$PROF start_victim idle 2
wrap=()
snapshot "$pid"
with sys_ptrace dac_read_search
ctl_ok 'another user namespace: activate' activate "$pid"
ctl_ok 'another user namespace: dump' dump "$pid" -o "$T/userns.heap"
assert_untouched "$pid" 'another user namespace: untouched'
stop_target "$pid"

# --- a user's own process: no capabilities ---
MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"
runner=(setpriv --reuid 54321 --regid 54321 --clear-groups --bounding-set=-all --inh-caps=-all)
ctl_fails 4 'other_user sudo_or_user' "a user, on root's process" activate "$pid"
like "$err" 'runs as uid 0 and you are uid 54321' "a user, on root's process: both uids are named"
stop_target "$pid"
wrap=(setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all)
MALLOC_CONF=$PROF start_victim idle 2
wrap=()
snapshot "$pid"
ctl_ok 'a user, on an own process: activate' activate "$pid"
assert_untouched "$pid" 'a user, on an own process: untouched'

done_testing
