#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages: installation starts nothing; an upgrade restarts the services that run, with the
# administrator's settings, leaves nothing of the old version, and stops no client and no recording by hand;
# what does not run stays so; and removal ends all. None of the processes that are profiled is harmed.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh

packages=(build/deb/jeprof-ctl_*_amd64.deb build/deb/jeprof-ctl-serve_*_amd64.deb)
[ -e "${packages[1]}" ] || {
	skip 'there are no packages for this suite' 'packages'
	feature 'packages' 'not built'
	done_testing
}
services=(jeprof-ctl-guard.service jeprof-ctl-serve.service jeprof-ctl-watch.service)
socket=jeprof-ctl-serve.socket
settings=/etc/systemd/system
at_end+=('dpkg -P jeprof-ctl-serve jeprof-ctl' "rm -rf $settings/jeprof-ctl-*" 'systemctl daemon-reload')

# make_older: the same packages as $T/NAME.deb, with a lower version, whose units have another description
make_older()
{
	local package

	for package in "${packages[@]}"; do
		rm -rf "$T/older"
		dpkg-deb -R "$package" "$T/older" &&
			sed -i 's/^Version: .*/Version: 0.0.9-1/; s/jeprof-ctl (= [^)]*)/jeprof-ctl (= 0.0.9-1)/' "$T/older/DEBIAN/control" &&
			find "$T/older" -name 'jeprof-ctl-*.service' -exec sed -i 's/^Description=.*/& (older)/' {} + &&
			dpkg-deb --root-owner-group -Znone -b "$T/older" "$T/$(dpkg-deb -f "$package" Package).deb" || return
	done
}

# versions: print those of the packages that are installed
versions()
{
	# shellcheck disable=SC2016 # dpkg's
	dpkg-query -W -f '${db:Status-Status} ${Version} ' jeprof-ctl jeprof-ctl-serve
}

# of_each SETTING UNIT...: print this setting of each
of_each()
{
	local unit

	for unit in "${@:2}"; do
		of_unit "$unit" "$1"
	done | paste -sd ' '
}

# ours [old]: list the processes that run the installed programs, or those of a version that was replaced
ours()
{
	local exe

	for exe in /proc/[0-9]*/exe; do
		[[ $(readlink "$exe") =~ ^/usr/(sbin/jeprof-ctl|libexec/jeprof-ctl/http)(\.dpkg-tmp)?(\ \(deleted\))?$ ]] || continue
		[ "${1:-}" = old ] && [ -z "${BASH_REMATCH[3]}" ] || echo "${exe//[^0-9]/}"
	done
}

# members: list the processes of the services
members()
{
	local unit

	for unit in "${services[@]}"; do
		cat "/sys/fs/cgroup$(of_unit "$unit" ControlGroup)/cgroup.procs"
	done
}

# http METHOD PATH: print the status of the response, or the name of the error; leave the body in $T/body
http()
{
	tests/drivers/ask-http /run/jeprof-ctl/http.sock "$@" >"$T/answer"
	head -n 1 "$T/answer"
	tail -n +2 "$T/answer" >"$T/body"
}

# logged UNIT FILTER: print what it has reported since it was started last
logged()
{
	journalctl -o cat --no-pager "_SYSTEMD_INVOCATION_ID=$(of_unit "$1" InvocationID)" | grep '^{' | jq -rc "$2"
}

# watch_works, guard_works, serve_works: the service has done its work since it was started last
watch_works()
{
	"$CTL" "${patient[@]}" dump "$redis" --in-target /tmp/packages.heap --force &&
		[ -n "$(logged jeprof-ctl-watch "select(.pid == $redis) | .file")" ]
}
guard_works()
{
	[ -n "$(logged jeprof-ctl-guard "select(.pid == $grower and .ok) | .file")" ]
}
serve_works()
{
	[ "$(http POST "/api/v1/processes/$redis/dump")" = 200 ] && [ "$(head -c 8 "$T/body")" = heap_v2/ ]
}
all_work()
{
	ok "$1: watch" within 12 watch_works
	ok "$1: guard" within 12 guard_works || diag "$(journalctl -u jeprof-ctl-guard -o cat --no-pager | tail -n 20)"
	ok "$1: serve" within 12 serve_works || diag "$(<"$T/body")"
}

