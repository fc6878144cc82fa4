#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real runtimes on jemalloc, and Debian's daemons that link it, each under a load that checks
# itself, while activate, dump and deactivate run: 5 times, 100 with LONG=1.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/daemons.sh
. tests/daemons.sh

export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16
rounds=${ROUNDS:-$([ -n "${LONG:-}" ] && echo 100 || echo 5)}
export HOME=$T TMPDIR=$T
table=() explained=()

# load NAME COMMAND...: what works, or asks, in the background; its lines are its progress
load()
{
	local name=$1

	shift
	"$@" >"$T/$name.on" 2>"$T/$name.err" </dev/null &
	loader=$!
	own "$loader"
	within 60 test -s "$T/$name.on" || bail_out "$name did not start: $(tail -n 5 "$T/$name.err")"
}

vm_rss()
{
	awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$pid/status"
}

# explained NAME: where its memory is, beside what the kernel says
explained()
{
	local rss before after

	before=$(vm_rss)
	run_ctl explain "$pid" --json
	after=$(vm_rss)
	is "$status $(json '[.parts[]] | add')" "0 $(json .rss_bytes)" "$1: explain: its parts are all of it"
	rss=$(json .rss_bytes)
	ok "$1: explain: as VmRSS has it" test "$rss" -ge "$(((before < after ? before : after) * 49 / 50))" -a \
		"$rss" -le "$(((before > after ? before : after) * 51 / 50))" || diag "$rss, $before to $after"
	explained+=("$(jq -r --arg n "$1" '[$n, .rss_bytes, .parts.allocated, .parts.anonymous, .anonymous_max_bytes,
		.advice[0].message] | map(tostring) | join("|")' "$T/out")")
}

# worked NAME: the target of `pid` is worked on under the load that was started for it
worked()
{
	local name=$1 before

	tests/runtimes/rounds "$CTL" "$pid" "$rounds" "$T" >"$T/rounds" 2>"$T/rounds.err"
	is "$?" 0 "$name: $rounds times activate, dump, deactivate" || diag "$(<"$T/rounds.err")"
	like "$(json .successes "$T/rounds")" '^[1-9]' "$name: some succeeded" || diag "$(<"$T/rounds")"
	is "$(json .wrong "$T/rounds")" '' "$name: nothing traced, stopped or masked"
	explained "$name"
	[ ! -e "$T/rounds.heap" ] || ok "$name: a profile" is_profile "$T/rounds.heap"
	before=$(wc -c <"$T/$name.on")
	ok "$name: goes on" within 60 eval "[ \$(wc -c <'$T/$name.on') -gt $before ]"
	ok "$name: it is alive" kill -0 "$pid"
	ok "$name: the load, too" kill -0 "$loader"
	is "$(<"$T/$name.err")" '' "$name: no error in the load"
	table+=("$(jq -r --arg n "$name" '[$n, .median_us, .max_us, .successes, .runs, .unsafe, .why] |
		map(tostring) | join("|")' "$T/rounds")")
	rm -f "$T/rounds.heap"
	stop_target "$loader"
	stop_target "$pid"
}

# --- under LD_PRELOAD, the load is the program itself ---
under_jemalloc()
{
	local name=$1

	shift
	load "$name" env LD_PRELOAD="$preload" "$@"
	pid=$loader
	worked "$name"
}

python=$(python3 -c 'import sys; print(sys.executable)')
under_jemalloc python3 "$python" tests/runtimes/load.py
under_jemalloc node "$(node -p process.execPath)" tests/runtimes/load.js
# Eclipse's compiler under the name of javac takes an old language by default.
javac -proc:none -source 17 -target 17 -d "$T/java" tests/runtimes/Load.java
# The collector's threads and the compiler's; no file that shows in /tmp.
java=(java -Xmx128m -XX:-UsePerfData -cp "$T/java" Load)
under_jemalloc java "${java[@]}"

# Each of Java's threads has protected the lowest pages of its stack.
load java-threads env LD_PRELOAD="$preload" "${java[@]}"
pid=$loader
odd='' asked=''
for ((i = 0; i < rounds; i++)); do
	run_ctl threads "$pid" --json
	[ "$status" -eq 0 ] || odd+=" $status: $err"
	odd+=$(json '.threads[].reason | select(. != null and contains("custom stack"))')
	asked+=" $(json '.threads[] | select(.name | startswith("Thread-")).thread.allocated | select(. != null)')"
done
is "$odd" '' 'java: threads: none is on a stack that is not known'
like "$asked" '[0-9]' 'java: threads: those of the program are asked'
before=$(wc -c <"$T/java-threads.on")
ok 'java: threads: it goes on' within 60 eval "[ \$(wc -c <'$T/java-threads.on') -gt $before ]"
is "$(<"$T/java-threads.err")" '' 'java: threads: no error in the load'
ok 'java: threads: not traced' grep -q '^TracerPid:.0$' "/proc/$pid/status"
stop_target "$pid"
under_jemalloc perl /usr/bin/perl tests/runtimes/load.pl
under_jemalloc ruby /usr/bin/ruby tests/runtimes/load.rb

GO111MODULE=off GOCACHE=$T/go-cache go build -o "$T/go-load" tests/runtimes/load.go
under_jemalloc go-with-cgo "$T/go-load"

# --- sqlite3: it reads what to do, and answers with how far it is ---
mkfifo "$T/sql"
{
	echo 'PRAGMA synchronous=off; CREATE TABLE t (data);'
	yes "INSERT INTO t VALUES (hex(randomblob(500))); DELETE FROM t WHERE rowid % 97 = 0; SELECT 'on';"
} >"$T/sql" 2>/dev/null &
own $!
sqlite()
{
	exec env LD_PRELOAD="$preload" sqlite3 -bail "$T/sqlite.db" <"$T/sql"
}
load sqlite3 sqlite
pid=$loader
worked sqlite3

# --- nginx: a worker of it ---
start_nginx
load nginx "$python" tests/runtimes/client.py http "$port"
worked nginx
stop_target "$manager"

# --- Debian's daemons, which link it ---
start_redis
load redis-server "$python" tests/runtimes/client.py redis "$sock"
worked redis-server
start_named
load named "$python" tests/runtimes/client.py dns "$port"
worked named
start_nghttpx
load nghttpx "$python" tests/runtimes/client.py http "$port"
worked nghttpx
start_varnishd
load varnishd "$python" tests/runtimes/client.py http "$port"
worked varnishd

diag "$(printf '%-14s %10s %10s %10s %8s  %s\n' runtime 'median us' 'max us' successes 'no safe' 'last reason'
	for row in "${table[@]}"; do
		IFS='|' read -r name median max successes runs unsafe why <<<"$row"
		printf '%-14s %10s %10s %10s %8s  %s\n' "$name" "$median" "$max" "$successes/$runs" "$unsafe" "$why"
	done)"
diag "$(printf '%-14s %10s %10s %10s %10s  %s\n' runtime RSS allocated 'others, from' to 'most of it'
	for row in "${explained[@]}"; do
		IFS='|' read -r name rss allocated least most says <<<"$row"
		printf '%-14s %10s %10s %10s %10s  %s\n' "$name" "$rss" "$allocated" "$least" "$most" "$says"
	done)"
done_testing
