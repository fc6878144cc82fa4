#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: the maximum number of clients, and 100 requests a second of all kinds, through a port and
# through the socket: their responses, what is left in both processes, and the cost for the targets.
# RATE, SECONDS_EACH and SEED set the load (100 a second for 60 seconds).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

rate=${RATE:-100}
seconds=${SECONDS_EACH:-60}
# Growth allowed in KiB. Measured: 100 and 20,000, which the daemon keeps for 1,000 connections.
broker_kib=2048
front_kib=32768

# spread_of: print "MIN / MEDIAN / P99 / MAX us, of N" of the numbers on stdin
spread_of()
{
	sort -n | awk '{ v[NR] = $1 } END {
		if (NR) printf "%d / %d / %d / %d us, of %d\n", v[1], v[int((NR + 1) / 2)], v[int((NR * 99 + 99) / 100)], v[NR], NR }'
}

# pauses_of NAME: print the pauses in the log
pauses_of()
{
	sed -nE 's/.* stops=[1-9][0-9]* pause_us=([0-9]+) .*/\1/p' "$T/$1.err"
}

# load NAME WHERE IDLE: run the load, with IDLE idle connections, and check what is left
load()
{
	local name=$1

	tests/drivers/serve-load "$2" "$serve" "$3" "$rate" "$seconds" "$T" "${targets[@]}" >"$T/load" 2>"$T/load.err"
	is "$?" 0 "$name: each answer is well formed, and no error but 503 with Retry-After" || diag "$(tail -n 5 "$T/load.err")"
	json '"seed \(.seed), sent \(.sent), late by a second \(.late), statuses \(.statuses)"' "$T/load" | sed "s/^/# $name: /"
	json '"before \(.before), after \(.after)"' "$T/load" | sed "s/^/# $name: /"
	json '.by_kind | to_entries | sort_by(.key) | map("\(.key): \(.value)") | join(", ")' "$T/load" | sed "s/^/# $name: /"
	is "$(json .idle_at_end "$T/load")" "$3" "$name: the idle connections are still open at the end, and are answered"
	for kind in healthz list metrics sd status dump scrape; do
		like "$(json ".by_kind[\"$kind 200\"]" "$T/load")" '^[1-9]' "$name: $kind: some are answered"
	done
	for kind in slow_reader slow_writer half aborted; do
		like "$(json ".by_kind.$kind" "$T/load")" '^[1-9]' "$name: $kind: there were some"
	done
	is "$(json '[.before.broker.pid, .before.front.pid] == [.after.broker.pid, .after.front.pid]' "$T/load")" true \
		"$name: both processes are the same"
	is "$(json '[.before.broker.fds, .before.front.fds] == [.after.broker.fds, .after.front.fds]' "$T/load")" true \
		"$name: they have as many descriptors as before"
	is_sanitized || is "$(json "(.after.broker.kib - .before.broker.kib < $broker_kib) and (.after.front.kib - .before.front.kib < $front_kib)" "$T/load")" true \
		"$name: and nearly as much memory"
}

MALLOC_CONF=prof:true,lg_prof_sample:14 start_victim busy 3
targets=("$pid")
MALLOC_CONF=prof:true,lg_prof_sample:14,prof_accum:true start_victim leaky
targets+=("$pid")
MALLOC_CONF=prof:true,lg_prof_sample:14 start_victim busy 1
targets+=("$pid")
MALLOC_CONF=prof:true,lg_prof_sample:14 start_redis
load_redis
targets+=("$pid")
for pid in "${targets[@]}"; do snapshot "$pid"; done
run_ctl serve --token-file "$T/tokens" --new-token control:load
token=$out
port=$(free_port)
start_serve all --listen "127.0.0.1:$port" --token-file "$T/tokens"

# A port accepts 512 connections, the owner's socket 1,024.
BURSTS=1 load 'port' "$port:$token" 420
like "$(json '.statuses["503"]' "$T/load")" '^[1-9]' 'port: of too many at once, some are told to retry'
for pid in "${targets[@]}"; do assert_untouched "$pid" 'port: the target is untouched'; done
load 'socket' "$T/all.sock" 1000
is "$(said all 'front end exited|error=.*(died|malformed)')" 0 'no process of ours ended early'
end_serve all
for pid in "${targets[@]}"; do assert_untouched "$pid" 'socket: the target is untouched'; done

# --- the cost, compared with as many `status` requests and commands when nothing else runs ---
stopped=$(grep -cE ' op=(status|dump) .* stops=[1-9]' "$T/all.err")
calls=$((stopped < ${CALLS:-500} ? stopped : ${CALLS:-500}))
start_serve alone
for ((i = 0; i < calls; i++)); do
	pid=${targets[i % ${#targets[@]}]}
	run_ctl status --json "$pid"
	[ "$status" -eq 0 ] || [ "$status" -eq 8 ] || result 1 'a call on the command line' || diag "$err"
	json '.pause_us // empty' >>"$T/own"
	curl -sS --unix-socket "$T/alone.sock" -o "$T/body" "http://localhost/api/v1/processes/$pid/status"
done
end_serve alone
like "$(wc -l <"$T/pauses")" '^[1-9][0-9]+$' 'answers say how long a thread was stopped'
diag 'pauses: min / median / p99 / max'
diag "X-Jeprof-Pause-Us: $(spread_of <"$T/pauses")"
diag "the log:           $(pauses_of all | spread_of)"
diag "served, alone:     $(pauses_of alone | spread_of)"
diag "the command line:  $(spread_of <"$T/own")"
for pid in "${targets[@]}"; do assert_untouched "$pid" 'the command line: the target is untouched'; done

done_testing
