# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# For tests of `guard`: a process that holds a given amount of memory (tests/target/grower.c), and
# guards in the background. Sourced after tests/lib.sh.

# Freed memory is returned to the kernel immediately. A block of hoard() escapes sampling with a
# probability of e^-64.
GROWS=prof:true,lg_prof_sample:12,dirty_decay_ms:0,muzzy_decay_ms:0

# --- the process --------------------------------------------------------------------------

# start_grower [CONF [RATE [rest]]]: start it, or $grower if set, with this MALLOC_CONF
start_grower()
{
	MALLOC_CONF=${1:-$GROWS} start_victim "${grower:-grower}" "${@:2}"
}

# let_hold MIB [PID]: let it hold that much, without waiting
let_hold()
{
	local i bytes=

	for i in 0 8 16 24 32 40 48 56; do
		bytes+=$(printf '\\%03o' $(($1 >> i & 255)))
	done
	# In one write, as the process may read it at any time.
	# shellcheck disable=SC2059 # these are escapes
	printf "$bytes" | dd of="$T/board.${2:-$pid}" bs=8 seek=7 conv=notrunc iflag=fullblock status=none
}

holds()
{
	[ "$(od -An -tu8 -j $((64 + 16)) -N 8 "$T/board.$2" | tr -d ' ')" = "$1" ]
}

# hold MIB [PID]: let it hold that much, and wait until it does
hold()
{
	let_hold "$@"
	within 120 holds "$1" "${2:-$pid}" || bail_out "grower does not hold $1 MiB"
}

# as_before MIB: let it hold that much once, so that growing to it again is no change; then take a
# snapshot
as_before()
{
	hold "$1"
	hold 0
	snapshot "$pid"
}

# --- guards -------------------------------------------------------------------------------

# start_guard NAME ARGUMENTS...: start it, through `guard_by` if set, and wait until it guards.
# Profiles go to $T/NAME. Sets `guard`.
guard_by=()
start_guard()
{
	local name=$1

	shift
	mkdir -p "$T/$name"
	rm -f "$T/$name.out" "$T/$name.err" # of an earlier one
	"${guard_by[@]}" "$CTL" "${patient[@]}" guard -o "$T/$name" --interval 20ms "$@" \
		>"$T/$name.out" 2>"$T/$name.err" </dev/null &
	guard=$!
	own "$guard"
	within 60 guards "$name"
	grep -qs '^guarding' "$T/$name.err" || bail_out "$name: $(<"$T/$name.err")"
}

guards()
{
	grep -qs '^guarding' "$T/$1.err" || ! kill -0 "$guard"
}

# end_guard NAME [STATUS [SIGNAL]]: end it, by default as with Ctrl-C
end_guard()
{
	end_child "$guard" "${3:--INT}"
	guard_ends "$@"
}

# guard_ends NAME [STATUS]: it must exit by itself
guard_ends()
{
	within 120 eval "! kill -0 $guard"
	wait "$guard"
	is "$?" "${2:-0}" "$1: the guard exits" || diag "$(<"$T/$1.err")"
	! grep -q '^{' "$T/$1.out" || ok "$1: each line conforms to the schema" \
		tests/drivers/schema-check doc/schema/jeprof-ctl.json guard "$T/$1.out"
	case $(<"$T/$1.err") in *Sanitizer* | *'runtime error'*)
		result 1 "$1: no finding of a sanitizer" || diag "$(<"$T/$1.err")" ;;
	esac
}

kill_guard()
{
	{ end_child "$guard" -KILL && wait "$guard"; } 2>/dev/null
}

# Each check reads at least two files.
reads_of()
{
	awk '/^syscr/ { print $2 }' "/proc/$guard/io"
}

# looks: wait until it has checked everything several more times, so that it has seen all changes
looks()
{
	local before

	before=$(reads_of)
	within 60 eval "[ \"\$(reads_of)\" -gt $((before + 40)) ]" || bail_out 'the guard does not look'
}

has_lines()
{
	[ "$(wc -l <"$T/$1.out")" -ge "$2" ]
}

# line NAME N [FILTER]: wait for the N-th line, and apply jq's FILTER
line()
{
	within 60 has_lines "$1" "$2"
	sed -n "$2p" "$T/$1.out" | jq -r "${3:-.}" 2>&1
}

# --- profiles -----------------------------------------------------------------------------

# heaviest FILE: the function with the most memory
heaviest()
{
	"$CTL" report --json --no-cache "$1" >"$T/report" && jq -r '.rows | max_by(.flat) | .name' "$T/report"
}
