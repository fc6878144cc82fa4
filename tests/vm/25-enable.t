#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# enable and disable with a real systemd: redis-server.service as Debian ships it, which is then
# recorded by its unit, and together with others; and units of all kinds.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

unit='redis-server.service'
file=/etc/systemd/system/$unit.d/zz-jeprof-ctl.conf
at_end+=("systemctl stop redis-server" "rm -rf /etc/systemd/system/$unit.d" "systemctl daemon-reload")

# variable UNIT NAME: print a variable as the main process got it (redis-server overwrites its own)
variable()
{
	tr '\0' '\n' <"/proc/$(of_unit "$1" MainPID)/environ" | sed -n "s/^$2=//p"
}

mkdir "$T/unit" "$T/all"
sock=
restart_service redis-server
ok 'redis answers' within 60 redis_answers
before=$pid
ctl_fails 6 'opt_prof_false restart_with_prof enable_unit' 'it cannot be profiled' activate "$pid"
like "$err" "jeprof-ctl enable $unit --restart" 'the fix is shown'
snapshot "$pid"
ctl_ok 'dry run' enable redis-server -n
like "$out" "\+\+\+ $file" 'it shows the drop-in'
ok 'nothing is written' test ! -e "$file"
ctl_ok 'enable' enable redis-server -y
is "$(stat -c '%a %U' "$file")" '644 root' 'the drop-in'
is "$(of_unit "$unit" Environment NeedDaemonReload MainPID)" "MALLOC_CONF=prof:true,prof_active:false no $pid" \
	'systemd has read it, and restarted nothing'
assert_untouched "$pid"
ctl_ok 'restart' enable redis-server -y --restart --json
pid=$(of_unit "$unit" MainPID)
is "$(json '"\(.unit) \(.restarted) \(.pid) \(.comm) \(.opt.prof)"')" "$unit true $pid redis-server true" 'the new process has it'
unlike "$pid" "^$before\$" 'it is a new one'
ok 'redis answers again' within 60 redis_answers
ctl_ok 'check' check "$pid"
feature enable

# --- by the unit --------------------------------------------------------------------------
fill_redis 4000
snapshot "$pid"
ctl_ok 'check --cgroup' check --cgroup "$unit" --json
is "$(json '[.[].pid] | join(" ")')" "$pid" 'it finds the process'
ctl_ok 'dump --cgroup' dump --cgroup "$unit" -o "$T/dump.heap"
ok 'a profile' is_profile "$T/dump.heap"
ctl_ok 'record --cgroup' record --cgroup "$unit" -d 2s -o "$T/unit/" --json
is "$(json '[.[] | "\(.pid) \(.changed.prof.active)"] | join(" ")')" "$pid true" 'recorded, and restored' || diag "$out"
ok 'its profile' is_profile "$T"/unit/redis-server."$pid".*Z.heap
assert_untouched "$pid"
feature 'record --cgroup UNIT'

# --- several at once ----------------------------------------------------------------------
redis=$pid
cat >/run/systemd/system/sleeper@.service <<-'END'
	[Service]
	Environment=LD_PRELOAD=libjemalloc.so.2 "MALLOC_CONF=narenas:1"
	ExecStart=/bin/sleep 1000
END
at_end+=('systemctl stop sleeper@one' 'rm -rf /run/systemd/system/sleeper@* /etc/systemd/system/sleeper@*')
ctl_ok 'an instance' enable sleeper@one -y --restart
like "$out" 'opt\.prof is true in [0-9]+ \(sleep\)' 'it has opt.prof'
is "$(of_unit sleeper@one.service Environment)" 'LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=narenas:1,prof:true,prof_active:false' \
	'in addition to what the unit has'
snapshot "$redis"
ctl_ok 'record of all services' record --cgroup system.slice -d 3s -o "$T/all/" --json
is "$(json '[.[] | select(.error == null) | .comm] | sort | join(" ")')" 'redis-server sleep' 'both at once' || diag "$out"
is "$(json '[.[].changed.prof.active] | unique | join(" ")')" true 'and both restored'
is "$(find "$T/all" -name '*.heap' ! -name '*.base.heap' | wc -l)" 2 'two profiles'
assert_untouched "$redis"
feature 'record of several services'

