# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # patient is for tests/lib.sh
# Compares report -f jeprof with jeprof, for tests/target/forest.cc, a program with everything that
# jeprof distinguishes. Creates $T/forest, two profiles of it, and the same two with only its own
# frames. Sourced by tests.

patient=()
g++ -std=c++17 -O1 -g -pthread -o "$T/forest" tests/target/forest.cc -ljemalloc || bail_out 'cannot build forest'
MALLOC_CONF=prof:true,lg_prof_sample:11,prof_accum:true "$T/forest" "$T/base.heap" "$T/end.heap" ||
	bail_out 'forest wrote no profiles'
for name in base end; do
	tests/drivers/own-frames "$T/forest" "$T/$name.heap" >"$T/$name.own.heap" || bail_out 'own-frames failed'
done

# jeprof_text OPTIONS...: only for the program's own work, as addr2line(1) finds wrong source files
# for parts of the C library
without=(--exclude='^__libc_start|^_start|^start_thread|^clone')
jeprof_text()
{
	jeprof --text --focus='^walk$' "${without[@]}" "$@" "$T/forest" "$heap" 2>"$T/jeprof.err" >"$T/jeprof.out"
}
heap=$T/end.heap

# Rows with equal numbers may be in any order, as jeprof adds up in a different order each time.
# "sum%" then differs, too.
rows()
{
	sed -E 's/^( *[^ ]+ +[^ ]+) +[^ ]+/\1/' "$1" | sort
}

# same NAME OPTIONS...: both must print the same table
same()
{
	local name=$1

	shift
	jeprof_text "$@"
	run_ctl report -f jeprof --focus='^walk$' "${without[@]}" "$@" "$heap"
	ok "$name: a table" test "$(wc -l <"$T/jeprof.out")" -gt 1
	is "$(rows "$T/out")" "$(rows "$T/jeprof.out")" "$name: byte-identical to jeprof's"
}
