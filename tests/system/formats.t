#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report -f FORMAT of real dumps, read by the programs that the formats are for: the totals match
# ours, and hostile names stay text.
# shellcheck source=tests/lib.sh
. "${BASH_SOURCE%/*}/../lib.sh"
# shellcheck source=tests/made.sh
. "${BASH_SOURCE%/*}/../made.sh"

export T
formats=(pprof folded svg speedscope callgrind dot json html)

# what SUBCOMMAND FILE [NAME]: run formats.mjs; its JSON is for json()
what()
{
	timeout 120 tests/drivers/formats.mjs "$@" >"$T/out" 2>"$T/node.err" || diag "$(tail -n 5 "$T/node.err")"
}

# report_as FORMAT FILE [OPTIONS...]: convert $heap
report_as()
{
	local format=$1 file=$2

	shift 2
	ctl_ok "report -f $format $*" report -q -f "$format" -o "$file" "$@" "$heap"
}

# check_formats NAME: check every format of $heap with its reader; set `total`
check_formats()
{
	local name=$1 dir=$T/$1 format

	mkdir "$dir"
	for format in "${formats[@]}"; do
		report_as "$format" "$dir/it.$format"
	done
	total=$(json '.totals[1] | round' "$dir/it.json")
	like "$total" '^[1-9][0-9]+$' "$name: there is a total"
	is "$(json '[.stacks[].values[1]] | add | round' "$dir/it.json")" "$total" "$name: json: the stacks add up"
	is "$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$dir/it.folded")" "$total" "$name: folded adds up"
	what pprof "$dir/it.pprof"
	is "$(json '.totals[1]')" "$total" "$name: pprof-format: the total"
	is "$("$CTL" report "$dir/it.pprof" --json | jq .total)" "$total" "$name: pprof-format: read back, the total"
	is "$(json '.symbolized')" true "$name: pprof-format: marked as symbolized"
	is "$(go tool pprof -top -unit=B "$dir/it.pprof" 2>/dev/null | sed -n 's/.* of \([0-9]*\)B total$/\1/p')" \
		"$total" "$name: go tool pprof: the total"
	ok "$name: go tool pprof draws it" eval "go tool pprof -svg '$dir/it.pprof' 2>/dev/null | grep -q '</svg>'"
	is "$(callgrind_annotate "$dir/it.callgrind" 2>"$T/cg.err" | awk '/PROGRAM TOTALS/ { gsub(",", ""); print $1 }')" \
		"$total" "$name: callgrind_annotate: the total"
	is "$(<"$T/cg.err")" '' "$name: callgrind_annotate has no complaint"
	ok "$name: dot draws it" dot -Tsvg -o "$dir/dot.svg" "$dir/it.dot"
	ok "$name: the drawings are XML" xmllint --noout "$dir/dot.svg" "$dir/it.svg"
	is "$(json '[.profiles[1] | .endValue, (.weights | add)] | unique | tostring' "$dir/it.speedscope")" \
		"[$total]" "$name: speedscope: the total"
	what speedscope "$dir/it.speedscope"
	like "$(json .said)" 'inuse_space \(2/' "$name: speedscope shows it"
}

# same_rows NAME: report without folding and go tool pprof have the same rows, except for the
# rounding of each sample
same_rows()
{
	local dir=$T/$1

	go tool pprof -top -nodecount=100000 -nodefraction=0 -edgefraction=0 -unit=B "$dir/it.pprof" 2>/dev/null |
		awk -v OFS='\t' 'rows { name = $6; for (i = 7; i <= NF; i++) name = name " " $i
			sub(/ \((partial-)?inline\)$/, "", name); print name, $1 + 0, $4 + 0 } /flat%/ { rows = 1 }' |
		sort -t $'\t' -k 1,1 >"$dir/theirs"
	"$CTL" -q report "$heap" --no-fold --json -n 0 |
		jq -r '.rows[] | select(.flat != 0 or .cum != 0) | [.name, .flat, .cum] | @tsv' |
		sort -t $'\t' -k 1,1 >"$dir/ours"
	ok "$1: there are rows" test "$(wc -l <"$dir/ours")" -gt 20
	is "$(cut -f 1 "$dir/ours")" "$(cut -f 1 "$dir/theirs")" "$1: report --no-fold: the rows of go tool pprof -top"
	is "$(paste "$dir/ours" "$dir/theirs" | awk -F '\t' 'function off(a, b) { return a - b > 64 || b - a > 64 }
		off($2, $5) || off($3, $6)')" '' "$1: report --no-fold: the same flat and cum"
}

