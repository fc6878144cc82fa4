#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jeprof-ctl-guard.service: with all restrictions of the unit, it takes profiles of a service that
# is at its limit, has a system call filter, and is restarted.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

unit=jeprof-ctl-guard.service
dropin=/run/systemd/system/$unit.d
at_end+=("systemctl stop $unit" "rm -rf /run/systemd/system/$unit $dropin /var/lib/jeprof-ctl/guard" 'systemctl daemon-reload')
cmp -s "$CTL" /usr/local/sbin/jeprof-ctl || {
	install -D -m 755 "$CTL" /usr/local/sbin/jeprof-ctl
	at_end+=("rm -f /usr/local/sbin/jeprof-ctl")
}
install -m 644 "packaging/$unit" /run/systemd/system/
start_service redis-server prof:true,lg_prof_sample:12
# Stopping it saves its data, and the limit would outlast it: both would be there for other tests.
at_end+=('systemctl stop redis-server' 'rm -f /var/lib/redis/dump.rdb'
	'rm -rf /run/systemd/system.control/redis-server.service.d' 'systemctl daemon-reload')
systemctl set-property --runtime redis-server.service MemoryMax=300M MemorySwapMax=0
systemctl daemon-reload
ok 'the unit starts' systemctl start "$unit"
is "$(of_unit "$unit" NoNewPrivileges ProtectSystem ProtectHome PrivateNetwork)" 'yes strict yes yes' 'it is sandboxed'
# seccomp_of PID: print 2 if it has a system call filter
seccomp_of()
{
	sed -n 's/^Seccomp:[[:space:]]*//p' "/proc/$1/status"
}
diag "redis-server is under a seccomp filter: $(seccomp_of "$pid")"
is "$(seccomp_of "$(systemctl show -p MainPID --value "$unit")")" 0 'it has no filter, so that it may read those of targets'
# told FILTER: print what the guard reports about this process. On a slow machine, its first attempt
# may stop a thread for too long.
told()
{
	journalctl -u "$unit" -o cat --no-pager | grep '^{' | jq -rc "select(.pid == $pid) | $1"
}
taken()
{
	told "select(.ok) | $1" | head -n 1
}
grows_until_taken()
{
	[ -n "$(told .pid)" ] ||
		at_redis EVAL "for i = 1, 80 do redis.call('set', '$EPOCHREALTIME:' .. i, string.rep('x', 200000)) end" 0
	[ -n "$(taken .pid)" ]
}
for time in first second; do
	within 60 redis_answers
	ok "$time: a profile is taken" within 20 grows_until_taken
	is "$(taken '[.ok, .rule, .group] | tostring')" '[true,"rss>80%","/sys/fs/cgroup/system.slice/redis-server.service"]' \
		"$time: its service and its rule" || diag "$(journalctl -u "$unit" -o cat --no-pager | tail -n 20)"
	ok "$time: it is kept" is_profile "$(taken .file)"
	[ "$time" = second ] || restart_service redis-server
done
is "$(of_unit "$unit" ActiveState NRestarts)" 'active 0' 'it was never restarted'
ok 'it stops' systemctl stop "$unit"
is "$(of_unit "$unit" Result)" success 'its result is success'
feature guard.service

done_testing
