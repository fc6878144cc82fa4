#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A profile or statistics that run code in the process that parses them (tests/careless/overtaken.c)
# gain nothing: no file, program or secret, no name in the cache. The control is not confined.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

overtaken=$ROOT/build/tests/careless/jeprof-ctl-overtaken
poison=/var/cache/jeprof-ctl/0bad000000000000000000000000000000000000.symbols
at_end+=("rm -f '$poison'")
rm -f "$poison"
export OVERTAKEN=$T/gains

# prepare: create a folder with what it may gain, and a process that it may signal
prepare()
{
	rm -rf "$OVERTAKEN" "$OVERTAKEN.gains" && mkdir "$OVERTAKEN"
	echo secret >"$OVERTAKEN/secret"
	install -m 755 /bin/true "$OVERTAKEN/program"
	touch -d @0 "$OVERTAKEN/program"
	sleep 1000 &
	OVERTAKEN_VICTIM=$!
	own "$OVERTAKEN_VICTIM"
	export OVERTAKEN_VICTIM
}

# ended_by SIGNAL NAME: the process must have been ended by SIGNAL; TERM if nothing ended it before
ended_by()
{
	kill -TERM "$OVERTAKEN_VICTIM" 2>/dev/null
	wait "$OVERTAKEN_VICTIM" 2>/dev/null
	is "$(kill -l "$?")" "$1" "$2"
}

# attempt NAME ARGUMENTS...: nothing is gained, and the command works
attempt()
{
	local name=$1

	shift
	prepare
	timeout -k 5 $((60 * SLOW)) "$overtaken" "${patient[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
	is "$?" 0 "$name: works" || diag "$(<"$T/err")"
	is "$(cd "$OVERTAKEN" && echo *)" 'program secret' "$name: nothing is gained"
	is "$(<"$OVERTAKEN.gains")" '' "$name: no system call and no request reaches others"
	ended_by TERM "$name: no process is signalled"
	is "$(stat -c '%a %Y' "$OVERTAKEN/program")" '755 0' "$name: no file is changed"
	unlike "$(<"$T/err")" 'opened the secret' "$name: no file is opened for it"
	ok "$name: no name is cached" test ! -e "$poison"
}

# gains NAME SIGNAL ARGUMENTS...: check what it gains when it is unconfined
gains()
{
	local name=$1 signal=$2

	shift 2
	prepare
	OVERTAKEN_FREE=1 timeout -k 5 $((60 * SLOW)) "$overtaken" "${patient[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
	is "$(cd "$OVERTAKEN" && echo *)" 'connected made program ran read secret signalled' \
		"control: $name: what it gains unconfined"
	is "$(paste -sd ' ' "$OVERTAKEN.gains")" "$calls" "control: $name: the system calls and requests would work"
	ended_by "$signal" "control: $name: another process would be signalled"
	unlike "$(stat -c '%a %Y' "$OVERTAKEN/program")" '^755 | 0$' "control: $name: a file would be changed"
	ok "control: $name: a name would be cached" test -e "$poison"
	rm -f "$poison"
}

calls='allocate async code control copy file_lock large_memory lease limits locked made_code mode name'
calls+=' null_signal open_lock owner owner_ex page_out pidfd priority record_lock segment signal_number'
calls+=' thread_signal times wake watch'
calls+=' no_elf other_root other_memory other_name other_path other_link third_temporary large_temporary'
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8 start_victim busy 2
snapshot "$pid"
comes_to_have_stacks "$T/a.heap"
within 60 "$CTL" -q "${patient[@]}" dump "$pid" -o "$T/b.heap"
within 60 "$CTL" -q "${patient[@]}" dump "$pid" -o "$T/c.heap"

attempt 'dump' dump "$pid" -o "$T/d.heap" --force
gains 'dump' USR1 dump "$pid" -o "$T/d.heap" --force
attempt 'dump -f html' dump "$pid" -f html -o "$T/d.html" --force
attempt 'stats' stats "$pid" -f json
gains 'stats' TERM stats "$pid" -f json
attempt 'bundle of a process' bundle "$pid" -o "$T/d.tar.gz" --force
attempt 'record' record "$pid" -d 50ms -o "$T/r.heap" -f folded --force
assert_untouched "$pid"

attempt 'report' report "$T/a.heap"
gains 'report' USR1 report "$T/a.heap"
attempt 'report -o' report "$T/a.heap" -f folded -o "$T/a.folded" --force
ok 'report -o: its file is there' test -s "$T/a.folded"
attempt 'report of a bundle' report "$T/d.tar.gz"
attempt 'convert' convert "$T/a.heap" "$T/a.pb.gz" --force
attempt 'diff' diff "$T/a.heap" "$T/b.heap"
attempt 'leaks' leaks "$T/a.heap" "$T/b.heap" "$T/c.heap"
attempt 'bundle of a file' bundle "$T/a.heap" -o "$T/e.tar.gz" --force
"$overtaken" -q report - <"$T/a.heap" >"$T/out" 2>"$T/err"
is "$?" 0 'report of standard input'

# A result on a file system that never answers, not even to close(2): nobody waits for it.
mknod -m 600 "$T/fuse" c 10 229 || bail_out 'no device for FUSE'
mkdir "$T/mnt"
"$VICTIMS/silent" "$T/fuse" "$T/mnt" flush >"$T/silent.out" 2>&1 </dev/null &
silent=$!
own "$silent"
within 60 grep -q mapped "$T/silent.out" || bail_out "silent did not start: $(<"$T/silent.out")"
mounted+=("$T/mnt")
export OVERTAKEN_RESULT=$T/mnt/lib.so
timeout -k 5 $((60 * SLOW)) "$overtaken" report "$T/a.heap" >"$T/out" 2>"$T/err"
is "$?" 1 'a result that does not answer: the command ends'
like "$(<"$T/err")" 'Bad message' 'a result that does not answer: not accepted'
OVERTAKEN_TRUSTED=1 "$overtaken" report "$T/a.heap" >"$T/out" 2>"$T/err" &
waiter=$!
own "$waiter"
closes() { grep -q '^3 ' "/proc/$waiter/syscall"; }
is_stuck() { grep -q '^State:.D' "/proc/$waiter/status"; }
ok 'control: accepting it means waiting in close(2)' within 60 closes
kill -KILL "$waiter"
ok 'control: the command cannot be killed' within 60 is_stuck
unset OVERTAKEN_RESULT
stop_target "$silent"
wait "$waiter" 2>/dev/null

# Output for a terminal is harmless. script(1) ends its lines with a carriage return.
"$overtaken" report "$T/a.heap" >"$T/raw" 2>"$T/err"
ok 'control: to a file, its output is passed on' grep -q $'\033]0;owned' "$T/raw"
script -qec "$overtaken --no-pager --color never report $T/a.heap" /dev/null </dev/null >"$T/out" 2>&1
like "$(tr -d '\0' <"$T/out")" owned 'to a terminal, its output is printed, too'
# obeyed FILE: print the control characters in it, and those that change the direction of text
obeyed()
{
	python3 -c 'import re, sys
text = sys.stdin.buffer.read().replace(b"\r\n", b"\n").decode("utf-8", "replace")
print(*sorted({"%04X" % ord(c) for c in re.findall("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]", text)}))' <"$1"
}
is "$(obeyed "$T/out")" '' 'to a terminal, no control characters'
is "$(obeyed "$T/raw")" '0007 001B 009B 009D 202E FFFD' \
	'control: to a file, there are control characters'

done_testing