serve_pprof()
{
	local port

	port=$(free_port)
	PPROF_TMPDIR=$T go tool pprof -http="127.0.0.1:$port" -no_browser "$1" >/dev/null 2>&1 &
	own $!
	url=http://127.0.0.1:$port
	ok 'go tool pprof serves it' within 60 fetch "$url/top"
}

fetch()
{
	python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$1"
}

# --- a stripped daemon with threads and several libraries ---
export MALLOC_CONF=prof:true,prof_active:true,prof_accum:true,lg_prof_sample:12
start_redis
load_redis 20000 300
snapshot "$pid"
heap=$T/redis.heap
ctl_ok 'dump' dump "$pid" -o "$heap"
check_formats redis
same_rows redis
is "$(json '[.stacks[] | select(.values[1] > 0) | .errors[1] > 0] | unique | tostring' "$T/redis/it.json")" '[true]' \
	'json: each stack has its error'
what pprof "$T/redis/it.pprof"
is "$(json '.types | tostring')" '["inuse_objects","inuse_space","alloc_objects","alloc_space"]' 'pprof: all types'
is "$(json '[.default, .period_type, .period] | tostring')" '["inuse_space","space",4096]' 'pprof: what was sampled'
like "$(json '.comments | tostring')" "process: redis-server.*pid: $pid" 'pprof: its process'
like "$(json '.build_ids[0]')" '^[0-9a-f]{40}$' 'pprof: build ids'
like "$(json .time_ns)" '^1[0-9]{18}$' 'pprof: the time'
ok 'pprof: threads are told apart' test "$(json '.threads | length')" -ge 1
like "$(go tool pprof -tags "$T/redis/it.pprof" 2>/dev/null)" 'thread_id:.*%\): 0' 'pprof: the first thread, whose number is 0, is one of them'
is "$(json '.inner[]' | grep -cE '^(malloc|calloc|je_.*|imalloc.*|prof_.*)$')" 0 'pprof: nothing of the allocator inside'
like "$(json .drop)" 'calloc' 'pprof: readers that look names up again leave them out as well'
serve_pprof "$T/redis/it.pprof"
for page in top flamegraph peek; do
	like "$(fetch "$url/$page")" 'redis' "go tool pprof: its page $page"
done
what svg "$T/redis/it.svg" main
like "$(json .found)" '^[1-9][0-9]* match: [0-9.]+ %$' 'svg: a search'
like "$(json .hovered)" '[Mm]ain.*[0-9]M .*%\)' 'svg: the description of a frame'
is "$(json '[.wide, .back, .scripts, .odd] | tostring')" '[1240,0,1,0]' 'svg: zoomed in, and out again'
is "$(json '[.others, .complaints] | tostring')" '[[],[]]' 'svg: no external requests, no complaints'
like "$(<"$T/redis/it.html")" 'Content-Security-Policy' 'html: a page'

# --- other values, and other selections ---
report_as folded "$T/objects" --inuse-objects
is "$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$T/objects")" "$(json '.totals[0] | round' "$T/redis/it.json")" \
	'folded: objects'
report_as folded "$T/allocated" --alloc-space
is "$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$T/allocated")" "$(json '.totals[3] | round' "$T/redis/it.json")" \
	'folded: all that was ever allocated'
report_as folded "$T/inside" --keep-allocator
like "$(<"$T/inside")" ';(malloc|calloc|realloc|posix_memalign|\[libjemalloc[^;]*) [0-9]+' 'folded: the allocator too'
assert_untouched "$pid" 'dump leaves it untouched'
load_redis 20000 300
snapshot "$pid"
ctl_ok 'dump again' dump "$pid" -o "$T/redis2.heap"
heap=$T/redis2.heap
for format in "${formats[@]}"; do
	report_as "$format" "$T/grown.$format" --base "$T/redis.heap"
done
is "$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$T/grown.folded")" "$(json '.totals[1] | round' "$T/grown.json")" \
	'a difference adds up'
assert_untouched "$pid" 'the target is untouched'
stop_target "$pid"

