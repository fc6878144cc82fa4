#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: real runtimes on jemalloc, and Debian's daemons that link it, started without prof:true,
# each under a load that checks itself: 3 times, 30 with LONG=1. redis saves its data meanwhile.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh
# shellcheck source=tests/daemons.sh
. tests/daemons.sh
# shellcheck source=tests/runtimes.sh
. tests/runtimes.sh

unset MALLOC_CONF
rounds=${ROUNDS:-$([ -n "${LONG:-}" ] && echo 30 || echo 3)}
table=()

# save: have redis fork and save its data, again and again
save()
{
	while :; do
		redis BGSAVE >/dev/null
		sleep 0.3
	done
}

# worked NAME: sample `pid` under its load
worked()
{
	local name=$1 saver=

	if [ "$name" = redis-server ]; then
		save &
		saver=$!
		own "$saver"
	fi
	tests/runtimes/rounds "$CTL" "$pid" "$rounds" "$T" sample >"$T/rounds" 2>"$T/rounds.err"
	is "$?" 0 "$name: $rounds times sample" || diag "$(<"$T/rounds.err")"
	like "$(json .successes "$T/rounds")" '^[1-9]' "$name: some succeeded" || diag "$(<"$T/rounds")"
	is "$(json .wrong "$T/rounds")" '' "$name: nothing traced, stopped or masked"
	if [ -e "$T/rounds.heap" ]; then
		run_ctl report "$T/rounds.heap" --alloc-space --json
		ok "$name: a profile" test "$(json '.total | round')" -gt 0 || diag "$status $err $(head -c 300 "$T/out")"
		is_out "$name"
	fi
	if [ -n "$saver" ]; then
		stop_target "$saver"
		like "$(redis INFO persistence)" 'rdb_last_bgsave_status:ok' "$name: its data is saved"
		ok "$name: it was saved meanwhile" test "$(redis INFO persistence |
			sed -n 's/^rdb_saves:\([0-9]*\).*/\1/p')" -gt 0
	fi
	table+=("$(jq -r --arg n "$name" --arg total "$(json '.total | round')" \
		'[$n, $total, .successes, .runs, .why] | map(tostring) | join("|")' "$T/rounds")")
	rm -f "$T/rounds.heap"
	goes_on "$name"
}

each_runtime

diag "$(printf '%-14s %14s %10s  %s\n' runtime allocated successes 'last reason'
	for row in "${table[@]}"; do
		IFS='|' read -r name bytes successes runs why <<<"$row"
		printf '%-14s %14s %10s  %s\n' "$name" "$bytes" "$successes/$runs" "$why"
	done)"
done_testing
