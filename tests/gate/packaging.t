#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What make install installs, and the units that watch and guard from the boot on: systemd takes them as
# they are, and what they forbid is nothing that a watch or a guard needs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# systemd_takes UNIT EXPOSURE: it is one that systemd takes, and finds fenced in
systemd_takes()
{
	local unit=$1 name=${1##*/}

	ok "$name: systemd takes it" systemd-analyze verify --man=no "$unit"
	ok "$name: its exposure is $2 of 100 at most" \
		systemd-analyze security --offline=true --threshold="$2" --no-pager "$unit"
	sed 's/^ExecStart=.*/ExecStart=sbin\/jeprof-ctl/' "$unit" >"$T/broken.service"
	ok "$name: control: systemd refuses a broken one" eval '! systemd-analyze verify --man=no "$T/broken.service"'
	sed '/^CapabilityBoundingSet=/d; /^SystemCallFilter=/d' "$unit" >"$T/weak.service"
	ok "$name: control: systemd finds a weak one" \
		eval "! systemd-analyze security --offline=true --threshold=$2 --no-pager \"\$T/weak.service\""
}

ok 'make install' make -s install PREFIX="$T/usr"
ok 'the program is there' "$T/usr/sbin/jeprof-ctl" version
ok 'the manual is there' test -s "$T/usr/share/man/man8/jeprof-ctl.8"
ok 'the schema is there' test -s "$T/usr/share/jeprof-ctl/schema.json"
for file in bash-completion/completions/jeprof-ctl zsh/site-functions/_jeprof-ctl fish/vendor_completions.d/jeprof-ctl.fish; do
	ok "completion is there: $file" grep -q deactivate "$T/usr/share/$file"
done
unit=$T/usr/lib/systemd/system/jeprof-ctl-watch.service
systemd_takes "$unit" 20
systemd_takes "${unit%watch.service}guard.service" 62

# members SET...: the system calls of systemd's sets, and those that are named
members()
{
	local word inner

	for word; do
		case $word in
		@*)
			mapfile -t inner < <(systemd-analyze syscall-filter "$word" | sed -n 's/^ \+\([-@a-z_0-9]*\)$/\1/p')
			members "${inner[@]}"
			;;
		*) echo "$word" ;;
		esac
	done
}

setting()
{
	sed -n "s/^$1=//p" "$unit"
}

# The command of the unit, with its capabilities and nothing else, where all is read-only, no home is
# there, /var/tmp is its own, and /proc hides processes from those who may not trace them.
wrap=(setpriv --reuid 65534 --regid 65534 --clear-groups)
MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper "$(realpath "$VICTIMS/dumper")"
wrap=()
caps=$(setting CapabilityBoundingSet | sed 's/CAP_/+/g' | tr 'A-Z ' 'a-z,')
# shellcheck disable=SC2016 # the inner shell's arguments
limits=(unshare -min --propagation private sh -c 'mount --bind / / && mount -o remount,bind,ro / &&
	mount -t proc -o hidepid=invisible proc /proc && for dir in /home /root /var/tmp; do
	mount -t tmpfs none $dir || exit; done && exec "$@"' sh
	setpriv --no-new-privs --bounding-set "-all,$caps")
read -ra command < <(setting ExecStart)
is "${command[0]}" "$T/usr/sbin/jeprof-ctl" 'the unit starts what was installed'
"${limits[@]}" "${command[@]}" >"$T/unit.events" 2>"$T/unit.talk" </dev/null &
watcher=$!
own "$watcher"
is_seen()
{
	order "$pid" dump /dev/null
	[ -n "$(events_of "$1" "$pid")" ]
}
ok 'the unit: a dump of another user is seen' within 60 is_seen unit || diag "$(<"$T/unit.talk")"
is "$(seen unit "select(.pid == $pid) | .source" | uniq)" uprobe 'the unit: by its probe'
end_watch unit
is "$(<"$T/unit.talk")" '' 'the unit: nothing to say'

read -ra allowed < <(setting SystemCallFilter)
members "${allowed[@]}" | sort -u >"$T/allowed"
like "$(wc -l <"$T/allowed")" '^[3-9][0-9]{2}$' 'the filter: system calls are listed'
strace -f -qq -o "$T/calls" "${command[@]}" >"$T/traced.events" 2>/dev/null </dev/null &
strace=$!
own "$strace"
# The stack of a dump takes calls of its own.
ok 'the filter: a dump is seen' within 60 is_seen traced
kill -INT "$(pgrep -P "$strace")"
wait "$strace"
# 335 is uretprobe, which the kernel itself makes where a return is probed, and no filter sees.
sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' "$T/calls" | grep -vx syscall_0x14f | sort -u >"$T/made"
ok 'the filter: control: the calls of a watch are seen' grep -qx perf_event_open "$T/made"
is "$(seen traced "select(.pid == $pid) | .stack | length > 2" | uniq)" true 'the filter: control: and those of a stack'
is "$(comm -23 "$T/made" "$T/allowed" | paste -sd ' ')" '' 'the filter: allows what a watch does'

# --- the guard ---

unit=${unit%watch.service}guard.service
state=$T/state
mkdir "$state"
caps=$(setting CapabilityBoundingSet | sed 's/CAP_/+/g' | tr 'A-Z ' 'a-z,')
limits[-1]="-all,$caps"
# shellcheck disable=SC2016 # the inner shell's arguments
limits[6]='mount --bind / / && mount -o remount,bind,ro / && mount --bind "$STATE" "$STATE" &&
	mount -t tmpfs none /run && mount -t proc -o hidepid=invisible proc /proc && for dir in /home /root /var/tmp; do
	mount -t tmpfs none $dir || exit; done && exec "$@"'
export STATE=$state
read -ra command < <(setting ExecStart)
is "${command[*]}" "$T/usr/sbin/jeprof-ctl --quiet guard --all --json --output %S/jeprof-ctl/guard/" \
	'the guard: starts what was installed'
command=("${command[@]/\%S*/$state}" --when 'every 1s' --count 1)
snapshot "$pid"
"${limits[@]}" "${command[@]}" >"$T/guard.events" 2>"$T/guard.talk" </dev/null
is $? 0 'the guard: a profile of a process of another user' || diag "$(<"$T/guard.talk")"
is "$(jq -c "select(.pid == $pid) | [.ok, .comm, .rule]" "$T/guard.events")" '[true,"dumper","every 1s"]' \
	'the guard: says so'
ok 'the guard: it is a profile' is_profile "$(json .file "$T/guard.events")"
assert_untouched "$pid" 'the guard: untouched'

# Who has one may not read those of targets: each of these brings one (systemd.exec(5)).
filters='^(SystemCall.*|RestrictAddressFamilies|RestrictNamespaces|RestrictRealtime|RestrictSUIDSGID|MemoryDenyWriteExecute|LockPersonality|PrivateDevices|ProtectKernelTunables|ProtectKernelModules|ProtectKernelLogs|ProtectClock|ProtectHostname|DynamicUser)='
is "$(grep -E "$filters" "$unit")" '' 'the guard: no setting brings a filter of system calls'
ok 'the guard: control: the other unit has some' grep -qE "$filters" "${unit%guard.service}watch.service"
stop_target "$pid"

ok 'make uninstall' make -s uninstall PREFIX="$T/usr"
is "$(find "$T/usr" -type f)" '' 'make uninstall: nothing is left'

done_testing
