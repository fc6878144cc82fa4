#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jeprof-ctl in the control groups of its target, as with `docker exec`. Where little is left of their memory or tasks,
# it does not begin. Where more memory is left, no process of it takes more than half. If that is too much
# nevertheless, the kernel ends jeprof-ctl or a helper of it, and not the target.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh
# shellcheck source=tests/made.sh
. tests/made.sh

# --- tasks ---
# fails_to_create_threads: if four of us do not see the limit
fails_to_create_threads()
{
	local i unlimited ours=()

	# shellcheck disable=SC2016 # the inner shell's arguments
	unlimited=(unshare -m sh -c 'mount --bind /dev/null "$1/pids.max" && shift && exec "$@"' sh "$group" "${join[@]}" "$group")
	for i in 1 2 3 4; do
		"${unlimited[@]}" "$CTL" check "$pid" >"$T/out.$i" 2>&1 &
		ours+=($!)
	done
	wait "${ours[@]}"
	is_harmed
}

if make_pids_group; then
	# It creates one thread after the other.
	in_group start_victim storm threads 1
	echo $(($(<"$group/pids.current") + 8)) >"$group/pids.max"
	runner=("${join[@]}" "$group")
	ctl_fails 1 'own_tasks_full run_in_another_group' 'where few tasks are left, it does not begin' list
	like "$err" "has [0-9]+ of [0-9]+ tasks left \\(pids.max of $group\\), and may need 32" 'the error has the numbers and the group'
	runner=()
	ctl_ok 'control: outside of the group it does' list
	echo 100 >"$group/pids.max"
	runner=("${join[@]}" "$group")
	ctl_ok 'in a group with enough tasks, too' list
	user=(setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all)
	runner=("${user[@]}" prlimit --nproc=8)
	ctl_fails 1 'own_tasks_full raise_that_limit' 'nor where few tasks are left to a user' list
	like "$err" 'has [0-8] of 8 tasks left \(RLIMIT_NPROC\), and may need 32' 'the error has its name'
	ctl_ok 'what needs no task is not refused' version
	runner=("${user[@]}" prlimit --nproc=4096)
	ctl_ok 'control: with more tasks' list
	runner=()
	is "$(seen_harm)" '[0,0,0,0]' 'no harm seen'
	echo $(($(<"$group/pids.current") + 8)) >"$group/pids.max"
	ok 'control: if it does not know what is left, the target cannot create threads' within 60 fails_to_create_threads
	stop_target "$pid"
else
	skip 'cgroups cannot limit the number of processes here' 'in the group of the target, with few tasks'
fi

# --- memory ---
if is_sanitized; then
	skip 'a sanitizer needs more of everything' 'in the group of the target'
	done_testing
fi
if ! make_group 1024; then
	skip 'control groups cannot be made here' 'in the group of the target'
	done_testing
fi
joined=("${join[@]}" "$group")

# leave MIB: let the group have so much left, and no page cache that could be dropped instead
leave()
{
	local cache

	cache=$(awk '/^(total_)?(inactive|active)_file / { n[/^total/] += $2 } END { print 1 in n ? n[1] : n[0] }' "$group/memory.stat")
	echo $(($(<"$group_used") - cache + ($1 << 20))) >"$group_limit"
}

# overflow FILE...: read a profile in the group, with room for the start only, and without access to these files.
# Sets `status`.
overflow()
{
	leave 4
	strace -f -qq -o /dev/null "${@/#/--trace-path=}" -e trace=openat -e inject=openat:error=EACCES "${joined[@]}" "$CTL" report "$T/large.heap" \
		>"$T/out" 2>&1
	status=$?
	echo $((1 << 30)) >"$group_limit"
}

# is_ended PID: it may not have been waited for yet
is_ended()
{
	[ -z "$(cat "/proc/$1/maps" 2>/dev/null)" ]
}

# Some 130 and 450 MiB are needed to read them.
made_large 100000 >"$T/large.heap"
made_large 400000 >"$T/huge.heap"

# The target is the largest process of the group, so that the kernel would choose it; but not nearly all of it.
in_group start_grower
other=$pid
hold 100
in_group start_grower
hold 200
snapshot "$pid"
leave 4
runner=("${joined[@]}")
ctl_fails 1 'own_group_full run_in_another_group' 'where little is left, it does not begin' status "$pid"
like "$err" "has [0-9.]*M of [0-9]*M of memory left \\(memory\\.[a-z_]* of $group\\)" 'the error has the numbers and the group'
runner=()
ctl_ok 'control: outside of the group it does' status "$pid"
leave 100
runner=("${joined[@]}")
ctl_ok 'in a group with enough memory, too' status "$pid"
runner=()

overflow "$group_limit"
like "$status" '^(1|137)$' 'too little memory: jeprof-ctl or its helper is ended' || diag "$(<"$T/out")"
unlike "$(<"$T/out")" 'runs in a control group' 'control: it has begun'
assert_untouched "$pid" 'the target is untouched'
ctl_ok 'it answers' status "$pid"

# Kubernetes sets this for containers without requests, so that the kernel has no preference but size.
echo 1000 >"/proc/$pid/oom_score_adj"
snapshot "$pid"
leave 500
runner=("${joined[@]}")
ctl_ok 'half of what is left is enough for this' report "$T/large.heap"
ctl_fails 1 'no_memory own_memory' 'more than half of what is left' report "$T/huge.heap"
runner=()
assert_untouched "$pid" 'the target is untouched again'
ctl_ok 'control: with enough memory' report "$T/huge.heap"
overflow "$group_limit"
ok 'control: if it does not know what is left, the target is ended' within 60 is_ended "$pid" || diag "$(<"$T/out")"
overflow "$group_limit" /proc/self/oom_score_adj
ok 'control: and even another one, if its own score stays' within 60 is_ended "$other" || diag "$(<"$T/out")"
done_testing
