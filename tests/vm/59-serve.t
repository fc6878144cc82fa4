#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jeprof-ctl-serve.socket and .service: the first connection starts it, members of a group may
# connect, and with all restrictions of the unit it profiles a service. It is killed and stopped
# without harm.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

unit=jeprof-ctl-serve.service socket=jeprof-ctl-serve.socket
units=/run/systemd/system/jeprof-ctl-serve
path=/run/jeprof-ctl/http.sock port=127.0.0.1:19477
at_end+=("systemctl stop $socket $unit" "systemctl reset-failed $socket $unit 2>/dev/null" "rm -rf $units.*"
	'systemctl daemon-reload' "groupdel jeprof-ctl" 'rm -rf /var/lib/jeprof-ctl/runs')
cmp -s "$CTL" /usr/local/sbin/jeprof-ctl || {
	install -D -m 755 "$CTL" /usr/local/sbin/jeprof-ctl
	install -D -m 755 build/portable/libexec/jeprof-ctl/http /usr/local/libexec/jeprof-ctl/http
	at_end+=("rm -rf /usr/local/sbin/jeprof-ctl /usr/local/libexec/jeprof-ctl")
}
install -m 644 "packaging/$socket" "packaging/$unit" /run/systemd/system/
# An emulated processor is slow.
sed -i "s/^\(ExecStart=[^ ]*\)/\1 ${patient[*]}/" "$units.service"
systemctl daemon-reload
start_redis_service prof:true,lg_prof_sample:12

# as WHO METHOD PATH [TOKEN]: print the status of the response, or the name of the error; leave the
# body in $T/body. WHO is root, a member of the group, or another user.
where=$path
as()
{
	local user=()

	case $1 in
	member) user=(setpriv --reuid 12345 --regid 12345 --groups "$gid" --inh-caps=-all) ;;
	other) user=(setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all) ;;
	esac
	shift
	"${user[@]}" "$T/ask-http" "$where" "$@" >"$T/answer"
	head -n 1 "$T/answer"
	tail -n +2 "$T/answer" >"$T/body"
}

# look: set `broker`, 0 if there is none, and `front`
look()
{
	broker=$(systemctl show -p MainPID --value "$unit")
	front=$(pgrep -P "$broker" -f libexec/jeprof-ctl/http)
}
of_process()
{
	sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"
}
# begin_long NAME: request a profile that takes an hour; set `long`
begin_long()
{
	"$T/ask-http" "$path" GET "/pid/$pid/debug/pprof/heap?seconds=3000" >"$T/long" &
	long=$!
	own "$long"
	ok "$1: a request is running" within 60 is_at_work
}
is_at_work()
{
	look
	[ "$(pgrep -c -P "$broker")" -gt 1 ]
}
# still_there PIDS: print how many of these, given one a line, have not ended
still_there()
{
	ps -o pid= -p "$(paste -sd , <<<"$1")" | wc -l
}
profiles()
{
	is "$(as "$1" GET "/pid/$pid/pprof/heap")" 200 "$2: a profile"
	like "$(head -c 8 "$T/body")" '^heap_v2/' "$2: it is one"
}
install -m 755 tests/drivers/ask-http "$T/"

# --- the first connection ---
ok 'the group is created' systemd-sysusers "$ROOT/packaging/jeprof-ctl.sysusers"
gid=$(getent group jeprof-ctl | cut -d: -f3)
like "$gid" '^[0-9]+$' 'the group exists'
systemctl stop jeprof-ctl-guard.service 2>/dev/null
rm -rf /run/jeprof-ctl
"$CTL" "${patient[@]}" status "$pid" >"$T/status"
is "$(stat -c %a /run/jeprof-ctl)" 700 "control: the program by itself creates the folder for root alone"
ok 'the socket starts' systemctl start "$socket"
is "$(stat -c '%a %U' /run/jeprof-ctl)" '711 root' 'others may pass through its folder'
is "$(stat -c '%a %U %G %F' "$path")" '660 root jeprof-ctl socket' 'and members of the group may connect'
is "$(of_unit "$unit" ActiveState)" inactive 'nothing runs yet'
snapshot "$pid"
is "$(as other GET /healthz)" EACCES 'a non-member may not connect'
is "$(of_unit "$unit" ActiveState)" inactive 'and starts nothing'
is "$(as member GET /healthz)" 200 'a member may connect' ||
	bail_out "it does not serve: $(journalctl -u "$unit" -o cat --no-pager | tail -n 20)"
