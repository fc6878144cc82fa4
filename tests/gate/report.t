#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report and convert: byte-identical to jeprof for programs with symbols, and right where jeprof is
# not, for profiles that real processes wrote by themselves.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# shellcheck source=tests/forest.sh
. tests/forest.sh

# --- same as jeprof (tests/system/forest.t has its other modes) ---
same 'functions'
like "$out" 'oak::grow@' 'functions: overloads are told apart'
like "$out" ' \(inline\)' 'functions: inlined calls are shown'
same 'lines' --lines
heap=$T/end.own.heap
same 'addresses' --addresses
same 'base' --base="$T/base.own.heap"
without=()
threads=$(sed -nE '2,/^@/s/^ *t([0-9]+):.*/\1/p' "$T/end.heap")
ok 'threads: two' test "$(wc -w <<<"$threads")" -eq 2
same "thread ${threads%%$'\n'*}" --thread="${threads%%$'\n'*}"
run_ctl report -f jeprof "$T/base.own.heap" "$T/end.own.heap"
jeprof --text "$T/forest" "$T/base.own.heap" "$T/end.own.heap" 2>/dev/null >"$T/jeprof.out"
is "$(sed 1q "$T/out")" "$(sed 1q "$T/jeprof.out")" 'two files: the total is their sum'
heap=$T/end.heap

# --- our own table ---
ctl_ok 'text' report "$T/end.heap"
like "$(sed -n 1p "$T/out")" '^inuse_space.*: [0-9.]+[KM] ±[0-9.]+[KM] in [0-9]+ stacks' 'text: the title'
like "$out" ' oak::grow\(double\)' 'text: overloads with their arguments'
unlike "$out" '\+0x.*libjemalloc' 'text: no calls within the allocator'
ctl_ok 'text, of few rows' report "$T/end.heap" -n 3
is "$(sed '/^$/,$d' "$T/out" | wc -l)" 6 'text, of few rows: three, two lines above, and a sum of the rest'
ctl_ok 'keep-allocator' report "$T/end.heap" -n 0 --keep-allocator
like "$out" ' calloc' 'keep-allocator: calloc is shown'
ctl_ok 'hide' report "$T/end.heap" -n 0 --hide '^keep'
unlike "$out" ' keep\(' 'hide: an inlined call is hidden'
like "$out" ' oak::grow\(int\)' 'hide: the function it was inlined into stays'
ctl_ok 'show' report "$T/end.heap" -n 0 --show '^main$'
is "$(sed '/^$/,$d' "$T/out" | grep -c %)" 2 'show: the titles, and one function'
ctl_ok 'a filter that leaves nothing' report "$T/end.heap" --focus '^no such function$' -f folded
is "$out$err" 'jeprof-ctl: warning: no stack passes the filters' 'a filter that leaves nothing: a warning'
ctl_ok 'a filter that leaves nothing, quietly' report "$T/end.heap" --hide . -q -f folded
is "$out$err" '' 'a filter that leaves nothing, quietly: no output'
ctl_ok 'unit' report "$T/end.heap" --unit KB
like "$out" '[0-9.]+KB ±' 'unit: KB'
ctl_ok 'json' report "$T/end.heap" --json -n 0
ok 'json: flat adds up' jq -e '([.rows[].flat] | add) as $sum | ($sum - .shown) | fabs < 0.01' "$T/out"
ok 'json: errors' jq -e '[.rows[] | select(.flat > 0) | .flat_error > 0] | all' "$T/out"
ctl_ok 'tree' report "$T/end.heap" --tree -n 5
like "$out" '<- walk\(unsigned int\)' 'tree: callers'
ctl_ok 'peek' report "$T/end.heap" --peek '^elm::twice'
like "$out" '<- walk' 'peek: the caller'
like "$out" '-> elm::help' 'peek: a callee'
is "$(grep -c '^ *[0-9].*%.*  elm::twice' "$T/out")" 1 'peek: that function alone'
ctl_fails 1 no_match 'peek: no match' report "$T/end.heap" --peek '^no such function$'
ctl_fails 2 exclusive 'peek: in a format without it' report "$T/end.heap" --peek elm -f folded
ctl_fails 2 exclusive 'tree: as text' report "$T/end.heap" --tree -f text
run_ctl report "$T/end.heap" --peek elm --json
is "$status $(json .error.code)" '2 usage' 'peek: not in JSON'
ctl_ok 'JSON' report "$T/end.heap" --json
cp "$T/out" "$T/shown.json"
ctl_ok 'JSON, to a file' report "$T/end.heap" --json -o "$T/report.json"
is "$out" '' 'JSON, to a file: nothing on stdout'
ok 'JSON, to a file: it is there' cmp "$T/shown.json" "$T/report.json"
ctl_fails 1 root_unusable 'a --root that does not exist' report "$T/end.heap" --root "$T/nowhere"
like "$err" '--root: No such file' 'a --root that does not exist: the cause is reported'
ctl_fails 1 root_unusable 'diff: a --root that does not exist' diff "$T/base.heap" "$T/end.heap" --root "$T/nowhere"
ctl_fails 1 root_unusable 'a --root that is a file' report "$T/end.heap" --root "$T/end.heap"
like "$err" '--root: Not a directory' 'a --root that is a file: the cause is reported'

