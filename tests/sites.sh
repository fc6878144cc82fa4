# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# For tests of `sites`: a process with known allocations (tests/target/allocators.c), and checks of
# the results. Sourced after tests/watching.sh, as probes are used here, too.

functions=(allocate_small allocate_middle allocate_large)

# beat N: print counter N of its board
beat()
{
	od -An -tu8 -j $((64 + 8 * $1)) -N 8 "$T/board.$pid" | tr -d ' '
}

has_done()
{
	[ "$(od -An -tu8 -j 56 -N 8 "$T/board.$pid" | tr -d ' ')" = 0 ]
}

# tell BYTES [nowait]: write BYTES, escaped for printf(1), to `reserved`, and wait until that was
# processed. It is one write(2), as a part of a number is another number.
tell()
{
	# shellcheck disable=SC2059 # these are escapes
	printf "$1" | dd of="$T/board.$pid" bs=8 seek=7 conv=notrunc status=none
	[ "${2:-}" = nowait ] || within 120 has_done || bail_out 'allocators does not allocate'
}

# On a loaded machine, a probe takes much time: how much it may take is for tests/long/sites.t.
dear=(--max-overhead 10000)

# start_sites NAME ARGUMENTS...: start it in the background, and wait until it samples. Sets
# `sampler`.
start_sites()
{
	local name=$1

	shift
	start_probing sampling "$T/$name.out" "$T/$name.err" "$CTL" "${patient[@]}" sites "$pid" -d 10m --no-pager "${dear[@]}" "$@"
	sampler=$prober
}

# end_sites NAME [STATUS]: end it as with Ctrl-C; earlier events must be in its output
end_sites()
{
	end_child "$sampler" -INT
	wait "$sampler"
	is "$?" "${2:-0}" "$1: ends" || diag "$(<"$T/$1.err")"
}

# share FUNCTION FILE: print its part of the total in 1/1000, according to report
share()
{
	"$CTL" report --json --no-cache "$2" >"$T/report" || return
	jq --arg f "$1" '.total as $t | [.rows[] | select(.name == $f) | .cum] | (add // 0) * 1000 / $t | round' "$T/report"
}

# is_near GOT WANTED WITHIN NAME: GOT may differ from WANTED by WITHIN
is_near()
{
	ok "$4: $1, expected $2" eval "[ $1 -ge $(($2 - $3)) ] && [ $1 -le $(($2 + $3)) ]"
}

# compare NAME FILE: the shares of the three functions must match what they allocated since
# `before`. With a thousand samples or more, six standard errors are less than a tenth of the total.
compare()
{
	local i total=0 now

	for i in 0 1 2; do
		now[i]=$(($(beat $((i + 2))) - before[i]))
		total=$((total + now[i]))
	done
	for i in 0 1 2; do
		is_near "$(share "${functions[i]}" "$2")" $((now[i] * 1000 / total)) 100 "$1: ${functions[i]}, in 1/1000"
	done
	is_near "$(jq .total "$T/report")" "$total" $((4 << 20)) "$1: the total, in bytes"
}

remember()
{
	before=("$(beat 2)" "$(beat 3)" "$(beat 4)")
}