# --- profiles of other programs ---
# top FILE [OPTIONS...]: print "NAME FLAT CUM" of each function by go tool pprof, sorted
top()
{
	go tool pprof -top -unit=B -nodecount=100000 -nodefraction=0 -edgefraction=0 -sample_index=inuse_space "${@:2}" "$1" 2>/dev/null |
		awk '$1 ~ /^-?[0-9]/ && $5 ~ /%$/ { name = $6; for (i = 7; i <= NF; i++) name = name " " $i
			sub(/ \(inline\)$/, "", name); sub("B", "", $1); sub("B", "", $4); print name, $1, $4 }' | sort
}
# ours FILE [OPTIONS...]: print the same by report
ours()
{
	run_ctl report "$@" -n 0 --no-fold --json
	json '.rows[] | select(.flat != 0 or .cum != 0) | "\(.name) \(.flat | round) \(.cum | round)"' | sort
}
ok 'a Go program' go build -o "$T/go-heap" tests/runtimes/heap.go
ok 'its own profiles' "$T/go-heap" "$T/go.pb.gz"
is "$(ours "$T/go.pb.gz")" "$(top "$T/go.pb.gz")" 'Go: every function as in go tool pprof'
ok 'Go: there are some' test "$(ours "$T/go.pb.gz" | wc -l)" -gt 3
ctl_fails 1 'in_file pprof_not_of_memory' 'Go: a CPU profile' report "$T/go.pb.gz.cpu"
# In the text format, go tool pprof has no names without the program, and truncates each sample to
# bytes.
theirs=$(go tool pprof -top -unit=B -sample_index=inuse_space "$T/go.pb.gz.txt" 2>/dev/null | sed -n 's/.* of \([0-9]*\)B total$/\1/p')
like "$theirs" '^[1-9][0-9]{7}$' 'Go, as text: go tool pprof has a total'
ctl_ok 'Go, as text' report "$T/go.pb.gz.txt" --no-fold --json -n 0
is "$(json ".total - $theirs | . >= 0 and . <= 64")" true 'Go, as text: the same total' || diag "$theirs, $(json .total)"
json '.rows[] | select(.flat != 0) | "\(.name) \(.flat | round)"' | sort >"$T/go.ours"
top "$T/go.pb.gz.txt" "$T/go-heap" | awk '$2 { print $1, $2 }' | sort >"$T/go.theirs"
is "$(cut -d' ' -f1 "$T/go.ours")" "$(cut -d' ' -f1 "$T/go.theirs")" 'Go, as text: the functions that go tool pprof finds in the program'
is "$(paste -d' ' "$T/go.ours" "$T/go.theirs" | awk '$2 - $4 > 64 || $4 - $2 > 64')" '' 'Go, as text: the same bytes of each'
ctl_ok 'Go: written again' convert "$T/go.pb.gz" "$T/go-again.pb.gz"
is "$(top "$T/go-again.pb.gz")" "$(top "$T/go.pb.gz")" 'Go: written again, it is the same'
is "$(ours "$T/redis/it.pprof")" "$(top "$T/redis/it.pprof")" 'redis: every function as in go tool pprof'
ctl_ok 'the second profile of redis' convert "$heap" "$T/as-base.pb.gz"
is "$(ours "$T/as-base.pb.gz" --base "$T/redis/it.pprof")" "$(top "$T/as-base.pb.gz" -base="$T/redis/it.pprof")" \
	'redis: every function of a difference as in go tool pprof'

# --- profiles with only allocated bytes ---
functions=(main work leaf other malloc)
made_sites sites.heap 4242 10 '90 100000 4 2 1 0' '30 30000 4 3 0'
for suffix in pb.gz callgrind; do
	ctl_ok "what sites writes, to .$suffix" convert "$T/sites.heap" "$T/sites.$suffix"
done
is "$(top "$T/sites.pb.gz" -sample_index=alloc_space)" "$(ours "$T/sites.heap")" 'what sites writes: every function as in go tool pprof'
ok 'what sites writes: there are some' test "$(ours "$T/sites.heap" | wc -l)" -eq 4
theirs=$(go tool pprof -top -unit=B "$T/sites.pb.gz" 2>/dev/null)
like "$theirs" $'\nType: alloc_space\n' 'what sites writes: go tool pprof shows it by default'
like "$theirs" 'Duration: 10s, Total samples = 130000B' 'what sites writes: go tool pprof has the time and the total'
is "$(callgrind_annotate "$T/sites.callgrind" 2>"$T/cg.err" | awk '/PROGRAM TOTALS/ { gsub(",", ""); print $1 }')" \
	130000 'what sites writes: callgrind_annotate has the total'

