#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vm.overcommit_memory=2: one limit for what all processes commit, so that what jeprof-ctl commits is missing elsewhere.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh

# left MIB: leave that much to a large process without privileges
left()
{
	local swap used

	swap=$(awk '/^SwapTotal:/ { print $2 }' /proc/meminfo)
	used=$(awk '/^Committed_AS:/ { print $2 }' /proc/meminfo)
	echo $((used + ($1 << 10) + $(</proc/sys/vm/admin_reserve_kbytes) - swap)) >/proc/sys/vm/overcommit_kbytes
}

# guard_by_four [PREFIX...]: start four guards, each when the one before guards, or says why it does not
guard_by_four()
{
	local i

	for i in 1 2 3 4; do
		"$@" "$CTL" guard "$pid" -o "$T" --when 'rss>100G' >"$T/$i.err" 2>&1 </dev/null &
		own $!
		within 60 grep -Eq '^guarding|^  fix' "$T/$i.err" || bail_out 'a guard says nothing'
	done
}

start_grower
set_sysctl vm.overcommit_memory "$(</proc/sys/vm/overcommit_memory)" # it is restored first
set_sysctl vm.overcommit_ratio "$(</proc/sys/vm/overcommit_ratio)"
set_sysctl vm.user_reserve_kbytes 0
left 1000
echo 2 >/proc/sys/vm/overcommit_memory
ctl_ok 'with enough memory left: status' status "$pid"
ctl_ok 'activate' activate "$pid"
ctl_ok 'dump' dump "$pid" -o "$T/a.heap"
ctl_ok 'report' report "$T/a.heap"
ctl_ok 'record' record "$pid" -d 1s -o "$T/b.heap" --force
ctl_ok 'deactivate' deactivate "$pid"
left 80
ctl_fails 1 'own_commit_full raise_commit_limit' 'with little left, it does not begin' status "$pid"
guard_by_four
hold 60
is "$(grep -l 'left to all processes' "$T"/[1-4].err | wc -l)" 4 'nor does one of four guards' || diag "$(cat "$T"/[1-4].err)"
is "$(seen_harm)" '[0,0,0,0]' 'no harm seen'
feature 'vm.overcommit_memory=2'

# Control: if they do not see the limit, the memory is theirs, and not the target's.
stop_target "$pid" # which keeps what it had
start_grower
left 80
# shellcheck disable=SC2016 # the inner shell's arguments
guard_by_four unshare -m sh -c 'mount --bind /dev/null /proc/sys/vm/overcommit_memory && exec "$@"' sh
is "$(grep -l '^guarding' "$T"/[1-4].err | wc -l)" 4 'control: four guards that do not see it' || diag "$(cat "$T"/[1-4].err)"
# What is left then may not suffice to look: first, the limit is lifted.
(sleep 20; echo 0 >/proc/sys/vm/overcommit_memory) &
own $!
let_hold 60
wait $!
ok 'control: otherwise its allocations fail' within 60 is_harmed
stop_target "$pid"
done_testing
