#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernel.yama.ptrace_scope 0, 1 and 2: for root, for a user's own process, for another user's
# process, and for a user with CAP_SYS_PTRACE. Each refusal has a cause and a fix.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

export MALLOC_CONF=$PROF
scope()
{
	echo "$1" >/proc/sys/kernel/yama/ptrace_scope
}
at_end+=("scope $(</proc/sys/kernel/yama/ptrace_scope)")

wrap=("${user[@]}")
launch_redis "$T"
wrap=()
snapshot "$pid"
folder=$T/user
install -d -o 12345 "$folder"

# works NAME: `runner` can activate and deactivate
works()
{
	ctl_ok "$1: activate" activate "$pid"
	ctl_ok "$1: deactivate" deactivate "$pid"
}

# refused NAME ID FIX: every command that touches a process is refused, as the rows of check say
refused()
{
	local command

	for command in activate dump; do
		ctl_fails 4 "$2 $3" "$1: $command" "$command" "$pid"
	done
	run_ctl check "$pid" --json
	is "$status $(json .ready)" '4 false' "$1: check"
	is "$(json '.checks[] | select(.name == "permission").id')" "$2" "$1: check reports it"
	ctl_ok "$1: list" list --json
	is "$(json ".[] | select(.pid == $pid) | .comm")" redis-server "$1: list still has it"
}

row()
{
	run_ctl check "$pid" --json
	json ".checks[] | select(.name == \"$1\") | \"\(.ok) \(.detail) \(.fix)\""
}

for scope in 0 1 2; do
	scope "$scope"
	works "scope $scope, root"
	like "$(row yama)" "^true kernel.yama.ptrace_scope is $scope" "scope $scope, root: the row of check"
	feature "ptrace_scope $scope, root"

	runner=(setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=+sys_ptrace --ambient-caps=+sys_ptrace)
	works "scope $scope, a user with CAP_SYS_PTRACE"
	feature "ptrace_scope $scope, a user with CAP_SYS_PTRACE"

	runner=("${stranger[@]}")
	if [ "$scope" -lt 2 ]; then
		refusal='other_user sudo_or_user'
	else
		refusal='ptrace_scope_root sudo_or_ptrace_scope'
	fi
	ctl_fails 4 "$refusal" "scope $scope, another user's process" activate "$pid"
	feature "ptrace_scope $scope, another user's process" 'refused, with its fix'

	runner=("${user[@]}")
	case $scope in
	0)
		works 'scope 0, the own process'
		ctl_ok 'scope 0, the own process: check' check "$pid"
		ctl_ok 'scope 0, the own process: dump' dump "$pid" -o "$folder/a.heap"
		feature 'ptrace_scope 0, the own process'
		;;
	1)
		refused 'scope 1, the own process' ptrace_scope_child sudo_or_ptrace_scope
		like "$(row yama)" '^false .* is 1 .*ptrace_scope=0' 'scope 1, the own process: the row of check'
		feature 'ptrace_scope 1, the own process' 'refused, with its fix'
		;;
	2)
		refused 'scope 2, the own process' ptrace_scope_root sudo_or_ptrace_scope
		like "$(row yama)" '^false .* is 2 .*ptrace_scope=0' 'scope 2, the own process: the row of check'
		feature 'ptrace_scope 2, the own process' 'refused, with its fix'
		;;
	esac
	runner=()
	assert_untouched "$pid" "scope $scope: untouched"
done

done_testing
