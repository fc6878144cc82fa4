#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real runtimes on jemalloc, and Debian's daemons that link it, each under a load that checks
# itself, during activate, dump and deactivate: 5 times, 100 with LONG=1.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/daemons.sh
. tests/daemons.sh
# shellcheck source=tests/runtimes.sh
. tests/runtimes.sh

export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16
rounds=${ROUNDS:-$([ -n "${LONG:-}" ] && echo 100 || echo 5)}
table=() explained=()

vm_rss()
{
	awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$pid/status"
}

# explained NAME: explain accounts for all memory, and agrees with the kernel
explained()
{
	local rss before after

	before=$(vm_rss)
	run_ctl explain "$pid" --json
	after=$(vm_rss)
	is "$status $(json '[.parts[]] | add')" "0 $(json .rss_bytes)" "$1: explain: its parts add up"
	rss=$(json .rss_bytes)
	ok "$1: explain: it agrees with VmRSS" test "$rss" -ge "$(((before < after ? before : after) * 49 / 50))" -a \
		"$rss" -le "$(((before > after ? before : after) * 51 / 50))" || diag "$rss, $before to $after"
	explained+=("$(jq -r --arg n "$1" '[$n, .rss_bytes, .parts.allocated, .parts.anonymous, .anonymous_max_bytes,
		.advice[0].message] | map(tostring) | join("|")' "$T/out")")
}

# worked NAME: run the commands on `pid` under the load that was started for it
worked()
{
	local name=$1

	tests/runtimes/rounds "$CTL" "$pid" "$rounds" "$T" >"$T/rounds" 2>"$T/rounds.err"
	is "$?" 0 "$name: $rounds times activate, dump, deactivate" || diag "$(<"$T/rounds.err")"
	like "$(json .successes "$T/rounds")" '^[1-9]' "$name: some succeeded" || diag "$(<"$T/rounds")"
	is "$(json .wrong "$T/rounds")" '' "$name: nothing traced, stopped or masked"
	explained "$name"
	[ ! -e "$T/rounds.heap" ] || ok "$name: a profile" is_profile "$T/rounds.heap"
	table+=("$(jq -r --arg n "$name" '[$n, .median_us, .max_us, .successes, .runs, .unsafe, .why] |
		map(tostring) | join("|")' "$T/rounds")")
	rm -f "$T/rounds.heap"
	goes_on "$name"
}

each_runtime

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
is "$odd" '' 'java: threads: none is on an unknown stack'
like "$asked" '[0-9]' 'java: threads: those of the program are queried'
ok 'java: threads: not traced' grep -q '^TracerPid:.0$' "/proc/$pid/status"
goes_on java-threads

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