# --- convert: the suffix selects the format ---
for suffix in pb.gz folded svg speedscope.json callgrind dot json html; do
	ctl_ok "convert to .$suffix" convert -q "$heap" "$T/as.$suffix"
done
is "$(head -c 2 "$T/as.pb.gz" | od -An -tx1)" ' 1f 8b' 'convert: pprof is compressed'
like "$(head -c 20 "$T/as.speedscope.json")" 'schema' 'convert: the longer suffix counts'

# --- the call graph, drawn ---
ctl_ok 'convert to .dot.svg' convert -q "$heap" "$T/calls.dot.svg"
is "$(xmllint --xpath 'count(//*[local-name()="title"][text()="'"$(sed -n 's/^digraph "\(.*\)" {$/\1/p' "$T/as.dot")"'"])' "$T/calls.dot.svg")" \
	1 'it is the graph, as dot(1) draws it'
is "$(grep -c 'class="node"' "$T/calls.dot.svg")" "$(dot -Tsvg "$T/as.dot" | grep -c 'class="node"')" 'with all its nodes'
ctl_ok 'report -o PDF' report "$heap" -o "$T/calls.pdf"
is "$(head -c 5 "$T/calls.pdf")" '%PDF-' 'a PDF'
ctl_ok 'report -f dot -o PDF' report -f dot "$heap" -o "$T/drawn.pdf"
is "$(head -c 5 "$T/drawn.pdf")" '%PDF-' 'a PDF, with -f dot as well'
ctl_ok 'diff -f dot -o SVG' diff -f dot "$heap" "$heap" -o "$T/calls.svg"
like "$(head -c 100 "$T/calls.svg")" '^<\?xml' 'diff: drawn as well'
ctl_fails 10 output_exists 'a picture does not replace a file' report -f dot "$heap" -o "$T/calls.pdf"
runner=(env PATH=/nowhere)
ctl_fails 1 'graphviz_missing install_graphviz' 'without Graphviz' \
	report -f dot "$heap" -o "$T/undrawn.png"
runner=()
ok 'without Graphviz: no file' test ! -e "$T/undrawn.png"

# --- names that look like markup; a quote in a file name would break pprof's dot -----------------
python3 - "$T/hostile.heap" <<'END'
import sys

names = ["</script><img src=x onerror=alert(1)>", "a;b 12", '"]]>&lt;<b>', "\\N\\n\"];evil", "\x1b[31m\xe2\x80\xae",
         "(1) fn=x", "%s%n", "long" * 5000, "b\u00fcro"]
with open(sys.argv[1], "w", errors="surrogateescape") as f:
    f.write("--- symbol\nbinary=/</script>\n")
    for i, name in enumerate(names):
        f.write(f"{0x55d0000000 + 16 * i:#x} {name}\n")
    f.write("---\n--- heap\nheap_v2/1\n  t*: 9: 9000 [0: 0]\n")
    for i in range(len(names)):
        calls = " ".join(f"{0x55d0000001 + 16 * ((i + j) % len(names)):#x}" for j in range(3))
        f.write(f"@ {calls}\n  t*: 1: 1000 [0: 0]\n")
    f.write("\nMAPPED_LIBRARIES:\n55d0000000-55d0001000 r-xp 0 00:00 0 /</script>\n")
END
heap=$T/hostile.heap
check_formats hostile
is "$total" 9000 'hostile names: the total'
is "$(grep -c . "$T/hostile/it.folded")" 9 'hostile names: a stack stays a line'
what svg "$T/hostile/it.svg" 'onerror'
is "$(json '[.scripts, .odd, .others, .complaints] | tostring')" '[1,0,[],[]]' 'hostile names: they stay text'
like "$(json .hovered)" '</script><img src=x onerror=alert\(1\)>' 'hostile names: and can be read'
for format in folded svg speedscope callgrind dot json html; do
	is "$(tr -d '\n\t' <"$T/hostile/it.$format" | LC_ALL=C grep -c '[[:cntrl:]]')" 0 "hostile names: no control characters in $format"
	ok "hostile names: $format is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$T/hostile/it.$format"
done

done_testing
