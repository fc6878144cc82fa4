#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles of allocations during a period, as `sites` writes them. They count only allocated bytes,
# and so must everything derived from them.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/made.sh
. "$(dirname "$0")/../made.sh"

functions=(main work leaf other malloc)
made_sites a.heap 4242 10 '90 100000 4 2 1 0' '30 30000 4 3 0'
made_sites b.heap 4242 20 '90 300000 4 2 1 0' '30 30000 4 3 0'
made_sites c.heap 4243 10 '1 2048 4 3 0'
made_sites same.heap 4242 10 '90 100000 4 2 1 0' '30 40000 4 3 0'
made held.heap '10 1000 4 2 1 0'
printf '# pid 4244\n# comm made\n# duration_ns 10000000000\n# allocated 100000000\n' >>"$T/held.heap"
schema=doc/schema/jeprof-ctl.json

# as_schema NAME TITLE: the last output must conform to the schema
as_schema()
{
	ok "$2: conforms to the schema" tests/drivers/schema-check "$schema" "$1" "$T/out"
}

# --- report: the bytes, their error, and the bytes per second ---
head='alloc_space of made (4242), allocated in 10.0 s: 127K ±11.3K, 12.7K/s, in 2 stacks; one sample per 1.0K'
ctl_ok 'report' report "$T/a.heap"
is "$(sed -n 1p "$T/out")" "$head" 'report: the heading'
like "$out" $'\n *97.7K  76\\.9%  76\\.9% +97.7K +76\\.9% +9.9K  leaf\n' 'report: a row, with its error'
unlike "$out" covers 'report: no coverage'
for option in --tree --traces --cum; do
	ctl_ok "report $option" report "$option" "$T/a.heap"
	is "$(sed -n 1p "$T/out")" "$head" "report $option: the same heading"
done
ctl_ok 'report of the default type' report --alloc-space "$T/a.heap"
is "$(sed -n 1p "$T/out")" "$head" 'report of the default type: the same heading'
ctl_ok 'report, as JSON' report --json "$T/a.heap"
as_schema report 'report, as JSON'
is "$(json '[.type, .total, .seconds, .period, .allocated] | tostring')" '["alloc_space",130000,10,1024,null]' 'report, as JSON: the same'
is "$(json '.shown_error | round')" 11538 'report, as JSON: sqrt(bytes * sample_bytes)'
ctl_ok 'report, as JSON, of memory in use' report --json "$T/held.heap"
as_schema report 'report, as JSON, of memory in use'
is "$(json '[.type, .seconds, .allocated] | tostring')" '["inuse_space",null,99837160]' 'control: no duration for memory in use'
ctl_ok 'report of memory in use' report "$T/held.heap"
like "$out" $'^inuse_space of made \\(4244\\): 1000 ±3 in 1 stack\ncovers 1000 of ' 'control: no duration in text either'
sed 's/^# counts .*/# counts something/' "$T/a.heap" >"$T/other.heap"
ctl_ok 'report of other counts' report "$T/other.heap"
like "$out" '^inuse_space of made \(4242\): 0 ' 'control: unknown counts are ignored'

