#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# list: every process with jemalloc and its properties, without touching any of them.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# of PID FILTER: apply FILTER to that process in the last document
of()
{
	jq -r --argjson p "$1" ".[] | select(.pid == \$p) | $2" "$T/out"
}

# pids FILTER: print the matching processes, on one line
pids()
{
	jq -r "[.[] | select($1) | .pid] | join(\" \")" "$T/out"
}

# start_sleep [NAME=VALUE...]: start a program that is not linked with jemalloc
start_sleep()
{
	env "$@" sleep 1000 &
	pid=$!
	own "$pid"
	within 60 grep -q sleep "/proc/$pid/comm"
}

comm=l$RANDOM
cp "$VICTIMS/idle" "$T/$comm"
MALLOC_CONF=$PROF start_victim "$T/$comm"
on=$pid
MALLOC_CONF=prof:false start_victim "$T/$comm"
off=$pid
start_victim idle-rjem
static=$pid
start_sleep LD_PRELOAD=libjemalloc.so.2
preloaded=$pid
start_sleep
plain=$pid
for p in "$on" "$off" "$static" "$preloaded"; do snapshot "$p"; done

# --- what it shows ---
ctl_ok 'list' list --json
is "$(of "$on" .comm)" "$comm" 'comm'
is "$(of "$on" '[.linkage, .prefix, .config.prof, .opt.prof] | @csv')" '"shared","",true,true' 'a program linked with it'
is "$(of "$off" '[.linkage, .prefix, .config.prof, .opt.prof] | @csv')" '"shared","",true,false' \
	'another process of the same program, with other options'
is "$(of "$static" '[.linkage, .prefix, .config.prof, .opt.prof] | @csv')" '"static","_rjem_",true,false' 'a program with a static jemalloc'
is "$(of "$preloaded" .linkage)" preload 'a program with a preloaded jemalloc'
is "$(of "$plain" .pid)" '' 'a program without jemalloc is not listed'
like "$(of "$on" .version)" '^5\.' 'version'
like "$(of "$on" .rss_bytes)" '^[1-9][0-9]{5}' 'RSS'
is "$(of "$on" .start_time)" "$(sed 's/.*) //' "/proc/$on/stat" | cut -d' ' -f20)" 'the start time'
is "$(of "$on" '.limit_bytes == null')" "$(of "$on" '.used_bytes == null')" 'a limit, and its usage'
like "$(of "$on" .prof.active)" '^(null|false)$' 'prof.active: false, or not known'
is "$(pids .pid)" "$(pids .pid | tr ' ' '\n' | sort -n | paste -sd' ')" 'sorted by pid'
ctl_ok 'list for people' list
like "$out" 'PID +COMM +USER +VERSION +PREFIX +LINKAGE +CONFIG\.PROF +OPT\.PROF +PROF\.ACTIVE +RSS +CONTAINER' 'the titles'
like "$out" "$on +$comm +root +5\.[0-9.]+ +- +shared +true +true" 'a row'

cp "$VICTIMS/idle" "$T/lüä"
MALLOC_CONF=$PROF start_victim "$T/lüä"
ctl_ok 'a name with letters of two bytes' list --comm lüä
is "$(LC_ALL=C.UTF-8 bash -c '{ read -r a; read -r b; } && a=${a%%USER*} && b=${b%%root*} && echo $((${#a} - ${#b}))' <"$T/out")" 0 \
	'a name with letters of two bytes: the columns are aligned'
stop_target "$pid"

# --- sorted and filtered ---
ctl_ok 'list --sort rss' list --sort rss --json
is "$(jq '[.[].rss_bytes] | . == (sort | reverse)' "$T/out")" true 'most memory first'
ctl_ok 'list --comm' list --comm "$comm" --json
is "$(pids .pid)" "$(printf '%s\n' "$on" "$off" | sort -n | paste -sd' ')" 'by comm'
wrap=(setpriv --reuid=65534 --clear-groups)
start_victim idle
wrap=()
nobody=$pid
for user in 65534 nobody; do
	ctl_ok "list --uid $user" list --uid "$user" --json
	is "$(of "$nobody" .uid)" 65534 "by uid: lists processes of $user"
	is "$(pids '.uid != 65534')" '' "by uid: only those of $user"
