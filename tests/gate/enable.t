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
	ctl_fails 2 'unit_name_invalid see_services' "no name: $name" enable "$name"
done
ctl_fails 2 'unit_is_template name_an_instance' 'a template' enable a@
ctl_fails 2 'unit_no_service name_the_service' 'a socket' enable a.socket
ctl_fails 1 'unit_not_found see_services' 'no such unit' enable a
ctl_fails 1 unit_not_found 'no such unit: disable' disable a
is "$(calls)" '' 'nothing was changed for them'
unit a@x.service
ctl_ok 'an instance' enable a@x -n
like "$out" '\+\+\+ /etc/systemd/system/a@x\.service\.d/zz-jeprof-ctl\.conf' 'its own drop-in'
unit masked.service LoadState=masked
ctl_fails 1 'unit_masked unmask' 'masked' enable masked
unit bad.service LoadState=error 'LoadError=org.freedesktop.DBus.Error.InconsistentMessage "Unit bad.service failed to load properly"'
ctl_fails 1 'unit_broken verify_unit' 'broken' enable bad
like "$err" 'failed to load properly' 'and systemd says why'
unit trans.service Transient=yes
ctl_fails 1 'unit_transient setenv_at_start' 'transient' enable trans
like "$err" 'systemd-run --setenv=MALLOC_CONF=prof:true,prof_active:false' 'and how else'
unit alias.service Id=../../evil.service
ctl_fails 2 unit_name_invalid 'the name that systemd has for it is no name' enable alias
unit alias.service Id=a@x.service
ctl_ok 'an alias' enable alias -n
like "$out" '\+\+\+ /etc/systemd/system/a@x\.service\.d/' 'an alias: the unit itself'
echo 'Failed to connect to bus: No such file or directory' >"$systemd/fails"
ctl_fails 1 systemctl_failed 'systemctl fails' enable a@x
like "$err" 'Failed to connect to bus' 'and why'
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
	'the difference, and what it does'
like "$err" 'a\.service is not running' 'what is not known'
ctl_ok 'sampled from its start' enable a.service -n --conf prof:true
like "$out" 'is sampled from its start$' 'it says so'
run_ctl enable a
is "$status" 2 'nobody to ask'
like "$err" 'no terminal.*--yes' 'and how'
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
is "$(calls)$(find /etc/systemd/system -mindepth 1)" '' 'indeed'
answer y enable a
is "$status" 0 'answered y'
like "$out" 'write it, and have systemd read its units again \(daemon-reload\)\? \[y/N\] y' 'what it asked'
is "$(calls)" daemon-reload 'it was read, and nothing restarted'

