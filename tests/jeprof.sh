# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # python and threads are for the test
# Compares our reports on real programs with jeprof's: they must be byte-identical. Sourced by the
# tests that compare. All use the Python program here: C, with threads and Debian's libraries.

# --- jeprof, with the same debug data ---

# jeprof uses the tools in its own folder. Discriminators of addr2line(1) are removed, so that a
# line is one row. eu-readelf(1) is only used for build ids, which readelf(1) prints in the same
# way.
mkdir "$T/tools" "$T/debug"
cp "$(command -v jeprof)" "$T/tools/"
printf '#!/bin/sh\n%s "$@" | sed -u "s/ (discriminator [0-9]*)//"\n' "$(command -v addr2line)" >"$T/tools/addr2line"
printf '#!/bin/sh\nexec readelf "$@"\n' >"$T/tools/eu-readelf"
cat >"$T/jeprof" <<SH
#!/bin/bash
mount -t tmpfs none /usr/lib/debug && cp -rs "$T/debug/." /usr/lib/debug &&
	PATH=$T/tools:\$PATH exec "$T/tools/jeprof" --debug-syms-by-id --text "\$@"
SH
chmod 755 "$T"/tools/* "$T/jeprof"

# debug_data HEAP: install debug data of its libraries. jeprof recognizes the end of an address's
# calls only by the name _fini, and omits inlined calls in libraries without it, such as the C
# library. Here they get one, at an address without code.
debug_data()
{
	local lib id file

	while read -r lib; do
		id=$(readelf -n "$lib" 2>/dev/null | awk '/Build ID:/ { print $3 }')
		file=.build-id/${id:0:2}/${id:2}.debug
		if [ ! -e "/usr/lib/debug/$file" ] || [ -e "$T/debug/$file" ]; then
			continue
		fi
		mkdir -p "$T/debug/${file%/*}"
		objcopy --add-symbol _fini=.eh_frame:8,function,global "/usr/lib/debug/$file" "$T/debug/$file"
	done < <(awk '/^MAPPED/ { maps = 1 } maps && $NF ~ /^\// { print $NF }' "$1" | sort -u)
}

# --- where we deliberately differ from jeprof ---

# libstdc++.so is stripped: jeprof shows the preceding symbol. _dl_start_user is a label without a
# size, whose extent is unknown. addr2line(1) of binutils 2.40 confuses file 1 of a unit with file
# 0, which matters if the unit starts with an included file: gdb agrees with us (see the end). The
# innermost address of a stack, which is visible if jemalloc is linked in, is a return address like
# all others, but jeprof takes it for the call itself. Both outputs are normalized here.
unit_1='__libc_start_call_main|pythread_wrapper|__GI__dl_catch_[a-z]+'
alike()
{
	sed -E -e 's/std::__throw_ios_failure@@[^ ]*|\[libstdc\+\+\.so[^ ]*\]/(in libstdc++)/' \
		-e 's/_dl_start_user( :\?)?$|\[ld-linux[^ ]*\]( \?\?:\?)?$/(start of ld.so)/' \
		-e "s/($unit_1) [^ ]*(:[0-9]+)$/\1 (file 1)\2/" \
		-e 's/[0-9a-f]{16} (prof_backtrace_impl)/(leaf) \1/' "$1"
}

# Rows with equal numbers may be in any order, as jeprof adds up in a different order each time.
# "sum%" then differs, too.
rows()
{
	sed -E 's/^( *[^ ]+ +[^ ]+) +[^ ]+/\1/' | sort
}

# The flat values of the first 80 rows, in order.
first()
{
	sed 81q "$1" | awk '{ print $1, $2 }'
}

# --- the comparisons: jeprof runs two at a time, while other programs are built or run ---

names=()
at_least=()
tables=()

# same NAME ROWS PROGRAM HEAP OPTIONS...: start jeprof on it; the table must have more than ROWS
# lines
same()
{
	local n=${#names[@]} program=$3 heap=$4

	names+=("$1")
	at_least+=("$2")
	shift 4
	tables+=("$(printf '%q ' "$@" "$heap")")
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	unshare -m "$T/jeprof" "$@" "$program" "$heap" 2>/dev/null >"$T/jeprof.$n" &
	own $!
}

# compare N: compare jeprof's output with ours
compare()
{
	local name=${names[$1]} theirs=$T/jeprof.$1 options=() told=2

	eval "options=(${tables[$1]})"
	run_ctl report --no-cache -f jeprof "${options[@]}"
	ok "$name: a table" test "$(wc -l <"$theirs")" -gt "${at_least[$1]}"
	is "$(alike "$T/out" | rows)" "$(alike "$theirs" | rows)" "$name: byte-identical to jeprof's"
	is "$(first "$T/out")" "$(first "$theirs")" "$name: the first rows are the same"
	# On each side. Most are in tables of lines.
	case $name in *--lines | *--addresses) told=6 ;; esac
	ok "$name: no more than $told rows had to be normalized" \
		test "$(comm -3 <(rows <"$T/out") <(rows <"$theirs") | wc -l)" -le $((2 * told))
}

# compare_all: wait for jeprof, then compare all tables
compare_all()
{
	local n

	while [ "$(jobs -rp | wc -l)" -gt 0 ]; do
		wait -n
	done
	for n in "${!names[@]}"; do
		compare "$n"
	done
}

# --- C, with named threads ---

# run_python: write $T/python.base.heap and $T/python.heap. Sets `python`, the program, and
# `threads`.
# shellcheck disable=SC2034 # both are for tests that source this
run_python()
{
	local preload

	cat >"$T/load.py" <<'PY'

import collections, ctypes, json, re, sys, threading

mallctl = ctypes.CDLL(None).mallctl

def write(name, text):
    value = ctypes.c_char_p(text.encode())
    if mallctl(name, None, None, ctypes.byref(value), ctypes.c_size_t(8)):
        sys.exit("mallctl " + name.decode())

def work(name, make, kept, ready, end):
    write(b"thread.prof.name", name)
    kept.extend(make(i) for i in range(300))
    ready.release()
    end.wait()

jobs = {
    "patterns": lambda i: re.compile("a%d(b|c)*" % i),
    "documents": lambda i: json.loads('{"a": [%d, "%s"]}' % (i, "x" * i)),
    "orders": lambda i: collections.OrderedDict((k, str(k)) for k in range(i % 50)),
}
write(b"thread.prof.name", "main")
table = {str(i): [i, "x" * (i % 90), {"k": i}] for i in range(2000)}
write(b"prof.dump", sys.argv[1] + ".base.heap")
kept, ready, end = [], threading.Semaphore(0), threading.Event()
threads = [threading.Thread(target=work, args=(n, j, kept, ready, end)) for n, j in jobs.items()]
for thread in threads:
    thread.start()
    ready.acquire()
kept += [compile("def f%d(a, b):\n return [a * x for x in b]\n" % i, "f", "exec") for i in range(20)]
last = sorted(table.values(), key=lambda v: v[1])
write(b"prof.dump", sys.argv[1] + ".heap")
end.set()
PY
	preload=$(ldconfig -p | awk '/libjemalloc\.so\.2 / { print $NF; exit }')
	LD_PRELOAD=$preload MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:12 PYTHONMALLOC=malloc \
		python3-dbg -S "$T/load.py" "$T/python" >"$T/said" 2>&1 || bail_out "python failed: $(tail -n 3 "$T/said")"
	python=$(readlink -f "$(command -v python3-dbg)")
	debug_data "$T/python.heap"
	threads=$(sed -nE '2,/^@/s/^ *t([0-9]+): .*/\1/p' "$T/python.heap")
}
