#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits of version 2 control groups, as systemd mounts them, from a container that shares the
# host's processes; the host's mounts keep their options.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh
# shellcheck source=tests/cgroup-namespace.sh
. tests/cgroup-namespace.sh

options()
{
	awk '$3 == "cgroup2" { print $4 }' /proc/mounts | sort -u
}

like "$(stat -fc %T /sys/fs/cgroup)" '^cgroup2fs$' 'control groups of version 2'
before=$(options)
like "$before" 'nsdelegate' 'control: a mount with an option that another mount could take away'
make_group 400 || bail_out 'no control group'
limits_from_within
feature 'limits from within a cgroup namespace'

# Mounted in the namespace, as container runtimes do.
make_beside
mounted=("${join[@]}" "$beside" unshare -C -m sh -c 'umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh)
start_limited "$group" start_victim grower
snapshot "$pid"
same 'a container' "${mounted[@]}"
warns 'a container that may not look out' "$pid" "${mounted[@]}" "${bounded[@]}"
assert_untouched "$pid" 'untouched'
stop_target "$pid"
is "$(options)" "$before" 'the mount of the host is as it was'
mkdir "$T/own"
mount -t cgroup2 none "$T/own"
unlike "$(options)" nsdelegate 'control: another mount takes options away'
umount "$T/own"
mount -o "remount,$before" /sys/fs/cgroup
is "$(options)" "$before" 'they are restored'

# A systemd unit, by its own name.
: >"$T/board.unit"
systemd-run --quiet --unit=jeprof-ctl-test-unit -p MemoryMax=400M -E MALLOC_CONF=prof:true,prof_active:false \
	"$VICTIMS/grower" "$T/board.unit" || bail_out 'no unit'
at_end+=('systemctl stop jeprof-ctl-test-unit 2>/dev/null')
pid=$(systemctl show -p MainPID --value jeprof-ctl-test-unit)
tests/drivers/photo ready "$T/board.unit" "$pid" >/dev/null || bail_out 'the unit did not start'
is "$(seen "${mounted[@]}")" "[$((400 << 20)),true,\"jeprof-ctl-test-unit.service\"]" 'a unit: its limit and name'
feature 'limits from within a container'

done_testing
