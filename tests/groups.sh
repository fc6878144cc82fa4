# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # what is set is for the tests
# For tests with control groups, of version 1 or 2. Sourced after tests/lib.sh.

# hierarchy_v1 CONTROLLER: print where it is mounted; nothing if it is not
hierarchy_v1()
{
	awk -v name="$1" '$3 == "cgroup" && index("," $4 ",", "," name ",") { print $2; exit }' /proc/mounts
}

hierarchy_v2()
{
	awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

# hierarchy CONTROLLER: print where it is mounted, in version 1 if possible
hierarchy()
{
	local base

	base=$(hierarchy_v1 "$1")
	echo "${base:-$(hierarchy_v2)}"
}

# new_group CONTROLLER: create a group. Sets `group`. Fails if that is not possible.
new_group()
{
	local base

	base=$(hierarchy "$1")
	# Tests in separate namespaces may have the same pid.
	group=$(mktemp -d "${base:-/nowhere}/jeprof-ctl-test-XXXXXX" 2>/dev/null) || return
	at_end+=("rmdir '$group'")
}

# make_group MIB: create a group with that limit. Sets `group`, `group_version`, and the files
# `group_limit` and `group_used`. Fails if memory cannot be limited.
make_group()
{
	new_group memory || return
	group_version=1 group_limit=$group/memory.limit_in_bytes group_used=$group/memory.usage_in_bytes
	if [ ! -e "$group_limit" ]; then
		group_version=2 group_limit=$group/memory.max group_used=$group/memory.current
		[ -e "$group_limit" ] || return
	fi
	[ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
	echo $(($1 << 20)) >"$group_limit"
}

# make_pids_group: create a group in which tasks are counted. Sets `group`. Fails if they cannot be.
make_pids_group()
{
	new_group pids && [ -e "$group/pids.max" ]
}

# make_child GROUP: create a group below another one
make_child()
{
	mkdir "$1" || bail_out "no group $1"
	at_end=("rmdir '$1' 2>/dev/null" "${at_end[@]}")
}

# A prefix for a command: "${join[@]}" GROUP COMMAND...
# shellcheck disable=SC2016 # the inner shell's arguments
join=(sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh)

# in_group COMMAND...: start processes in `group`
in_group()
{
	wrap=("${join[@]}" "$group")
	"$@"
	wrap=()
}
