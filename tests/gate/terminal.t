#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report on a terminal: colours, names that fit, and a pager; and none of these elsewhere.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/made.sh
. "$(dirname "$0")/../made.sh"

functions=(main 'void ns::outer<ns::deep<int> >::call(ns::deep<int>, char const*) const' work
	'a_function_whose_name_is_longer_than_any_terminal_is_wide' 'esc\x1b[31mape')
mapfile -t -O 5 functions < <(printf 'f%02d\n' {5..34})
stacks=()
for i in {5..34}; do
	stacks+=("1 $i $i 0")
done
made few.heap '1 4000 1 0' '1 3000 2 0' '1 300 3 0'
made many.heap "${stacks[@]}"
unset NO_COLOR PAGER JEPROF_CTL_PAGER LESS LESSSECURE COLUMNS LINES SUDO_UID DOAS_USER PKEXEC_UID
export TERM=xterm JEPROF_CTL_PAGERSECURE=0 # whoever runs the tests

# tty ROWS COLUMNS [NAME=VALUE...] -- ARGUMENTS...: run it on a terminal of that size;
# tests/drivers/tty answers a pager, if there is one
tty()
{
	tests/drivers/tty "$1" "$2" "$CTL" "${patient[@]}" "${@:3}" >"$T/out" 2>"$T/err"
	status=$?
	out=$(tr -d '\r' <"$T/out")
}
esc=$'\e\\['

# --- colours ---
tty 50 120 report "$T/few.heap"
is "$status" 0 'a terminal'
like "$out" "${esc}2m +flat +flat%.*function${esc}0m" 'the titles are dim'
like "$out" "${esc}31m +3\.9K  54\.8%${esc}0m" 'a third of all is red'
like "$out" "${esc}2m +stack" 'so are those of the stacks'
unlike "$out" "m *300" 'a small part has no colour'
NO_COLOR=1 tty 50 120 report "$T/few.heap"
unlike "$out" "$esc" 'NO_COLOR: none'
TERM=dumb tty 50 120 report "$T/few.heap"
unlike "$out" "$esc" 'TERM=dumb: none'
tty 50 120 report --color never "$T/few.heap"
unlike "$out" "$esc" '--color never: none'
ctl_ok 'no terminal' report "$T/few.heap"
unlike "$out" "$esc" 'no terminal: no colour'
ctl_ok '--color always' report --color always "$T/few.heap"
like "$out" "${esc}31m" '--color always: colours without a terminal'
ctl_ok '--color always -o' report --color always "$T/few.heap" -o "$T/report.txt"
unlike "$(<"$T/report.txt")" "$esc" 'a file has no colours'
tty 50 120 report --json "$T/few.heap"
ok 'JSON has none' jq -e .rows <<<"$out"

# --- names that fit ---
tty 50 80 report "$T/few.heap"
like "$out" ' ns::outer::call'$'\n' '80 columns: neither arguments nor template arguments'
is "$(awk '{ gsub(/\033\[[0-9]*m/, "") } length > 80' <<<"$out")" '' '80 columns: no line is longer'
tty 50 200 report "$T/few.heap"
like "$out" ' void ns::outer<ns::deep<int> >::call\(ns::deep<int>, char const\*\) const'$'\n' '200 columns: the whole name'
COLUMNS=80 tty 50 200 report "$T/few.heap"
like "$out" ' ns::outer::call'$'\n' 'COLUMNS: it overrides the width of the terminal'
tty 50 66 report "$T/few.heap"
like "$out" ' outer::call'$'\n' '66 columns: fewer namespaces'
like "$out" ' a_fu\.\.\._wide'$'\n' '66 columns: the middle is left out'
COLUMNS=66 ctl_ok 'no terminal, narrow' report "$T/few.heap"
like "$out" ' void ns::outer<ns::deep<int> >::call\(ns::deep<int>, char const\*\) const'$'\n' 'no terminal: the whole name'
tty 50 80 report --tree "$T/few.heap"
like "$out" '-> +ns::outer::call'$'\n' 'tree: names fit as well'

# --- names in a profile do nothing to the terminal ---
sed 's/ work$/ \x1b[31mwork/' "$T/few.heap" >"$T/escape.heap"
tty 50 120 report "$T/escape.heap"
like "$out" '\\x1b\[31mwork' 'a name with an escape sequence: it is shown as text'

# --- a pager, if the output is longer than the terminal ---
pager="sed s/^/paged:/"
PAGER=$pager tty 20 120 report "$T/many.heap"
is "$status" 0 'PAGER'
like "$out" '^paged:inuse_space' 'PAGER: it is used'
is "$(grep -vc ^paged: <<<"$out")" 0 'PAGER: for all of it'
PAGER=false JEPROF_CTL_PAGER=$pager tty 20 120 report "$T/many.heap"
like "$out" '^paged:' 'JEPROF_CTL_PAGER: it overrides PAGER'
PAGER=$pager tty 60 120 report "$T/many.heap"
like "$out" '^inuse_space' 'what fits is shown without a pager'
for none in '' cat; do
	PAGER=$none tty 20 120 report "$T/many.heap"
	like "$out" '^inuse_space' "PAGER='$none': none"
done
PAGER=$pager TERM=dumb tty 20 120 report "$T/many.heap"
like "$out" '^inuse_space' 'TERM=dumb: none'
for options in --no-pager --json; do
	PAGER=$pager tty 20 120 report "$options" "$T/many.heap"
	unlike "$out" 'paged:' "$options: none"
done
PAGER=$pager tty 20 120 report "$T/many.heap" -o "$T/many.txt"
is "$out" '' '-o: none'
PAGER=$pager ctl_ok 'no terminal' report -n 0 "$T/many.heap"
like "$out" '^inuse_space' 'no terminal: none'
PAGER=$pager tty 4 120 diff "$T/few.heap" "$T/many.heap"
like "$out" '^paged:in use' 'diff has one as well'
PAGER='echo "LESS=$LESS LV=$LV"; cat >/dev/null' tty 20 120 report "$T/many.heap"
is "$out" 'LESS=FRX LV=-c' 'less is told to show colours, and to keep the screen'
PAGER='echo "$LESS"; cat >/dev/null' LESS=i tty 20 120 report "$T/many.heap"
is "$out" i 'LESS: the value that the user has set is kept'
PAGER='head -n 1' tty 20 120 report -n 0 "$T/many.heap"
is "$status $(wc -l <<<"$out")" '0 1' 'a pager that exits early: no error'
PAGER=/nowhere/pager tty 20 120 report "$T/many.heap"
is "$status" 0 'no such pager'
like "$out" $'\n''inuse_space.*'$'\n' 'no such pager: the report is shown all the same'

# --- by sudo(8): the user does not have the rights of the pager ---
for lender in SUDO_UID DOAS_USER PKEXEC_UID; do
	env -u JEPROF_CTL_PAGERSECURE "$lender=1000" PAGER="touch $T/owned;" JEPROF_CTL_PAGER="touch $T/owned;" LESSOPEN="|touch $T/owned; cat %s" \
		tests/drivers/tty 20 120 "$CTL" report "$T/many.heap" >"$T/out" 2>&1
	is "$? $(test -e "$T/owned" && echo owned)" '0 ' "$lender: no command from the environment is run"
	like "$(<"$T/out")" 'inuse_space' "$lender: the report is shown"
done

done_testing