# --- the page ---
ctl_ok 'html' report "$T/end.heap" -f html -o "$T/page.html"
is "$(grep -c '^<title>forest: heap profile</title>$' "$T/page.html")" 1 'html: the title names the program'
page_data "$T/page.html"
is "$(json '.functions.name | index("oak::grow(int)") != null')" true 'html: the names'
is "$(json '[(.values.inuse_space | add | round), (.significance == null)] | tostring')" \
	"[$("$CTL" report "$T/end.heap" --json | jq '.shown | round'),true]" 'html: adds up, without significance tests'
is "$(json '(.stacks.depth | length) == (.values.inuse_space | length)')" true 'html: a number for each stack'
ctl_ok 'html of diff' diff "$T/base.heap" "$T/end.heap" -f html -o "$T/diff.html"
is "$(grep -c '^<title>forest: difference of heap profiles</title>$' "$T/diff.html")" 1 'html of diff: the title'
page_data "$T/diff.html"
marked=$(json '.functions.name as $name | [.significance.functions[] | $name[.]] | unique | join(" ")')
ok 'html of diff: some are significant' test -n "$marked"
is "$marked" "$("$CTL" diff "$T/base.heap" "$T/end.heap" --json |
	jq -r '[.functions[] | select(.significant) | .function] | unique | join(" ")')" 'html of diff: the ones that diff marks'
is "$(json '.significance | .confidence, (.stacks | length > 0)' | paste -sd' ')" '0.99 true' \
	'html of diff: the confidence, and the stacks'
{
	sed '/^# comm/d' "$T/end.heap"
	printf '# comm </title><script>alert(1)</script>&\n# time_ns 1800000000000000000\n'
} >"$T/evil.heap"
ctl_ok 'html of a hostile name' report "$T/evil.heap" -f html -o "$T/evil.html"
is "$(grep '^<title>' "$T/evil.html")" \
	'<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;: heap profile, 2027-01-15 08:00:00 UTC</title>' \
	'html of a hostile name: stays text; the time is shown'
is "$(grep -c '</script>' "$T/evil.html")" 2 'html of a hostile name: begins no script'
# --- the source, line by line ---
cp tests/target/forest.cc "$T/source.cc"
cp "$T/source.cc" "$T/forest.cc.txt"
touch -d @1000 "$T/source.cc"
g++ -std=c++17 -O1 -g -pthread -o "$T/listed" "$T/source.cc" -ljemalloc
MALLOC_CONF=prof:true,lg_prof_sample:11,prof_accum:true "$T/listed" "$T/listed.base.heap" "$T/listed.heap"
ctl_ok 'list' report --list '^walk' "$T/listed.heap"
like "$out" $'\n'"walk\(unsigned int\) in $T/source.cc: flat 0, cum [0-9.]+M \(" 'list: the function, and where it is'
like "$out" $'\n'' +\. +[0-9.]+[KM] +[0-9]+ +oak::grow\(5\.5\);'$'\n' 'list: a line that allocates'
like "$out" $'\n'' +\. +\. +[0-9]+ +case 0:'$'\n' 'list: and a line around it'
unlike "$out" 'newer|no source' 'list: no warning about the source'
is "$(sed -nE 's/^ +[0-9.KM]+ +[0-9.KM]+ +([0-9]+) .*/\1/p' "$T/out" | sort -n -u | wc -l)" \
	"$(sed -nE 's/^ +[0-9.KM]+ +[0-9.KM]+ +([0-9]+) .*/\1/p' "$T/out" | wc -l)" 'list: no line twice'
