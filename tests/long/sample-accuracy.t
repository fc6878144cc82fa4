#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: five programs whose memory is known, in C, C++, Rust and Python, and redis-server, which
# counts its own. The estimates are as close to the truth as their standard errors say, and what is
# freed again does not count as live. 4 runs of each, or RUNS; 20 with LONG=1.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

unset MALLOC_CONF
runs=${RUNS:-$([ -n "${LONG:-}" ] && echo 20 || echo 4)}
mb=32 # in each function
bytes=$((mb << 20))

# figure NAME GOT COUNT*SIZE...: GOT bytes stand for so many blocks of these sizes. Counts it in
# `figures`, and in `far` if it is off by more than two standard errors: an object of S bytes is
# sampled with probability 1 - q, q being exp(-S / rate), which is a variance of S^2 q / (1 - q).
figures=0 far=0
figure()
{
	local name=$1 got=$2 said

	shift 2
	figures=$((figures + 1))
	said=$(awk -v got="$got" -v r="${rate_bytes:-65536}" -v all="$*" 'BEGIN {
		for (i = split(all, blocks, " "); i; i--) {
			split(blocks[i], b, "*"); q = exp(-b[2] / r)
			wanted += b[1] * b[2]; variance += b[1] * b[2] ^ 2 * q / (1 - q)
		}
		z = (got - wanted) / sqrt(variance)
		printf "%d bytes, %d in fact: %+.1f standard errors", got, wanted, z
		exit z >= -2 && z <= 2 }') && far=$((far + 1)) && diag "$name: $said"
	return 0
}

# figures_are_near NAME: at most 5 % of the figures are off by more than two standard errors. The
# bound is that of a binomial distribution: chance alone exceeds it in fewer than 1 of 1,000 runs.
figures_are_near()
{
	local most

	most=$(awk -v n="$figures" 'BEGIN {
		for (p = all = exp(n * log(0.95)); all < 0.999; all += p)
			p *= (n - k) / ++k * 0.05 / 0.95
		print k + 0 }')
	ok "$1: $far of $figures figures are off by more than two standard errors, at most $most by chance" \
		test "$far" -le "$most"
}

# blocks SIZE...: print as many blocks of these sizes as have `bytes` together, for figure()
blocks()
{
	local size sum=0

	for size; do
		sum=$((sum + size))
	done
	for size; do
		printf '%d*%d ' $((bytes / sum)) "$size"
	done
}

# steps FIRST: print the blocks of arrays that grow to 16 KiB, from FIRST bytes, by doubling
steps()
{
	local size

	for ((size = $1; size <= 16384; size *= 2)); do
		printf '%d*%d ' $((bytes / 16384)) "$size"
	done
}

# kept FUNCTION BLOCKS: a figure of what is live; all_of FUNCTION BLOCKS: of all that was allocated;
# freed FUNCTION BLOCKS: likewise, and nothing of it is live
kept()
{
	figure "$name: run $run: $1" "$(row_of "$1")" "$2"
}
all_of()
{
	report_of "$T/run.heap" --alloc-space
	figure "$name: run $run: $1, allocated" "$(row_of "$1")" "$2"
	report_of "$T/run.heap"
}
freed()
{
	all_of "$@"
	[ "$(row_of "$1")" = 0 ] || lives+=" $1 in run $run: $(row_of "$1")"
}

keepers_figures()
{
	kept leak_blocks "$((bytes / 8192))*4096 $((bytes / 512))*256"
	kept calloc_blocks "$(blocks 4096)"
	kept posix_blocks "$(blocks 4096)"
	kept align_blocks "$(blocks 4096)"
	kept replace_cached "$((bytes / 32768))*16384" # 16 MB of them are kept
	all_of replace_cached "$(blocks 16384)"
	freed churn_blocks "$(blocks 2048)"
	freed churn_sized "$(blocks 2048)"
	freed pass_blocks "$(blocks 2048)"
}

