#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several processes: how they are selected, what is printed for them, and that a failure for one
# does not affect the others.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh

export MALLOC_CONF=$PROF
comm=many
cp "$VICTIMS/idle" "$T/$comm"

# start NAME=VALUE...: start one with that name. Sets `pid`.
start()
{
	wrap=(env "$@")
	start_victim "$T/$comm" 2
	wrap=()
	snapshot "$pid"
}

start A=1 && a=$pid
start A=1 && b=$pid
start MALLOC_CONF=prof:false && off=$pid
(exec -a sleep sleep 1000) &
plain=$!
own "$plain"
within 60 grep -q sleep "/proc/$plain/comm"
none=4194300

# of PID FILTER: apply FILTER to that process in the array
of()
{
	jq -r --argjson p "$1" ".[] | select(.pid == \$p) | $2" "$T/out"
}

# pids: print those in the array, in its order
pids()
{
	jq -r '[.[].pid] | join(" ")' "$T/out"
}

all_untouched()
{
	for p in "$a" "$b" "$off"; do
		assert_untouched "$p" "$1: $p is untouched"
	done
}

# --- named by their pids ---
run_ctl activate "$a" "$off" "$none" "$b"
is "$status" 1 'several: two fail for two reasons: exit 1'
is "$out" "prof.active is now true in $a ($comm)"$'\n'"prof.active is now true in $b ($comm)" \
	'several: a failure does not stop the others'
like "$err" "opt.prof is false in $off \($comm\).*there is no process $none" 'several: the cause of each failure is reported'
like "$err" "2 of 4 processes failed: $off \(no_profiling\), $none \(no_process\)" 'several: the failures are summed up'
run_ctl activate "$a" "$off"
is "$status" 6 'several: a single reason sets the exit status'
run_ctl deactivate "$a" "$b" "$a" "$none" --json
is "$status" 3 'several, --json: exit status'
is "$(pids)" "$a $b $none" 'several, --json: each once, in this order'
is "$(of "$a" '[.changed, .prof.active] | tostring')" '[true,false]' 'several, --json: the document of each'
is "$(of "$none" '.error | [.code, .id] | @csv')" '"no_process","no_process"' 'several, --json: the error of each'
ctl_ok 'one pid' deactivate "$a" --json
is "$(json .pid)" "$a" 'one pid: no array'
ctl_fails 2 'in_pid not_in_range' 'a word that is not a pid' deactivate "$a" no-pid
ctl_fails 2 'word_too_many see_command_help' 'a command that takes one pid' explain "$a" "$b"
all_untouched 'several'

# --- blocks with headings ---
ctl_ok 'status of two' status "$a" "$b"
is "$(grep -cE "^==> ($a|$b) \($comm\) <==$" "$T/out")" 2 'status of two: headings'
is "$(grep -c '^opt.prof ' "$T/out")" 2 'status of two: both are shown'
run_ctl check "$a" "$off"
is "$status" 6 'check of two, one is not ready'
is "$(grep -cE '^(not )?ready$' "$T/out")" 2 'check of two: both are shown'
like "$err" "1 of 2 processes failed: $off \(no_profiling\)" 'check of two: summed up'
ctl_ok 'status of one' status "$a"
unlike "$out" '==>' 'status of one: no heading'

# --- statistics ---
run_ctl stats "$a" "$none" "$b" -f prom
is "$status" 3 'stats -f prom: one does not exist'
is "$(grep -c '^jemalloc_allocated_bytes{' "$T/out")" 2 'stats -f prom: the others are printed'
like "$err" "1 of 3 processes failed: $none" 'stats -f prom: summed up'
ctl_ok 'stats --json' stats "$a" "$b" --json
is "$(jq -r '[.[] | .pid, .comm, (.stats.jemalloc | type)] | @csv' "$T/out")" \
	"$a,\"$comm\",\"object\",$b,\"$comm\",\"object\"" 'stats --json: an array that names each process'
ctl_ok 'stats, text' stats "$a" "$b"
is "$(grep -c 'Begin jemalloc statistics' "$T/out")" 2 'stats, text: both are shown'
is "$(grep -c '^==> ' "$T/out")" 2 'stats, text: headings'
all_untouched 'stats'

