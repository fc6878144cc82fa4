#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report, diff and convert on synthetic profiles: sums, differences and written files are correct.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/made.sh
. "$(dirname "$0")/../made.sh"

functions=(main work 'Count::operator--' 'Count::operator--(int)' leaf other)

# of_process FILE PID HOST: note in the file that it is from that process
of_process()
{
	printf '# pid %s\n# host %s\n# comm made\n' "$2" "$3" >>"$T/$1"
}

# --- several profiles of one process are not parts of a whole ---
for name in app.77.0.f app.77.1.m1 app.77.20261122T111024Z app.78.1.f other.77.1.f a b c d; do
	made "$name.heap" '10 1000 4 1 0' '5 500 5 0'
done
gzip -k "$T/app.77.1.m1.heap"
mv "$T/app.77.1.m1.heap.gz" "$T/app.77.2.i1.heap.gz"
ln "$T/app.77.2.i1.heap.gz" "$T/app.77.2.i1.heap"
for other in app.77.1.m1 app.77.2.i1 app.77.20261122T111024Z; do
	ctl_fails 1 'snapshots compare_snapshots' "snapshots by their names: $other" report "$T/app.77.0.f.heap" "$T/$other.heap"
	like "$err" "app.77.0.f.heap and $T/$other.heap are from the same process" "snapshots: both are named: $other"
	like "$err" 'fix: .*diff .*leaks .*--sum' "snapshots: the fix is shown: $other"
done
for other in app.78.1.f other.77.1.f a; do
	ctl_ok "another process: $other" report --json "$T/app.77.0.f.heap" "$T/$other.heap"
	is "$(json .total)" 3000 "another process: the sum: $other"
done
ctl_ok 'snapshots: added up on request' report --sum --json "$T/app.77.0.f.heap" "$T/app.77.0.f.heap"
is "$(json .total)" 3000 'snapshots: the sum'
ctl_ok 'snapshots: one subtracted from the other' report --base "$T/app.77.0.f.heap" "$T/app.77.1.m1.heap"
of_process a.heap 77 here
of_process b.heap 77 here
of_process c.heap 77 there
of_process d.heap 78 here
ctl_fails 1 'snapshots compare_snapshots' 'snapshots by what they contain' report "$T/d.heap" "$T/a.heap" "$T/b.heap"
ctl_ok 'the same pid on two hosts' report "$T/a.heap" "$T/c.heap"
ctl_ok 'two processes' report "$T/a.heap" "$T/d.heap"
like "$out" '^inuse_space of made: ' 'two processes: no pid is shown'

# --- diff: no rows for what did not change ---
made before.heap '10 1000 4 1 0' '5 500 5 0'
made after.heap '10 1000 4 1 0' '5 500 5 0' '7 700 4 0'
ctl_ok 'diff' diff "$T/before.heap" "$T/after.heap"
like "$out" 'in 1 function and 1 stack'$'\n' 'diff: one stack changed'
unlike "$out" '\+0' 'diff: no row of +0'
ctl_ok 'diff, as JSON' diff --json "$T/before.heap" "$T/after.heap"
is "$(json '[.functions[].function, (.stacks | length)] | tostring')" '["leaf",1]' 'diff, as JSON: one of each'
ctl_ok 'diff of one with itself' diff "$T/before.heap" "$T/before.heap"
is "$out" 'in use: +0, from 1.5K to 1.5K, and no stack changed' 'diff of one with itself: nothing'

# --- percentages of a difference are of all changes, as the sum may be almost zero ---
made less.heap '10 1000000 4 1 0' '5 500 5 0' '1 9000 4 0'
made more.heap '5 9000 4 0' '5 500 5 0' '9 1000001 5 1 0'
ctl_ok 'a difference' report --base "$T/less.heap" "$T/more.heap" --unit B
like "$out" '^inuse_space: 1B ±[0-9]B in 2 stacks' 'a difference: the stacks that changed'
like "$out" $'\n''% of the sum of all absolute changes: 2000001B'$'\n' 'a difference: what percentages are relative to'
like "$out" ' 1000001B  50\.0% +50\.0% +1000001B +50\.0% .* other'$'\n' 'a difference: what grew'
like "$out" ' -1000000B -50\.0% +0\.0% +-1000000B -50\.0% .* leaf'$'\n' 'a difference: what shrank'
ctl_ok 'a difference, as a tree' report --base "$T/less.heap" "$T/more.heap" --tree
like "$out" '-50\.0%  -> leaf' 'a difference, as a tree: relative to the same'
ctl_ok 'a difference, trimmed' report --base "$T/less.heap" "$T/more.heap" --nodefraction 0.4
like "$out" ' other'$'\n' 'a difference, trimmed: relative to the same'
unlike "$(sed '/^$/,$d' "$T/out")" ' main'$'\n' 'a difference, trimmed: main changed by 1'