# --- installed ---
ok 'packages of a lower version are made' make_older || bail_out 'there are none'
ok 'they are installed' dpkg -i "$T/jeprof-ctl.deb" "$T/jeprof-ctl-serve.deb" || bail_out 'they cannot be installed'
is "$(versions)" 'installed 0.0.9-1 installed 0.0.9-1 ' 'both'
is "$(systemctl is-enabled "${services[@]}" $socket | paste -sd ' ')" 'disabled disabled disabled disabled' 'nothing is enabled'
is "$(of_each ActiveState "${services[@]}" $socket)" 'inactive inactive inactive inactive' 'nothing is started'
is "$(ours)" '' 'no process runs'
CTL=/usr/sbin/jeprof-ctl
feature 'packages, installed'

# --- settings of the administrator ---
# An emulated processor is slow.
slow=${patient[*]}
# set_options SERVICE OPTIONS: as by `systemctl edit`
set_options()
{
	mkdir -p "$settings/jeprof-ctl-$1.service.d"
	printf '[Service]\nEnvironment="OPTIONS=%s"\n' "$2" >"$settings/jeprof-ctl-$1.service.d/override.conf"
}
set_options watch '--comm redis-server'
set_options guard "$slow --comm grower --when 'rss>1' --when 'rss>99%%' --cooldown 24h --again 0"
set_options serve "$slow --rules /etc/jeprof-ctl/rules"
install -d -m 700 /etc/jeprof-ctl
echo "none: --comm no-such-program --when 'rss>80%'" >/etc/jeprof-ctl/rules
(cd / && sha256sum etc/jeprof-ctl/* "${settings#/}"/jeprof-ctl-*.d/*) >"$T/settings"

start_redis_service prof:true,prof_active:false,lg_prof_sample:12
redis=$pid
start_grower "$GROWS" 0 rest
hold 60
grower=$pid
MALLOC_CONF=$PROF start_victim idle
idle=$pid
for pid in $redis $grower $idle; do
	snapshot "$pid"
done
ok 'the services are enabled and started' systemctl enable --now jeprof-ctl-watch jeprof-ctl-guard $socket
all_work 'the older version'
is "$(of_each Description "${services[@]}" | grep -o '(older)' | wc -l)" 3 'control: their units are those of the older version'
# options_used: print the options that the services run with, except for those that SLOW needs
options_used()
{
	local unit

	for unit in "${services[@]}"; do
		tr '\0' ' ' <"/proc/$(of_unit "$unit" MainPID)/cmdline"
		echo
	done | sed "s| $slow||; s/ $//"
}
cat >"$T/options" <<-'END'
	/usr/sbin/jeprof-ctl --quiet guard --json --output /var/lib/jeprof-ctl/guard/ --comm grower --when rss>1 --when rss>99% --cooldown 24h --again 0
	/usr/sbin/jeprof-ctl serve --group jeprof-ctl --rules /etc/jeprof-ctl/rules
	/usr/sbin/jeprof-ctl --quiet watch --json --comm redis-server
END
is "$(options_used)" "$(<"$T/options")" 'they have the options of the drop-ins'
feature 'packages, options by drop-ins'

# --- upgraded, at work ---
is "$(http POST "/api/v1/processes/$redis/record?duration=1h")" 202 'serve records' || diag "$(<"$T/body")"
run=$(jq .id "$T/body")
"$CTL" "${patient[@]}" record "$idle" -d 1h -o "$T/by-hand.heap" >"$T/by-hand" 2>&1 </dev/null &
by_hand=$!
own "$by_hand"
both_record()
{
	[ "$("$CTL" get "$redis" prof.active -q) $("$CTL" get "$idle" prof.active -q)" = 'true true' ]
}
ok 'and so does somebody by hand' within 12 both_record || diag "$(<"$T/by-hand")"
# ask_on: connect again and again, and write down how that ends
ask_on()
{
	until [ -e "$T/asked-enough" ]; do
		http GET /healthz
		sleep 3
	done >"$T/asked"
}
(ask_on) &
asking=$!
own "$asking"
within 60 test -s "$T/asked"
before=$(members) pids=$(of_each MainPID "${services[@]}")
inode=$(stat -c %i /run/jeprof-ctl/http.sock)
began=$EPOCHSECONDS
ok 'they are upgraded' dpkg -i "${packages[@]}"
diag "the upgrade took $((EPOCHSECONDS - began)) s"
version=$(dpkg-deb -f "${packages[0]}" Version)
is "$(versions)" "installed $version installed $version " 'both'
touch "$T/asked-enough"
wait "$asking"
is "$(of_each ActiveState "${services[@]}" $socket)" 'active active active active' 'all of it runs'
unlike " $(of_each MainPID "${services[@]}") " " (${pids// /|}|0) " 'as other processes than before'
is "$(of_each NRestarts "${services[@]}") $(of_each Result "${services[@]}")" '0 0 0 success success success' 'none of them has failed'
is "$(comm -12 <(sort <<<"$before") <(ps -e -o pid= | tr -d ' ' | sort))" '' 'the former ones are gone'
is "$(comm -12 <(members | sort) <(ours old | sort))" '' 'no service runs the older program'
is "$(of_each Description "${services[@]}" | grep -c older)" 0 'systemd has read their units again'
is "$(stat -c %i /run/jeprof-ctl/http.sock)" "$inode" 'the socket is the same'
like "$(sort "$T/asked" | uniq -c | paste -sd ' ')" '^ *[0-9]+ 200( +[0-9]+ (RemoteDisconnected|ECONNRESET))?$' 'no connection was refused'
is "$(tail -n 1 "$T/asked")" 200 'the last one was served'

# What was at work.
is "$(http GET "/api/v1/runs/$run") $(jq -r .state "$T/body")" '200 stopped' 'the recording of serve has ended early' || diag "$(<"$T/body")"
is "$(http GET "/api/v1/runs/$run/profile") $(head -c 8 "$T/body")" '200 heap_v2/' 'its profile is kept'
is "$("$CTL" "${patient[@]}" get "$redis" prof.active -q)" false 'and profiling is off again'
assert_untouched "$redis" 'recorded during the upgrade: untouched'
ok 'the recording by hand goes on' kill -0 "$by_hand"
is "$("$CTL" "${patient[@]}" get "$idle" prof.active -q)" true 'profiling is still on there'
end_child "$by_hand"
wait "$by_hand"
is "$?" 0 'it ends as always' || diag "$(<"$T/by-hand")"
ok 'its profile is there' is_profile "$T/by-hand.heap"
assert_untouched "$idle" 'recorded by hand: untouched'
assert_untouched "$grower" 'guarded: untouched'
is "$(ours old)" '' 'no process of the older version is left'

# Settings.
is "$(cd / && sha256sum --quiet -c "$T/settings" 2>&1)" '' 'the settings are as they were'
is "$(options_used)" "$(<"$T/options")" 'and the services have them'
all_work 'upgraded'
feature 'packages, upgraded while services run'

# --- what does not run ---
systemctl stop jeprof-ctl-serve.service
ok 'a package is installed again' dpkg -i "${packages[1]}"
is "$(of_each ActiveState "${services[@]}" $socket)" 'active inactive active active' 'a service that did not run does not run'
is "$(http GET /healthz)" 200 'the next connection starts it'

# --- removed ---
ok 'they are removed' dpkg -r jeprof-ctl-serve jeprof-ctl
is "$(ours) $(of_each ActiveState "${services[@]}" $socket)" ' inactive inactive inactive inactive' 'nothing runs'
is "$(http GET /healthz)" ENOENT 'the socket is gone'
is "$(cd / && sha256sum --quiet -c "$T/settings" 2>&1)" '' 'the settings are kept'
ok 'what was recorded is kept' test -d "/var/lib/jeprof-ctl/runs/$run"
ok 'they are purged' dpkg -P jeprof-ctl-serve jeprof-ctl
is "$(find /etc/jeprof-ctl /var/lib/jeprof-ctl /var/cache/jeprof-ctl /run/jeprof-ctl "$settings"/*.wants -name '*jeprof-ctl*' 2>/dev/null)" \
	'' 'nothing is left but the drop-ins'
for pid in $redis $grower $idle; do
	assert_untouched "$pid" "removed: $pid is untouched"
done
feature 'packages, removed and purged'

done_testing
