# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh, group by guard.sh
# Limits of control groups as seen from places like containers. Sourced after tests/guard.sh.

# A place is what runs jeprof-ctl:
# a cgroup namespace of its own, with the mounts of the host,
unshared=(unshare -C)
# one as of a container, in a group of its own, which alone is mounted,
# shellcheck disable=SC2016 # the inner shell's arguments
contained=(sh -c 'echo $$ >"$1/cgroup.procs" && exec unshare -C -m sh -c "mount --bind \"\$1\" \"\$2\" && shift 2 && exec \"\$@\"" sh "$@"' sh)
# and one that may not leave it.
bounded=(setpriv --bounding-set=-sys_admin --inh-caps=-all)

# other_group: sets `place`, a group beside `group`, and `top`, where its hierarchy is mounted
other_group()
{
	top=${group%/*}
	place=$(mktemp -d "$top/jeprof-ctl-test-XXXXXX") || bail_out 'no second group'
	at_end+=("rmdir '$place'")
	contained+=("$place" "$top")
}

# seen [PLACE...]: what `list` says of `pid` from there
seen()
{
	runner=("$@")
	run_ctl list --json
	runner=()
	json ".[] | select(.pid == $pid) | [.limit_bytes, .used_bytes != null, .cgroup] | tostring"
}

# same NAME PLACE...: all is seen
same()
{
	local name=$1 want

	shift
	want=$(seen)
	like "$want" "^\\[$((400 << 20)),true," "$name: control: the limit, from the host"
	is "$(seen "$@")" "$want" "$name: the same limit and name"
	runner=("$@")
	ctl_ok "$name: activate" activate "$pid" --json
	is "$(json '.warning_id')" null "$name: without a warning"
	ctl_ok "$name: check" check "$pid" --json
	unlike "$out" limits_hidden "$name: nor has check one"
	ctl_ok "$name: deactivate" deactivate "$pid"
	limit_to 1
	ctl_fails 1 sampling_without_room "$name: little memory is left: activate is refused" activate "$pid"
	like "$err" "memory\\.[a-z_]* of $group" "$name: it names the group"
	limit_to 400
	runner=()
}

# limit_to MIB: above what it has now
limit_to()
{
	local file=memory.max used=memory.current

	[ -e "$group/$file" ] || file=memory.limit_in_bytes used=memory.usage_in_bytes
	[ "$1" -ge 100 ] && echo $(($1 << 20)) >"$group/$file" && return
	echo $(($(<"$group/$used") + ($1 << 20))) >"$group/$file"
}

# hidden NAME PLACE...: none is seen, and it is said
hidden()
{
	local name=$1

	shift
	like "$(seen "$@")" '^\[null,false,' "$name: no limit is seen"
	runner=("$@")
	run_ctl check "$pid" --json
	is "$(json '.ready, (.checks[] | select(.id == "limits_hidden") | .ok, .name)' | paste -sd ' ')" 'true true prof.lg_sample' \
		"$name: check says so, as a warning"
	like "$(json '.checks[] | select(.id == "limits_hidden") | .fix')" '--pid=host.*CAP_SYS_ADMIN.*--cgroupns=host' "$name: and what to do"
	ctl_ok "$name: activate" activate "$pid"
	like "$err" "warning: limits of memory cgroups of $pid \\(grower\\) are not visible from here \\(private cgroup namespace\\)" \
		"$name: activate says so"
	ctl_ok "$name: reset to a finer rate" reset "$pid" --sample-rate 4K --json
	is "$(json .warning_id)" limits_hidden "$name: so does reset"
	ctl_ok "$name: threads --activate" threads "$pid" --activate all --json
	is "$(json .warning_id)" limits_hidden "$name: so does threads --activate"
	ctl_ok "$name: activate, which is done" activate "$pid" --json
	is "$(json .warning_id)" null "$name: not where nothing is changed"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .warning_id)" null "$name: nor when it ends"
	ctl_ok "$name: record" record "$pid" -d 1ms -o "$T/hidden.rec" --force --json
	is "$(json .warning_id)" limits_hidden "$name: so does record"
	ctl_ok "$name: reset to a coarser rate" reset "$pid" --sample-rate 512K --json
	is "$(json .warning_id)" null "$name: a coarser rate takes no memory"
	runner=()
}

limits_from_within()
{
	other_group
	MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16 in_group start_victim grower
	snapshot "$pid"
	same 'a namespace' "${unshared[@]}"
	same 'a container' "${contained[@]}"
	hidden 'a container that may not look out' "${contained[@]}" "${bounded[@]}"
	assert_untouched "$pid" 'untouched'
	stop_target "$pid"
}
