# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# shellcheck disable=SC2034 # in_phase and rate are for the test
# For tests of `sample`: a process with known live memory (tests/target/keepers.c), and checks of
# the results. Sourced after tests/watching.sh, as probes are used here, too.

# The mapping that stays is permitted; everything else must be unchanged.
export PHOTO_BLOCK=1

BLOCK=/memfd:jeprof-ctl:sampler
out_phase=0 in_phase=2 # enum sampler_phase
declare -A order_of=([leak]=1 [churn]=2 [churn_sized]=3 [pass]=4 [cached]=5 [grow]=6 [shrink]=7
	[calloc]=8 [posix]=9 [aligned]=10 [threads]=11 [free]=12 [fork]=13 [reap]=14 [exec]=15 [exit]=16
	[weird]=17 [idle]=18 [end]=19 [flood]=20 [arenas]=21 [caches]=22 [moves]=23
	[resizes]=24 [ends]=25 [storm]=26 [nothing]=0)

# --- the process ---

word()
{
	od -An -tu8 -j "$1" -N 8 "$T/board.${2:-$pid}" | tr -d ' '
}

has_done()
{
	[ "$(word 56)" = 0 ]
}

# beat N: counter N of its board
beat()
{
	word $((64 + 8 * $1))
}

# post ORDER [N]: give an order, without waiting
post()
{
	local order=$((${order_of[$1]} | ${2:-0} << 8)) i bytes=

	for i in 0 8 16 24 32 40 48 56; do
		bytes+=$(printf '\\%03o' $((order >> i & 255)))
	done
	# In one write, as the process may read it at any time.
	# shellcheck disable=SC2059 # these are escapes
	printf "$bytes" | dd of="$T/board.$pid" bs=8 seek=7 conv=notrunc iflag=fullblock status=none
}

# tell ORDER [N]: give an order, and wait until it is done
tell()
{
	post "$@"
	within 120 has_done || bail_out "keepers does not $1"
}

# keep_going ORDER MB: in steps of 8 MB, so that samples are read as fast as they are produced
keep_going()
{
	local mb

	for ((mb = 0; mb < $2; mb += 8)); do
		tell "$1" 8
	done
}

# keep_each: 32 MB by each of `kept`
kept=(leak churn churn_sized pass cached grow shrink calloc posix aligned threads)
keep_each()
{
	local order

	for order in "${kept[@]}"; do
		keep_going "$order" 32
	done
}

# start_keepers [NAME]: start it, and let it use its memory once: more than it will later, as how
# much address space jemalloc needs for the same blocks depends on time, in steps of up to 64 MiB
start_keepers()
{
	start_victim "${1:-keepers}"
	for order in "${kept[@]}"; do
		tell "$order" 32
	done
	tell leak 192
	tell free
	snapshot "$pid"
}

# start_child: it forks; both allocate. Sets `child`.
start_child()
{
	tell fork 8
	child=$(beat 2)
	within 60 eval '[ "$(beat 4)" = "$child" ]' || bail_out 'the child does not allocate'
}

# --- the block in it ---

blocks_of()
{
	grep -c "r-xp .*$BLOCK" "/proc/$1/maps"
}

# state_of PID: print "PHASE SEMAPHORE SEMAPHORE", or nothing if there is no block
state_of()
{
	local at

	at=$(awk -v b="$BLOCK" '$2 == "rw-p" && index($0, b) { sub(/-.*/, "", $1); print $1; exit }' "/proc/$1/maps")
	[ -n "$at" ] || return 0
	dd if="/proc/$1/mem" bs=4096 skip=$((0x$at / 4096)) count=1 status=none 2>/dev/null |
		od -An -tu2 -N 8 | awk '{ print $3 + 65536 * $4, $1, $2 }'
}

# block_memory PID: print the KiB of its data in memory
block_memory()
{
	awk -v b="$BLOCK" '/^[0-9a-f]+-/ { data = seen == 2; seen = index($0, b) ? seen + 1 : 0; if (data) on = 1; else on = 0 }
		on && /^Rss:/ { print $2; exit }' "/proc/$1/smaps"
}

# is_out NAME [MEMORY]: it must no longer be sampled; MEMORY is "kept" if the sampler was killed
is_out()
{
	is "$(state_of "$pid")" "$out_phase 0 0" "$1: it is no longer sampled"
	[ "${2:-}" = kept ] || is "$(block_memory "$pid")" 0 "$1: its data is released"
	is "$(blocks_of "$pid")" 1 "$1: one mapping stays"
}

