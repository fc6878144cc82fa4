#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report -f html: the page in a browser, for a real process, a difference, hostile names, and 20,000
# stacks. tests/drivers/page.mjs prints what it saw.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# KEEP=FOLDER keeps screenshots of the pages.
pictures=${KEEP:-}
export T

# visit PAGE EXPRESSION: fill $T/out with what page.mjs saw
visit()
{
	if timeout -k 5 300 node tests/drivers/page.mjs "$1" "$2" ${pictures:+"$pictures"} >"$T/out" 2>"$T/err"; then
		result 0 "${1##*/}: visited"
	else
		result 1 "${1##*/}: visited" || diag "$(<"$T/err")"
	fi
	is "$(json '.complaints | join("\n")')" '' "${1##*/}: the browser has no complaints"
	is "$(json '.requests | join(" ")')" '' "${1##*/}: nothing is fetched"
	is "$(json .images)" 0 "${1##*/}: no image"
}

# made NAME ARGUMENTS...: make the page $T/NAME.html from the output of made-profile
made()
{
	local name=$1

	shift
	tests/drivers/made-profile "$@" >"$T/$name.heap"
	ctl_ok "report -f html of $name.heap" report "$T/$name.heap" -f html -o "$T/$name.html"
}

# folded_sum ARGUMENTS...: print the sum of a folded report, in bytes
folded_sum()
{
	"$CTL" report "$@" -f folded | awk '{ sum += $NF } END { printf "%.0f\n", sum }'
}

# shown_bytes TEXT: print the exact number of "1.2 MiB ±3 KiB (1,234,567 bytes)bytes in use"
shown_bytes()
{
	sed -E 's/.*\((\+|−)?([0-9,]+) (bytes|objects)\).*/\1\2/; s/,//g; s/^\+//; s/−/-/' <<<"$1"
}

# near A B NAME: they are equal except for the rounding of the last byte
near()
{
	ok "$3" awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a - b <= 1 && b - a <= 1) }'
}

# --- a real process ---
MALLOC_CONF=prof:true,lg_prof_sample:10 start_redis
load_redis 5000
snapshot "$pid"
ctl_ok 'dump' dump "$pid" -o "$T/first.heap"
assert_untouched "$pid"
load_redis 5000
ctl_ok 'dump again' dump "$pid" -o "$T/second.heap"
stop_target "$pid"

ctl_ok 'report -f html' report "$T/first.heap" -f html -o "$T/first.html"
visit "$T/first.html" 'redis|[a-z]'
near "$(shown_bytes "$(json .total)")" "$(folded_sum "$T/first.heap")" 'the total is that of the other reports'
is "$(json '.types | join(" ")')" 'inuse_space inuse_objects' 'bytes and objects'
like "$(json .facts)" 'Samplingone sample in 1\.0 KiB' 'the sampling rate'
like "$(json .total)" '±[0-9]' 'the sampling error of the total'
like "$(json .legend)" 'redis-(server|check-rdb)' 'the modules'
like "$(json .legend)" 'libc\.so\.6' 'those that allocate nothing by themselves, too'
ok 'it draws' jq -e '.drawn.colours > 10 and .drawn.most < 0.98' "$T/out"
ok 'the map draws' jq -e '.map.colours > 10 and .map.most < 0.98' "$T/out"

# --- interaction ---
made made 300 leaky_one
visit "$T/made.html" '^leaky_one$'
is "$(json '.clicked.path | length')" 2 'a click zooms'
is "$(json '.clicked.path[1]')" main 'a click zooms to what is there'
is "$(json '.whole | length')" 1 'Escape goes back'
like "$(json .moved)" '^main' 'an arrow key selects'
is "$(json '.entered | join(" ")')" 'all main' 'Enter zooms'
is "$(json '.left | length')" 1 'Backspace goes back'
is "$(json '.button | length')" 1 'a button goes back'
total=$(shown_bytes "$(json .total)")
share=$(awk -v t="$total" 'BEGIN { printf "%.2f%%", 100 * 1048576 / (1 - exp(-2)) / t }')
like "$(json .matched)" "^matched 1\.2 MiB ±.*, ${share//./\\.}\$" 'a search shows what it matched'
is "$(json '.none')" 'matched 0 bytes, 0.00%' 'a search for what is not there'
like "$(json '.all')" ', 100\.0%$' 'a search for all counts nothing twice'
is "$(json .wrong)" 'not a regular expression' 'an invalid expression'
is "$(json .inverted.pressed)" true 'inverted'
is "$(json .inverted.matched)" "$(json .matched)" 'inverted: the same is matched'
unlike "$(json .inverted.site)" '^main$' 'inverted: begins at an allocation site'
is "$(json '.hidden | [.summary, .after, .box] | join(", ")')" \
	'Modules (1 hidden), Modules, Modules (1 hidden)' 'a module is hidden, by key and by mouse'