is "$(of_unit "$unit" ActiveState SubState)" 'active running' 'which starts it'
is "$(as root GET /healthz)" 200 'root may connect, too'
is "$(of_unit "$unit" NoNewPrivileges ProtectSystem ProtectHome PrivateNetwork DevicePolicy)" 'yes strict yes yes closed' \
	'it is sandboxed'
feature 'serve.service, by the first connection'

# --- what it does ---
look
is "$(of_process "$broker" Seccomp)" 0 'it has no filter, so that it may read those of targets'
is "$(of_process "$front" Seccomp) $(of_process "$front" CapBnd)" '2 0000000000000000' 'the HTTP process has one, and no capability'
like "$(of_process "$front" Uid)" '^[1-9][0-9]*$' 'it is not root'
like "$(readlink "/proc/$front/root")" 'front\.[^/]* \(deleted\)$' 'its root directory is deleted'
diag "redis-server is under a seccomp filter: $(of_process "$pid" Seccomp)"
is "$(as member GET /api/v1/processes)" 200 'list'
is "$(jq -c ".[] | select(.pid == $pid) | .comm" "$T/body")" '"redis-server"' 'list: it is listed'
is "$(as member POST "/api/v1/processes/$pid/deactivate") $(jq .after "$T/body")" '200 false' 'deactivate' || diag "$(<"$T/body")"
is "$(as member POST "/api/v1/processes/$pid/activate") $(jq .after "$T/body")" '200 true' 'activate' || diag "$(<"$T/body")"
fill_redis
profiles member 'dump'
is "$(as member POST "/api/v1/processes/$pid/dump?format=folded")" 200 'a profile with names'
like "$(<"$T/body")" 'createStringObject' 'the names are there' || diag "$(head -n 3 "$T/body")"
assert_untouched "$pid" 'profiled over HTTP: untouched'
like "$(journalctl -u "$unit" -o cat --no-pager)" "op=dump result=ok uid=12345 .* pid=$pid comm=\"redis-server\"" 'the journal says who did it'
feature 'serve.service, profiles'

# --- what it records and keeps ---
is "$(as member POST "/api/v1/processes/$pid/deactivate")" 200 'off again'
snapshot "$pid"
is "$(as member POST "/api/v1/processes/$pid/record?duration=1h")" 202 'a recording begins' || diag "$(<"$T/body")"
run=$(jq .id "$T/body")
fill_redis
is "$(as member POST "/api/v1/runs/$run/stop") $(jq -r .state "$T/body")" '200 stopped' 'it ends early' || diag "$(<"$T/body")"
is "$(stat -c '%a %U' /var/lib/jeprof-ctl/runs)" '700 root' 'only root can access what it keeps'
ok 'the profile is kept' test -s "/var/lib/jeprof-ctl/runs/$run/profile.heap"
is "$(as member GET "/api/v1/runs/$run/diff?format=folded")" 200 'what grew'
like "$(<"$T/body")" 'createStringObject' 'what grew has names' || diag "$(head -n 3 "$T/body")"
is "$("$CTL" "${patient[@]}" get "$pid" prof.active -q)" false 'profiling is off again'
assert_untouched "$pid" 'recorded: untouched'
feature 'serve.service, recordings'
snapshot "$pid"
is "$(as member POST "/api/v1/processes/$pid/record?duration=1h")" 202 'another one, which is running when all are killed'
killed_run=$(jq .id "$T/body")

# --- killed and stopped ---
look
killed=$front before=$broker
kill -KILL "$front"
another_front()
{
	look
	[ -n "$front" ] && [ "$front" != "$killed" ]
}
ok 'the HTTP process is killed: another one starts' within 60 another_front
profiles member 'another one'
is "$broker $(of_unit "$unit" NRestarts)" "$before 0" 'the broker stays'