# --- sampling ---

# One sample per 64 KiB: 32 MB are 512 samples, for which six standard errors are 27 %.
rate=(--sample-rate 64K --max-overhead 10000)

# start_sample NAME ARGUMENTS...: start it in the background, and wait until it samples. Sets
# `sampler`.
start_sample()
{
	local name=$1

	shift
	start_probing sampling "$T/$name.out" "$T/$name.err" "$CTL" "${patient[@]}" sample "$pid" -d 10m --no-pager "$@"
	sampler=$prober
}

# end_sample NAME [STATUS]: end it as with Ctrl-C; earlier events must be in its output
end_sample()
{
	end_child "$sampler" -INT
	wait "$sampler"
	is "$?" "${2:-0}" "$1: ends" || diag "$(<"$T/$1.err")"
	case $(<"$T/$1.err") in *Sanitizer* | *'runtime error'*)
		result 1 "$1: no finding of a sanitizer" || diag "$(<"$T/$1.err")" ;;
	esac
}

# report_of FILE [OPTIONS...]: its rows are in $T/report afterwards
report_of()
{
	local file=$1

	shift
	"$CTL" report --json --no-cache --no-fold -n 0 "$@" "$file" >"$T/report"
}

# row_of FUNCTION: print the bytes held by it and its callees, according to the last report. The
# name is without its class, its module and its parameters.
row_of()
{
	jq --arg f "$1" '[.rows[] | select((.name | sub("\\(.*"; "") | sub(".*::"; "")) == $f) | .cum] |
		(add // 0) | round' "$T/report"
}

# bytes_of FILE FUNCTION [OPTIONS...]: print the bytes held by it and its callees
bytes_of()
{
	local file=$1 name=$2

	shift 2
	report_of "$file" "$@" && row_of "$name"
}

# is_near GOT MB NAME: GOT bytes must be within six standard errors of that many MB
is_near()
{
	local wanted=$(($2 << 20)) error

	error=$(awk -v w="$wanted" -v r="${rate_bytes:-65536}" 'BEGIN { print int(6 * sqrt(w * r)) }')
	ok "$3: $1 bytes, expected $wanted, within $error" \
		eval "[ $1 -ge $((wanted - error)) ] && [ $1 -le $((wanted + error)) ]"
}

# live NAME MB, allocated NAME MB: check that in the profile plain
live()
{
	is_near "$(bytes_of "$T/plain.heap" "$1")" "$2" "$1: lives"
}
allocated()
{
	is_near "$(bytes_of "$T/plain.heap" "$1" --alloc-space)" "$2" "$1: allocated"
}

# each_as_kept MB: check what keep_each() allocated and what lives, MB of it by leak_blocks
each_as_kept()
{
	local name

	live leak_blocks "$1"
	allocated leak_blocks "$1"
	for name in churn_blocks churn_sized pass_blocks; do
		[[ $name != churn_sized || " ${kept[*]} " == *" $name "* ]] || continue
		is "$(bytes_of "$T/plain.heap" "$name")" 0 "$name: nothing lives"
		allocated "$name" 32
	done
	live replace_cached 16
	allocated replace_cached 32
	live grow_arrays 32
	live shrink_arrays 32
	for name in calloc_blocks posix_blocks align_blocks allocate_once; do
		live "$name" 32
		allocated "$name" 32
	done
}

# ends_while_sampled PROGRAM: it calls execve(2), or exits
ends_while_sampled()
{
	local end

	for end in exec exit; do
		start_victim "$1"
		start_sample "$end" "${rate[@]}" --save "$T/$end.heap"
		keep_going leak 16
		sleep $((2 * SLOW)) # stacks are walked in its memory: wait until that is done
		post "$end"
		wait "$sampler"
		is "$?" 0 "$end: ends"
		like "$(<"$T/$end.err")" 'until it ended' "$end: it is reported"
		is_near "$(bytes_of "$T/$end.heap" leak_blocks)" 16 "$end: the profile is complete"
		[ "$end" = exit ] || is "$(blocks_of "$pid")" 0 "$end: nothing of it is in the new program"
		stop_target "$pid"
	done
}
