#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other programs: mallctl is never found where it is not. What has no jemalloc is reported to have
# none, whatever it looks like. Also jemallocs that are built into npm packages.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF HOME=$T
mkfifo "$T/silence"
exec 9<>"$T/silence" # reading from it blocks

# waiting NAME COMMAND...: start a program of that name, and wait until it blocks
waiting()
{
	local name=$1

	shift
	"$@" <"$T/silence" >"$T/$name.out" 2>&1 &
	pid=$!
	own "$pid"
	within 60 asleep "$pid" "$name" || bail_out "$name did not start: $(<"$T/$name.out")"
}

# asleep PID NAME: it runs that program, and its first thread sleeps, several times in a row
asleep()
{
	local states

	[[ $(readlink "/proc/$1/exe") == */$2* ]] || return 1
	states=$(for _ in 1 2 3 4 5; do
		awk '{ sub(/.*\) /, ""); printf "%s", $1 }' "/proc/$1/stat"
		sleep 0.05
	done)
	[ "$states" = SSSSS ]
}

# none NAME: the program that was just started is reported to have no jemalloc
none()
{
	local name=$1 command

	snapshot "$pid"
	for command in check activate dump; do
		run_ctl "$command" "$pid"
		is "$status" 5 "$name: $command"
		like "$out$err" 'does not use jemalloc|no symbol names its mallctl' "$name: $command: the cause is reported"
	done
	ctl_ok "$name: list" list --json
	is "$(jq --argjson p "$pid" '.[] | select(.pid == $p)' "$T/out")" '' "$name: list does not have it"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}

# --- preloading is not advised where it is impossible ---
printf '%s\n' '#include <unistd.h>' 'int main(void) { pause(); }' | cc -static -o "$T/plain-static" -xc -
waiting plain-static "$T/plain-static"
run_ctl check "$pid"
like "$out" 'fix: .*linked statically, and LD_PRELOAD has no effect' 'a static program: the fix is shown'
none plain-static
cp /usr/bin/sleep "$T/elevated" && chown 65534 "$T/elevated" && chmod u+s "$T/elevated"
waiting elevated "$T/elevated" 1000
run_ctl check "$pid"
like "$out" 'fix: .*more rights than its user, and LD_PRELOAD has no effect' 'a set-user-ID program: the fix is shown'
none elevated

# --- runtimes with their own malloc ---
waiting bash bash -c 'read -r line'
none bash
waiting python python3 -c 'input()'
none python3
waiting node node -e 'process.stdin.resume()'
none node
# Once it is up, it prints the port that it listens on, on loopback.
waiting chromium /usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu --no-first-run \
	--disable-background-networking --disable-component-update --disable-sync --disable-quic \
	--user-data-dir="$T/chromium.user" --remote-debugging-port=0 about:blank
ok 'chromium is up' within 60 grep -q 'DevTools listening' "$T/chromium.out"
# The browser itself is busy for a while; an idle process of it shows that nothing was changed.
browser=$pid
ctl_fails 5 no_jemalloc 'chromium: activate, the browser itself' activate "$browser"
pid=$(pgrep -P "$browser" -f -- --type=zygote | head -n 1)
none chromium
stop_target "$browser"
cat >"$T/Wait.java" <<'JAVA'
public class Wait {
	public static void main(String[] args) throws Exception {
		System.in.read();
	}
}
JAVA
if command -v javac >/dev/null; then
	javac -d "$T" "$T/Wait.java"
else
	ecj -17 -d "$T" "$T/Wait.java"
fi
# Interpreted, with the serial collector: no thread comes or goes.
waiting java java -Xmx64m -Xint -XX:+UseSerialGC -XX:-UsePerfData -cp "$T" Wait
none java

# --- other allocators, preloaded like jemalloc ---
for library in libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	wrap=(env LD_PRELOAD="$library")
	start_victim idle-plain 2
	wrap=()
	ok "$library: is loaded" grep -q "/${library%.so*}" "/proc/$pid/maps"
	none "$library"
done

# --- lookalikes ---
for name in pretender pretender-mallctl pretender-musl; do
	waiting "$name" "$VICTIMS/$name"
	none "$name"
done

# --- DuckDB's jemalloc, in a library that is loaded late ---
npm=$ROOT/build/npm/node_modules
duckdb=$npm/@duckdb/node-bindings-linux-x64/libduckdb.so
start_victim loader "$duckdb"
snapshot "$pid"
ctl_fails 6 config_prof_false 'duckdb: activate' activate "$pid"
run_ctl -v check "$pid" --json
is "$status" 6 'duckdb: check'
like "$err" "duckdb_je_mallctl at 0x$(nm -D "$duckdb" | awk '$3 == "duckdb_je_mallctl" { sub(/^0+/, "", $1); print $1 }') of" \
	'duckdb: mallctl, with its prefix'
like "$(json '.checks[] | select(.name == "config.prof") | .detail')" 'built without profiling' \
	'duckdb: the cause is reported'
like "$(json '.checks[] | select(.name == "config.prof") | .fix')" '^build it .*a preloaded library' \
	'duckdb: the fix is shown'
ctl_ok 'duckdb: stats' stats "$pid" -f json
like "$(json .jemalloc.version)" '^5\.' 'duckdb: its mallctl works'
ctl_ok 'duckdb: list' list --json
is "$(jq -r --argjson p "$pid" '.[] | select(.pid == $p) | "\(.prefix) \(.linkage) \(.config.prof)"' "$T/out")" \
	'duckdb_je_ shared false' 'duckdb: list'
assert_untouched "$pid" 'duckdb: untouched'
stop_target "$pid"

# --- Rust programs with a stripped jemalloc: a static one on musl, and one on glibc ---
rust_answer()
{
	local name=$1

	snapshot "$pid"
	run_ctl check "$pid" --json
	is "$status" 6 "$name: no profiling there"
	like "$(json '.checks[] | select(.ok == false) | .detail')" 'built without profiling' \
		"$name: the cause is reported"
	like "$(json '.checks[] | select(.ok == false) | .fix')" '^build it .*tikv-jemallocator.*a preloaded library' \
		"$name: the fix is shown"
	ctl_ok "$name: list" list --json
	is "$(jq -r --argjson p "$pid" '.[] | select(.pid == $p) | "\(.prefix) \(.linkage) \(.config.prof)"' "$T/out")" \
		'_rjem_ static false' "$name: list"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}
waiting rg "$npm/@vscode/ripgrep-linux-x64/bin/rg" word -
rust_answer ripgrep
waiting biome "$npm/@biomejs/cli-linux-x64/biome" check --stdin-file-path=a.js
# Some of its jumps look like calls: stats needs a real call.
ctl_ok 'biome: stats' stats "$pid" -f json
like "$(json .jemalloc.version)" '^5\.' 'biome: its malloc_stats_print works'
rust_answer biome

done_testing
