#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where vm.overcommit_memory is 2, what jeprof-ctl commits is no longer there for its target. Here the kernel's files
# only say so, and jeprof-ctl alone sees them: tests/vm/26-overcommit.t limits a whole machine.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/made.sh
. tests/made.sh

echo 2 >"$T/two"
reserved=$(($(</proc/sys/vm/admin_reserve_kbytes) + $(</proc/sys/vm/user_reserve_kbytes)))
# shellcheck disable=SC2016 # the inner shell's arguments
seeing=(unshare -m sh -c 'mount --bind "$1/two" /proc/sys/vm/overcommit_memory && mount --bind "$1/meminfo" /proc/meminfo &&
	shift && exec "$@"' sh "$T")

# left MIB: that much of 4 GiB is left to a large process without privileges
left()
{
	printf 'CommitLimit: %d kB\nCommitted_AS: %d kB\n' $((4 << 20)) $(((4 << 20) - ($1 << 10) - reserved)) >"$T/meminfo"
}

MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:6 start_victim idle 2
snapshot "$pid"
runner=("${seeing[@]}")
left 95
ctl_fails 1 'own_commit_full raise_commit_limit' 'with little left, it does not begin' status "$pid"
like "$err" '95\.0M of 4\.0G of memory are left to all processes \(vm\.overcommit_memory=2\), and jeprof-ctl may need 96\.0M' \
	'the error has the numbers'
ctl_ok 'what needs no memory is not refused' version
echo 1 >"$T/two"
ctl_ok 'control: in another mode it does' status "$pid"
echo 2 >"$T/two"
left 97
ctl_ok 'with enough left, too' status "$pid"
ctl_fails 1 'sampling_without_room room_to_sample_or_force' 'sampling the target needs more' activate "$pid"
like "$err" 'address space left \(vm\.overcommit_memory=2\), and sampling may take up to' 'its error has the numbers'
left 3000
ctl_ok 'control: which is there' activate "$pid"
ctl_ok 'and off again' deactivate "$pid"
assert_untouched "$pid"

# A sanitizer needs more of everything.
if ! is_sanitized; then
	made_large 100000 >"$T/large.heap"
	left 120
	ctl_fails 1 'no_memory own_memory' 'more than half of what is left' report "$T/large.heap"
	left 1000
	ctl_ok 'control: half of more is enough' report "$T/large.heap"
fi
done_testing
