#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report -f jeprof of real programs with symbols, byte for byte what jeprof prints: each complete
# table, in every mode that both have. The programs are Python, in C, with threads and Debian's
# libraries, and the tests of googletest, in C++, with jemalloc linked in.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/jeprof.sh
. tests/jeprof.sh

# all NAME PROGRAM ROWS A_FUNCTION ANOTHER: compare in every mode
all()
{
	local name=$1 program=$2 least=$3 function=$4 other=$5 heap=$T/$1.heap

	same "$name" 10 "$program" "$heap"
	same "$name --lines" "$least" "$program" "$heap" --alloc_space --lines
	same "$name --addresses" "$least" "$program" "$heap" --alloc_space --addresses
	# The same exceptions: a row for a file does not say which functions it sums up.
	same "$name --files" 10 "$program" "$heap" --alloc_space --files --exclude="^(_dl_start_user|\[ld-linux.*|$unit_1)$"
	same "$name --inuse_objects" 10 "$program" "$heap" --inuse_objects
	same "$name --alloc_space" "$least" "$program" "$heap" --alloc_space
	same "$name --alloc_objects" "$least" "$program" "$heap" --alloc_objects
	same "$name --show_bytes --cum" "$least" "$program" "$heap" --alloc_space --show_bytes --cum
	same "$name --focus" 3 "$program" "$heap" --alloc_space --focus="$function"
	same "$name --ignore" 3 "$program" "$heap" --alloc_space --ignore="$function"
	same "$name --focus and --ignore a line" 3 "$program" "$heap" --alloc_space --focus="$function" --ignore="$other"
	same "$name --exclude" 3 "$program" "$heap" --alloc_space --exclude="$function"
	same "$name --retain" 1 "$program" "$heap" --alloc_space --retain="$function"
	same "$name --base" 3 "$program" "$heap" --alloc_space --base="$T/$name.base.heap"
	same "$name --drop_negative" 3 "$program" "$heap" --base="$T/$name.base.heap" --drop_negative
}

# --- C++, whose names in DWARF lack their namespace; built in the background ---
gtest=/usr/src/googletest/googletest
g++ -std=c++17 -O2 -g -static-libstdc++ -static-libgcc -I"$gtest" -I"$gtest/include" -o "$T/gtest" \
	"$gtest/src/gtest-all.cc" "$gtest/src/gtest_main.cc" "$gtest/samples/sample1.cc" \
	"$gtest"/samples/sample{3,5}_unittest.cc -pthread -l:libjemalloc.a -lm >"$T/g++.log" 2>&1 &
built=$!
own "$built"

run_python
all python "$python" 80 'PyDict' 'dictobject.c:[0-9]*1$'
for thread in $threads; do
	same "python --thread=$thread" 3 "$python" "$T/python.heap" --alloc_space --thread="$thread"
done

wait "$built" || bail_out "googletest cannot be built: $(tail -n 3 "$T/g++.log")"
MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:8,lg_prof_interval:14,prof_prefix:$T/gtest \
	"$T/gtest" --gtest_repeat=50 >"$T/said" 2>&1 || bail_out "gtest failed: $(tail -n 3 "$T/said")"
find "$T" -name 'gtest.*.heap' | sort -V >"$T/profiles"
mv "$(sed -n '$p' "$T/profiles")" "$T/gtest.heap"
mv "$(sed 1q "$T/profiles")" "$T/gtest.base.heap"
debug_data "$T/gtest.heap"
all gtest "$T/gtest" 80 'testing::internal::String' 'gtest.cc:[0-9]*1$'

compare_all
done_testing
