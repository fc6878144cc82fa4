# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # patient is for tests/lib.sh
# report -f jeprof beside jeprof, of tests/target/forest.cc: a program that is made for what jeprof tells
# apart. Leaves $T/forest, two profiles of it, and two of its own frames alone. Sourced by tests.

patient=()
g++ -std=c++17 -O1 -g -pthread -o "$T/forest" tests/target/forest.cc -ljemalloc || bail_out 'cannot build forest'
MALLOC_CONF=prof:true,lg_prof_sample:11,prof_accum:true "$T/forest" "$T/base.heap" "$T/end.heap" ||
	bail_out 'forest wrote no profiles'
for name in base end; do
	tests/drivers/own-frames "$T/forest" "$T/$name.heap" >"$T/$name.own.heap" || bail_out 'own-frames failed'
done

# jeprof_text OPTIONS...: of the program's own work alone. addr2line(1) finds other source files for
# pieces of the C library than they are from.
without=(--exclude='^__libc_start|^_start|^start_thread|^clone')
jeprof_text()
{
	jeprof --text --focus='^walk$' "${without[@]}" "$@" "$T/forest" "$heap" 2>"$T/jeprof.err" >"$T/jeprof.out"
}
heap=$T/end.heap

# Rows with the same number may be in any order: jeprof adds up in a new one each time.
# Nor is "sum%" then the same.
rows()
{
	sed -E 's/^( *[^ ]+ +[^ ]+) +[^ ]+/\1/' "$1" | sort
}

# same NAME OPTIONS...: both print the same
same()
{
	local name=$1

	shift
	jeprof_text "$@"
	run_ctl report -f jeprof --focus='^walk$' "${without[@]}" "$@" "$heap"
	ok "$name: a table" test "$(wc -l <"$T/jeprof.out")" -gt 1
	is "$(rows "$T/out")" "$(rows "$T/jeprof.out")" "$name: to the byte as jeprof"
}
