#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: two start at once, at the socket of one that was killed: one serves, the other reports
# that it does.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

rounds=200

# begin NAME: start one; set its element of `pids`
begin()
{
	"$CTL" serve --socket "$T/main.sock" --runs none >"$T/$1.out" 2>"$T/$1.err" </dev/null &
	pids[$1]=$!
	own $!
}

# settled NAME: true if it serves, or has ended
settled()
{
	grep -qs '^serving on' "$T/$1.err" || ! kill -0 "${pids[$1]}" 2>/dev/null
}

declare -A pids
wrong=0
for ((i = 0; i < rounds; i++)); do
	rm -f "$T/main.sock" "$T"/[12].err
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/main.sock"
	begin 1
	begin 2
	within 60 settled 1
	within 60 settled 2
	serving=$(grep -l '^serving on' "$T"/[12].err | wc -l)
	answer=$(curl -sS --unix-socket "$T/main.sock" http://localhost/healthz 2>&1)
	statuses=
	for name in 1 2; do
		status=0
		end_child "${pids[$name]}" -INT
		wait "${pids[$name]}" || status=$?
		statuses+="$status "
	done
	[[ $serving == 1 && $answer == ok && $statuses =~ ^(0 7|7 0)\ $ ]] && continue
	wrong=$((wrong + 1))
	diag "round $i: $serving serve, '$answer', exit $statuses"
done
is "$wrong" 0 "$rounds rounds: one serves, and can be connected to"
is "$(compgen -G "$T/main.sock*")" '' 'nothing is left'

done_testing