# The same functions in both, but for some.
shelves_figures()
{
	kept keep_lines "$(blocks 4096)"
	kept keep_vectors "$(blocks 16384)"
	kept keep_strings "$(blocks 1024)"
	freed churn_lines "$(blocks 4096)"
}
cplusplus_figures()
{
	shelves_figures
	kept keep_items "$(blocks 256)"
	kept keep_arrays "$(blocks 4096)"
	kept keep_nodes "$(blocks 128)"
	freed churn_items "$(blocks 256)"
	freed churn_vectors "$(steps 8)"
}
rust_figures()
{
	shelves_figures
	kept keep_boxes "$(blocks 256)"
	kept keep_zeroed "$(blocks 8192)"
	kept keep_queues "$(blocks 2048)"
	freed churn_boxes "$(blocks 256)"
	freed churn_vectors "$(steps 32)"
}

# All of it: the interpreter's functions are not those of the program.
python_figures()
{
	local live

	live=$(jq '.total | round' "$T/report")
	figure "$name: run $run: live" "$live" "$(blocks 4096)"
	report_of "$T/run.heap" --alloc-space
	figure "$name: run $run: freed" $(($(jq '.total | round' "$T/report") - live)) "$(blocks 4096)"
}

# It counts what malloc_usable_size(3) says; nearly all of it are strings of 4 KiB.
redis_figures()
{
	figure "$name: run $run: live" "$(jq '.total | round' "$T/report")" "$((($(used_memory) - before) / 4096))*4096"
}

used_memory()
{
	redis INFO memory | tr -d '\r' | sed -n 's/^used_memory://p'
}

fill()
{
	local order

	for order; do
		keep_going "$order" "$mb"
	done
}
empty()
{
	tell free
}
fill_redis()
{
	local i

	for ((i = 0; i < bytes >> 23; i++)); do
		load_redis 2048 4090
	done
}

empty_redis()
{
	redis FLUSHALL SYNC >/dev/null
}

# compare NAME FIGURES EMPTY FILL...: sample `pid` while it is filled, compare, and empty it, again
# and again
compare()
{
	local name=$1 check=$2 empty=$3 run had=$figures were_far=$far before lives=

	shift 3
	for ((run = 1; run <= runs; run++)); do
		[ -z "${redis_of[$pid]:-}" ] || before=$(used_memory)
		start_sample run "${rate[@]}" --save "$T/run.heap" --force
		"$@"
		end_child "$sampler" -INT
		wait "$sampler" || result 1 "$name: run $run: exit $?" || diag "$(<"$T/run.err")"
		! grep 'too fast' "$T/run.err" || result 1 "$name: run $run: no sample was lost"
		report_of "$T/run.heap"
		"$check"
		"$empty"
	done
	diag "$name: $((far - were_far)) of $((figures - had)) figures are off by more than two standard errors"
	is "$lives" '' "$name: nothing lives that was freed"
	is_out "$name"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}

# start_shelves PROGRAM: start it, and let it use its memory once: more than it will later, of each
# kind (start_keepers)
start_shelves()
{
	start_victim "$1"
	tell leak $((mb * 3))
	tell free
	snapshot "$pid"
}

start_keepers
compare keepers keepers_figures empty fill leak calloc posix aligned cached churn churn_sized pass

# Control: three quarters of the truth are noticed in each figure of the last run.
is "$(
	figures=0 far=0 name=control run=$runs bytes=$((bytes * 3 / 4))
	report_of "$T/run.heap"
	keepers_figures >/dev/null
	echo "$far of $figures"
)" '9 of 9' 'control: estimates that are too high are noticed'

start_shelves shelves
compare C++ cplusplus_figures empty fill leak

wrap=(env "LD_PRELOAD=$T/lib/libjemalloc.so.2")
rustc -g -C opt-level=2 -o "$T/shelves-rust" tests/target/shelves.rs 2>"$T/rustc" || bail_out "rustc: $(<"$T/rustc")"
start_shelves "$T/shelves-rust"
compare Rust rust_figures empty fill leak

wrap+=(PYTHONMALLOC=malloc /usr/bin/python3)
start_shelves "$ROOT/tests/target/shelves.py"
compare Python python_figures empty fill leak

wrap=()
start_redis
fill_redis
empty_redis
snapshot "$pid"
compare redis-server redis_figures empty_redis fill_redis

figures_are_near 'in all'
done_testing
