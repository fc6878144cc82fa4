#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets in other places: under another uid, in a chroot, in their own namespaces.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,lg_prof_sample:8

# works NAME: test status and dump from here on the victim just started
works()
{
	local name=$1

	snapshot "$pid"
	ctl_ok "$name: status" status "$pid"
	ctl_ok "$name: dump" dump "$pid" -o "$T/place.heap" --force --json
	is "$(json .via)" memfd "$name: through a memfd"
	ok "$name: a profile" is_profile "$T/place.heap"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .changed)" true "$name: changed"
	assert_untouched "$pid" "$name: untouched"
	rm -f "$T/place.heap"
}

# Find the victim below the processes that created its namespaces: the one with the board's pid.
descend()
{
	local child

	while child=$(pgrep -P "$pid") && [ -n "$child" ]; do
		pid=$child
	done
}

# started_within COMMAND...: start a victim through a program that does not keep the pid
started_within()
{
	local board outer

	board=$(mktemp "$T/victim.XXXXXX")
	"$@" "$VICTIMS/idle" fd:3 2 3<>"$board" >>"$T/victims.log" 2>&1 &
	outer=$!
	own "$outer"
	tests/drivers/photo ready "$board" >/dev/null || bail_out "no victim: $(tail -n 3 "$T/victims.log")"
	pid=$outer
	descend
	ln "$board" "$T/board.$pid"
}

# --- another uid ---
wrap=(setpriv --reuid 65534 --regid 65534 --clear-groups)
start_victim idle 2
works 'another uid'
chmod 777 "$T"
ctl_fails 10 'inside_failed name_a_folder_for_uid' 'another uid: --in-target where it may not write' \
	dump "$pid" --in-target /root/x.heap
mkdir -m 777 "$T/open"
ctl_ok 'another uid: --in-target where it may write' dump "$pid" --in-target "$T/open/x.heap"
is "$(stat -c %u "$T/open/x.heap")" 65534 'another uid: the target owns the file'
assert_untouched "$pid"
chmod 755 "$T"

# --- a chroot without /proc ---
mkdir -p "$T/jail"
for f in "$VICTIMS/idle" $(ldd "$VICTIMS/idle" | grep -o '/[^ ]*'); do
	mkdir -p "$T/jail$(dirname "$f")"
	cp "$f" "$T/jail$f"
done
wrap=(chroot "$T/jail")
start_victim idle 2
wrap=()
snapshot "$pid"
run_ctl dump "$pid" -o "$T/jail.heap" --json
if [ "$status" -eq 0 ]; then
	ok 'chroot without /proc: a profile' is_profile "$T/jail.heap"
else
	is "$status" 10 'chroot without /proc: refused'
	like "$(json .error.message)" '/proc' 'chroot without /proc: the cause is reported'
	like "$(json .error.fix)" '--in-target' 'chroot without /proc: the fix names --in-target'
	ok 'chroot without /proc: no file' test ! -e "$T/jail.heap"
fi
ctl_ok 'chroot without /proc: --in-target' dump "$pid" --in-target /inside.heap
ok 'chroot without /proc: a profile in the chroot' is_profile "$T/jail/inside.heap"
ctl_ok 'chroot without /proc: deactivate' deactivate "$pid"
assert_untouched "$pid" 'chroot without /proc: untouched'

# --- another mount namespace with a read-only root ---
# shellcheck disable=SC2016
started_within unshare -m --propagation private bash -c '
	mount --bind / / && mount -o remount,bind,ro / && exec "$@"' sh
works 'read-only root'
ctl_fails 10 inside_failed 'read-only root: --in-target is refused' dump "$pid" --in-target /x.heap
like "$err" 'Read-only file system' 'read-only root: the cause is reported'
assert_untouched "$pid"

# --- another pid namespace, with its own /proc and with ours ---
started_within unshare --pid --mount-proc --fork --kill-child
works 'another pid namespace'
started_within unshare --pid --fork --kill-child
works 'another pid namespace with our /proc'

# --- a user namespace ---
if unshare --user --map-root-user true 2>/dev/null; then
	started_within unshare --user --map-root-user
	works 'a user namespace'
else
	skip 'user namespaces are switched off' 'a user namespace'
fi

done_testing
