# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# For tests of `sites`: a process whose truth is known (tests/target/allocators.c), and what is said
# of it. Sourced after tests/watching.sh, as it is probed, too.

functions=(allocate_small allocate_middle allocate_large)

# beat N: that one of its board
beat()
{
	od -An -tu8 -j $((64 + 8 * $1)) -N 8 "$T/board.$pid" | tr -d ' '
}

has_done()
{
	[ "$(od -An -tu8 -j 56 -N 8 "$T/board.$pid" | tr -d ' ')" = 0 ]
}

# tell BYTES: what `reserved` is to be, as printf(1) writes its bytes; returns when it was done
tell()
{
	# shellcheck disable=SC2059 # these are escapes
	printf "$1" | dd of="$T/board.$pid" bs=1 seek=56 conv=notrunc status=none
	[ "${2:-}" = nowait ] || within 120 has_done || bail_out 'allocators does not allocate'
}

# start_sites NAME ARGUMENTS...: in the background, until it samples; sets `sampler`
start_sites()
{
	local name=$1

	shift
	start_probing sampling "$T/$name.out" "$T/$name.err" "$CTL" sites "$pid" -d 10m --no-pager "$@"
	sampler=$prober
}

# end_sites NAME [STATUS]: as by Ctrl-C; what is to be seen has happened before
end_sites()
{
	end_child "$sampler" -INT
	wait "$sampler"
	is "$?" "${2:-0}" "$1: ends"
}

# share FUNCTION FILE: of the total, in 1/1000, as report tells
share()
{
	"$CTL" report --json --no-cache "$2" >"$T/report" || return
	jq --arg f "$1" '.total as $t | [.rows[] | select(.name == $f) | .cum] | (add // 0) * 1000 / $t | round' "$T/report"
}

# is_near GOT WANTED WITHIN NAME
is_near()
{
	ok "$4: $1, $2 in fact" eval "[ $1 -ge $(($2 - $3)) ] && [ $1 -le $(($2 + $3)) ]"
}

# compare NAME FILE: the shares of the three functions are those of what they allocated since
# `before`. A thousand samples and more make six standard errors less than a tenth of the total.
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