# --- a process that ends before its turn ---
# ends_meanwhile ARGUMENTS...: print statistics of several, of which `doomed` ends while those of
# the first wait to be read
ends_meanwhile()
{
	rm -f "$T/pipe" && mkfifo "$T/pipe"
	exec 9<>"$T/pipe"
	python3 -c 'import fcntl; fcntl.fcntl(9, fcntl.F_SETPIPE_SZ, 4096)' 9<&9
	: >"$T/err" # messages of an earlier run must not be taken for those of this one
	"$CTL" "${patient[@]}" stats -f text "$@" >"$T/pipe" 2>>"$T/err" 9<&- &
	teller=$!
	own "$teller"
	within 60 grep -q '^stopped one thread' "$T/err"
	kill -KILL "$doomed"
	wait "$doomed" 2>/dev/null
	exec 8<"$T/pipe" # before the last other reader closes it
	cat <&8 >"$T/out" 9<&- &
	local reader=$!
	exec 8<&- 9<&-
	wait "$teller"
	status=$?
	wait "$reader"
}
for how in named found; do
	MALLOC_CONF=$PROF start_victim "$T/$comm"
	doomed=$pid
	if [ "$how" = named ]; then ends_meanwhile "$a" "$doomed" "$b"; else ends_meanwhile --comm "$comm"; fi
	like "$(<"$T/err")" "process $doomed \($comm\)?.*ended|no process $doomed" "ended meanwhile, $how: it is reported"
	ok "ended meanwhile, $how: the others are printed" \
		test "$(grep -c 'Begin jemalloc statistics' "$T/out")" -ge 2
	is "$status" "$([ "$how" = named ] && echo 3 || echo 0)" "ended meanwhile, $how: the exit status"
done

# --- by name ---
run_ctl deactivate --comm "$comm" --json
is "$status" 0 '--comm: exit status'
is "$(pids)" "$a $b $off" '--comm: all of that name'
(exec -a "$comm" perl -e '$0 = "many"; sleep 1000') &
other=$!
own "$other"
within 60 grep -qx "$comm" "/proc/$other/comm"
ctl_ok '--comm: one does not use jemalloc' deactivate --comm "$comm"
like "$err" '^3 of 4 processes use jemalloc' '--comm: it is left out, and counted'
is "$(wc -l <"$T/out")" 3 '--comm: it has no line'
ctl_fails 2 'name_ambiguous name_one_by_pid' 'a command for one process' explain --comm "$comm"
like "$err" "$a $b $off" 'a command for one process: all matches are named'
ctl_fails 3 'name_not_there see_list' 'no process has that name' activate --comm nobody-has-this
ctl_fails 5 'no_jemalloc' 'the only one of that name' activate --comm sleep
end_child "$other" -KILL
long='a-name-of-twenty-one'
cp "$VICTIMS/idle" "$T/$long"
start_victim "$T/$long"
ctl_ok 'a name that the kernel truncates' status --comm "$long" --json
is "$(pids)" "$pid" 'a name that the kernel truncates: an array, even of one'
ctl_ok 'a truncated name, for a command that takes one' get --comm "$long" opt.prof -q
is "$out" true 'a truncated name, for a command that takes one: a value'
stop_target "$pid"
all_untouched '--comm'

# --- by their ancestors ---
# A child of a shell without jemalloc, which is a child of a process with it.
LD_PRELOAD=libjemalloc.so.2 perl -e '$0 = "top"; if (!fork) { delete $ENV{LD_PRELOAD};
	exec "sh", "-c", "LD_PRELOAD=libjemalloc.so.2 perl -e \"\\\$0 = q(leaf); sleep 1000\"; true" } sleep 1000' &
top=$!
own "$top"
ok 'a tree of processes' within 60 pgrep -x leaf
leaf=$(pgrep -x leaf)
at_end+=("kill $leaf 2>/dev/null")
ctl_ok '--children' status --children "$top" --json
is "$(pids)" "$top $leaf" '--children: the process and what is below it'
ctl_ok 'list --children' list --children "$leaf" --json
is "$(pids)" "$leaf" 'list --children: of a process without any'
is "$(of "$leaf" .ppid)" "$(awk '/^PPid/ { print $2 }' "/proc/$leaf/status")" 'list: the parent'
ctl_ok 'list --tree' list --tree -o comm,pid
is "$(grep -A1 "^top  *$top" "$T/out" | tail -n 1)" "\`- leaf  $leaf" \
	'list --tree: below its nearest ancestor that is shown'
