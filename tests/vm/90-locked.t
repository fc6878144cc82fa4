#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Restrictions that stay until the next boot, and so come last: unprivileged_bpf_disabled 1,
# lockdown integrity, then confidentiality, and ptrace_scope 3.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

start_redis_service "$PROF"
snapshot "$pid"

watches()
{
	ctl_ok "$1" watch "$pid" --for 1s
}

# works NAME: activate, dump and deactivate
works()
{
	ctl_ok "$1: activate" activate "$pid"
	ctl_ok "$1: dump" dump "$pid" -o "$T/a.heap" --force
	ctl_ok "$1: deactivate" deactivate "$pid"
}

echo 1 >/proc/sys/kernel/unprivileged_bpf_disabled
watches 'unprivileged_bpf_disabled 1: root watches'
runner=("${user[@]}")
ctl_fails 4 'bpf_without_capabilities root_or_cap_sys_admin' 'unprivileged_bpf_disabled 1: a user does not' watch --all
runner=()
feature 'unprivileged_bpf_disabled 1'

echo integrity >/sys/kernel/security/lockdown
works 'lockdown integrity'
watches 'lockdown integrity: root watches'
feature 'lockdown integrity'

echo confidentiality >/sys/kernel/security/lockdown
works 'lockdown confidentiality'
feature 'lockdown confidentiality'
ctl_fails 4 'kernel_locked_down lockdown_integrity' 'lockdown confidentiality: watch' watch "$pid"
feature 'lockdown confidentiality, watch' 'refused, with its fix'

echo 3 >/proc/sys/kernel/yama/ptrace_scope
for command in activate dump record; do
	ctl_fails 4 'ptrace_off_until_boot boot_with_ptrace' "ptrace_scope 3: $command" "$command" "$pid"
done
run_ctl check "$pid" --json
is "$status $(json .ready)" '4 false' 'ptrace_scope 3: check'
like "$(json '.checks[] | select(.name == "yama") | "\(.ok) \(.detail) \(.fix)"')" \
	'^false kernel.yama.ptrace_scope is 3 boot with' 'ptrace_scope 3: the row of check'
ctl_ok 'ptrace_scope 3: list' list --json
is "$(json ".[] | select(.pid == $pid) | .comm")" redis-server 'ptrace_scope 3: list still has it'
feature 'ptrace_scope 3, root' 'refused, with its fix'
assert_untouched "$pid"

done_testing
