#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# enable and disable: the drop-in that sets MALLOC_CONF for a service, without systemd (see
# tests/vm/25-enable.t for that).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/systemd.sh
. tests/systemd.sh

umask 077

# --- not a service ------------------------------------------------------------------------
ctl_fails 1 'systemd_absent set_variable_at_start' 'no systemd' enable a
mkdir -m 755 /run/systemd/system
for name in '' a/b ../a '@x' 'a b' .hidden $'a\nb' "$(printf 'x%.0s' {1..250})"; do
	ctl_fails 2 'unit_name_invalid see_services' "an invalid name: $name" enable "$name"
done
ctl_fails 2 'unit_is_template name_an_instance' 'a template' enable a@
ctl_fails 2 'unit_no_service name_the_service' 'a socket' enable a.socket
ctl_fails 1 'unit_not_found see_services' 'no such unit' enable a
ctl_fails 1 unit_not_found 'no such unit: disable' disable a
is "$(calls)" '' 'nothing was changed'
unit a@x.service
ctl_ok 'an instance' enable a@x -n
like "$out" '\+\+\+ /etc/systemd/system/a@x\.service\.d/zz-jeprof-ctl\.conf' \
	'an instance: its own drop-in'
unit masked.service LoadState=masked
ctl_fails 1 'unit_masked unmask' 'masked' enable masked
unit bad.service LoadState=error 'LoadError=org.freedesktop.DBus.Error.InconsistentMessage "Unit bad.service failed to load properly"'
ctl_fails 1 'unit_broken verify_unit' 'broken' enable bad
like "$err" 'failed to load properly' 'broken: the error of systemd'
unit trans.service Transient=yes
ctl_fails 1 'unit_transient setenv_at_start' 'transient' enable trans
like "$err" 'systemd-run --setenv=MALLOC_CONF=prof:true,prof_active:false' 'transient: the fix'
unit alias.service Id=../../evil.service
ctl_fails 2 unit_name_invalid 'systemd has an invalid name for it' enable alias
unit alias.service Id=a@x.service
ctl_ok 'an alias' enable alias -n
like "$out" '\+\+\+ /etc/systemd/system/a@x\.service\.d/' 'an alias: the unit itself'
echo 'Failed to connect to bus: No such file or directory' >"$systemd/fails"
ctl_fails 1 systemctl_failed 'systemctl fails' enable a@x
like "$err" 'Failed to connect to bus' 'systemctl fails: the cause'
rm "$systemd/fails"
runner=(env PATH=/nowhere)
ctl_fails 1 systemctl_unstarted 'there is no systemctl' enable a@x
runner=()

# --- the difference is shown first --------------------------------------------------------
unit a.service 'Environment="B=a b" MALLOC=x'
file=$(drop_in a.service)
ctl_ok 'dry run' enable a --dry-run
is "$out" "--- /dev/null
+++ $file
@@ -0,0 +1,4 @@
+# Written by jeprof-ctl enable; \"jeprof-ctl disable a.service\" removes it.
+# Without it there is no MALLOC_CONF.
+[Service]
+Environment=\"MALLOC_CONF=prof:true,prof_active:false\"
a.service starts with MALLOC_CONF=prof:true,prof_active:false from then on: nothing is sampled until activate or record" \
	'the difference, and its effect'
like "$err" 'a\.service is not running' 'a unit that is not running: a warning'
ctl_ok 'sampled from its start' enable a.service -n --conf prof:true
like "$out" 'is sampled from its start$' 'sampled from its start: the effect'
run_ctl enable a
is "$status" 2 'no terminal'
like "$err" 'no terminal.*--yes' 'no terminal: the fix'
is "$(calls)$(find /etc/systemd/system /run/systemd/system -mindepth 1)" '' 'nothing was changed'