is "$(tail -n +2 "$T/out" | wc -l)" 5 'list --tree: all are listed'
ctl_ok 'list --tree --sort rss' list --tree --sort rss --json
is "$(jq -r --argjson p "$top" 'map(.pid) | index($p)' "$T/out")" "$(($(jq -r --argjson p "$leaf" 'map(.pid) | index($p)' "$T/out") - 1))" \
	'list --tree --sort rss: a child stays below'
ctl_fails 3 'name_not_there see_list' '--children of no process' status --children "$none"

# --- columns ---
ctl_ok 'list -o' list -o pid,PPID,command --children $$
is "$(awk 'NR == 1 || $1 == '"$a" "$T/out" | tr -s ' ')" "PID PPID COMMAND"$'\n'"$a $$ $T/$comm fd:3 2" 'list -o: only these, and the command line'
ctl_ok 'list -o +unit' list -o +unit
like "$out" '^PID .* IMAGE +UNIT' 'list -o +unit: one more column'
ctl_fails 2 'column_unknown did_you_mean' 'list -o: no such column' list -o pid,untt
like "$err" 'did you mean unit' 'list -o: the right one is suggested'
ctl_fails 2 no_columns 'list -o: no columns' list -o ,
ctl_ok 'list --json' list --json
is "$(of "$a" .command)" "$T/$comm fd:3 2" 'list --json: the command line'

# --- journals are searched only if there are any ---
strace -f -o "$T/calls" -e trace=openat "$CTL" list >/dev/null 2>&1
is "$(grep -cE "openat\([0-9]+, \"[0-9]+\"" "$T/calls")" 0 'list: no missing journal is looked for'