# --- what a unit may contain --------------------------------------------------------------
folder=/etc/systemd/system/$unit.d
printf '[Service]\nEnvironment=MALLOC_CONF=narenas:2 "OTHER=a b"\n' >"$folder/override.conf"
systemctl daemon-reload
ctl_ok 'disable' disable redis-server -y
is "$(of_unit "$unit" Environment)" 'MALLOC_CONF=narenas:2 "OTHER=a b"' 'disabled'
ctl_ok 'beside the drop-in of systemctl edit' enable redis-server -y --restart
is "$(of_unit "$unit" Environment)" 'MALLOC_CONF=narenas:2,prof:true,prof_active:false "OTHER=a b"' 'both are in force'
conf="prof:true,prof_prefix:/tmp/a b%n\"\$HOME\\c'd"
ctl_ok 'whatever can be quoted' enable sleeper@one -y --restart --conf "$conf"
is "$(variable sleeper@one MALLOC_CONF)" "narenas:1,$conf" 'it has that value'
ctl_ok 'once more' enable sleeper@one --conf "$conf"
like "$out" 'is already enabled' 'it is recognized'
is "$(variable sleeper@one LD_PRELOAD)" libjemalloc.so.2 'and the rest stays'
printf '[Service]\nEnvironment=MALLOC_CONF=narenas:3\n' >"$folder/zzz.conf"
systemctl daemon-reload
run_ctl enable redis-server
like "$status $err" '1 .*still has MALLOC_CONF=narenas:3: another drop-in' 'a later drop-in'
rm "$folder/zzz.conf"
printf 'MALLOC_CONF="narenas:4"\n' >"$T/env"
printf '[Service]\nEnvironmentFile=-/etc/none\nEnvironmentFile=%s/e*v\n' "$T" >"$folder/file.conf"
systemctl daemon-reload
ctl_fails 1 'unit_file_sets set_it_there' 'EnvironmentFile=' enable redis-server -y
printf '[Service]\nUnsetEnvironment=MALLOC_CONF\n' >"$folder/file.conf"
systemctl daemon-reload
ctl_fails 1 unit_unsets 'UnsetEnvironment=' enable redis-server -y
rm "$folder/file.conf" "$folder/override.conf"
ctl_ok 'disable' disable redis-server -y --restart
ok 'nothing is left' test ! -e "$folder"
pid=$(of_unit "$unit" MainPID)
ok 'redis answers without it' within 60 redis_answers
ctl_fails 6 opt_prof_false 'and it is not profiled' activate "$pid"
systemctl set-environment MALLOC_CONF=narenas:5
ctl_ok 'an environment of all services' enable redis-server -y --runtime
is "$(of_unit "$unit" Environment)" 'MALLOC_CONF=narenas:5,prof:true,prof_active:false' 'is kept'
systemctl unset-environment MALLOC_CONF
ok 'until the next boot' test -s "/run/systemd/system/$unit.d/zz-jeprof-ctl.conf"
ctl_ok 'disable' disable redis-server -y
ok 'nothing is left of that' test ! -e "/run/systemd/system/$unit.d"
feature disable

# --- units of other kinds -----------------------------------------------------------------
ctl_fails 1 unit_not_found 'no such unit' enable nosuch
ctl_fails 2 unit_is_template 'a template' enable sleeper@
systemctl mask --runtime --quiet rsync.service
ctl_fails 1 'unit_masked unmask' 'a masked one' enable rsync
systemctl unmask --runtime --quiet rsync.service
systemd-run --quiet --unit=transient sleep 1000
at_end+=('systemctl stop transient')
ctl_fails 1 'unit_transient setenv_at_start' 'a transient one' enable transient
printf '%s\n' '#!/bin/sh' '### BEGIN INIT INFO' '# Provides: oldie' '# Default-Start: 2 3' '# Default-Stop:' \
	'### END INIT INFO' 'exit 0' >/etc/init.d/oldie
chmod +x /etc/init.d/oldie
printf '[Service\nfoo' >/run/systemd/system/bad.service
at_end+=('rm -f /etc/init.d/oldie /run/systemd/system/bad.service')
systemctl daemon-reload
ctl_fails 1 'unit_broken verify_unit' 'a broken one' enable bad
if systemctl cat oldie >/dev/null 2>&1; then
	ctl_ok 'a script of System V' enable oldie -n
	like "$out" 'oldie\.service\.d/zz-jeprof-ctl\.conf' 'it has a unit all the same'
else # systemd 260 dropped them
	ctl_fails 1 'unit_not_found' 'a script of System V that systemd ignores' enable oldie -n
fi
ctl_fails 5 'enable_is_vain unit_without_jemalloc' 'one without jemalloc' enable systemd-journald
printf '[Service]\nType=notify\nExecStart=/bin/false\n' >/run/systemd/system/fails.service
systemctl daemon-reload
run_ctl enable fails -y --restart
like "$status $err" '1 .*fails\.service was not restarted: systemctl restart failed: .*journalctl -u fails' 'one that does not start'
ctl_ok 'disable it' disable fails -y
rm /run/systemd/system/fails.service
systemctl daemon-reload
feature 'enable: units of all kinds'

done_testing