# --- a terminal ---------------------------------------------------------------------------
# answer TEXT ARGUMENTS...: run it on a terminal, and answer its question
answer()
{
	python3 - "$@" <<-'PYTHON' >"$T/out" 2>&1
		import os, pty, sys
		child, fd = pty.fork()
		if not child:
		    os.execv(os.environ["CTL"], [os.environ["CTL"], *sys.argv[2:]])
		seen = b""
		while True:
		    try:
		        got = os.read(fd, 4096)
		    except OSError:
		        break
		    seen += got
		    if got and seen.endswith(b"[y/N] "):
		        os.write(fd, sys.argv[1].encode() + b"\n")
		print(seen.decode().replace("\r", ""))
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
	PYTHON
	status=$?
	out=$(<"$T/out")
}
export CTL
for text in n '' no; do
	answer "$text" enable a
	is "$status" 1 "answered \"$text\""
	like "$out" 'nothing was changed$' 'nothing was changed'
done
is "$(calls)$(find /etc/systemd/system -mindepth 1)" '' 'no drop-in, no call of systemctl'
answer y enable a
is "$status" 0 'answered y'
like "$out" 'write it, and have systemd read its units again \(daemon-reload\)\? \[y/N\] y' 'answered y: the question'
is "$(calls)" daemon-reload 'answered y: systemd reads it, and restarts nothing'