ctl_fails 1 no_match 'list: no match' report --list '^no such function$' "$T/listed.heap"
ctl_fails 2 pattern_malformed 'list: an invalid expression' report --list '(' "$T/listed.heap"
for other in --json --tree --traces '-f text'; do
	# shellcheck disable=SC2086
	run_ctl report --list walk $other "$T/listed.heap"
	is "$status" 2 "list with $other is refused"
done
touch "$T/source.cc" -d tomorrow
ctl_ok 'list: newer' report --list '^walk' "$T/listed.heap"
like "$out" $'\n''the source is newer than the program: its lines may differ'$'\n' 'list: a source that is newer is reported'
printf 'one\e[31m line\n' >"$T/source.cc"
ctl_ok 'list: shorter' report --list '^walk' "$T/listed.heap"
unlike "$out" $'\e' 'list: no escape characters'
rm "$T/source.cc"
# no_source WHY NAME: the file at the path of the source must not be read
no_source()
{
	ctl_ok "list: $2" report --list '^walk' "$T/listed.heap"
	like "$out" $'\n'"no source: $1"$'\n' "list: $2: the cause is shown"
	like "$out" $'\n'' +\. +[0-9.]+[KM] +[0-9]+'$'\n' "list: $2: the numbers are there"
}
no_source 'the file is not here' 'no source'
mkfifo "$T/source.cc"
no_source 'it is not a regular file' 'a FIFO'
rm "$T/source.cc"
ln -s /dev/zero "$T/source.cc"
no_source 'it is not a regular file' 'a device'
ln -sf "$T/forest.cc.txt" "$T/source.cc"
no_source 'its name is not that of a source file' 'a link to something else'
ln -sf /proc/self/environ "$T/source.cc"
no_source '(the file is not here|its name is not that of a source file|the file (may not be|cannot be) read)' 'a link into /proc'
ln -sf /etc/shadow "$T/source.cc"
no_source 'its name is not that of a source file|the file may not be read' 'a link to a file of secrets'
rm "$T/source.cc"
truncate -s 17M "$T/source.cc"
no_source 'the file is longer than 16 MiB' 'a file that is too long'
mkdir -p "$T/root$T"
rm "$T/source.cc"
touch -d @1000 "$T/forest.cc.txt"
cp -p "$T/forest.cc.txt" "$T/root$T/source.cc"
cp -p "$T/listed" "$T/root$T/"
ctl_ok 'list: --root' report --root "$T/root" --trust-images --list '^walk' "$T/listed.heap"
like "$out" 'case 0:' 'list: --root: the source below it'