is "$(json .hidden.total)" "$(json .total)" 'hiding a module changes no total'
is "$(json '.hidden.next == .hidden.module')" false 'a hidden module is not in the graph'
like "$(json '.units[1]')" 'objects in use$' 'objects'
is "$(json '.themes[0] == .themes[1]')" false 'dark by key'
is "$(json '.themes[0] == .themes[2]')" true 'light by button'
is "$(json '.themes[1] == .themes[3]')" true 'dark when the system is'
is "$(json '[.first[0], .first[7]] | join(" ")')" "$(json '[.inverted.site, .first[7]] | join(" ")')" \
	'the table begins with the largest allocation site'
is "$(json '.second | .cells[0] as $name | .detail | startswith($name)')" true 'arrow keys move in the table'
unlike "$(json .area)" '^all' 'and in the map'
is "$(json '.byCum[0]')" main 'the table by cum'
is "$(json '.byName[0] < .byNameDown[0]')" true 'the table by name, both ways'
like "$(json .picked)" ', 100\.0%$' 'a row of the table is shown in the graph'
is "$(json '.mapped | startswith("/usr/")')" true 'a click in the map opens a module'
is "$(json .unmapped)" '' 'and Escape leaves it'
is "$(json '.help[0], .help[2]' | paste -sd' ')" 'true false' 'the keys are shown, and hidden again'

# --- names ---
node tests/drivers/names.mjs >"$T/names" 2>&1
is "$(<"$T/names")" '' 'names are shortened by meaning'

# --- callers and callees ---
is "$(json .middle.view)" callers 'callers: opened by a key'
is "$(json .middle.self)" "$(json .middle.of)" 'callers: of the selected function'
is "$(json '.middle | .self as $self | (.all | index("main")) < (.all | index($self))')" true \
	'callers: its caller is above it'
like "$(json '.middle.amounts | join(" ")')" 'MiB ±.* 100\.0%' 'callers: with values'
is "$(json '.rooted | [.view, .path[1], .invert] | tostring')" "$(json '["flame", .middle.of, "true"] | tostring')" \
	'callers: as a graph'
is "$(json '.middle.all[0] == .rooted.below')" true 'callers: as a graph, with the largest first'
is "$(json '.caller.self == .middle.all[0]')" true 'callers: a click goes on to a caller'
is "$(json '.middle.of as $of | .caller.all | index($of) != null')" true 'callers: which calls it'
is "$(json .middle.again)" "$(json .middle.of)" 'callers: Back goes back'
is "$(json '.middle.of as $of | .callee | .some and (.all | index($of) != null)')" true \
	'callers: a click goes on to what it calls'

# --- the address bar ---
is "$(json .address.first)" '' 'address: empty for the initial state'
like "$(json .address.zoomed)" 'zoom=[0-9]+\.1' 'address: the zoom'
is "$(json '.address.back | tostring')" '["table","flame",2]' 'address: Back undoes, step by step'
is "$(json .address.forward)" table 'address: Forward does it again'
for part in 'type=inuse_objects' 'search=%5Eleaky_one%24' 'sort=-cum' 'zoom=[0-9]+\.2' 'function=[0-9]+'; do
	like "$(json .address.url)" "(^|&)$part(&|\$)" "address: has ${part%%=*}"
done
is "$(json '.address.copied[1] | tojson')" "$(json '.address.copied[0] | tojson')" 'address: a copy shows the same'
is "$(json '.address.reset | [.search, (.path | length)] | tostring')" '["",1]' 'Escape resets zoom and search'
is "$(json '[.hostile[].view] | join(" ")')" 'flame flame table flame flame flame flame flame' 'a hostile address: what is invalid is ignored'
is "$(json '[.hostile[].elements] | add')" 8 'a hostile address: creates no element'
is "$(json '.hostile[4].search')" 500 'a hostile address: is truncated'
for i in 3 5 6; do
	is "$(json ".hostile[$i].matched")" 'press Enter in the field to search for it' \
		"a hostile address: an expression that may take forever is not tried: $i"
done
like "$(json '.hostile[7].matched')" '^matched' 'an address: the exact name of a function is searched for'

# --- finding ---
is "$(json .found.view)" flame 'Enter in the table: the graph'
is "$(json .found.detail)" "$(json .found.row)" 'Enter in the table: finds the function, whatever the zoom was'
is "$(json .found.drawn)" flame 'Enter in the table: the focus moves there'
is "$(json .found.selected)" true '/ selects the old text'
is "$(json '.found.reset | tostring')" '["",1]' 'Escape, twice: no search, no zoom'

# --- on a phone ---
is "$(json '[.narrow.flame, .narrow.table, .narrow.map, .narrow.callers] | max')" 390 'narrow: nothing beyond the edge'
is "$(json '.narrow.cells | length > 20 and all')" true 'narrow: names and figures are visible and complete'

