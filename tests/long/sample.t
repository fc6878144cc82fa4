#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: again and again in a storm, and killed there; it leaves nothing behind, however and
# whenever it ends. CYCLES and KILLS say how often; 30, or 300 with LONG=1.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

seed=${SEED:-4711}
RANDOM=$seed
diag "seed $seed"
more=$((${LONG:-0} ? 10 : 1))
cycles=${CYCLES:-$((30 * more))} kills=${KILLS:-$((30 * more))}

# storm: start and end threads, free across threads, and fork, forever
storm()
{
	while :; do
		for order in pass threads cached churn_sized free grow free fork reap; do
			tell "$order" 4
		done
	done
}

start_keepers
( storm ) >/dev/null 2>&1 &
storming=$!
own "$storming"

# --- it comes and goes ---
left=0 refused=0 wrong=0
for ((i = 0; i < cycles; i++)); do
	run_ctl sample "$pid" -d 50ms "${rate[@]}" -q --timeout 20s
	case $status in
	0 | 1) left=$((left + 1)) ;;
	8) refused=$((refused + 1)) ;; # no safe moment
	*)
		wrong=$((wrong + 1))
		diag "run $i: exit $status, $err"
		;;
	esac
	kill -0 "$pid" || break
done
is "$wrong" 0 "came and left $left times, $refused times without a safe moment"
ok 'it mostly came' test "$((left * 3))" -ge "$((cycles * 2))"

# --- it is killed at random moments ---
killed=0
for ((i = 0; i < kills; i++)); do
	"$CTL" "${patient[@]}" sample "$pid" -d 1m "${rate[@]}" -q >/dev/null 2>&1 &
	own $!
	sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
	end_child $! -KILL
	wait $! 2>/dev/null
	[ $? = 137 ] && killed=$((killed + 1))
	kill -0 "$pid" || break
done
ok "killed before its end $killed times, which is most of $kills" test "$((killed * 3))" -ge "$((kills * 2))"

# --- nothing of it is left ---
end_child "$storming" -TERM
wait "$storming" 2>/dev/null
within 120 has_done
kill -0 "$(beat 2)" 2>/dev/null && tell reap
is "$(beat 3)" 0 'no child saw an error'
tell free
tell churn 1
is "$(state_of "$pid")" "$out_phase 0 0" 'it is no longer sampled'
is "$(blocks_of "$pid")" 1 'one mapping stays'
is "$(word 40)" 0 'no call of it failed'
start_sample again "${rate[@]}" --save "$T/again.heap"
keep_going leak 16
end_sample again
is_near "$(bytes_of "$T/again.heap" leak_blocks)" 16 'it can be sampled again'
tell free
assert_untouched "$pid"
done_testing
