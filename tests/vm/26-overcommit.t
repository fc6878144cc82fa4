#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vm.overcommit_memory=2: one limit for what all processes commit, so that what jeprof-ctl commits is missing elsewhere.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# What it has seen: nothing is [0,0,0,0].
seen_harm()
{
	tests/drivers/photo board "$T/board.$pid" | jq -c '[.eintr, .corrupt, .altstack, .failed]'
}

# left MIB: leave that much to a large process without privileges
left()
{
	local swap used

	swap=$(awk '/^SwapTotal:/ { print $2 }' /proc/meminfo)
	used=$(awk '/^Committed_AS:/ { print $2 }' /proc/meminfo)
	echo $((used + ($1 << 10) + $(</proc/sys/vm/admin_reserve_kbytes) - swap)) >/proc/sys/vm/overcommit_kbytes
}

# fails_to_create_threads: if we do not see the limit
fails_to_create_threads()
{
	local i ours=()

	# shellcheck disable=SC2016 # the inner shell's arguments
	for i in {1..6}; do
		unshare -m sh -c 'mount --bind /dev/null /proc/sys/vm/overcommit_memory && exec "$@"' sh "$CTL" check "$pid" >"$T/out.$i" 2>&1 &
		ours+=($!)
	done
	wait "${ours[@]}"
	[ "$(seen_harm)" != '[0,0,0,0]' ]
}

# It creates one thread after the other, with 8 MiB of stack each.
MALLOC_CONF=$PROF start_victim storm threads 1
set_sysctl vm.overcommit_memory "$(</proc/sys/vm/overcommit_memory)" # it is restored first
set_sysctl vm.overcommit_ratio "$(</proc/sys/vm/overcommit_ratio)"
set_sysctl vm.user_reserve_kbytes 0
left 1000
echo 2 >/proc/sys/vm/overcommit_memory
ctl_ok 'with enough memory left: status' status "$pid"
ctl_ok 'activate' activate "$pid"
ctl_ok 'dump' dump "$pid" -o "$T/a.heap"
ctl_ok 'report' report "$T/a.heap"
ctl_ok 'record' record "$pid" -d 1s -o "$T/b.heap"
ctl_ok 'deactivate' deactivate "$pid"
left 60
ctl_fails 1 'own_commit_full raise_commit_limit' 'with little left, it does not begin' status "$pid"
is "$(seen_harm)" '[0,0,0,0]' 'no harm seen'
feature 'vm.overcommit_memory=2'

left 30
ok 'control: if it does not know what is left, the target cannot create threads' within 60 fails_to_create_threads
stop_target "$pid"
done_testing
