#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A profile, or statistics, that run code in the process that parses them (tests/careless/overtaken.c)
# gain nothing: no file, no program, no secret, no name in the cache. The control runs the same without
# what confines it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

overtaken=$ROOT/build/tests/careless/jeprof-ctl-overtaken
poison=/var/cache/jeprof-ctl/0bad000000000000000000000000000000000000.symbols
at_end+=("rm -f '$poison'")
rm -f "$poison"
export OVERTAKEN=$T/gains

# attempt NAME ARGUMENTS...: nothing is gained, and the command works
attempt()
{
	local name=$1

	shift
	rm -rf "$OVERTAKEN" && mkdir "$OVERTAKEN" && echo secret >"$OVERTAKEN/secret"
	timeout -k 5 $((60 * SLOW)) "$overtaken" "${patient[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
	is "$?" 0 "$name: works" || diag "$(<"$T/err")"
	is "$(ls "$OVERTAKEN")" secret "$name: nothing is gained"
	unlike "$(<"$T/err")" 'opened the secret' "$name: nothing is opened for it"
	ok "$name: no name is kept" test ! -e "$poison"
}

# harm NAME GAINS ARGUMENTS...: what it gains when it is free
harm()
{
	local name=$1 want=$2

	shift 2
	rm -rf "$OVERTAKEN" && mkdir "$OVERTAKEN" && echo secret >"$OVERTAKEN/secret"
	OVERTAKEN_FREE=1 timeout -k 5 $((60 * SLOW)) "$overtaken" "${patient[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
	is "$(cd "$OVERTAKEN" && echo *)" "$want" "control: $name: if it were free"
	ok "control: $name: a name would be kept" test -e "$poison"
	rm -f "$poison"
}

all='connected made ran read secret signalled'
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8 start_victim busy 2
snapshot "$pid"
comes_to_have_stacks "$T/a.heap"
within 60 "$CTL" -q "${patient[@]}" dump "$pid" -o "$T/b.heap"
within 60 "$CTL" -q "${patient[@]}" dump "$pid" -o "$T/c.heap"

attempt 'dump' dump "$pid" -o "$T/d.heap" --force
harm 'dump' "$all" dump "$pid" -o "$T/d.heap" --force
attempt 'dump -f html' dump "$pid" -f html -o "$T/d.html" --force
attempt 'stats' stats "$pid" -f json
harm 'stats' "$all" stats "$pid" -f json
attempt 'bundle of a process' bundle "$pid" -o "$T/d.tar.gz" --force
attempt 'record' record "$pid" --adopt -d 50ms -o "$T/r.heap" -f folded --force
assert_untouched "$pid"

attempt 'report' report "$T/a.heap"
harm 'report' "$all" report "$T/a.heap"
attempt 'report -o' report "$T/a.heap" -f folded -o "$T/a.folded" --force
ok 'report -o: its file is there' test -s "$T/a.folded"
attempt 'report of a bundle' report "$T/d.tar.gz"
attempt 'convert' convert "$T/a.heap" "$T/a.pb.gz" --force
attempt 'diff' diff "$T/a.heap" "$T/b.heap"
attempt 'leaks' leaks "$T/a.heap" "$T/b.heap" "$T/c.heap"
attempt 'bundle of a file' bundle "$T/a.heap" -o "$T/e.tar.gz" --force
"$overtaken" -q report - <"$T/a.heap" >"$T/out" 2>"$T/err"
is "$?" 0 'report of the standard input'

# What goes to a terminal does nothing there. script(1) ends its lines with a carriage return.
"$overtaken" report "$T/a.heap" >"$T/raw" 2>"$T/err"
ok 'control: to a file, what it prints is passed on' grep -q $'\033]0;owned' "$T/raw"
script -qec "$overtaken --color never report $T/a.heap" /dev/null </dev/null >"$T/out" 2>&1
like "$(tr -d '\0' <"$T/out")" owned 'to a terminal too'
# obeyed FILE: the control characters in it, and those that turn the direction of text
obeyed()
{
	python3 -c 'import re, sys
text = sys.stdin.buffer.read().replace(b"\r\n", b"\n").decode("utf-8", "replace")
print(*sorted({"%04X" % ord(c) for c in re.findall("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]", text)}))' <"$1"
}
is "$(obeyed "$T/out")" '' 'but nothing that it obeys'
is "$(obeyed "$T/raw")" '0007 001B 009B 009D 202E FFFD' 'control: there is such text'

done_testing