# --- callgrind: the cost of a function is that of all calls of it, even with recursion ---
made rec.heap '1 1000 4 1 1 1 0' '1 2000 1 4 1 0'
ctl_ok 'recursion, for callgrind' convert "$T/rec.heap" "$T/rec.callgrind"
is "$(awk '
	/^c?fn=/ { n = $1; sub(/.*=/, "", n); if (NF > 1) name[n] = $2 }
	/^cfn=/ { callee = n }
	/^calls=/ { getline; cost[callee] += $2 }
	END { for (n in cost) print name[n], cost[n] }' "$T/rec.callgrind" | sort)" \
	$'leaf 3000\nwork 3000' 'recursion, for callgrind: each cost counts once'
like "$(<"$T/rec.callgrind")" $'\ntotals: 3000 2' 'recursion, for callgrind: the total'

# --- symbolized files: "--" separates names, but also occurs in some ---
made names.heap '1 1000 2' '1 2000 3' '1 4000 4'
sed -i "s/ leaf\$/ main--Count::operator----leaf/" "$T/names.heap"
ctl_ok 'operator--' report "$T/names.heap" --tree
like "$out" '  Count::operator--'$'\n' 'operator--: a name that ends in it'
like "$out" '  Count::operator--\(int\)'$'\n' 'operator--: and one with arguments'
like "$out" '<- Count::operator--'$'\n'' .*  leaf'$'\n' 'operator--: it calls what was inlined into it'
cp "$T/out" "$T/first"
ctl_ok 'operator--, written' convert "$T/names.heap" "$T/names.raw"
unlike "$(grep '^0x' "$T/names.raw")" 'operator--' 'operator--, written: jeprof would take it for two names'
ctl_ok 'operator--, read again' report "$T/names.raw" --tree
ok 'operator--, read again: the same' cmp "$T/first" "$T/out"

# --- the table has the length of a page, and says what it omits ---
mapfile -t functions < <(printf 'f%02d\n' {0..29})
stacks=()
for i in {1..29}; do
	stacks+=("1 $((i * 1000)) $i 0")
done
made many.heap "${stacks[@]}"
ctl_ok 'many rows' report "$T/many.heap" --unit B
is "$(grep -c '  f[0-9][0-9]$' "$T/out")" 25 'many rows: 25 of them'
like "$out" $'\n''    10000B +2\.3%  in 5 more rows; -n 0 shows all'$'\n' 'many rows: the rest is summed up'
ctl_ok 'many rows, all' report "$T/many.heap" -n 0
is "$(grep -c '  f[0-9][0-9]$' "$T/out")" 30 'many rows, all: each of them'
unlike "$out" ' more rows' 'many rows, all: none is left out'
made ties.heap '1 1000 1 3 0' '1 1000 2 3 0' '1 5000 4 2 0'
ctl_ok 'ties' report "$T/ties.heap" --unit B
is "$(awk '/^$/ { exit } /  f[0-9]/ { print $NF }' "$T/out" | tr '\n' ' ')" 'f04 f02 f01 f00 f03 ' 'ties: by cum'