# --- raw ---
ctl_ok 'convert to raw' convert "$T/end.heap" "$T/end.raw"
jeprof_text
jeprof --text --focus='^walk$' "$T/end.raw" 2>/dev/null >"$T/raw.out"
is "$(sed 1q "$T/raw.out")" "$(sed 1q "$T/jeprof.out")" 'raw: jeprof reads it without the program, and has the same total'
# back: move the program back, which changes its ctime, and make the profiles newer again
back()
{
	mv "$T/gone" "$T/forest"
	touch "$T"/*.heap
}
mv "$T/forest" "$T/gone"
for grain in --functions --lines --addresses; do
	run_ctl report "$T/end.raw" "$grain" -n 0
	cp "$T/out" "$T/raw.out"
	back
	run_ctl report "$T/end.heap" "$grain" -n 0
	mv "$T/forest" "$T/gone"
	is "$(<"$T/raw.out")" "$out" "raw: the same report without the program, $grain"
done
mkdir -p "$T/root$T"
cp "$T/gone" "$T/root$T/forest"
for command in diff report; do
	ctl_ok "$command --root" "$command" --root "$T/root" --trust-images --no-cache "$T/base.heap" "$T/end.heap"
	like "$out" ' oak::' "$command --root: the names of the program there"
	run_ctl "$command" --no-cache "$T/base.heap" "$T/end.heap"
	unlike "$out" ' oak::' "$command without --root: no such names"
done
back
awk '/^@/ { n++ } n == 5 && /t\*:/ { sub(/t\*: [0-9]+: [0-9]+/, "t*: 9000: 900000") } 1' "$T/base.heap" >"$T/fat.heap"
ctl_ok 'raw of a difference, of what grew' report -q --base "$T/fat.heap" "$T/end.heap" --drop-negative -f raw -o "$T/grown.raw"
ctl_ok 'raw of a difference: has what grew' report --json "$T/grown.raw"
grown=$(json .shown)
ctl_ok 'raw of a difference, directly' report --json --base "$T/fat.heap" "$T/end.heap" --drop-negative
ok 'raw of a difference: the same total' awk -v a="$grown" -v b="$(json .shown)" 'BEGIN { exit !(a > 0 && a > b * 0.98 && a < b * 1.02) }'
ctl_fails 1 'raw_no_difference leave_out_what_shrank' 'raw holds no difference' report -f raw --base "$T/end.heap" "$T/base.heap"

# --- one with names and one without: what only the second has is also looked up ---
ctl_ok 'the base with its names' report -f raw "$T/base.heap" -o "$T/base.raw"
for pair in "base.raw end.heap" "end.heap base.raw" "end.raw base.heap"; do
	read -r one other <<<"$pair"
	run_ctl report -q -n 0 "$T/${one%.*}.heap" "$T/${other%.*}.heap"
	cp "$T/out" "$T/bare.out"
	ctl_ok "$pair" report -q -n 0 "$T/$one" "$T/$other"
	ok "$pair: the same names as without symbols in either" cmp "$T/bare.out" "$T/out"
	run_ctl diff -q "$T/${one%.*}.heap" "$T/${other%.*}.heap"
	cp "$T/out" "$T/bare.out"
	ctl_ok "diff $pair" diff -q "$T/$one" "$T/$other"
	ok "diff $pair: the same names as without symbols in either" cmp "$T/bare.out" "$T/out"
done

# --- a very long name ---
long=$(printf 'g%.0s' {1..400})
sed "s/\tkeep\tkeep\$/\t$long\t$long/" "$T/end.raw" >"$T/long.raw"
printf 'heap_v2/2048\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$T/nothing.heap"
ctl_ok 'a long name: diff' diff "$T/nothing.heap" "$T/long.raw"
like "$out" ' \+[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +g{100,}\.\.\.'$'\n' 'a long name: marked where it was cut'

# --- two sample rates: raw counts samples, and has one rate ---
sed '1s/.*/heap_v2\/65536/' "$T/base.heap" >"$T/rare.heap"
ctl_ok 'two rates' report "$T/end.heap" "$T/rare.heap"
unlike "$out" 'one sample per' 'two rates: no single rate is shown'
ctl_fails 1 raw_mixed_rates 'raw holds one rate' report -f raw "$T/end.heap" "$T/rare.heap"

# --- the output cannot be written ---
for how in text tree jeprof folded; do
	"$CTL" report -f "$how" "$T/end.heap" >/dev/full 2>"$T/err"
	like "$? $(<"$T/err")" '^10 jeprof-ctl: cannot write .*: No space left on device$' "a full device: $how"
done
# A reader may stop early. Python starts it with SIGPIPE ignored, as services are.
unread()
{
	python3 - "$CTL" "$@" 2>"$T/err" <<'END'
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer, restore_signals=False).returncode)
END
	is "$? $(<"$T/err")" '10 ' "nobody reads: status 10, and no message: $1 ${*: -1}"
}
unread report "$T/end.heap"
unread report "$T/end.heap" --tree
unread report "$T/end.heap" -f pprof
unread report "$T/end.heap" --json
unread diff "$T/base.heap" "$T/end.heap" -f svg
unread diff "$T/base.heap" "$T/end.heap"
unread bundle "$T/end.heap" -o -
unread report --help