# --- the drop-in --------------------------------------------------------------------------
is "$(stat -c '%a %U' "$file" "${file%/*}" | paste -sd ' ')" '644 root 755 root' 'owner and mode, whatever the umask'
is "$(tail -n 1 "$file")" 'Environment="MALLOC_CONF=prof:true,prof_active:false"' 'the contents'
before=$(stat -c '%i %y' "$file")
ctl_ok 'already enabled' enable a
like "$out" 'a\.service is already enabled$' 'already enabled: reported'
is "$(calls)$(stat -c '%i %y' "$file")" "$before" 'already enabled: nothing is changed'
ctl_ok 'with other options' enable a --conf 'prof:true,prof_prefix:/a b"%n$\c,lg_prof_sample:20' -y
like "$out" "--- $file
\+\+\+ $file
@@ -1,4 \+1,4 @@
 # Written.*
 # Without it there is no MALLOC_CONF\.
 \[Service\]
-Environment=\"MALLOC_CONF=prof:true,prof_active:false\"
\+Environment=" 'the lines that change'
is "$(tail -n 1 "$file")" 'Environment="MALLOC_CONF=prof:true,prof_prefix:/a b\"%%n$\\c,lg_prof_sample:20"' 'quoted for systemd'
calls >/dev/null
ctl_ok 'the same options again' enable a --conf 'prof:true,prof_prefix:/a b"%n$\c,lg_prof_sample:20'
like "$out" 'already enabled' 'the same options again: already enabled'

# --- removing it --------------------------------------------------------------------------
run_ctl disable a
is "$status" 2 'disable: no terminal'
like "$out" "^--- $file
\+\+\+ /dev/null
@@ -1,4 \+0,0 @@
-# Written" 'disable: the difference'
ctl_ok 'disable' disable a --yes
is "$(find /etc/systemd/system -mindepth 1)" '' 'disable: nothing is left'
is "$(calls)" daemon-reload 'disable: systemd reads its units again'
ctl_ok 'disable again' disable a
like "$out" 'not enabled by jeprof-ctl' 'disable again: not enabled'
mkdir "${file%/*}"
echo '[Service]' >"${file%/*}/other.conf"
ctl_ok 'beside another drop-in' enable a -y -q
ctl_ok 'disable beside it' disable a -y
is "$(ls "${file%/*}")" other.conf 'the other one stays'
cp "${file%/*}/other.conf" "$file"
ctl_fails 10 'drop_in_foreign rename_drop_in' 'a file of that name that is not ours' enable a -y
ctl_fails 10 drop_in_foreign 'disable: it is not removed' disable a -y
ok 'that file is unchanged' cmp "${file%/*}/other.conf" "$file"
ln -sf other.conf "$file"
ctl_fails 10 drop_in_unreadable 'a link of that name' enable a -y
rm -r "${file%/*}"
unit gone.service
ctl_ok 'enabled' enable gone -y
rm "$systemd/units/gone.service"
ctl_ok 'disable: the unit is gone' disable gone -y
is "$(find /etc/systemd/system -mindepth 1)" '' 'disable: the drop-in is gone, too'

# --- until the next boot ------------------------------------------------------------------
ctl_ok 'runtime' enable a -y --runtime
ok 'runtime: the drop-in is in /run' test -s "$(drop_in a.service /run)"
ctl_ok 'permanently, after that' enable a -y
ok 'the permanent drop-in replaces it' test ! -e "$(drop_in a.service /run)" -a -s "$file"
ctl_fails 1 'enabled_for_good disable_first' 'runtime: it would be hidden' enable a -y --runtime
ctl_ok 'disable' disable a -y
ctl_ok 'runtime' enable a -y --runtime
ctl_ok 'disable: removes it from /run, too' disable a -y
is "$(find /etc/systemd/system /run/systemd/system -mindepth 1)" '' 'nothing is left of either'

# --- existing options of the unit ---------------------------------------------------------
unit conf.service 'Environment=MALLOC_CONF=narenas:2,prof:false,prof_active:true "B=a b"'
ctl_ok 'existing options' enable conf -y
is "$(tail -n 3 "$(drop_in conf.service)")" '# Without it: Environment="MALLOC_CONF=narenas:2,prof:false,prof_active:true"
[Service]
Environment="MALLOC_CONF=narenas:2,prof:true,prof_active:false"' 'existing options: kept, except those that are set'
ctl_ok 'other options' enable conf -y --conf prof:true
is "$(tail -n 1 "$(drop_in conf.service)")" 'Environment="MALLOC_CONF=narenas:2,prof_active:true,prof:true"' \
	'other options: added to those of the unit, not of the drop-in'
ctl_ok 'disable' disable conf -y
sed -i 's/ FOO=bar$/ MALLOC_CONF=tcache:false/' "$systemd/manager"
ctl_ok 'options that all services have' enable a -n
like "$out" 'MALLOC_CONF=tcache:false,prof:true,prof_active:false"' \
	'options that all services have: kept, too'
sed -i 's/ MALLOC_CONF=tcache:false$/ FOO=bar/' "$systemd/manager"
unit odd.service Environment=MALLOC_CONF=narenas,x
ctl_fails 1 'unit_conf_malformed correct_conf' 'options that jemalloc does not read to the end' enable odd -n
ctl_fails 2 'conf_wrong of_lint' '--conf: a mistake' enable a -n --conf prof:ture
ctl_fails 2 'conf_without_prof with_prof_true' '--conf: without prof' enable a -n --conf narenas:2
ctl_fails 2 conf_wrong '--conf: another line for the drop-in' enable a -n --conf $'prof:true,prof_prefix:x"\nUser=root'
ctl_fails 2 conf_wrong '--conf: invalid UTF-8' enable a -n --conf $'prof:true,prof_prefix:\xff'
ctl_ok '--conf: a likely mistake' enable a -n --conf prof:true,lg_prof_interval:20
like "$err" 'lg_prof_interval:20 is a power of two' '--conf: a likely mistake: a warning'
unit odd.service "Environment=MALLOC_CONF=$(printf 'tcache:true,%.0s' {1..200})"
ctl_fails 1 unit_conf_too_long 'options that are too long are refused' enable odd -n
unit odd.service "Environment=$(printf "V%d=$(printf 'x%.0s' {1..1000}) " {1..70}) MALLOC_CONF=narenas:2"
ctl_ok 'a large environment' enable odd -n
like "$out" 'Environment="MALLOC_CONF=narenas:2,prof:true' 'a large environment: read to the end'
unit unset.service UnsetEnvironment=MALLOC_CONF
ctl_fails 1 'unit_unsets correct_unit' 'UnsetEnvironment=' enable unset -n
printf '%s\n' '# MALLOC_CONF=x' 'SECRET="1' 'MALLOC_CONF=y"' >"$T/a.env"
printf '%s\n' 'TOKEN=secret' ' MALLOC_CONF = "narenas:3"' >"$T/b.env"
unit files.service "EnvironmentFiles=$T/none (ignore_errors=yes)" "EnvironmentFiles=$T/a.env (ignore_errors=no)"
ctl_ok 'EnvironmentFile=, of other variables' enable files -n
unit files.service "EnvironmentFiles=$T/*.env (ignore_errors=no)"
ctl_fails 1 'unit_file_sets set_it_there' 'EnvironmentFile=' enable files -n
like "$err" "$T/b\.env.*set it there: MALLOC_CONF=narenas:3,prof:true,prof_active:false" 'EnvironmentFile=: the fix'
unlike "$err" 'secret' 'EnvironmentFile=: no other variable is shown'
echo 'MALLOC_CONF=narenas:4' >"$T/0.first"
unit files.service "EnvironmentFiles=$T/b.env (ignore_errors=no)" "EnvironmentFiles=$T/0.first (ignore_errors=no)"
ctl_fails 1 unit_file_sets 'EnvironmentFile=, of two' enable files -n
like "$err" '0\.first, an.*set it there: MALLOC_CONF=narenas:4,prof:true' \
	'EnvironmentFile=, of two: the last one counts'
unit later.service
mkdir -p /etc/systemd/system/later.service.d
printf '[Service]\nEnvironment="MALLOC_CONF=narenas:5"\n' >/etc/systemd/system/later.service.d/zzz.conf
run_ctl enable later -y
is "$status" 1 'a later drop-in'
like "$err" 'still has MALLOC_CONF=narenas:5.*systemctl cat later' 'a later drop-in: the cause'
run_ctl enable later
like "$status $err" '1 .*still has' 'a later drop-in: reported each time'
printf '[Service]\nEnvironment=\n' >/etc/systemd/system/later.service.d/zzz.conf
unit later.service NeedDaemonReload=yes
run_ctl enable later -y
like "$status $err" '1 .*still lacks MALLOC_CONF.*systemctl cat later' \
	'a later drop-in that clears the environment'
unit changed.service NeedDaemonReload=yes
ctl_ok 'systemd has not loaded all changes' enable changed -n
like "$err" 'has not loaded yet' 'systemd has not loaded all changes: a warning'
echo 'Access denied' >"$systemd/fails-daemon-reload"
run_ctl enable changed -y
like "$status $err" '^1 .*daemon-reload failed: Access denied' 'daemon-reload fails'
rm "$systemd/fails-daemon-reload"
ctl_ok 'a drop-in that was not read' enable changed -n
like "$out" 'zz-jeprof-ctl\.conf is already written, but systemd has not read it$' \
	'a drop-in that was not read: reported'
run_ctl enable changed
like "$status $err" '^2 .*no terminal' 'a drop-in that was not read: confirmation is needed'
calls >/dev/null
ctl_ok 'a drop-in that was not read: the next enable' enable changed -y
like "$(calls) $out" '^daemon-reload read; changed\.service is not running$' \
	'a drop-in that was not read: now it is'

# --- permissions --------------------------------------------------------------------------
unit secret.service "EnvironmentFiles=$T/b.env (ignore_errors=no)"
chmod 755 "$T" "$systemd" && chmod -R a+rX "$systemd" && chmod 666 "$systemd/calls"
runner=(setpriv --reuid 12345 --regid 12345 --clear-groups)
ctl_ok 'a user: dry run' enable a -n
run_ctl enable a -y
is "$status" 4 'a user: permission denied'
like "$err" 'only root.*run as root' 'a user: the fix'
ctl_ok 'EnvironmentFile=, not readable by this user' enable secret -n
like "$err" "$T/b\.env, an EnvironmentFile= of secret\.service, may not be read: if it sets MALLOC_CONF" 'EnvironmentFile=, not readable by this user: a warning'
runner=()
mount -o remount,ro /etc/systemd/system
run_ctl enable a -y
is "$status" 10 'a read-only file system'
mount -o remount,rw /etc/systemd/system
rm -rf /etc/systemd/system/*

# --- a running service --------------------------------------------------------------------
MALLOC_CONF=narenas:2 start_victim idle
runs a.service
snapshot "$pid"
ctl_ok 'a running service' enable a -y
like "$out" 'it takes effect when the service is restarted: systemctl restart a\.service$' 'a running service: the next step'
is "$err" '' 'a running service: no warning'
ctl_ok 'a running service, again' enable a
like "$out" 'started before that; restart it: systemctl restart a\.service$' \
	'a running service, again: the next step'
assert_untouched "$pid" 'a running service: untouched'
unset "photographed[$pid]" # a restart ends it
calls >/dev/null
touch "$T/board"
printf '#!/bin/sh\nexec %s/idle %s/board\n' "$VICTIMS" "$T" >"$systemd/start/a.service"
chmod 755 "$systemd/start/a.service"
ctl_ok 'restart' enable a --restart -y
like "$out" "a\.service was restarted: opt\.prof is true in $(<"$systemd/pid/a.service") \(idle\)$" 'restart: opt.prof is verified'
is "$(calls)" 'restart -- a.service' 'restart: no daemon-reload'
ctl_ok 'restart: check agrees' check "$(<"$systemd/pid/a.service")"
echo libjemalloc >"$systemd/notify"
answer n disable a --restart
like "$out" 'remove it, and have systemd read its units again \(daemon-reload\), and restart a\.service now\? \[y/N\] n' 'disable, and restart: the question'
ctl_ok 'disable, and restart' disable a --restart -y
is "$(calls)" 'daemon-reload restart -- a.service' 'disable, and restart: in this order'
printf '#!/bin/sh\nunset MALLOC_CONF\nexec %s/idle %s/board\n' "$VICTIMS" "$T" >"$systemd/start/a.service"
run_ctl enable a -y --restart --timeout 5s
is "$status" 6 'opt.prof is false after the restart'
like "$err" 'a\.service was restarted, but: opt\.prof is false.*check' \
	'opt.prof is false after the restart: the cause'
kill "$(<"$systemd/pid/a.service")"
rm "$systemd/pid/a.service" "$systemd/notify"
calls >/dev/null
answer n enable a --restart
like "$out" '[^e]start a\.service now\? \[y/N\] n' 'not running: asks whether to start it'
ctl_ok 'not running: disable --restart' disable a -y --restart
like "$(calls) $out" '^daemon-reload .*removed; a\.service is not running$' \
	'not running: disable --restart starts nothing'

MALLOC_CONF='' start_victim idle-rjem
runs a.service
ctl_ok 'a jemalloc with a prefix' enable a -n
like "$out" 'Environment="_RJEM_MALLOC_CONF=prof:true,prof_active:false"' \
	'a jemalloc with a prefix: its own variable'
ctl_ok 'enable it' enable a -y
stop_target "$pid"
mv "$systemd/pid/a.service" "$T/"
ctl_ok 'not running now' enable a
like "$out" 'a\.service is already enabled$' 'not running now: its variable is kept'
mv "$T/a.service" "$systemd/pid/"
ctl_ok 'disable' disable a -y
# Names of symbols may contain any bytes: this one would also set variables such as LD_PRELOAD.
LC_ALL=C sed 's/_rjem_/a" "b_/g; s/_RJEM_/A" "B_/g' "$VICTIMS/idle-rjem" >"$T/quoted"
chmod 755 "$T/quoted"
MALLOC_CONF='' start_victim "$T/quoted"
runs a.service
ctl_ok 'an invalid prefix' enable a -n
like "$out" '\+Environment="MALLOC_CONF=prof:true,prof_active:false"' \
	'an invalid prefix: adds nothing to the unit'
stop_target "$pid"
# A jemalloc whose opt.prof is not found without a call.
objcopy -N _rjem_je_opt_prof "$VICTIMS/idle-rjem" "$T/unread"
LC_ALL=C sed -i 's/prof\x00/prog\x00/g' "$T/unread"
printf '#!/bin/sh\nexec %s/unread %s/board\n' "$T" "$T" >"$systemd/start/a.service"
rm "$systemd/pid/a.service"
echo "$T/unread" >"$systemd/notify"
run_ctl enable a -y -q --restart --timeout 5s
like "$status $err" '^8 .*a\.service was restarted, but: opt\.prof of.*cannot be read' 'an unknown opt.prof is not reported as false'
kill "$(<"$systemd/pid/a.service")"
ctl_ok 'disable' disable a -y
sleep 1000 &
pid=$!
own "$pid"
runs a.service
ctl_fails 5 'enable_is_vain preload_in_unit enable_by_force' 'no jemalloc' enable a -n
ctl_ok 'no jemalloc, by force' enable a -n --force
like "$err" 'warning: no process of a\.service uses jemalloc' 'no jemalloc, by force: a warning'
is "$(find /etc/systemd/system -mindepth 1)" '' 'no drop-in was written'

done_testing