begin_long 'killed'
look
group=$(systemctl show -p ControlGroup --value "$unit")
left=$(<"/sys/fs/cgroup$group/cgroup.procs")
kill -KILL "$broker"
is "$(as member GET /healthz)" 200 'the broker is killed: the next connection starts another one'
within 60 eval '[ "$(still_there "$left")" = 0 ]'
is "$(still_there "$left")" 0 'its other processes are gone'
has_ended()
{
	as member GET "/api/v1/runs/$killed_run" >/dev/null
	grep -qE '"state": ?"(stopped|interrupted)"' "$T/body"
}
ok 'its recording has ended, and says how' within 60 has_ended || diag "$(<"$T/body")"
is "$("$CTL" "${patient[@]}" get "$pid" prof.active -q)" false 'and profiling is off again'
is "$(as member GET "/api/v1/runs/$run") $(jq -r .state "$T/body")" '200 stopped' 'what was recorded before is there'
assert_untouched "$pid" 'the broker is killed: untouched'
is "$(as member POST "/api/v1/processes/$pid/activate")" 200 'activated, for what follows'
snapshot "$pid"
profiles member 'another broker'

begin_long 'stopped'
ok 'it stops' systemctl stop "$unit"
is "$(of_unit "$unit" ActiveState Result)" 'inactive success' 'it is inactive, without a failure'
is "$(of_unit "$socket" ActiveState SubState)" 'active listening' 'the socket is still there'
assert_untouched "$pid" 'stopped: untouched'
profiles member 'the next connection'
feature 'serve.service, killed and stopped'

# --- a port, configured in the socket unit ---
tokens=$T/tokens
token=$("$CTL" serve --token-file "$tokens" --new-token profile:tester)
mkdir "$units.socket.d" "$units.service.d"
printf '[Socket]\nListenStream=%s\n' "$port" >"$units.socket.d/port.conf"
# With PrivateTmp=, the service would not see the file in /tmp.
install -D -m 600 "$tokens" /run/jeprof-ctl-test/tokens
at_end+=('rm -rf /run/jeprof-ctl-test')
printf '[Service]\nEnvironment="OPTIONS=--token-file %s"\n' /run/jeprof-ctl-test/tokens >"$units.service.d/tokens.conf"
systemctl daemon-reload
systemctl stop "$unit"
ok 'a port: the socket starts again' systemctl restart "$socket"
where=$port
is "$(as other GET "/pid/$pid/pprof/heap")" 401 'a port: no access without a token'
is "$(as other GET "/pid/$pid/pprof/heap" "$token")" 200 'a port: a profile with a token' || diag "$(<"$T/body")"
like "$(head -c 8 "$T/body")" '^heap_v2/' 'a port: it is one'
is "$(as other POST "/api/v1/processes/$pid/deactivate" "$token")" 403 'a port: no more than the role of the token'
is "$(of_unit "$unit" PrivateNetwork)" yes 'a port: without a network of its own'
where=$path
is "$(as member GET /healthz)" 200 'a port: and the socket as before'
assert_untouched "$pid" 'a port: untouched'
feature 'serve.service, a port'

# --- the service without its socket unit ---
rm -r "$units".*.d
systemctl daemon-reload
ok 'both stop' systemctl stop "$socket" "$unit"
ok 'the socket goes with its unit' test ! -e "$path"
ok 'the service starts by itself' systemctl start "$unit"
is "$(stat -c '%a %U %G %F' "$path")" '660 root jeprof-ctl socket' 'the same socket'
profiles member 'by itself'
is "$(as other GET /healthz)" EACCES 'by itself: only for members'
ok 'by itself: it stops' systemctl stop "$unit"
is "$(of_unit "$unit" Result)" success 'by itself: its result is success'
ok 'by itself: its socket goes with it' test ! -e "$path"
assert_untouched "$pid" 'by itself: untouched'
feature 'serve.service, by itself'

done_testing
