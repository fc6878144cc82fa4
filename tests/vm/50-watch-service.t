#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jeprof-ctl-watch.service: with all restrictions of the unit, it logs to the journal the dumps of
# services that are running, that are restarted, and that start later.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

unit=jeprof-ctl-watch.service
at_end+=("systemctl stop $unit" "rm -f /run/systemd/system/$unit")
# The path that the unit runs.
cmp -s "$CTL" /usr/local/sbin/jeprof-ctl || {
	install -D -m 755 "$CTL" /usr/local/sbin/jeprof-ctl
	at_end+=("rm -f /usr/local/sbin/jeprof-ctl")
}
install -m 644 "packaging/$unit" /run/systemd/system/
start_redis_service prof:true,lg_prof_sample:12,prof_prefix:/tmp/own

# logged FILTER: print events from the journal
logged()
{
	journalctl -u "$unit" -o cat --no-pager | grep '^{' | jq -rc "$1"
}

is_logged()
{
	local events

	events=$(logged "select(.pid == $pid) | .kind")
	[ -n "$events" ]
}

dump_is_logged()
{
	"$CTL" "${patient[@]}" dump "$pid" --in-target /tmp/service.heap --force && is_logged
}

ok 'it starts' systemctl start "$unit"
is "$(of_unit "$unit" NoNewPrivileges ProtectSystem MemoryDenyWriteExecute PrivateNetwork)" 'yes strict yes yes' \
	'it is sandboxed'
ok 'a dump is logged' within 60 dump_is_logged
is "$(logged "select(.pid == $pid) | \"\(.kind) \(.ok) \(.file) \(.host_file)\"" | sort -u)" \
	"manual true /tmp/service.heap /proc/$pid/root/tmp/service.heap" 'the log describes it'
sources=$(logged .source | sort -u)
feature watch.service "yes, by $sources"

before=$pid
restart_service redis-server
within 60 redis_answers
unlike "$pid" "^$before\$" 'the target is restarted'
ok 'a dump of the new process is logged' within 60 dump_is_logged
is "$(logged "select(.pid == $pid) | .cgroup" | sort -u)" /system.slice/redis-server.service 'and names its service'
feature 'watch.service, the target is restarted'

# With few samples there are few stacks, so that jemalloc does not hang: see tests/gate/gdump.t.
ctl_ok 'few samples' reset "$pid" --lg-sample 19
ctl_ok 'gdump on' gdump "$pid" on --force
fill_redis 2000
gdump_is_logged()
{
	[ "$(logged "select(.pid == $pid and .kind == \"gdump\" and .ok) | .kind" | sort -u)" = gdump ]
}
ok 'what jemalloc dumps by itself is logged' within 60 gdump_is_logged
ctl_ok 'gdump off' gdump "$pid" off

is "$(of_unit "$unit" ActiveState NRestarts)" 'active 0' 'it was never restarted'
ok 'it stops' systemctl stop "$unit"
is "$(of_unit "$unit" Result)" success 'its result is success'
is "$(journalctl -u "$unit" -o cat --no-pager | grep -c -i -E '^jeprof-ctl:|cannot|lost')" 0 'and it logged no error' ||
	diag "$(journalctl -u "$unit" -o cat --no-pager | grep -v '^{')"
feature 'watch.service, dumps of jemalloc itself'

done_testing