# --- the drop-in --------------------------------------------------------------------------
is "$(stat -c '%a %U' "$file" "${file%/*}" | paste -sd ' ')" '644 root 755 root' 'whose file it is, whatever the umask'
is "$(tail -n 1 "$file")" 'Environment="MALLOC_CONF=prof:true,prof_active:false"' 'what is in it'
before=$(stat -c '%i %y' "$file")
ctl_ok 'already enabled' enable a
like "$out" 'a\.service is already enabled$' 'it says so'
is "$(calls)$(stat -c '%i %y' "$file")" "$before" 'and changes nothing'
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
ctl_ok 'the same once more' enable a --conf 'prof:true,prof_prefix:/a b"%n$\c,lg_prof_sample:20'
like "$out" 'already enabled' 'is understood'

# --- removing it --------------------------------------------------------------------------
run_ctl disable a
is "$status" 2 'disable: nobody to ask'
like "$out" "^--- $file
\+\+\+ /dev/null
@@ -1,4 \+0,0 @@
-# Written" 'disable: the difference'
ctl_ok 'disable' disable a --yes
is "$(find /etc/systemd/system -mindepth 1)" '' 'disable: nothing is left'
is "$(calls)" daemon-reload 'disable: it was read'
ctl_ok 'disable, once more' disable a
like "$out" 'not enabled by jeprof-ctl' 'it says so'
mkdir "${file%/*}"
echo '[Service]' >"${file%/*}/other.conf"
ctl_ok 'beside another drop-in' enable a -y -q
ctl_ok 'disable beside it' disable a -y
is "$(ls "${file%/*}")" other.conf 'the other one stays'
cp "${file%/*}/other.conf" "$file"
ctl_fails 10 'drop_in_foreign rename_drop_in' 'a file of that name that is not ours' enable a -y
ctl_fails 10 drop_in_foreign 'disable: it is not removed' disable a -y
ok 'it is as it was' cmp "${file%/*}/other.conf" "$file"
ln -sf other.conf "$file"
ctl_fails 10 drop_in_unreadable 'a link of that name' enable a -y
rm -r "${file%/*}"
unit gone.service
ctl_ok 'enabled' enable gone -y
rm "$systemd/units/gone.service"
ctl_ok 'disable: the unit is gone' disable gone -y
is "$(find /etc/systemd/system -mindepth 1)" '' 'and its drop-in'

# --- until the next boot ------------------------------------------------------------------
ctl_ok 'runtime' enable a -y --runtime
ok 'runtime: where' test -s "$(drop_in a.service /run)"
ctl_ok 'for good, then' enable a -y
ok 'it takes the place' test ! -e "$(drop_in a.service /run)" -a -s "$file"
ctl_fails 1 'enabled_for_good disable_first' 'runtime: it would be hidden' enable a -y --runtime
ctl_ok 'disable' disable a -y
ctl_ok 'runtime' enable a -y --runtime
ctl_ok 'disable: it finds that, too' disable a -y
is "$(find /etc/systemd/system /run/systemd/system -mindepth 1)" '' 'nothing is left of both'

# --- existing options of the unit ---------------------------------------------------------
unit conf.service 'Environment=MALLOC_CONF=narenas:2,prof:false,prof_active:true "B=a b"'
ctl_ok 'options that are there' enable conf -y
is "$(tail -n 3 "$(drop_in conf.service)")" '# Without it: Environment="MALLOC_CONF=narenas:2,prof:false,prof_active:true"
[Service]
Environment="MALLOC_CONF=narenas:2,prof:true,prof_active:false"' 'are kept, but for those that are set'
ctl_ok 'other options' enable conf -y --conf prof:true
is "$(tail -n 1 "$(drop_in conf.service)")" 'Environment="MALLOC_CONF=narenas:2,prof_active:true,prof:true"' \
	'beside those of the unit, and not of the drop-in'
ctl_ok 'disable' disable conf -y
sed -i 's/ FOO=bar$/ MALLOC_CONF=tcache:false/' "$systemd/manager"
ctl_ok 'options that every service has' enable a -n
like "$out" 'MALLOC_CONF=tcache:false,prof:true,prof_active:false"' 'are kept, too'
sed -i 's/ MALLOC_CONF=tcache:false$/ FOO=bar/' "$systemd/manager"
unit odd.service Environment=MALLOC_CONF=narenas,x
ctl_fails 1 'unit_conf_malformed correct_conf' 'what jemalloc does not read to its end' enable odd -n
ctl_fails 2 'conf_wrong of_lint' '--conf: a mistake' enable a -n --conf prof:ture
ctl_fails 2 'conf_without_prof with_prof_true' '--conf: without prof' enable a -n --conf narenas:2
ctl_fails 2 conf_wrong '--conf: another line for the drop-in' enable a -n --conf $'prof:true,prof_prefix:x"\nUser=root'
ctl_fails 2 conf_wrong '--conf: no UTF-8' enable a -n --conf $'prof:true,prof_prefix:\xff'
ctl_ok '--conf: hardly meant' enable a -n --conf prof:true,lg_prof_interval:20
like "$err" 'lg_prof_interval:20 is a power of two' 'it warns'
unit odd.service "Environment=MALLOC_CONF=$(printf 'tcache:true,%.0s' {1..200})"
ctl_fails 1 unit_conf_too_long 'what is too long is not dropped' enable odd -n
unit odd.service "Environment=$(printf "V%d=$(printf 'x%.0s' {1..1000}) " {1..70}) MALLOC_CONF=narenas:2"
ctl_ok 'a large environment' enable odd -n
like "$out" 'Environment="MALLOC_CONF=narenas:2,prof:true' 'is read to its end'
unit unset.service UnsetEnvironment=MALLOC_CONF
ctl_fails 1 'unit_unsets correct_unit' 'UnsetEnvironment=' enable unset -n
printf '%s\n' '# MALLOC_CONF=x' 'SECRET="1' 'MALLOC_CONF=y"' >"$T/a.env"
printf '%s\n' 'TOKEN=secret' ' MALLOC_CONF = "narenas:3"' >"$T/b.env"
unit files.service "EnvironmentFiles=$T/none (ignore_errors=yes)" "EnvironmentFiles=$T/a.env (ignore_errors=no)"
ctl_ok 'EnvironmentFile=, of other variables' enable files -n
unit files.service "EnvironmentFiles=$T/*.env (ignore_errors=no)"
ctl_fails 1 'unit_file_sets set_it_there' 'EnvironmentFile=' enable files -n
like "$err" "$T/b\.env.*set it there: MALLOC_CONF=narenas:3,prof:true,prof_active:false" 'what to write there'
unlike "$err" 'secret' 'and nothing else of it'
echo 'MALLOC_CONF=narenas:4' >"$T/0.first"
unit files.service "EnvironmentFiles=$T/b.env (ignore_errors=no)" "EnvironmentFiles=$T/0.first (ignore_errors=no)"
ctl_fails 1 unit_file_sets 'EnvironmentFile=, of two' enable files -n
like "$err" '0\.first, an.*set it there: MALLOC_CONF=narenas:4,prof:true' 'the last one counts'
unit later.service
mkdir -p /etc/systemd/system/later.service.d
printf '[Service]\nEnvironment="MALLOC_CONF=narenas:5"\n' >/etc/systemd/system/later.service.d/zzz.conf
run_ctl enable later -y
is "$status" 1 'a drop-in that comes behind'
like "$err" 'still has MALLOC_CONF=narenas:5.*systemctl cat later' 'it says so'
run_ctl enable later
like "$status $err" '1 .*still has' 'it says so each time'
printf '[Service]\nEnvironment=\n' >/etc/systemd/system/later.service.d/zzz.conf
unit later.service NeedDaemonReload=yes
run_ctl enable later -y
like "$status $err" '1 .*still lacks MALLOC_CONF.*systemctl cat later' 'one that takes all away'
unit changed.service NeedDaemonReload=yes
ctl_ok 'systemd has not read all' enable changed -n
like "$err" 'has not loaded yet' 'it warns'
echo 'Access denied' >"$systemd/fails-daemon-reload"
run_ctl enable changed -y
like "$status $err" '^1 .*daemon-reload failed: Access denied' 'daemon-reload fails'
rm "$systemd/fails-daemon-reload"
ctl_ok 'what was not read' enable changed -n
like "$out" 'zz-jeprof-ctl\.conf is already written, but systemd has not read it$' 'is said'
run_ctl enable changed
like "$status $err" '^2 .*no terminal' 'and asked about'
calls >/dev/null
ctl_ok 'what was not read is read by the next one' enable changed -y
like "$(calls) $out" '^daemon-reload read; changed\.service is not running$' 'it says so'

# --- permissions --------------------------------------------------------------------------
unit secret.service "EnvironmentFiles=$T/b.env (ignore_errors=no)"
chmod 755 "$T" "$systemd" && chmod -R a+rX "$systemd" && chmod 666 "$systemd/calls"
runner=(setpriv --reuid 12345 --regid 12345 --clear-groups)
ctl_ok 'a user may look' enable a -n
run_ctl enable a -y
is "$status" 4 'and not change'
like "$err" 'only root.*run as root' 'it says so'
ctl_ok 'EnvironmentFile=, which this user may not read' enable secret -n
like "$err" "$T/b\.env, an EnvironmentFile= of secret\.service, may not be read: if it sets MALLOC_CONF" 'that is said'
runner=()
mount -o remount,ro /etc/systemd/system
run_ctl enable a -y
is "$status" 10 'where nothing can be written'
mount -o remount,rw /etc/systemd/system
rm -rf /etc/systemd/system/*

# --- a running service --------------------------------------------------------------------
MALLOC_CONF=narenas:2 start_victim idle
runs a.service
snapshot "$pid"
ctl_ok 'it runs' enable a -y
like "$out" 'it takes effect when the service is restarted: systemctl restart a\.service$' 'what to do next'
is "$err" '' 'nothing to warn of'
ctl_ok 'once more' enable a
like "$out" 'started before that; restart it: systemctl restart a\.service$' 'it is not so yet'
assert_untouched "$pid" 'it was only looked at'
calls >/dev/null
touch "$T/board"
printf '#!/bin/sh\nexec %s/idle %s/board\n' "$VICTIMS" "$T" >"$systemd/start/a.service"
chmod 755 "$systemd/start/a.service"
ctl_ok 'restart' enable a --restart -y
like "$out" "a\.service was restarted: opt\.prof is true in $(<"$systemd/pid/a.service") \(idle\)$" 'it looks whether it is so'
is "$(calls)" 'restart -- a.service' 'restarted, and not read again'
ctl_ok 'it is so' check "$(<"$systemd/pid/a.service")"
answer n disable a --restart
like "$out" 'remove it, and have systemd read its units again \(daemon-reload\), and restart a\.service now\? \[y/N\] n' 'what disable asks'
ctl_ok 'disable, and restart' disable a --restart -y
is "$(calls)" 'daemon-reload restart -- a.service' 'in this order'
printf '#!/bin/sh\nunset MALLOC_CONF\nexec %s/idle %s/board\n' "$VICTIMS" "$T" >"$systemd/start/a.service"
run_ctl enable a -y --restart --timeout 1s
is "$status" 6 'it does not have it after the restart'
like "$err" 'a\.service was restarted, but: opt\.prof is false.*check' 'it says so'
kill "$(<"$systemd/pid/a.service")"
rm "$systemd/pid/a.service"
calls >/dev/null
answer n enable a --restart
like "$out" '[^e]start a\.service now\? \[y/N\] n' 'to restart what does not run is to start it'
ctl_ok 'disable --restart, where it does not run' disable a -y --restart
like "$(calls) $out" '^daemon-reload .*removed; a\.service is not running$' 'disable starts nothing'

MALLOC_CONF='' start_victim idle-rjem
runs a.service
ctl_ok 'a jemalloc with a prefix' enable a -n
like "$out" 'Environment="_RJEM_MALLOC_CONF=prof:true,prof_active:false"' 'its own variable'
ctl_ok 'enable it' enable a -y
stop_target "$pid"
mv "$systemd/pid/a.service" "$T/"
ctl_ok 'it does not run now' enable a
like "$out" 'a\.service is already enabled$' 'its variable is kept'
mv "$T/a.service" "$systemd/pid/"
ctl_ok 'disable' disable a -y
# Names of symbols may contain any bytes: this one would also set variables such as LD_PRELOAD.
LC_ALL=C sed 's/_rjem_/a" "b_/g; s/_RJEM_/A" "B_/g' "$VICTIMS/idle-rjem" >"$T/quoted"
chmod 755 "$T/quoted"
MALLOC_CONF='' start_victim "$T/quoted"
runs a.service
ctl_ok 'a prefix that is no name' enable a -n
like "$out" '\+Environment="MALLOC_CONF=prof:true,prof_active:false"' 'it adds nothing to the unit'
stop_target "$pid"
# A jemalloc whose opt.prof is not found without a call.
objcopy -N _rjem_je_opt_prof "$VICTIMS/idle-rjem" "$T/unread"
LC_ALL=C sed -i 's/prof\x00/prog\x00/g' "$T/unread"
printf '#!/bin/sh\nexec %s/unread %s/board\n' "$T" "$T" >"$systemd/start/a.service"
rm "$systemd/pid/a.service"
run_ctl enable a -y -q --restart --timeout 300ms
like "$status $err" '^8 .*a\.service was restarted, but: opt\.prof of.*cannot be read' 'what is not known is not said to be false'
kill "$(<"$systemd/pid/a.service")"
ctl_ok 'disable' disable a -y
sleep 1000 &
pid=$!
own "$pid"
runs a.service
ctl_fails 5 'enable_is_vain preload_in_unit enable_by_force' 'no jemalloc' enable a -n
ctl_ok 'no jemalloc, by force' enable a -n --force
like "$err" 'warning: no process of a\.service uses jemalloc' 'it warns'
is "$(find /etc/systemd/system -mindepth 1)" '' 'nothing was written for these'

done_testing