# --- the suffix of -o, and options of other programs ---
ctl_ok 'report -o, by its suffix' report "$T/rec.heap" -o "$T/by-suffix.folded"
like "$(<"$T/by-suffix.folded")" '^main;work;' 'report -o, by its suffix: folded'
ctl_ok 'report -o, without a known suffix' report "$T/rec.heap" -o "$T/by-suffix.txt"
like "$(<"$T/by-suffix.txt")" '^inuse_space' 'report -o, without a known suffix: a table'
ctl_ok 'report --json -o' report --json "$T/rec.heap" -o "$T/by-suffix.html"
like "$(<"$T/by-suffix.html")" '^\{' 'report --json -o: JSON, whatever the suffix'
# meant OPTION WHAT: the message must suggest WHAT
meant()
{
	ctl_fails 2 'option_unknown did_you_mean' "$1" report "$1" "$T/rec.heap"
	like "$err" "did you mean $2\?"$'\n' "$1: the right one is suggested"
}
meant --text '-f text'
meant --svg '-f svg'
meant -svg '-f svg'
meant -text '-f text'
meant --top '-f text'
meant -top '-f text'
meant --web '-f html -o page.html'
meant --http=:8080 '-f html -o page.html'
meant --pdf '-o graph.pdf'
meant -tree '--tree'
meant -focus=leaf '--focus'
meant --flame '-f svg'
ctl_fails 2 'option_unknown see_command_help' '--flames' report --flames "$T/rec.heap"
ctl_fails 2 'option_unknown see_command_help' 'list has no formats' list --top
ctl_ok 'diff -o, by its suffix' diff "$T/less.heap" "$T/more.heap" -o "$T/by-suffix.svg"
like "$(<"$T/by-suffix.svg")" '<svg' 'diff -o, by its suffix: a picture'
ctl_ok 'diff -o, with an explicit format' diff "$T/less.heap" "$T/more.heap" -o "$T/named.svg" -f folded
unlike "$(<"$T/named.svg")" '<svg' 'diff -o, with an explicit format: which wins'
for file in x.txt -; do
	ctl_fails 2 'format_not_inferred name_a_suffix' "diff -o $file: no suffix of a format" diff "$T/less.heap" "$T/more.heap" -o "$file"
	ctl_fails 2 'format_not_inferred name_a_suffix' "convert to $file: no suffix of a format" convert "$T/less.heap" "$file"
done

# --- compressed ---
ctl_ok 'plain' report "$T/rec.heap" --tree
cp "$T/out" "$T/first"
gzip -k "$T/rec.heap" "$T/names.raw"
head -c 60 "$T/rec.heap" | gzip >"$T/two.heap.gz"
tail -c +61 "$T/rec.heap" | gzip >>"$T/two.heap.gz"
for file in rec.heap.gz two.heap.gz; do
	ctl_ok "packed: $file" report "$T/$file" --tree
	ok "packed: $file: the same" cmp "$T/first" "$T/out"
done
"$CTL" report - --tree <"$T/rec.heap.gz" >"$T/out" 2>"$T/err"
ok 'packed, from a pipe' cmp "$T/first" "$T/out"
ctl_ok 'packed, with names' report "$T/names.raw.gz"
ctl_ok 'packed: diff' diff "$T/rec.heap.gz" "$T/two.heap.gz"
head -c -9 "$T/rec.heap.gz" >"$T/cut.heap.gz"
ctl_fails 1 'in_file packed_cut_short' 'packed, and cut short' report "$T/cut.heap.gz"
{
	head -c -8 "$T/rec.heap.gz"
	printf 12345678
} >"$T/bad.heap.gz"
ctl_fails 1 'in_file archive_failed' 'packed, and damaged' report "$T/bad.heap.gz"
ctl_ok 'for pprof' convert "$T/rec.heap" "$T/rec.pb.gz"
ctl_ok 'for pprof: it is read, too' report "$T/rec.pb.gz"
printf 'neither\n' | gzip >"$T/neither.gz"
ctl_fails 1 'in_file archive_failed unpack_a_heap_profile' 'packed, and not a profile' report "$T/neither.gz"
# More than 2 GiB in 10 MB, in which each line may occur in a profile.
{
	printf 'heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' | gzip
	head -c 60M /dev/zero | tr '\0' x | gzip -1 >"$T/line.gz"
	for ((i = 0; i < 36; i++)); do
		cat "$T/line.gz"
		echo | gzip
	done
} >"$T/bomb.heap.gz"
ctl_fails 1 'in_file unpacked_too_large' 'packed, and endless' report "$T/bomb.heap.gz"

done_testing
