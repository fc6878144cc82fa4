#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Root without capabilities, users with capabilities, and those that the watch needs: each refusal
# has a cause and a fix.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# A user's process. (Debian's service has a user namespace whose owner is root: there root may do
# anything, without capabilities here.)
export MALLOC_CONF=$PROF
wrap=("${user[@]}")
launch_redis "$T"
wrap=()
snapshot "$pid"

# without CAPABILITY...: run as root without these
without()
{
	local caps=${*/#/-}

	runner=(setpriv "--bounding-set=${caps// /,}" "--inh-caps=${caps// /,}")
}

watches()
{
	ctl_ok "$1" watch "$pid" --for 1s
}

# --- ptrace ---
without sys_ptrace
ctl_fails 4 'no_cap_sys_ptrace add_cap_sys_ptrace' 'root without CAP_SYS_PTRACE: activate' activate "$pid"
run_ctl check "$pid" --json
is "$status" 4 'root without CAP_SYS_PTRACE: check'
like "$(json '.checks[] | select(.name == "capability") | "\(.ok) \(.detail) \(.fix)"')" \
	'false CAP_SYS_PTRACE is missing.*--cap-add SYS_PTRACE' 'root without CAP_SYS_PTRACE: check reports it'
feature 'root without CAP_SYS_PTRACE' 'refused, with its fix'

# --- exactly what is needed ---
# with CAPABILITY...: run as root with only these
with()
{
	local caps=("${@/#/+}")

	runner=(setpriv "--bounding-set=-all$(printf ',%s' "${caps[@]}")" --inh-caps=-all)
}

# all_work NAME: check, activate, dump and deactivate
all_work()
{
	ctl_ok "$1: check" check "$pid"
	ctl_ok "$1: activate" activate "$pid"
	fill_redis 1000
	ctl_ok "$1: dump" dump "$pid" -o "$T/caps.heap" --force
	ok "$1: a profile" is_profile "$T/caps.heap"
	ctl_ok "$1: deactivate" deactivate "$pid"
}

with sys_ptrace dac_read_search
all_work 'another user'
with sys_ptrace
ctl_fails 4 'no_cap_dac_read_search add_cap_dac_read_search' 'another user, without CAP_DAC_READ_SEARCH: activate' activate "$pid"
feature 'process of another user, by CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH alone'
runner=()
assert_untouched "$pid" 'another user: untouched'

# In its own user namespace, whose owner is that user.
first=$pid first_sock=$sock
wrap=("${user[@]}" unshare -U)
launch_redis "$T"
wrap=()
snapshot "$pid"
with sys_ptrace dac_read_search
all_work 'another user namespace'
feature 'process in another user namespace, by these alone'
runner=()
assert_untouched "$pid" 'another user namespace: untouched'
stop_target "$pid"
pid=$first sock=$first_sock

# --- eBPF ---
# Debian 11's setpriv does not know the two newer ones, and passes on neither.
newer=()
setpriv --list-caps | grep -qx bpf && newer=(bpf perfmon)
without sys_admin "${newer[@]}"
ctl_fails 4 'bpf_without_capabilities root_or_cap_sys_admin' 'watch without any capability for it' watch "$pid"
without sys_admin
ctl_fails 4 'bpf_without_capabilities root_or_cap_sys_admin' 'watch with CAP_BPF and CAP_PERFMON alone' watch "$pid"
runner=("${user[@]}")
ctl_fails 4 'bpf_without_capabilities root_or_cap_sys_admin' 'watch by a user' watch --all
feature 'watch without capabilities' 'refused, with its fix'

for value in 0 2; do
	set_sysctl kernel.unprivileged_bpf_disabled "$value"
	runner=()
	watches "unprivileged_bpf_disabled $value: root watches"
	runner=("${user[@]}")
	ctl_fails 4 'bpf_without_capabilities root_or_cap_sys_admin' "unprivileged_bpf_disabled $value: a user does not" watch --all
	feature "unprivileged_bpf_disabled $value"
done

# --- locked memory: before 5.11, Linux counts eBPF's memory as such ---
without sys_resource
runner=(prlimit --memlock=65536:65536 "${runner[@]}")
if kernel_is_before 5.11; then
	ctl_fails 4 'bpf_memlock unlimited_memlock' 'watch with little locked memory' watch "$pid"
	feature 'watch with little locked memory' 'refused, with its fix'
else
	watches 'watch with little locked memory'
	feature 'watch with little locked memory'
fi
runner=(prlimit --memlock=65536:65536)
watches 'watch with little locked memory, by a root that may have more'
feature 'watch with little locked memory, CAP_SYS_RESOURCE'

# --- no tracefs ---
# shellcheck disable=SC2016 # the inner shell's arguments
runner=(unshare -m sh -c 'umount -R /sys/kernel/debug; umount -R /sys/kernel/tracing; exec "$@"' sh)
ctl_fails 1 'tracefs_not_mounted mount_tracefs' 'watch without tracefs' watch "$pid"
# shellcheck disable=SC2016
runner=(unshare -m sh -c 'umount -R /sys/kernel/debug; umount -R /sys/kernel/tracing
	mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"' sh)
watches 'watch with tracefs alone'
feature 'watch without tracefs' 'refused, with its fix'

runner=()
assert_untouched "$pid"

done_testing
