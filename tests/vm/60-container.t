#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A redis-server in a container of systemd-nspawn, whose files the host does not have, profiled from
# the host: once with the users of the host, once in its own user namespace.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
export WATCH_SYSTEM=1
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/redis-root.sh
. tests/redis-root.sh

root=$T/root
make_redis_root "$root"
cp /etc/os-release "$root/etc/"

# start_container NAME [OPTION...]: set `pid` to its redis-server
start_container()
{
	local name=$1 unit=nspawn-$1.service

	shift
	at_end+=("systemctl stop $unit 2>/dev/null" "systemctl reset-failed $unit 2>/dev/null")
	systemd-run --quiet --unit="$unit" --slice=machine.slice -p Delegate=yes -p KillMode=mixed \
		systemd-nspawn --quiet --keep-unit --register=no --machine="$name" --directory="$root" "$@" \
		--setenv=LC_ALL=C --setenv=MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:12,prof_prefix:/tmp/own,narenas:2 \
		/usr/bin/redis-server --port 0 --unixsocket /srv/sock --save '' --appendonly no --dir /tmp ||
		bail_out 'systemd-nspawn cannot be started'
	sock=$root/srv/sock # it has its own /tmp
	within 60 redis_answers || bail_out "no redis-server in the container: $(journalctl -u "$unit" -o cat --no-pager | tail -n 20)"
	pid=$(pgrep -x redis-server)
}

# main_job NAME: profile the redis-server, and watch it
main_job()
{
	local name=$1 there=/proc/$pid/root

	fill_redis 4000
	snapshot "$pid"
	ctl_ok "$name: list" list --json
	like "$(json ".[] | select(.pid == $pid) | \"\(.opt.prof) \(.container)\"")" "^true .*$name" "$name: list names the container"
	ctl_ok "$name: check" check "$pid"
	ctl_ok "$name: activate" activate "$pid"
	fill_redis 1000
	start_watch "$name" "$pid"
	ctl_ok "$name: dump" dump "$pid" -o "$T/$name.heap"
	ctl_ok "$name: dump --in-target" dump "$pid" --in-target "/tmp/$name.there.heap"
	end_watch "$name"
	ok "$name: a profile" is_profile "$T/$name.heap"
	ok "$name: a profile in the container" is_profile "$there/tmp/$name.there.heap"
	ctl_ok "$name: report" report "$T/$name.heap" --json
	like "$(json '[.rows[].name] | join(" ")')" 'redis' "$name: report names it"
	is "$(seen "$name" '"\(.kind) \(.ok) \(.by) \(.file)"')" \
		"$(printf '%s\n' "manual true jeprof-ctl $T/$name.heap" "manual true null /tmp/$name.there.heap")" \
		"$name: both are seen"
	is "$(seen "$name" 'select(.host_file != null) | "\(.host_file) \(.bytes)"')" \
		"$there/tmp/$name.there.heap $(dumped_bytes "$there/tmp/$name.there.heap")" "$name: the path on the host"
	like "$(seen "$name" .container | sort -u)" "$name" "$name: the container is named"
	ctl_ok "$name: deactivate" deactivate "$pid"
	# The container's programs have a seccomp filter, and reading it takes CAP_SYS_ADMIN.
	runner=(setpriv '--bounding-set=-all,+sys_ptrace,+dac_read_search,+sys_admin' --inh-caps=-all)
	ctl_ok "$name: activate with the capabilities it takes" activate "$pid"
	ctl_ok "$name: dump with them" dump "$pid" -o "$T/$name.caps.heap"
	ctl_ok "$name: deactivate with them" deactivate "$pid"
	runner=()
	assert_untouched "$pid" "$name: untouched"
}

start_container plain
main_job plain
unlike "$(readlink "/proc/$pid/ns/mnt" "/proc/$pid/ns/pid" | paste -sd ' ')" \
	"$(readlink /proc/self/ns/mnt)|$(readlink /proc/self/ns/pid)" 'plain: namespaces of its own'
feature 'container of systemd-nspawn'
systemctl stop nspawn-plain

start_container mapped --private-users=1048576:65536 --private-users-chown
main_job mapped
like "$(stat -c %u "/proc/$pid")" '^1048576$' 'mapped: its root is a user of the host'
feature 'container with users of its own'

done_testing
