#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watch: its options, its table, and its refusals.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# --- refusals ---
ctl_fails 2 watch_needs_processes 'no process is named' watch
ctl_fails 2 exclusive '--all and a pid' watch 1 --all
ctl_fails 2 'in_pid not_in_range' 'not a pid' watch abc
ctl_fails 2 'in_option not_a_value' 'not a duration' watch --all --for soon
ctl_fails 2 'in_option not_in_range' 'not a number' watch --all --count many
ctl_fails 2 'in_option not_in_range' 'a negative number' watch --all --count -1
ctl_fails 3 no_process 'no such process' watch 4194304
start_victim idle-plain
ctl_fails 5 'no_jemalloc preload_jemalloc' 'a process without jemalloc' watch "$pid"
stop_target "$pid"

MALLOC_CONF=prof:false start_victim idle
ctl_fails 6 'never_dumps_off see_check' 'a process that cannot dump' watch "$pid"
stop_target "$pid"

MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper dumper
snapshot "$pid"
# without NAME STATUS REGEX COMMAND...: a watch started by COMMAND must be refused
without()
{
	local name=$1 want=$2 regex=$3

	shift 3
	timeout 60 "$@" "$CTL" watch "$pid" --count 1 >"$T/out" 2>"$T/err" </dev/null
	is "$?" "$want" "$name: refused"
	like "$(<"$T/err")" "$regex" "$name: the cause is reported"
	like "$(<"$T/err")" 'fix: ' "$name: the fix is shown"
}
without 'no rights' 4 'CAP_BPF|CAP_PERFMON|CAP_SYS_ADMIN|root' setpriv --bounding-set -bpf,-perfmon,-sys_admin
# hide FOLDER [ANOTHER]: act as if they were not mounted. Sets `hidden`.
hide()
{
	# shellcheck disable=SC2016 # the inner shell's arguments
	hidden=(unshare -m sh -c 'for i in "$1" "$2"; do
		[ ! -d "$i" ] || mount -t tmpfs none "$i" || exit 99; done; shift 2; exec "$@"' sh "$1" "${2:-}")
}
hide /sys/kernel/btf
without 'no BTF' 1 'has no BTF type information.*CONFIG_DEBUG_INFO_BTF=y' "${hidden[@]}"
hide /sys/bus/event_source
without 'no uprobes' 1 'has no uprobes.*CONFIG_UPROBE_EVENTS=y' "${hidden[@]}"
hide /sys/kernel
without 'no /sys' 1 'has no BTF type information.*mount /sys' "${hidden[@]}"
hide /sys/kernel/tracing /sys/kernel/debug
without 'no tracefs' 1 'tracefs is not mounted.*mount -t tracefs tracefs /sys/kernel/tracing' "${hidden[@]}"
hide /sys/kernel/tracing/events/syscalls /sys/kernel/debug
without 'no tracepoints of system calls' 1 'no system call tracepoints.*CONFIG_FTRACE_SYSCALLS=y' "${hidden[@]}"
without 'a seccomp filter' 4 'seccomp filter.*--security-opt seccomp=unconfined' "$VICTIMS/fenced" bpf-errno
without 'few files' 1 '20 files .*RLIMIT_NOFILE.*ulimit -n' prlimit --nofile=20
if unshare --user --map-root-user true 2>/dev/null; then
	without 'a user namespace' 4 'user namespace.*on the host' unshare --user --map-root-user
else
	skip 'user namespaces are switched off' 'a user namespace'
fi
setpriv --reuid 65534 --regid 65534 --clear-groups "$CTL" watch --all >"$T/out" 2>"$T/err" </dev/null
is "$?" 4 'another user: refused'
like "$(<"$T/err")" 'fix: .*(root|CAP_BPF)' 'another user: the fix is shown'
timeout 60 setpriv --bounding-set -sys_ptrace "$CTL" watch --all --for 1ms >"$T/out" 2>"$T/err" </dev/null
is "$?" 0 'some cannot be inspected: the others are watched'
like "$(<"$T/err")" 'warning: could not inspect [0-9]+ of the processes: their dumps are seen only if' 'some cannot be inspected: a warning'
assert_untouched "$pid" 'refusals leave it untouched'

# --- a build without watch ---
no_bpf=build/tests/nobpf/jeprof-ctl
run_without()
{
	"$no_bpf" "$@" >"$T/out" 2>"$T/err"
}
run_without watch "$pid"
is "$?" 1 'a build without libbpf: refused'
like "$(<"$T/err")" 'built without' 'a build without libbpf: the cause is reported'
ok 'a build without libbpf: it is not linked' eval "! ldd $no_bpf | grep -q libbpf"
ok 'a build without libbpf: other commands work' run_without status "$pid" --max-pause 10s

# --- when it ends ---
start_watch count "$pid" --count 3
order "$pid" dumps 5 "$T/five.heap"
wait "$watcher"
is "$?" 0 '--count: ends'
is "$(seen count .kind | wc -l)" 3 '--count: after that many'
like "$(<"$T/count.talk")" '3 dumps, 0 failed, 0 lost' '--count: the summary'
start_watch for "$pid" --for 1s
order "$pid" dump "$T/for.heap"
wait "$watcher"
is "$?" 0 '--for: ends'
like "$(tail -n 1 "$T/for.talk")" '^[01] dumps?, 0 failed, 0 lost' '--for: the summary'
start_watch term "$pid"
kill -TERM "$watcher"
wait "$watcher"
is "$?" 0 'SIGTERM ends it'
start_watch comm --comm dumper
order "$pid" dump "$T/comm.heap"
end_watch comm
is "$(events_of comm "$pid")" "$(rows_of "$T/comm.heap")" '--comm'
mkfifo "$T/pipe"
head -n 1 "$T/pipe" >"$T/head" &
"$CTL" watch "$pid" >"$T/pipe" 2>"$T/pipe.err" &
watcher=$!
own "$watcher"
within 60 grep -q '^watching' "$T/pipe.err"
wait "$!"
is "$?" 10 'nobody reads: it ends'

# --- the table ---
"$CTL" watch "$pid" --count 3 >"$T/table" 2>"$T/table.err" &
watcher=$!
own "$watcher"
within 60 grep -q '^watching' "$T/table.err"
order "$pid" dump "$T/table.heap"
order "$pid" dump "$T/no/table.heap"
order "$pid" dump "$T/"$'esc\e[31m.heap'
wait "$watcher"
is "$?" 0 'table: ends'
like "$(sed -n 1p "$T/table")" '^TIME +PROCESS +KIND +SIZE +TOOK +FILE$' 'table: titles'
like "$(sed -n 2p "$T/table")" "^[0-9:]{8}\.[0-9]+Z +$pid \(dumper\) +manual +[0-9.]+K? +[0-9.]+[um]?s +$T/table.heap\$" \
	'table: a dump'
like "$(sed -n 3p "$T/table")" "manual +failed .*$T/no/table.heap: No such file or directory\$" 'table: one that failed'
unlike "$(<"$T/table")" $'\e' 'table: control characters are not printed'
is "$(wc -l <"$T/table")" 4 'table: a line for each'

# --- the time since the process started ---
began=$(awk '{ printf "%.2f", $22 / 100 }' "/proc/$pid/stat")
start_watch since "$pid" --since-start --count 1
order "$pid" dump "$T/since.heap"
now=$(cut -d ' ' -f 1 /proc/uptime)
wait "$watcher"
is "$(jq -r --argjson b "$began" --argjson n "$now" \
	'.since_start_us / 1e6 | . > 0 and . < $n - $b + 0.02' "$T/since.events")" true '--since-start'

# --- commands ---
# shellcheck disable=SC2016 # the command's own variables
start_watch on "$pid" --on-dump 'env | grep ^JEPROF_CTL_ | sort >"$JEPROF_CTL_FILE.seen"; exit 0'
order "$pid" dump "$T/on.heap"
within 60 test -s "$T/on.heap.seen"
end_watch on
while read -r name key; do
	is "$(sed -n "s/^JEPROF_CTL_$name=//p" "$T/on.heap.seen")" "$(seen on ".$key // \"\"")" \
		"--on-dump: its environment has $name"
done <<'END'
PID pid
TID tid
COMM comm
KIND kind
FILE file
OK ok
BYTES bytes
DURATION_US duration_us
SOURCE source
CGROUP cgroup
TIME time
END
cat >"$T/program" <<'SH'
#!/bin/sh
echo "$# $JEPROF_CTL_FILE" >"$0.seen"
SH
chmod 755 "$T/program"
start_watch exec "$pid" --on-dump-exec "$T/program"
order "$pid" dump "$T/\$(exec) x.heap"
within 60 test -s "$T/program.seen"
end_watch exec
is "$(<"$T/program.seen")" "0 $T/\$(exec) x.heap" '--on-dump-exec: runs the program, without arguments'
# Our processes raise the limit on their stack (base/own_limits.h).
watch_by=(prlimit --stack=4194304:unlimited)
# shellcheck disable=SC2016
start_watch stack "$pid" --on-dump 'ulimit -s >"$JEPROF_CTL_FILE.seen"'
watch_by=()
like "$(grep '^Max stack' "/proc/$watcher/limits")" ' 8388608 ' '--on-dump: the watch has raised its stack'
order "$pid" dump "$T/stack.heap"
within 60 test -s "$T/stack.heap.seen"
end_watch stack
is "$(<"$T/stack.heap.seen")" 4096 '--on-dump: the command has the limit that the watch was started with'
ctl_fails 2 exclusive '--on-dump and --on-dump-exec' watch "$pid" --on-dump true --on-dump-exec true
start_watch bad "$pid" --on-dump 'exit 3'
order "$pid" dump "$T/bad.heap"
end_watch bad
like "$(<"$T/bad.talk")" '1 commands? failed' '--on-dump: a command that failed is counted'
# shellcheck disable=SC2016
start_watch many "$pid" --on-dump 'echo x >>"'"$T"'/many"'
order "$pid" dumps 40 "$T/many.heap"
end_watch many
is "$(wc -l <"$T/many")" 40 '--on-dump: all have run when it ends'
assert_untouched "$pid" 'untouched'

# --- other commands at the same time ---
start_watch beside "$pid"
ctl_ok 'status while it is watched' status "$pid" --json
like "$(json .jemalloc.prof_dump)" '^0x' 'status while it is watched: finds prof_dump'
MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper dumper-static.stripped
start_watch beside2 "$pid"
ctl_ok 'a stripped static program while it is watched: dump' dump "$pid" --in-target "$T/beside.heap"
end_watch beside2
is "$(events_of beside2 "$pid" | wc -l)" 1 'a stripped static program while it is watched: one event'

done_testing