# --- a difference ---
ctl_ok 'a difference' report --base "$T/second.heap" "$T/first.heap" -f html -o "$T/diff.html"
visit "$T/diff.html" '.'
like "$(json .title)" ': difference of heap profiles$' 'a difference: the title says so'
like "$(json .legend)" 'less than before.*more' 'a difference: what the colours say'
near "$(shown_bytes "$(json .total)")" "$(folded_sum --base "$T/second.heap" "$T/first.heap")" 'a difference: the total'
like "$(json .total)" '^−' 'a difference: the total is negative'
like "$(json '.first[1]')" '^−' 'a difference: the table begins with what changed most'

unlike "$(json .legend)" 'significant' 'a difference of report: no mark of significance'
ctl_ok 'diff -f html' diff "$T/first.heap" "$T/second.heap" -f html -o "$T/grown.html"
visit "$T/grown.html" '.'
like "$(json .legend)" '\* significant at 99%' 'diff: what the mark says'
like "$(json '.first[0]')" '^\* ' 'diff: what grew most is marked'
like "$(json .title)" '^redis-server: difference of heap profiles$' 'diff: the title'

# --- over time ---
mkdir "$T/series"
tests/drivers/leak-trials series 'over many stacks' 3 "$T/series"
ctl_ok 'leaks' leaks "$T"/series/*.heap -o "$T/leaks.html"
leaks=$(node tests/drivers/page-leaks.mjs "$T/leaks.html" ${pictures:+"$pictures"} 2>"$T/err") || diag "$(<"$T/err")"
echo "$leaks" >"$T/out"
is "$(json '.complaints + .requests | join(" ")')" '' 'leaks: the browser has no complaints'
is "$(json .view)" time 'leaks: opens with the view over time'
is "$(json .moments)" 12 'leaks: a dot for each profile'
like "$(json '.growers[0]')" '^\*.*M/min.*leaky_grow, through' 'leaks: what leaks comes first, and is marked'
is "$(json '[.growers[1:][] | startswith("*")] | any')" false 'leaks: uncertain ones are not marked'
is "$(json .opened.view)" flame 'leaks: a click on a moment opens its stacks'
like "$(json .opened.hash)" 'at=[0-9]+' 'leaks: the moment is in the address'
is "$(json '.opened.total != .last')" true 'leaks: as they were then'
is "$(json '.since.legend | test("less than before")')" true 'leaks: the difference from the first'
like "$(json .since.total)" '^(\+|−|0)' 'leaks: the difference, with its sign'
is "$(json .back)" time 'leaks: Back goes back'
is "$(json '.grower | [.view, .search] | join(" ")')" 'flame ^leaky_grow$' 'leaks: a click on what grows shows it'
is "$(json .key)" 10 'leaks: arrow keys choose a moment'
is "$(json .narrow)" 390 'leaks, narrow: nothing beyond the edge'

# --- the flame graph as a separate file ---
ctl_ok 'svg' report "$T/made.heap" -f svg -o "$T/made.svg"
node tests/drivers/page-svg.mjs "$T/made.svg" 'std::' >"$T/out" 2>"$T/err" || diag "$(<"$T/err")"
is "$(json '.complaints | join(" ")')" '' 'svg: the browser has no complaints'
is "$(json '.wide | tostring')" '[1400,700]' 'svg: fills the window'
is "$(json .zoomed)" 700 'svg: a click zooms to the full width'
like "$(json .found)" 'match: [0-9.]+ %' 'svg: searches'

# --- hostile names ---
evil=$'</script><img src=x onerror=alert(1)>\xe2\x80\xa8\xff\x1b[31m"\\'
made hostile 50 "$evil" '<!-' __proto__
visit "$T/hostile.html" '^__proto__$'
like "$(json .matched)" '^matched 1\.2 MiB' 'hostile names: searched for'
ok 'hostile names: stay text' grep -qF '\u003c/script>\u003cimg src=x onerror=alert(1)>' "$T/hostile.html"
is "$(grep -c '</script>' "$T/hostile.html")" 2 'hostile names: end no script'
is "$(LC_ALL=C tr -d '\n\t -~\200-\377' <"$T/hostile.html" | wc -c)" 0 'hostile names: no control characters'

# --- many stacks ---
made many 20000
visit "$T/many.html" 'vector'
is "$(json '.narrow.cells | all')" true 'many stacks, narrow: figures are complete'
diag "20,000 stacks: $(wc -c <"$T/many.html") bytes, $(json '.speed | tojson')"

# --- an empty profile ---
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$T/empty.heap"
"$CTL" report "$T/empty.heap" -f html -o "$T/empty.html"
visit "$T/empty.html" ''
like "$(json .total)" '^0 bytes' 'an empty profile: 0 bytes are shown'

done_testing
