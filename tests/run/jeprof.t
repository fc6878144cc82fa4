#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report -f jeprof of real programs with symbols, to the byte what jeprof makes of them, in every
# mode that both have: Python in C, and the tests of googletest in C++.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# addr2line(1) adds which of a line's pieces it is; one line is one row here. jeprof takes the
# tools that lie beside it.
mkdir "$T/tools"
cp "$(command -v jeprof)" "$T/tools/"
printf '#!/bin/sh\n%s "$@" | sed -u "s/ (discriminator [0-9]*)//"\n' "$(command -v addr2line)" >"$T/tools/addr2line"
chmod 755 "$T/tools/addr2line"

preload=$(ldconfig -p | awk '/libjemalloc\.so\.2 / { print $NF; exit }')

# profile NAME LG_SAMPLE COMMAND...: the last and the first of its profiles, as NAME.heap and NAME.base.heap
profile()
{
	local name=$1 conf=prof:true,prof_accum:true,lg_prof_sample:$2,lg_prof_interval:$(($2 + 6))

	shift 2
	LD_PRELOAD=$preload MALLOC_CONF=$conf,prof_prefix:$T/$name "$@" >"$T/said" 2>&1 ||
		bail_out "$name failed: $(tail -n 3 "$T/said")"
	find "$T" -name "$name.*.heap" | sort -V >"$T/profiles"
	mv "$(sed -n '$p' "$T/profiles")" "$T/$name.heap"
	mv "$(sed 1q "$T/profiles")" "$T/$name.base.heap"
}

# Rows with the same number may be in any order: jeprof adds up in a new one each time.
# Nor is "sum%" then the same.
rows()
{
	sed -E 's/^( *[^ ]+ +[^ ]+) +[^ ]+/\1/' "$1" | sort
}

# The C library and the start of a program have their debug data elsewhere, where jeprof does not look.
without='^__libc|^_start|^call_init|^_dl|^dl_|dlopen|^__GI_|^std::__throw_ios|^__static_init|^_GLOBAL'

# same NAME PROGRAM HEAP ROWS OPTIONS...: both print the same, and that many rows at least
same()
{
	local name=$1 program=$2 heap=$3 least=$4

	shift 4
	set -- --focus="$focus" --exclude="$without" "$@"
	"$T/tools/jeprof" --text "$@" "$program" "$heap" 2>/dev/null >"$T/jeprof.out"
	run_ctl report --no-cache -f jeprof "$@" "$heap"
	ok "$name: a table" test "$(wc -l <"$T/jeprof.out")" -gt "$least"
	is "$(rows "$T/out")" "$(rows "$T/jeprof.out")" "$name: to the byte as jeprof"
}

# all NAME PROGRAM ROWS A_FUNCTION: in every mode
all()
{
	local name=$1 program=$2 least=$3 function=$4 heap=$T/$1.heap grain counted

	for grain in '' --lines --files --addresses; do
		same "$name ${grain:-functions}" "$program" "$heap" 3 ${grain:+"$grain"}
	done
	for counted in --inuse_objects --alloc_space --alloc_objects; do
		same "$name $counted" "$program" "$heap" 3 "$counted"
	done
	same "$name --show_bytes --cum" "$program" "$heap" "$least" --alloc_space --show_bytes --cum
	same "$name --ignore" "$program" "$heap" 3 --alloc_space --ignore="$function"
	same "$name --exclude" "$program" "$heap" 3 --alloc_space --exclude="$function|$without"
	same "$name --retain" "$program" "$heap" 0 --alloc_space --retain="$function"
	same "$name --base" "$program" "$heap" 3 --alloc_space --base="$T/$name.base.heap"
	same "$name --drop_negative" "$program" "$heap" 3 --base="$T/$name.base.heap" --drop_negative
	"$T/tools/jeprof" --text "$program" "$heap" 2>/dev/null | sed 1q >"$T/jeprof.out"
	run_ctl report --no-cache -f jeprof "$heap"
	is "$(sed 1q "$T/out")" "$(<"$T/jeprof.out")" "$name: the total of everything"
}

# --- C ---
cat >"$T/load.py" <<'PY'
import collections, re

table = {str(i): [i, "x" * (i % 90), {"k": i}] for i in range(2000)}
kept = [re.compile("a%d(b|c)*" % i) for i in range(20)]
order = collections.OrderedDict((i, str(i)) for i in range(500))
code = [compile("def f%d(a, b):\n return [a * x for x in b]\n" % i, "f", "exec") for i in range(20)]
last = sorted(table.values(), key=lambda v: v[1])
PY
PYTHONMALLOC=malloc profile python 14 python3-dbg -S "$T/load.py"
focus='Py_RunMain'
all python "$(readlink -f "$(command -v python3-dbg)")" 20 'PyDict'

# --- C++, with names that DWARF has without the namespace around ---
gtest=/usr/src/googletest/googletest
g++ -std=c++17 -O1 -g -static-libstdc++ -static-libgcc -I"$gtest" -I"$gtest/include" -o "$T/gtest" \
	"$gtest/src/gtest-all.cc" "$gtest/src/gtest_main.cc" "$gtest/samples/sample1.cc" \
	"$gtest"/samples/sample{3,5}_unittest.cc -pthread || bail_out 'googletest cannot be built'
profile gtest 8 "$T/gtest" --gtest_repeat=50
focus='testing::'
all gtest "$T/gtest" 50 'testing::internal::String'

done_testing
