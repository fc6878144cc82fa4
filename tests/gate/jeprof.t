#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report -f jeprof of a real program with symbols is byte-identical to jeprof, by line and by
# address (tests/system/jeprof.t has the other modes). A third program counts what filters leave.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/jeprof.sh
. tests/jeprof.sh

run_python
same 'python --lines' 80 "$python" "$T/python.heap" --alloc_space --lines
same 'python --addresses' 80 "$python" "$T/python.heap" --alloc_space --addresses
compare_all
is "$(wc -w <<<"$threads")" 4 'python: four threads'

# --- the file of a line ---
run_ctl report --no-cache -f jeprof --addresses --retain='^pythread_wrapper$' "$T/python.heap"
read -r _ _ _ _ _ address _ place < <(sed -n 2p "$T/out")
is "$(gdb -batch -ex "info line *0x$address" "$python" 2>/dev/null | sed -nE 's/^Line ([0-9]+) of "([^"]*)".*/\2:\1/p')" \
	"${place#./build-debug/}" 'python: the file of a line, according to gdb'

# --- filters, including those that jeprof does not have: counted again, without jeprof ---

# counted NAME ROWS OPTIONS...: compare our rows, at least ROWS, except those without a name
counted()
{
	local name=$1 rows=$2

	shift 2
	ctl_ok "$name: report" report -q --no-cache --json -n 0 --no-fold "$@" "$T/python.heap"
	jq -r '.rows[] | select(.name | startswith("[") | not) | "\(.name) \(.flat | round) \(.cum | round)"' \
		"$T/out" | sort >"$T/ours"
	tests/drivers/counted.py "$T/python.heap" "${@#--}" >"$T/theirs" 2>"$T/counted.err" || diag "$(<"$T/counted.err")"
	ok "$name: there are rows" test "$(wc -l <"$T/theirs")" -ge "$rows"
	is "$(diff "$T/ours" <(sort "$T/theirs"))" '' "$name: the same rows"
}

counted 'all' 200
counted 'hide' 200 --hide='^_?Py(Mem|Object)_'
counted 'show' 2 --show='^PyDict'
counted 'focus, hide' 5 --focus='^PyDict' --hide='^_?Py'
counted 'ignore, show' 2 --ignore='^PyDict' --show='^_?PyObject_'
counted 'retain' 2 --retain='^PyDict'
counted 'exclude, focus' 5 --exclude='^_?Py(Mem|Object)_' --focus='^_?PyAST_Compile'
for thread in $threads; do
	counted "thread $thread" 3 --thread="$thread"
done
counted 'the thread named orders' 3 --thread="$(sed -nE '2,/^@/s/^ *t([0-9]+): .* orders$/\1/p' "$T/python.heap")" \
	--focus='^odict_'
cp "$T/out" "$T/by_number"
ctl_ok 'that thread, by its name' report -q --json -n 0 --no-fold --thread orders --focus='^odict_' "$T/python.heap"
ok 'that thread, by its name: the same' cmp "$T/by_number" "$T/out"

done_testing