# --- a difference: sorted by size, whether it grew or shrank ---
ctl_ok 'less' report --base "$T/end.heap" "$T/base.heap" -n 1 -q
like "$out" $'  function\n *-[0-9.]+[KM] ' 'less: the first row is the one that shrank most'
unlike "$out" '-0\.0%' 'less: no -0.0%'
ctl_ok 'less, all' report --base "$T/end.heap" "$T/base.heap" --json -n 0
is "$(json '[.rows[].flat | fabs] | . == (sort | reverse)')" true 'less, all: by size'

# --- another run of the same program ---
MALLOC_CONF=prof:true,lg_prof_sample:11,prof_accum:true "$T/forest" "$T/base2.heap" "$T/end2.heap"
ctl_ok 'another run' report --base "$T/base2.heap" "$T/end2.heap" --json -n 0
same_run=$(json '.rows | map(select(.name | startswith("oak::"))) | length')
ctl_ok 'the base of another run' report --base "$T/base.heap" "$T/end2.heap" --json -n 0
is "$(json '.rows | map(select(.name | startswith("oak::"))) | length')" "$same_run" 'the base of another run: its addresses are relocated'

# --- stripped: jeprof invents names ---
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:12 start_redis
load_redis 5000
snapshot "$pid"
ctl_ok 'a dump of redis' dump "$pid" -o "$T/redis.heap"
assert_untouched "$pid" 'redis is untouched'
stop_target "$pid"
jeprof --text "$(command -v redis-server)" "$T/redis.heap" 2>/dev/null >"$T/jeprof.out"
ctl_ok 'stripped' report "$T/redis.heap" -n 0 --no-fold
# jeprof prints the preceding symbol, even if that ended before the address.
like "$(<"$T/jeprof.out")" 'std::__throw_ios_failure' 'stripped: jeprof names a function that was not called'
unlike "$out" '__throw_ios_failure' 'stripped: report does not'
like "$out" '\[libstdc\+\+\.so[^ ]*\+0x[0-9a-f]+\]' 'stripped: an address without a name is shown as such'
like "$out" ' zmalloc$|^.* zmalloc'$'\n' 'stripped: an address with a name is named'

# Check each name by what covers its address. jeprof invents one for 100 of about 280 addresses.
jeprof --text --addresses "$(command -v redis-server)" "$T/redis.heap" 2>/dev/null >"$T/jeprof.out"
tests/drivers/invented.py "$T/redis.heap" "$T/jeprof.out" >"$T/theirs" 2>&1
like "$(<"$T/theirs")" 'looked at [0-9]{3}' 'stripped: jeprof names hundreds of addresses'
ok 'stripped: many of them by a function that ended before the address' test "$(grep -c ^invented "$T/theirs")" -gt 20
ctl_ok 'stripped, by address' report -q --no-cache -f jeprof --addresses "$T/redis.heap"
tests/drivers/invented.py "$T/redis.heap" "$T/out" >"$T/ours" 2>&1
like "$(<"$T/ours")" '^looked at [0-9]{3}$' 'stripped: report invents no name, and omits none that a symbol covers'

