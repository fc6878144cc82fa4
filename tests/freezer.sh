# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# For tests of frozen processes, as in a paused container. Sourced after tests/lib.sh
# and tests/groups.sh.
#
# Not the idle victim: the freezer of version 1 makes epoll_wait return EINTR.

# enter_freezer VERSION: move `pid` to a new control group of v1 or v2; fails if this is not
# possible here
enter_freezer()
{
	local base

	frozen_by=$1
	if [ "$1" = v1 ]; then
		base=$(hierarchy_v1 freezer)
		switch=freezer.state
	else
		base=$(hierarchy_v2)
		switch=cgroup.freeze
	fi
	freezer=${base:-/nowhere}/jeprof-ctl-test-${T##*.}
	switch=$freezer/$switch
	freezer_home=$base$(awk -F: -v v="$([ "$1" = v2 ] || echo freezer)" '$2 == v { print $3 }' "/proc/$pid/cgroup")
	at_end+=("rmdir '$freezer' 2>/dev/null")
	mkdir "$freezer" 2>/dev/null && [ -w "$switch" ] && echo "$pid" >"$freezer/cgroup.procs" && return
	rmdir "$freezer" 2>/dev/null
	return 1
}

freeze()
{
	if [ "$frozen_by" = v1 ]; then echo FROZEN; else echo 1; fi >"$switch"
	within 60 grep -Eqs 'frozen 1|FROZEN' "$freezer/cgroup.events" "$switch"
}

thaw()
{
	if [ "$frozen_by" = v1 ]; then echo THAWED; else echo 0; fi >"$switch"
}

leave_freezer()
{
	echo "$pid" >"$freezer_home/cgroup.procs"
	within 60 rmdir "$freezer"
}