done
group=$(cut -d: -f3 "/proc/$on/cgroup" | awk '{ print length, $0 }' | sort -n | tail -n 1 | cut -d' ' -f2-)
ctl_ok 'list --cgroup' list --cgroup "$group" --json
is "$(of "$on" .pid)" "$on" 'by control group'
ctl_ok 'list --cgroup of another' list --cgroup "$group/no-such-group" --json
is "$(pids .pid)" '' 'by control group: none in another one'
ctl_ok 'list --comm and --uid' list --comm "$comm" --uid 65534 --json
is "$(pids .pid)" '' 'filters apply together'
ctl_fails 2 choice_unknown 'list --sort by something else is refused' list --sort color

# --- touching nothing ---
strace -f -o "$T/cut" -e trace=ptrace,process_vm_writev,kill,tkill,tgkill,pidfd_send_signal,rt_sigqueueinfo,clone,fork,vfork,clone3 \
	"$CTL" list >/dev/null 2>&1
tests/drivers/whole_calls.py "$T/cut" >"$T/strace"
# It may create and kill its own children. strace may print that call for the child, too: it was
# killed before strace could read which call it made.
mine=$(grep -oE '(clone|clone3|fork|vfork)\(.*= [0-9]+$' "$T/strace" | grep -oE '[0-9]+$' | paste -sd'|')
is "$(grep -vE '\+\+\+|--- |(clone|clone3|fork|vfork)\(' "$T/strace" | grep -vcE "kill\(($mine), SIGKILL\>")" 0 \
	'it traces, writes to and signals no process' || diag "$(<"$T/strace")"
for p in "$on" "$off" "$static" "$preloaded"; do assert_untouched "$p" "list leaves $p untouched"; done

# --- not itself ---
# (A sanitizer accepts no library before its own.)
if ! is_sanitized; then
	# shellcheck disable=SC2016 # for the other shell
	LD_PRELOAD=libjemalloc.so.2 bash -c '"$0" list --json; true' "$CTL" >"$T/out"
	is "$(jq -r '[.[].comm | select(. == "bash" or startswith("jeprof"))] | join(" ")' "$T/out")" bash \
		'the shell that runs it is listed, but neither the command nor its children'
fi

# --- after activation ---
ctl_ok 'activate' activate "$on"
ctl_ok 'list after activate' list --json
like "$(of "$on" .prof.active)" '^(null|true)$' 'prof.active: true, or not known'
like "$(of "$off" .prof.active)" '^(null|false)$' 'prof.active of the other: false, or not known'

# --- very many, some of which end meanwhile ---
many=()
for ((i = 0; i < 60; i++)); do
	start_sleep LD_PRELOAD=libjemalloc.so.2
	many+=("$pid")
done
ctl_ok 'list of very many' list --comm sleep --json
is "$(pids '.linkage == "preload"' | tr ' ' '\n' | grep -cxF -f <(printf '%s\n' "$preloaded" "${many[@]}"))" 61 \
	'each of them is listed'
(for ((i = 0; i < 300; i++)); do LD_PRELOAD=libjemalloc.so.2 true; done) &
own $!
for round in 1 2 3 4 5; do
	run_ctl list --json
	is "$status$err" 0 "list while processes come and go, $round"
	is "$(of "$on" .pid)" "$on" "list while processes come and go, $round: has those that stay"
done

# --- a process that maps a library without being linked with it does not affect those that are ---
library=$(ldconfig -p | awk '/libjemalloc\.so\.2 / { print $NF; exit }')
for how in '' clear; do
	for owner in root nobody; do
		[ "$owner$how" = rootclear ] && continue # root could do worse
		wrap=()
		[ "$owner" = nobody ] && wrap=(setpriv --reuid=65534 --clear-groups)
		start_mapper "$library" $how
		mapper=$pid
		wrap=()
		start_sleep LD_PRELOAD=libjemalloc.so.2
		run_ctl list --json
		is "$(of "$pid" .linkage)" preload "listed behind a process that maps the library, $owner ${how:-whole}"
		is "$(of "$mapper" .pid)" '' "that process is not listed, $owner ${how:-whole}"
		stop_target "$mapper"
	done
done

# --- without privileges ---
timeout 60 setpriv --reuid=65534 --clear-groups "$CTL" list --json >"$T/out" 2>"$T/err"
is $? 0 'list as an ordinary user'
is "$(pids '.uid != 65534')" '' 'an ordinary user: only own processes'
is "$(of "$nobody" .linkage)" shared 'an ordinary user: their linkage'
setpriv --reuid=65534 --clear-groups "$CTL" list >/dev/null 2>"$T/err"
like "$(<"$T/err")" 'could not be inspected; root can inspect them all' \
	'an ordinary user: told that others were not inspected'

done_testing