# --- bad input ---
head -c $(($(grep -b '^@' "$T/end.heap" | sed -n '5s/:.*//p') + 25)) "$T/end.heap" >"$T/cut.heap"
ctl_fails 1 'in_file profile_cut_short' 'cut short' report "$T/cut.heap"
like "$err" '/cut\.heap: line [0-9]+, byte [0-9]+' 'cut short: the place is named'
sed '/^MAPPED/,$d' "$T/end.heap" >"$T/unmapped.heap"
ctl_ok 'without MAPPED_LIBRARIES' report "$T/unmapped.heap"
like "$err" 'no MAPPED_LIBRARIES' 'without MAPPED_LIBRARIES: a warning'
ctl_ok 'without MAPPED_LIBRARIES: diff' diff "$T/unmapped.heap" "$T/unmapped.heap"
like "$err" 'no MAPPED_LIBRARIES' 'without MAPPED_LIBRARIES: diff warns, too'
: >"$T/empty.heap"
ctl_fails 1 'in_file profile_empty' 'empty' report "$T/empty.heap"
like "$err" '/empty\.heap: ' 'empty: the file is named'

# No stacks, as before activation; a single call without a caller.
printf 'heap_v2/4096\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$T/idle.heap"
printf 'heap_v2/4096\n  t*: 1: 64 [0: 0]\n@ 0x4010\n  t*: 1: 64 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$T/lone.heap"
for few in idle lone; do
	for format in text tree jeprof pprof folded html svg speedscope callgrind dot json raw; do
		ctl_ok "$few: $format" report -f "$format" "$T/$few.heap"
	done
	ctl_ok "$few: diff" diff "$T/$few.heap" "$T/$few.heap"
	ctl_ok "$few: JSON" report --json "$T/$few.heap"
done
ctl_ok 'idle and lone' diff "$T/idle.heap" "$T/lone.heap"
printf '\1\0\377\2' >"$T/binary"
ctl_fails 1 'in_file profile_cut_short' 'binary' report "$T/binary"
like "$err" 'line 1.*not a heap profile' 'binary: the cause is reported'
ctl_fails 1 'in_file is_program pass_only_profiles' 'the program as an argument, as for jeprof' report "$T/forest" "$T/end.heap"
like "$err" '/forest: ' 'the program: it is named'
ctl_fails 1 'in_file file_unopened' 'no such file' report "$T/none.heap"
ctl_fails 1 'in_file file_unreadable' 'a folder' report "$T"
ctl_fails 1 'in_file of_another_program' 'two programs' report "$T/end.heap" "$T/redis.heap"
like "$err" 'another program: .*redis.*, not .*forest' 'two programs: both are named'
ctl_fails 1 'in_file of_another_program' 'the base of another program' report --base "$T/redis.heap" "$T/end.heap"
ctl_fails 1 no_such_thread_in_profile 'no such thread' report --thread 77 "$T/end.heap"
like "$err" 'no thread 77' 'no such thread: it is named'
ctl_fails 2 pattern_malformed 'an invalid expression' report --focus '(' "$T/end.heap"
ctl_fails 2 exclusive_options 'two counts' report --inuse_space --alloc_space "$T/end.heap"
ctl_fails 2 'format_unknown available_formats' 'an unknown format' report -f nonsense "$T/end.heap"
like "$err" 'unknown format nonsense.*fix: .*text, .*pprof' 'an unknown format: it is named, and the known ones are listed'
ctl_fails 2 not_a_fraction 'an invalid fraction' report --nodefraction 2 "$T/end.heap"
ctl_fails 2 'format_not_inferred name_a_suffix' 'an unknown suffix' convert "$T/end.heap" "$T/out.xyz"
runner=(env PATH=/nowhere)
ctl_fails 1 'graphviz_missing install_graphviz' 'PDF: a call graph, which needs Graphviz' report "$T/end.heap" -o "$T/out.pdf"
ctl_fails 1 'graphviz_missing install_graphviz' 'PNG: the same' convert "$T/end.heap" "$T/out.png"
runner=()
ctl_fails 10 'output_exists choose_or_force' 'no existing file is replaced' convert "$T/end.heap" "$T/end.raw"
ctl_ok 'except with --force' convert --force "$T/end.heap" "$T/end.raw"
grep -v '^ *t[*0-9]*:.*\[[1-9]' "$T/redis.heap" >"$T/plain.heap"
ctl_fails 1 'prof_accum' 'missing alloc counts' report --alloc_space "$T/redis.heap"

done_testing