# --- counts that a profile does not have ---
for option in --inuse-space --inuse-objects --alloc-objects; do
	type=${option#--}
	for format in text jeprof folded pprof; do
		ctl_fails 1 'counts_alloc_space show_alloc_space' "report $option -f $format" \
			report "$option" -f "$format" -o "$T/none" "$T/a.heap"
	done
	like "$err" "it counts allocated bytes, not ${type/-/_}" "report $option: the cause"
	like "$err" 'fix: .*--alloc-space' "report $option: the fix"
	ok "report $option: nothing is written" test ! -e "$T/none"
done
ctl_fails 1 'counts_alloc_space show_alloc_space' 'convert --inuse-objects' convert --inuse-objects "$T/a.heap" "$T/none.folded"
ctl_fails 1 'counts_alloc_space take_dumps' leaks leaks "$T/a.heap" "$T/b.heap" "$T/same.heap"
like "$err" 'a.heap: it counts allocated bytes, not those that are held' 'leaks: the cause'
like "$err" 'fix: .*dump' 'leaks: the fix'

# --- several profiles: all of one kind, or refused ---
for pair in "a held" "held a"; do
	read -r one two <<<"$pair"
	ctl_fails 1 'counts_differ combine_alike' "a sum of $pair" report "$T/$one.heap" "$T/$two.heap"
	like "$err" "$two.heap: one of them counts allocations" "a sum of $pair: the file is named"
	ctl_fails 1 'counts_differ combine_alike' "a difference of $pair" report "$T/$one.heap" --base "$T/$two.heap"
	ctl_fails 1 'counts_differ combine_alike' "diff of $pair" diff "$T/$one.heap" "$T/$two.heap"
done
ctl_ok 'a sum of two processes' report "$T/a.heap" "$T/c.heap"
like "$out" '^alloc_space of made: 129K ±11.4K in 2 stacks; one sample per 1.0K'$'\n' 'a sum: no duration'
ctl_ok 'a difference' report "$T/b.heap" --base "$T/a.heap"
like "$out" '^alloc_space of made \(4242\): 195K ±[0-9.]+K in 1 stack; one sample per 1.0K'$'\n' 'a difference: no duration'
ctl_ok 'diff' diff "$T/a.heap" "$T/b.heap"
like "$out" '^allocated: \+195K, from 127K in 10\.0 s to 322K in 20\.0 s, in 1 function and 1 stack'$'\n' 'diff: both durations'
like "$out" $'\n\\* +\\+195K +19.8K +97.7K +293K +leaf\n' 'diff: what grew, with its error'
ctl_ok 'diff over equal durations' diff "$T/a.heap" "$T/same.heap"
like "$out" '^allocated: \+9\.8K, from 127K to 137K, in 1 function' 'diff over equal durations: none is shown'
ctl_ok 'diff, as JSON' diff --json "$T/a.heap" "$T/b.heap"
as_schema diff 'diff, as JSON'
is "$(json '[.type, .in_use, .allocated] | tostring')" \
	'["alloc_space",null,{"after":330000,"after_seconds":20,"before":130000,"before_seconds":10}]' 'diff, as JSON: the same'
ctl_ok 'diff, as JSON, of memory in use' diff --json "$T/held.heap" "$T/held.heap"
as_schema diff 'diff, as JSON, of memory in use'
is "$(json '[.type, .in_use, .allocated] | tostring')" '["inuse_space",{"after":1000,"before":1000},null]' 'control: memory in use'
ctl_ok 'diff, as a page' diff "$T/a.heap" "$T/b.heap" -o "$T/diff.html"
like "$(<"$T/diff.html")" '"values":\{"alloc_space":\[' 'diff, as a page: allocated bytes'

# --- formats: a single type, and the same bytes ---
for format in pprof folded html svg speedscope callgrind dot json raw; do
	ctl_ok "convert to $format" convert -f "$format" "$T/a.heap" "$T/it.$format"
	[ $format = html ] ||
		unlike "$(gzip -dcf <"$T/it.$format" | tr -d '\0')" inuse "convert to $format: no type of memory in use"
done
is "$(<"$T/it.folded")" $'main;other 30000\nmain;work;leaf 100000' 'folded: the bytes'
like "$(<"$T/it.svg")" 'made: alloc_space 127K</text>' 'svg: the heading'
like "$(<"$T/it.svg")" 'one sample in 1.0K' 'svg: the sampling rate'
is "$(json '[.activeProfileIndex, (.profiles[] | [.name, .unit, .endValue, (.weights | add)])] | tostring' "$T/it.speedscope")" \
	'[0,["alloc_space","bytes",130000,130000]]' 'speedscope: one profile'
like "$(<"$T/it.callgrind")" $'\nevents: alloc_space\n.*\ntotals: 130000' 'callgrind: one event'
like "$(<"$T/it.dot")" 'alloc_space 127K' 'dot: its legend'
is "$(json '[.types, .totals, .period, .duration_ns, ([.stacks[].values[]] | add)] | tostring' "$T/it.json")" \
	'[["alloc_space"],[130000],1024,10000000000,130000]' 'json: one type'
is "$(json '[.stacks[].errors[] | round] | tostring' "$T/it.json")" '[10119,5543]' 'json: errors'
like "$(<"$T/it.html")" '"duration_ms":10000,"period":1024' 'html: duration and rate'
like "$(<"$T/it.html")" '"values":\{"alloc_space":\[[0-9,]+\]' 'html: one type'
like "$(<"$T/it.raw")" $'\nheap_v2/1\n  t\\*: 0: 0 \\[120: 130000\\]\n' 'raw: nothing is scaled'
like "$(<"$T/it.raw")" $'\n# duration_ns 10000000000\n# counts alloc_space\n# sample_bytes 1024$' 'raw: the metadata'

# --- reading the output again ---
ctl_ok 'pprof of raw' convert -f pprof "$T/it.raw" "$T/again.pprof"
ctl_ok 'raw of pprof' convert -f raw "$T/it.pprof" "$T/again.raw"
like "$(<"$T/again.raw")" $'\n  t\\*: 0: 0 \\[0: 130000\\]\n.*\n# counts alloc_space\n# sample_bytes 1024$' 'raw of pprof: no number of samples'
ctl_ok 'a bundle' bundle "$T/a.heap" -o "$T/it.tar"
for file in it.raw it.pprof again.raw again.pprof it.tar; do
	ctl_ok "report of $file" report "$T/$file"
	is "$(sed -n 1p "$T/out")" "$head" "report of $file: the same heading"
done
ctl_fails 1 'counts_differ' 'pprof and what is in use' report "$T/it.pprof" "$T/held.heap"

# --- jeprof(1) counts the same bytes ---

# total FILE: print the total according to jeprof
total()
{
	jeprof --text --alloc_space --show_bytes "$1" 2>/dev/null | sed -n 's/^Total: //p'
}

for file in a.heap it.raw again.raw; do
	is "$(total "$T/$file")" '130000 B' "jeprof, $file: the total"
done
sed 's|^heap_v2/1$|heap_v2/1024|' "$T/a.heap" >"$T/scaled.heap"
unlike "$(total "$T/scaled.heap")" '^130000 B' 'control: jeprof scales by a sampling rate'
ctl_ok 'a rate that jeprof would scale by' report --unit B "$T/scaled.heap"
like "$out" ' s: 130000B ' 'a rate that jeprof would scale by: ignored because of the counts'
jeprof --text --alloc_space --show_bytes "$T/it.raw" >"$T/theirs" 2>/dev/null
ctl_ok 'report -f jeprof' report -f jeprof --show-bytes "$T/it.raw"
is "$(sort "$T/out")" "$(sort "$T/theirs")" 'report -f jeprof: identical to jeprof --alloc_space'
is "$(jeprof --text --show_bytes "$T/it.raw" 2>/dev/null | grep -c '[1-9]')" 0 'jeprof without --alloc_space: nothing is in use'

# --- hostile input ---
for fact in 'sample_bytes 9223372036854775807' 'sample_bytes 0' 'duration_ns 9223372036854775807'; do
	sed "s/^# ${fact% *} .*/# $fact/" "$T/a.heap" >"$T/wild.heap"
	ctl_ok "$fact" report --json "$T/wild.heap"
	as_schema report "$fact"
done
sed 's/^# sample_bytes .*/# sample_bytes 99999999999999999999/' "$T/a.heap" >"$T/wild.heap"
ctl_fails 1 'profile_malformed' 'an invalid number' report "$T/wild.heap"

done_testing
