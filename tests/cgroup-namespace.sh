# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh, group by groups.sh
# shellcheck disable=SC2016 # the arguments of inner shells
# Limits of control groups, as seen from places such as containers. Sourced after tests/groups.sh.

# A place is a prefix for the command. This one has its own cgroup namespace, but the host's mounts.
unshared=(unshare -C)
# This one has no CAP_SYS_ADMIN, so jeprof-ctl cannot leave the cgroup namespace.
bounded=(setpriv --bounding-set=-sys_admin --inh-caps=-all)
# The fix for a container whose rights do not suffice.
grant='--pid=host.*CAP_SYS_ADMIN.*--cgroupns=host'

# contain GROUP [PREFIX...]: set `contained`, a place such as a container: in that group, the only one mounted
contain()
{
	contained=("${join[@]}" "$@" unshare -C -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$1" "${group%/*}")
}

# in_other GROUP COMMAND...: the same as in_group, for GROUP
in_other()
{
	local group=$1

	in_group "${@:2}"
}

start_limited()
{
	MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16 in_other "$@"
}

# limit_to MIB: set the limit; a value below 100 MiB is added to the current usage
limit_to()
{
	if [ "$1" -ge 100 ]; then
		echo $(($1 << 20)) >"$group_limit"
	else
		echo $(($(<"$group_used") + ($1 << 20))) >"$group_limit"
	fi
}

# seen [PLACE...]: what `list` shows of `pid` from there
seen()
{
	runner=("$@")
	run_ctl list --json
	runner=()
	json ".[] | select(.pid == $pid) | [.limit_bytes, .used_bytes != null, .unit] | tostring"
}

# same NAME PLACE...: the limit and the unit are visible, and respected
same()
{
	local name=$1 want

	shift
	want=$(seen)
	like "$want" "^\\[$((400 << 20)),true," "$name: control: the limit, from the host"
	is "$(seen "$@")" "$want" "$name: the same limit and unit"
	runner=("$@")
	ctl_ok "$name: activate" activate "$pid" --json
	is "$(json .warning_id)" null "$name: without a warning"
	ctl_ok "$name: check" check "$pid" --json
	unlike "$out" limits_hidden "$name: check has no warning either"
	ctl_ok "$name: deactivate" deactivate "$pid"
	limit_to 1
	ctl_fails 1 sampling_without_room "$name: little memory is left: activate is refused" activate "$pid"
	like "$err" "memory\\.[a-z_]* of $group" "$name: the error names the group"
	limit_to 400
	runner=()
}

# warns NAME FIX PID PLACE...: check must warn of hidden limits, and suggest that
warns()
{
	runner=("${@:4}")
	run_ctl check "$3" --json
	runner=()
	is "$(json '.ready, (.checks[] | select(.id == "limits_hidden") | .ok, .name)' | paste -sd ' ')" 'true true prof.lg_sample' \
		"$1: check warns of it"
	like "$(json '.checks[] | select(.id == "limits_hidden") | .fix')" "$2" "$1: check suggests a fix"
}

# hidden NAME PLACE...: no limit is visible, and commands that make it sample more warn of that
hidden()
{
	local name=$1

	shift
	like "$(seen "$@")" '^\[null,false,' "$name: no limit is visible"
	warns "$name" "$grant" "$pid" "$@"
	runner=("$@")
	ctl_ok "$name: activate" activate "$pid"
	like "$err" "warning: limits of memory cgroups of $pid \\(grower\\) are not visible from here \\(private cgroup namespace\\)" \
		"$name: activate warns"
	ctl_ok "$name: reset to a finer rate" reset "$pid" --sample-rate 4K --json
	is "$(json .warning_id)" limits_hidden "$name: reset warns"
	ctl_ok "$name: threads --activate" threads "$pid" --activate all --json
	is "$(json .warning_id)" limits_hidden "$name: threads --activate warns"
	ctl_ok "$name: activate again" activate "$pid" --json
	is "$(json .warning_id)" null "$name: no warning if nothing changes"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .warning_id)" null "$name: deactivate does not warn"
	ctl_ok "$name: record" record "$pid" -d 1ms -o "$T/hidden.rec" --force --json
	is "$(json .warning_id)" limits_hidden "$name: record warns"
	ctl_ok "$name: reset to a coarser rate" reset "$pid" --sample-rate 512K --json
	is "$(json .warning_id)" null "$name: no warning for a coarser rate"
	runner=()
}

# unread NAME PLACE...: looking for the limits fails for lack of memory: activate must name that cause
unread()
{
	local name=$1

	shift
	runner=("$@" strace -f -qq -o "$T/trace" -P "${beside#"$(hierarchy memory)/"}" -e inject=newfstatat:error=ENOMEM)
	ctl_ok "$name: activate" activate "$pid"
	runner=()
	ok "$name: control: it failed" grep -q INJECTED "$T/trace"
	like "$err" 'has room for what sampling takes is not known: .*: Cannot allocate memory' \
		"$name: activate warns, and names the limit"
	unlike "$err" 'private cgroup namespace' "$name: no namespace is blamed"
	ctl_ok "$name: deactivate" deactivate "$pid"
}

# make_beside: create another group without a limit. Sets `beside`.
make_beside()
{
	beside=$(mktemp -d "${group%/*}/jeprof-ctl-test-XXXXXX") || bail_out 'no second group'
	at_end+=("rmdir '$beside'")
}

limits_from_within()
{
	local beside odd id

	make_beside
	contain "$beside"
	start_limited "$group" start_victim grower
	snapshot "$pid"
	same 'a namespace' "${unshared[@]}"
	same 'a container' "${contained[@]}"
	hidden 'a container without CAP_SYS_ADMIN' "${contained[@]}" "${bounded[@]}"
	unread 'a container short of memory' "${contained[@]}"
	warns 'no group is mounted' '^mount control groups here' "$pid" unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh
	like "$out" 'not visible from here \(no control groups are mounted\)' 'no group is mounted: no namespace is blamed'
	assert_untouched "$pid" 'untouched'
	stop_target "$pid"

	# The limit is that of the parent group.
	make_child "$group/inner"
	contain "$group/inner"
	start_limited "$group/inner" start_victim grower
	snapshot "$pid"
	like "$(seen)" "^\\[$((400 << 20)),true," 'a child group: control: the limit, from the host'
	is "$(seen "${contained[@]}")" "$(seen)" 'a child group: the same limit and name'
	hidden 'a child group, without CAP_SYS_ADMIN' "${contained[@]}" "${bounded[@]}"
	assert_untouched "$pid" 'a child group: untouched'
	stop_target "$pid"

	# All valid names of groups are accepted.
	contain "$beside"
	for odd in ..odd odd.. ... 'a b' '\134'; do
		make_child "$group/$odd"
		start_limited "$group/$odd" start_victim idle
		like "$(seen)" "^\\[$((400 << 20)),true," "a group called $odd: control: the limit, from the host"
		is "$(seen "${contained[@]}")" "$(seen)" "a group called $odd: the same"
		stop_target "$pid"
	done

	# Process 1 is in another container: with its names, our own group would not be found.
	id=$(printf '%064d' 7)
	make_child "$group/docker-$id.scope"
	start_limited "$group/docker-$id.scope" start_first
	contain "$beside" nsenter -t "$first" -p unshare --mount-proc
	runner=("${contained[@]}")
	run_ctl list --json
	runner=()
	is "$(json '.[] | select(.pid == 1) | [.limit_bytes, .container_id] | map(tostring) | join(" ")')" "null $id" \
		'beside a container: no limit, and the id of its container'
	warns 'beside a container' "$grant" 1 "${contained[@]}"
	stop_target "$pid" -KILL

	frozen_from_within
}

# start_first: set `first`, a victim that is process 1 and has its own cgroup namespace
start_first()
{
	local file

	file=$(mktemp "$T/victim.XXXXXX")
	"${wrap[@]}" unshare -C -p -f --kill-child --mount-proc "$VICTIMS/idle" fd:3 2 3<>"$file" >>"$T/victims.log" 2>&1 &
	pid=$!
	own "$pid"
	tests/drivers/photo ready "$file" >/dev/null || bail_out "no victim: $(tail -n 3 "$T/victims.log")"
	first=$(pgrep -P "$pid")
}

# A frozen group is detected, too.
frozen_from_within()
{
	local group switch=cgroup.freeze frozen=1 thawed=0

	new_group freezer || bail_out 'no group of the freezer'
	make_child "$group/target"
	make_child "$group/beside"
	[ ! -e "$group/freezer.state" ] || switch=freezer.state frozen=FROZEN thawed=THAWED
	contain "$group/beside"
	# Not the idle victim: the freezer of version 1 makes epoll_wait return EINTR.
	start_limited "$group/target" start_victim busy 2
	snapshot "$pid"
	runner=("${contained[@]}")
	ctl_ok 'not frozen: status' status "$pid"
	echo $frozen >"$group/target/$switch"
	ctl_fails 8 'cgroup_frozen thaw' 'frozen: status' status "$pid"
	echo $thawed >"$group/target/$switch"
	ctl_ok 'thawed: status' status "$pid"
	runner=()
	assert_untouched "$pid" 'frozen and thawed: untouched'
	stop_target "$pid"
}
