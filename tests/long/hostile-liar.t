#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target whose answers are random: huge, negative, endless, at addresses that do not exist, with
# bytes changed in profiles and statistics. There are a thousand rounds, each with the next command:
# each ends by itself and in time, with one of its exit statuses, and prints no control characters.
# With LONG, there are a thousand rounds of each command.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=1000
seed=${SEED:-$RANDOM$RANDOM}
diag "SEED=$seed"
heap=$T/lie.heap

# Each word of a command is an argument; its output files are in $T.
commands=(
	"check --conf prof:true" "status" "explain" "explain --json" "activate" "activate --force" "dump -o $heap --force" "dump -f folded -o $heap --force"
	"dump -f html -o $heap --force" "dump --in-target $heap --force" "dump --in-target" "stats -f json"
	"stats -f text" "stats -f prom" "get version prof.active opt.lg_prof_sample" "set prof.active true"
	"reset" "reset --lg-sample 20" "prefix $T/prefix" "gdump on --force" "gdump off" "threads"
	"threads --activate all" "bundle -o $T/lie.tar.gz --force" "deactivate" "check"
	"record -d 50ms -o $T/rec.heap --force" "undo"
)
[ -z "${LONG:-}" ] || rounds=$((1000 * ${#commands[@]}))

start()
{
	export LIE=random SEED=$seed$1
	start_victim lied-to
	unset LIE SEED
}

start 0
bad=0 late=0 odd=0 served=0 broken=0
declare -A seen=()
for ((i = 0; i < rounds; i++)); do
	command=${commands[i % ${#commands[@]}]}
	if ((i % 100 == 99)); then
		stop_target "$pid"
		start "$i"
	fi
	read -ra words <<<"$command"
	timeout -k 5 $((60 * SLOW)) "$CTL" "${patient[@]}" --timeout 10s "${words[0]}" "$pid" "${words[@]:1}" \
		>"$T/out" 2>"$T/err" </dev/null
	status=$?
	seen[$status]=$((${seen[$status]:-0} + 1))
	case $status in
	0) served=$((served + 1)) ;;
	[1-9] | 10) ;;
	124 | 137) late=$((late + 1)) && diag "round $i: $command: no end" ;;
	*) bad=$((bad + 1)) && diag "round $i: $command: exit $status: $(tail -n 3 "$T/err")" ;;
	esac
	if grep -aqE 'Sanitizer|runtime error|was (ended|killed) by' "$T/err"; then
		broken=$((broken + 1))
		diag "round $i: $command: $(grep -aE 'Sanitizer|runtime error|was (ended|killed) by' "$T/err" | head -n 2)"
	fi
	if [ "$(cat "$T/out" "$T/err" | LC_ALL=C tr -d '[:print:]\n\t\200-\377' | wc -c)" -ne 0 ]; then
		odd=$((odd + 1))
		diag "round $i: $command: prints control characters"
	fi
	kill -0 "$pid" 2>/dev/null || start "$i"
done
for status in "${!seen[@]}"; do
	diag "exit status $status: ${seen[$status]} times"
done
is "$bad" 0 "$rounds rounds: each exit status is one of ours"
is "$late" 0 "$rounds rounds: each ends in time"
is "$broken" 0 "$rounds rounds: no process of ours was killed, or found at fault"
is "$odd" 0 "$rounds rounds: no control characters"
# The control: if no lie got past the checks, or each did, the test would show nothing.
ok 'control: some commands succeed all the same' test "$served" -gt $((rounds / 20))
ok 'control: some do not' test "$served" -lt $((rounds * 19 / 20))

done_testing
