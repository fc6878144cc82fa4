#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: its estimates are close to the truth, again and again, and it leaves nothing behind,
# however and whenever it ends. LONG=1 does ten times as much; RUNS, CYCLES and KILLS set how many
# runs are compared, how often it comes and goes in a storm, and how often it is killed there.
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
runs=${RUNS:-20} cycles=${CYCLES:-$((30 * more))} kills=${KILLS:-$((30 * more))}

# far_by GOT MB: true if it is off by more than three standard errors
far_by()
{
	awk -v g="$1" -v w="$(($2 << 20))" 'BEGIN { d = g - w; e = 3 * sqrt(w * 65536); exit !(d > e || d < -e) }'
}

# accuracy NAME: compare runs, each with 8 known figures
accuracy()
{
	local run far=0 got mb figures=0 name

	for run in $(seq "$runs"); do
		start_sample "$1$run" "${rate[@]}" --save "$T/run.heap" --force
		for name in leak calloc posix aligned churn cached; do
			keep_going "$name" 32
		done
		end_child "$sampler" -INT
		wait "$sampler" || result 1 "$1: run $run: exit $?"
		! grep -q 'too fast' "$T/$1$run.err" || diag "run $run: samples were lost"
		for name in leak_blocks=32 calloc_blocks=32 posix_blocks=32 align_blocks=32 replace_cached=16; do
			mb=${name#*=} name=${name%=*}
			got=$(bytes_of "$T/run.heap" "$name")
			figures=$((figures + 1))
			far_by "$got" "$mb" && far=$((far + 1)) && diag "run $run: $name: $got, $((mb << 20)) in fact"
		done
		got=$(bytes_of "$T/run.heap" churn_blocks)
		[ "$got" = 0 ] || result 1 "$1: run $run: what was freed counts as live: $got"
		for name in leak_blocks churn_blocks replace_cached; do
			got=$(bytes_of "$T/run.heap" "$name" --alloc-space)
			figures=$((figures + 1))
			far_by "$got" 32 && far=$((far + 1)) && diag "run $run: $name: $got allocated, 32 MB in fact"
		done
		tell free
	done
	# Of 160 figures, four exceed three standard errors in one of 1,000 tries.
	ok "$1: $far of $figures figures are off by more than three standard errors" test "$far" -le 4
}

# storm: start and end threads, free across threads, and fork, forever
storm()
{
	while :; do
		for order in pass threads cached churn_sized free grow free fork reap; do
			tell "$order" 4
		done
	done
}

# many NAME: sample again and again in a storm, and kill it at random moments
many()
{
	local i storming killed=0 left=0 refused=0 wrong=0

	( storm ) >/dev/null 2>&1 &
	storming=$!
	own "$storming"
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
	is "$wrong" 0 "$1: came and left $left times, $refused times without a safe moment"
	ok "$1: it mostly came" test "$((left * 3))" -ge "$((cycles * 2))"
	for ((i = 0; i < kills; i++)); do
		"$CTL" "${patient[@]}" sample "$pid" -d 1m "${rate[@]}" -q >/dev/null 2>&1 &
		own $!
		sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
		end_child $! -KILL
		wait $! 2>/dev/null
		[ $? = 137 ] && killed=$((killed + 1))
		kill -0 "$pid" || break
	done
	end_child "$storming" -TERM
	wait "$storming" 2>/dev/null
	within 120 has_done
	kill -0 "$(beat 2)" 2>/dev/null && tell reap
	[ "$(beat 3)" = 0 ] || result 1 "$1: a child ended with $(beat 3)"
	tell free
	tell churn 1
	ok "$1: it is alive after $killed kills" kill -0 "$pid"
	ok "$1: most kills came before the end" test "$((killed * 3))" -ge "$((kills * 2))"
	is "$(state_of "$pid")" "$out_phase 0 0" "$1: it has detached"
	is "$(blocks_of "$pid")" 1 "$1: one mapping stays"
	is "$(word 40)" 0 "$1: no call of it failed"
	start_sample again "${rate[@]}" --save "$T/again.heap"
	keep_going leak 16
	end_sample again
	is_near "$(bytes_of "$T/again.heap" leak_blocks)" 16 "$1: it can be sampled again"
	tell free
	assert_untouched "$pid" "$1: untouched"
}

start_victim keepers
accuracy 'Debian'
stop_target "$pid"
start_keepers
many 'Debian'
done_testing
