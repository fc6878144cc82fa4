#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What make install installs, and the units for watch, guard and serve: systemd accepts them, and
# they forbid nothing that a watch, a guard or a server needs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# systemd_takes UNIT EXPOSURE: systemd must accept it, with at most this exposure
systemd_takes()
{
	local unit=$1 name=${1##*/}

	ok "$name: systemd accepts it" systemd-analyze verify --man=no "$unit"
	ok "$name: its exposure is at most $2 of 100" \
		systemd-analyze security --offline=true --threshold="$2" --no-pager "$unit"
	sed 's/^ExecStart=.*/ExecStart=sbin\/jeprof-ctl/' "$unit" >"$T/broken.service"
	ok "$name: control: systemd rejects a broken unit" eval '! systemd-analyze verify --man=no "$T/broken.service"'
	sed '/^CapabilityBoundingSet=/d; /^SystemCallFilter=/d' "$unit" >"$T/weak.service"
	ok "$name: control: systemd rejects a weak unit" \
		eval "! systemd-analyze security --offline=true --threshold=$2 --no-pager \"\$T/weak.service\""
}

ok 'make install' make -s install PREFIX="$T/usr"
ok 'the program is installed' "$T/usr/sbin/jeprof-ctl" version
ok 'the HTTP program is installed' test -x "$T/usr/libexec/jeprof-ctl/http"
is "$(grep -v '^#' "$T/usr/lib/sysusers.d/jeprof-ctl.conf")" 'g jeprof-ctl -' 'the group of its clients is declared'
ok 'the manual is installed' test -s "$T/usr/share/man/man8/jeprof-ctl.8"
ok 'the schema is installed' test -s "$T/usr/share/jeprof-ctl/schema.json"
ok 'the OpenAPI description is installed' cmp doc/schema/openapi.json "$T/usr/share/jeprof-ctl/openapi.json"
for file in bash-completion/completions/jeprof-ctl zsh/site-functions/_jeprof-ctl fish/vendor_completions.d/jeprof-ctl.fish; do
	ok "completion is installed: $file" grep -q deactivate "$T/usr/share/$file"
done
unit=$T/usr/lib/systemd/system/jeprof-ctl-watch.service
systemd_takes "$unit" 20
systemd_takes "${unit%watch.service}guard.service" 62
systemd_takes "${unit%watch.service}serve.service" 66
ok 'the socket: systemd accepts it' systemd-analyze verify --man=no "${unit%watch.service}serve.socket"
sed '/^ListenStream=/d' "${unit%watch.service}serve.socket" >"${unit%/*}/broken.socket"
cp "${unit%watch.service}serve.service" "${unit%/*}/broken.service"
ok 'the socket: control: systemd rejects a broken unit' eval '! systemd-analyze verify --man=no "${unit%/*}/broken.socket"'
rm "${unit%/*}"/broken.*

# members SET...: print the system calls in systemd's sets, and single ones
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

# unit_command: print the command of the unit, with its default options
unit_command()
{
	local options

	options=$(setting Environment)
	setting ExecStart | sed "s|\$OPTIONS\$|${options#OPTIONS=}|"
}

# The command of the unit, with only its capabilities. Everything is read-only, there are no homes,
# /var/tmp is private, and /proc hides processes from those that may not trace them.
wrap=(setpriv --reuid 65534 --regid 65534 --clear-groups)
MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper "$(realpath "$VICTIMS/dumper")"
wrap=()
caps=$(setting CapabilityBoundingSet | sed 's/CAP_/+/g' | tr 'A-Z ' 'a-z,')
# shellcheck disable=SC2016 # the inner shell's arguments
limits=(unshare -min --propagation private sh -c 'mount --bind / / && mount -o remount,bind,ro / &&
	mount -t proc -o hidepid=invisible proc /proc && for dir in /home /root /var/tmp; do
	mount -t tmpfs none $dir || exit; done && exec "$@"' sh
	setpriv --no-new-privs --bounding-set "-all,$caps")
read -ra command < <(unit_command)
is "${command[0]}" "$T/usr/sbin/jeprof-ctl" 'the unit starts the installed program'
"${limits[@]}" "${command[@]}" >"$T/unit.events" 2>"$T/unit.talk" </dev/null &
watcher=$!
own "$watcher"
is_seen()
{
	order "$pid" dump /dev/null
	[ -n "$(events_of "$1" "$pid")" ]
}
ok 'the unit: a dump by another user is seen' within 60 is_seen unit || diag "$(<"$T/unit.talk")"
is "$(seen unit "select(.pid == $pid) | .source" | uniq)" uprobe 'the unit: it is seen by the probe'
end_watch unit
is "$(<"$T/unit.talk")" '' 'the unit: no messages'

read -ra allowed < <(setting SystemCallFilter)
members "${allowed[@]}" | sort -u >"$T/allowed"
like "$(wc -l <"$T/allowed")" '^[3-9][0-9]{2}$' 'the filter: system calls are listed'
strace -f -qq -o "$T/calls" "${command[@]}" >"$T/traced.events" 2>/dev/null </dev/null &
strace=$!
own "$strace"
# The stack of a dump takes additional system calls.
ok 'the filter: a dump is seen' within 60 is_seen traced
kill -INT "$(pgrep -P "$strace")"
wait "$strace"
# 335 is uretprobe, which the kernel inserts at probed returns; filters do not see it.
sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' "$T/calls" | grep -vx syscall_0x14f | sort -u >"$T/made"
ok 'the filter: control: the calls of a watch are seen' grep -qx perf_event_open "$T/made"
is "$(seen traced "select(.pid == $pid) | .stack | length > 2" | uniq)" true 'the filter: control: and a stack is taken'
is "$(comm -23 "$T/made" "$T/allowed" | paste -sd ' ')" '' 'the filter: allows all calls of a watch'

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
read -ra command < <(unit_command)
is "${command[*]}" "$T/usr/sbin/jeprof-ctl --quiet guard --json --output %S/jeprof-ctl/guard/ --all" \
	'the guard: starts the installed program'
is "$(setting RuntimeDirectoryMode)" 0711 'the guard: others may traverse its runtime folder'
command=("${command[@]/\%S*/$state}" --when 'every 1s' --count 1 "${patient[@]}")
snapshot "$pid"
"${limits[@]}" "${command[@]}" >"$T/guard.events" 2>"$T/guard.talk" </dev/null
is $? 0 'the guard: a profile of a process of another user' || diag "$(<"$T/guard.talk")"
is "$(jq -c "select(.pid == $pid) | [.ok, .comm, .rule]" "$T/guard.events")" '[true,"dumper","every 1s"]' \
	'the guard: its event is correct' || diag "$(<"$T/guard.events")"
ok 'the guard: it is a profile' is_profile "$(json .file "$T/guard.events")"
assert_untouched "$pid" 'the guard: untouched'

# A process under a filter may not read those of targets, and each of these adds a filter
# (systemd.exec(5)).
filters='^(SystemCall.*|RestrictAddressFamilies|RestrictNamespaces|RestrictRealtime|RestrictSUIDSGID|MemoryDenyWriteExecute|LockPersonality|PrivateDevices|ProtectKernelTunables|ProtectKernelModules|ProtectKernelLogs|ProtectClock|ProtectHostname|DynamicUser)='
is "$(grep -E "$filters" "$unit")" '' 'the guard: no setting brings a filter of system calls'
ok 'the guard: control: the other unit has some' grep -qE "$filters" "${unit%guard.service}watch.service"

# --- serve ---

unit=${unit%guard.service}serve.service
read -ra command < <(unit_command)
is "${command[*]}" "$T/usr/sbin/jeprof-ctl serve --group jeprof-ctl" 'serve: starts the installed program'
command+=("${patient[@]}")
is "$(grep -E "$filters" "$unit")" '' 'serve: no setting brings a filter of system calls'
is "$(setting RuntimeDirectoryMode) $(setting RuntimeDirectoryPreserve)" '0711 yes' 'serve: others may traverse its runtime folder, which stays'
is "$(sed -n 's/^ListenStream=//p; s/^SocketMode=//p; s/^SocketGroup=//p' "${unit%service}socket" | paste -sd ' ')" \
	'/run/jeprof-ctl/http.sock 0660 jeprof-ctl' 'the socket: its path, mode and group'

# status_of PID FIELD: print a field of its status
status_of()
{
	sed -n "s/^$2:[[:space:]]*\([^[:space:]]*\).*/\1/p" "/proc/$1/status"
}

# serve_by NAME CAPABILITIES: have it started by the first connection to its socket, restricted as
# in the unit, with these capabilities. Sets `serve` and `front`.
serve_by()
{
	limits[-1]="-all,$2"
	systemd-socket-activate -E STATE -l "$T/$1.sock" "${limits[@]}" "${command[@]}" >"$T/$1.log" 2>&1 </dev/null &
	serve=$!
	own "$serve"
	within 60 test -S "$T/$1.sock"
	ask "$1" /healthz >"$T/$1.health"
	front=$(pgrep -P "$serve" -f libexec/jeprof-ctl/http)
}

# ask NAME PATH [CURL ARGUMENTS...]: send a request to its socket
ask()
{
	local name=$1 path=$2

	shift 2
	curl -sS --max-time 600 --unix-socket "$T/$name.sock" "$@" "http://localhost$path" || cat "$T/$name.log" >&2
}

caps=$(setting CapabilityBoundingSet | sed 's/CAP_/+/g' | tr 'A-Z ' 'a-z,')
snapshot "$pid"
serve_by serve "$caps"
like "$(<"$T/serve.log")" 'serving on a socket of systemd' 'serve: started by the first connection' || bail_out 'it does not serve'
is "$(ask serve "/api/v1/processes/$pid" | jq -c '[.[] | .pid, .comm]')" "[$pid,\"dumper\"]" \
	'serve: sees a process of another user'
is "$(ask serve "/api/v1/processes/$pid/activate" -X POST | jq -r .after)" true 'serve: activate'
is "$(ask serve "/api/v1/processes/$pid/deactivate" -X POST | jq -r .after)" false 'serve: deactivate'
is "$(ask serve "/api/v1/processes/$pid/activate" -X POST | jq -r .after)" true 'serve: on again'
ask serve "/pid/$pid/pprof/heap" >"$T/served.heap"
ok 'serve: a profile' is_profile "$T/served.heap"
is "$(status_of "$serve" Seccomp)" 0 'serve: it has no filter, so that it may read those of targets'
is "$(status_of "$front" Seccomp) $(status_of "$front" CapBnd)" '2 0000000000000000' 'serve: the HTTP process has one, and can never gain a capability'
like "$(status_of "$front" Uid)" '^[1-9][0-9]*$' 'serve: the HTTP process is not root'
like "$(readlink "/proc/$front/root")" '/front\.[^/]* \(deleted\)$' 'serve: the HTTP process has a deleted root directory'
end_child "$serve" -TERM
wait "$serve"
is $? 0 'serve: it ends' || diag "$(<"$T/serve.log")"
assert_untouched "$pid" 'serve: untouched'

serve_by few "${caps//,+set?id/}"
is "$(status_of "$front" Uid)" 0 'serve: control: without these capabilities, the HTTP process is root'
end_child "$serve" -TERM
wait "$serve"
stop_target "$pid"

ok 'make uninstall' make -s uninstall PREFIX="$T/usr"
is "$(find "$T/usr" -type f)" '' 'make uninstall: nothing is left'

done_testing