# --- control groups ---
hierarchy=$(hierarchy_v2)
base=$hierarchy/jeprof-ctl-test-${T##*.}
id1=80f5ef0b12bc7495264c3eaa021855e580f5ef0b12bc7495264c3eaa021855e5
id2=80f5ef0b12bd7495264c3eaa021855e580f5ef0b12bc7495264c3eaa021855e5
hostile=$'x\e[31m.service'
# put PID GROUP: move it into a group below ours
put()
{
	mkdir -p "$base/$2" && at_end+=("rmdir '$base/$2'") && echo "$1" >"$base/$2/cgroup.procs"
}
if [ -n "$hierarchy" ] && mkdir "$base" 2>/dev/null && put "$a" engine.service && put "$b" engine.service/worker; then
	at_end+=("stop_all; rmdir '$base'/*/*/ '$base'/*/ '$base'") # deepest first
	ctl_ok '--cgroup UNIT' deactivate --cgroup engine.service --json
	is "$(pids)" "$a $b" '--cgroup UNIT: including the groups in it'
	ctl_ok '--cgroup PATH' deactivate --cgroup "$base/engine.service/worker" --json
	is "$(pids)" "$b" '--cgroup PATH: an array, even of one'
	ctl_ok 'both apply' deactivate --cgroup engine.service --children "$a" --json
	is "$(pids)" "$a" '--cgroup and --children: both apply'
	ctl_ok 'list -o unit' list -o pid,unit
	is "$(awk -v pid="$b" '$1 == pid { print $2 }' "$T/out")" engine.service 'list -o unit: the unit'
	put "$a" "docker-$id1.scope"
	ctl_ok '--cgroup ID' deactivate --cgroup 80f5 --json
	is "$(pids)" "$a" '--cgroup ID: the first digits'
	ctl_ok '--cgroup ID, in full' deactivate --cgroup "$id1" --json
	is "$(pids)" "$a" '--cgroup ID, in full: the right one'
	put "$b" "crio-$id2.scope"
	ctl_fails 2 'container_ambiguous give_more_digits' '--cgroup ID: two begin alike' deactivate --cgroup 80f5ef0b
	ctl_ok '--cgroup ID: more digits' deactivate --cgroup 80f5ef0b12bd --json
	is "$(pids)" "$b" '--cgroup ID: the right one'
	ctl_fails 3 'name_not_there see_list' '--cgroup without processes' deactivate --cgroup no-such.service
	put "$a" "$hostile"
	ctl_ok 'a hostile group' list -o pid,unit,container
	unlike "$out" $'\e' 'a hostile group: no escape characters'
	run_ctl activate --cgroup "$hostile.x"
	unlike "$err" $'\e' 'a hostile group: none in an error'
	echo "$a" >"$hierarchy/cgroup.procs"
	echo "$b" >"$hierarchy/cgroup.procs"
	all_untouched '--cgroup'
else
	skip 'control groups cannot be made here' '--cgroup'
fi

# --- dumps ---
mkdir "$T/dumps"
ctl_fails 2 'one_file name_a_folder_for_all' 'dump -o FILE of several' dump "$a" "$b" -o "$T/one.heap"
ctl_fails 2 'one_file name_a_folder_for_all' 'dump -o - of several' dump "$a" "$b" -o -
ctl_fails 2 'one_file leave_out_the_path' 'dump --in-target PATH of several' dump "$a" "$b" --in-target "$T/x.heap"
ctl_fails 2 'one_file name_a_folder_for_all' 'record -o FILE of several' record "$a" "$b" -d 1s -o "$T/one.heap"
is "$(find "$T" -name '*.heap')" '' 'nothing was written'
run_ctl dump "$a" "$off" "$b" -o "$T/dumps/" --json
is "$status" 6 'dump of several: one cannot be profiled'
is "$(find "$T/dumps" -name '*.heap' | wc -l)" 2 'dump of several: a file for each'
for p in "$a" "$b"; do
	ok "dump of several: the file of $p" is_profile "$(of "$p" .file)"
	like "$(of "$p" .file)" "^$T/dumps/$comm\.$p\.[0-9TZ]*\.heap$" 'dump of several: its name'
done
run_ctl status "$a" "$b" --image "no${a}0-${b}0"
is "$(grep -cE "process ($a|$b) \($comm\): " "$T/err")" 2 'a pid that is only part of another number does not name the process' || diag "$err"
ctl_ok 'dump -o FOLDER/ of one' dump "$a" -o "$T/dumps/" -f folded --force -q
like "$out" "^$T/dumps/$comm\.$a\.[0-9TZ]*\.folded$" 'dump -o FOLDER/ of one'
ctl_fails 10 'name_a_folder' 'dump -o: no such folder' dump "$a" -o "$T/no-such/"
ctl_ok 'dump --comm -o FILE of the only one' dump --comm leaf -o "$T/leaf.heap"
all_untouched 'dump'

# --- hostile names ---
cp "$VICTIMS/idle" "$T/"$'n\e[31m\nx'
start_victim "$T/"$'n\e[31m\nx'
(LD_PRELOAD=libjemalloc.so.2 exec -a $'argument\e[31m\n' sleep 1000) &
own $!
within 60 grep -q argument "/proc/$!/cmdline"
ctl_ok 'hostile names' status "$pid" "$a"
unlike "$out$err" $'\e' 'hostile names: no escape characters'
like "$out" "==> $pid \(n.x1b\[31m.x0ax\) <==" 'hostile names: one line each'
ctl_ok 'a hostile command line' list -o command
like "$out" 'argument.x1b\[31m.x0a 1000' 'a hostile command line: one line'
unlike "$out" $'\e' 'a hostile command line: no escape characters'
stop_target "$pid"

# --- without privileges ---
wrap=(setpriv --reuid=65534 --clear-groups)
start_victim idle
nobody=$pid
wrap=()
timeout 60 setpriv --reuid=65534 --clear-groups "$CTL" "${patient[@]}" status --children $$ >"$T/out" 2>"$T/err"
is $? 0 'an ordinary user: processes of others are no error'
like "$(<"$T/err")" '^1 of [0-9]+ processes uses jemalloc; [0-9]+ could not be inspected, root can inspect them all' 'an ordinary user: they are counted'
is "$(grep -c '^opt.prof ' "$T/out")" 1 'an ordinary user: their own process is shown'
timeout 60 setpriv --reuid=65534 --clear-groups "$CTL" --json status --comm "$comm" >"$T/out" 2>"$T/err"
is "$? $(json .error.id)" '4 all_unseen' 'an ordinary user: only processes of others'
stop_target "$nobody"
all_untouched 'at the end'

done_testing
