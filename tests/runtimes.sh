# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Real runtimes and daemons on jemalloc, each under a load that checks itself. Sourced after
# tests/daemons.sh. The test defines `worked NAME`, which works on `pid` while `loader` runs.

export HOME=$T TMPDIR=$T

# load NAME COMMAND...: run the load in the background; it prints a line for each step it has done
load()
{
	local name=$1

	shift
	"$@" >"$T/$name.on" 2>"$T/$name.err" </dev/null &
	loader=$!
	own "$loader"
	within 60 test -s "$T/$name.on" || bail_out "$name did not start: $(tail -n 5 "$T/$name.err")"
}

# goes_on NAME: check that target and load are alive and well, then end both
goes_on()
{
	local name=$1 before

	before=$(wc -c <"$T/$name.on")
	ok "$name: the load goes on" within 60 eval "[ \$(wc -c <'$T/$name.on') -gt $before ]"
	ok "$name: the target is alive" kill -0 "$pid"
	ok "$name: the load is alive" kill -0 "$loader"
	is "$(<"$T/$name.err")" '' "$name: no error in the load"
	stop_target "$loader"
	stop_target "$pid"
}

# under_jemalloc NAME COMMAND...: a program that is its own load, with LD_PRELOAD
under_jemalloc()
{
	local name=$1

	shift
	load "$name" env LD_PRELOAD="$preload" "$@"
	pid=$loader
	worked "$name"
}

python=$(python3 -c 'import sys; print(sys.executable)')
# The collector's and the compiler's threads; and no file below /tmp/hsperfdata_USER.
java=(java -Xmx128m -XX:-UsePerfData -cp "$T/java" Load)

build_java()
{
	# Eclipse's compiler, installed as javac, defaults to an old language level.
	javac -proc:none -source 17 -target 17 -d "$T/java" tests/runtimes/Load.java
}

# sqlite3 reads statements, and prints a line for each step.
sqlite()
{
	exec env LD_PRELOAD="$preload" sqlite3 -bail "$T/sqlite.db" <"$T/sql"
}

each_runtime()
{
	under_jemalloc python3 "$python" tests/runtimes/load.py
	under_jemalloc node "$(node -p process.execPath)" tests/runtimes/load.js
	build_java
	under_jemalloc java "${java[@]}"
	under_jemalloc perl /usr/bin/perl tests/runtimes/load.pl
	under_jemalloc ruby /usr/bin/ruby tests/runtimes/load.rb
	GO111MODULE=off GOCACHE=$T/go-cache go build -o "$T/go-load" tests/runtimes/load.go
	under_jemalloc go-with-cgo "$T/go-load"

	mkfifo "$T/sql"
	{
		echo 'PRAGMA synchronous=off; CREATE TABLE t (data);'
		yes "INSERT INTO t VALUES (hex(randomblob(500))); DELETE FROM t WHERE rowid % 97 = 0; SELECT 'on';"
	} >"$T/sql" 2>/dev/null &
	own $!
	load sqlite3 sqlite
	pid=$loader
	worked sqlite3

	start_nginx
	load nginx "$python" tests/runtimes/client.py http "$port"
	worked nginx
	stop_target "$manager"

	# Debian's daemons, which are linked with it.
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
}
