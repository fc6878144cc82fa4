#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# leaks, on synthetic profiles with known leaks: what it finds and how it names it, what it says if
# nothing is certain, and where the times come from.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

patient=()
trials=tests/drivers/leak-trials

# series NAME KIND SEED: write the profiles of a program (tests/drivers/leak-trials) to $T/NAME
series()
{
	mkdir "$T/$1"
	"$trials" series "$2" "$3" "$T/$1" || bail_out "no series $2"
}

# made NAME PROFILES PYTHON: write profiles in which PYTHON defines what each stack holds: count(i)
# returns, for profile i, {(thread, line, function, caller...): number of 1 MiB samples}; the dict
# `names` is optional, and has names of threads
made()
{
	mkdir "$T/$1"
	python3 - "$T/$1" "$2" "$3" <<-'PYTHON' || bail_out "no series $1"
		import sys
		folder, n, count = sys.argv[1], int(sys.argv[2]), {}
		exec(sys.argv[3], count)
		counts = [count["count"](i) for i in range(n)]
		calls = sorted({(name, line if j == 0 else 7) for c in counts for _, line, *names in c
		                for j, name in enumerate(names)})
		at = {call: 0x401000 + 64 * i for i, call in enumerate(calls)}
		for i, c in enumerate(counts):
		    with open(f"{folder}/{i:04}.heap", "w") as f:
		        f.write("--- symbol\nbinary=/usr/bin/made\n")
		        for (name, line), a in at.items():
		            f.write(f"0x{a - 1:x} {name}\n0x{a:x} {name}\n")
		            for place in a - 1, a:
		                f.write(f"#0x{place:x} {line}\t/src/made.c\t{name}\t{name}\n")
		        f.write("---\n--- heap\nheap_v2/524288\n")
		        f.write(f"  t*: {sum(c.values())}: {sum(c.values()) << 20} [0: 0]\n")
		        for t, name in count.get("names", {}).items():
		            if k := sum(k for s, k in c.items() if s[0] == t):
		                f.write(f"  t{t}: {k}: {k << 20} [0: 0] {name}\n")
		        stacks = {}
		        for (t, *stack), k in c.items():
		            if k:
		                stacks.setdefault(tuple(stack), {})[t] = k
		        for (line, *names), parts in sorted(stacks.items()):
		            f.write("@ " + " ".join(f"0x{at[(name, line if j == 0 else 7)]:x}"
		                                    for j, name in enumerate(names)) + "\n")
		            f.write(f"  t*: {sum(parts.values())}: {sum(parts.values()) << 20} [0: 0]\n")
		            for t, k in parts.items():
		                f.write(f"  t{t}: {k}: {k << 20} [0: 0]\n")
		        f.write("\nMAPPED_LIBRARIES:\n400000-500000 r-xp 00000000 08:01 1 /usr/bin/made\n"
		                f"# time_ns {1800000000_000000000 + 60_000000000 * i}\n")
	PYTHON
}

# shown: print the leaks in the last output: kind, first function and line, number of stacks
shown()
{
	json '[.leaks[] | "\(.kind) \(.calls[0].function // .thread) \(.calls[0].line) \(.stacks)"] | join(", ")'
}

# --- programs whose leaks are known, some of each kind ---
"$trials" table "$CTL" 48 >"$T/table" 2>"$T/err" || diag "$(<"$T/err")"
ok 'a table of programs' test -s "$T/table"
ok 'of 48 without a leak, at most one is reported' awk -F'|' '$2 ~ /without/ { exit !($6 <= 1) }' \
	"$T/table" || diag "$(<"$T/table")"
ok 'of 48 with a leak, 36 are found, and at most one is wrong' awk -F'|' '$2 ~ /with a leak/ {
	exit !($4 >= 36 && $6 <= 1) }' "$T/table" || diag "$(<"$T/table")"
ok 'of 8 sites that are reached through many stacks, 7 are found' awk -F'|' '$2 ~ /many stacks/ {
	exit !($4 >= 7) }' "$T/table" || diag "$(<"$T/table")"

# --- how it is named ---
series depths 'over many stacks' 3
ctl_ok 'through recursion' leaks "$T"/depths/*.heap --json
is "$(json '[.leaks[] | .kind + " " + .calls[0].function] | join(", ")')" 'function leaky_grow' \
	'through recursion: the function is named, once'
is "$(json '.leaks[0] | .stacks > 40 and .rate_low > 0 and .rate_low < .rate and .rate < .rate_high')" true \
	'through recursion: the number of stacks, and the rate'
ctl_ok 'through recursion, for people' leaks "$T"/depths/*.heap
like "$out" '1 leak, among [0-9]+ stacks and what they have in common, in 12 profiles over 10m 52s \(99 % confidence\):' \
	'through recursion, for people: what was examined'
like "$out" '[0-9.]+M/min \([0-9.]+M to [0-9.]+M\), from 0 to [0-9.]+M, p [0-9e.-]+: leaky_grow, through [0-9]+ stacks' \
	'through recursion, for people: rate, interval, p, place'
unlike "$out" 'main|leaky_walk' 'through recursion, for people: not its callers'

made stack 8 'def count(i):
    return {(1, 12, "grow", "work", "main"): 8 * i, (1, 12, "grow", "play", "main"): 30, (1, 9, "keep", "main"): 40}'
ctl_ok 'one stack of a function' leaks "$T"/stack/*.heap --json
is "$(shown)" 'stack grow 12 1' 'one stack of a function: the stack, not the function'
is "$(json '[.leaks[0].calls[].function] | join(" ")')" 'grow work main' 'one stack of a function: its calls'

made line 8 'def count(i):
    return {(1, 12, "grow", f"work{k}", "main"): 2 * i for k in range(30)} | \
        {(1, 40, "grow", f"work{k}", "main"): 20 for k in range(30)}'
ctl_ok 'one line of a function' leaks "$T"/line/*.heap --json
is "$(shown)" 'line grow 12 30' 'one line of a function: the line'
ctl_ok 'one line of a function, for people' leaks "$T"/line/*.heap
like "$out" ': grow \(made.c:12\), through 30 stacks' 'one line of a function, for people'

made caller 8 'def count(i):
    return {(1, 12, f"copy{k}", "serve", "loop", "main"): int(i > k % 7) for k in range(40)} | \
        {(1, 9, f"copy{k}", "start", "main"): 20 for k in range(40)}'
ctl_ok 'what a function calls' leaks "$T"/caller/*.heap --json
is "$(shown)" 'caller serve null 40' 'what a function calls: the innermost common caller'

made thread 8 'def count(i):
    return {(2, 12, f"copy{k}", "main"): int(i > k % 7) for k in range(40)} | \
        {(1, 12, f"copy{k}", "main"): 20 for k in range(40)}'
ctl_ok 'what a thread allocates' leaks "$T"/thread/*.heap --json
is "$(shown)" 'thread 2 null 40' 'what a thread allocates: the thread'
is "$(json '.leaks[0].grew_in | tostring')" '[]' 'what a thread allocates: the thread is not named twice'
ctl_ok 'what a thread allocates, for people' leaks "$T"/thread/*.heap
like "$out" ': thread 2, through 40 stacks' 'what a thread allocates, for people'

# Of 8 per profile, workers allocate 3, 2 and 1, the main thread 1, and one without a name 1; one
# that ended had 200.
made workers 8 'names = {1: "main", 2: "worker", 3: "worker", 4: "worker", 6: "gone", 7: "\033[31m/idle"}
def count(i):
    return {(t, 12, "grow", "main"): k * i for t, k in {2: 3, 3: 2, 4: 1, 1: 1, 5: 1}.items()} | \
        {(6, 12, "grow", "main"): 0 if i > 1 else 2, (7, 12, "grow", "main"): i // 7}'
ctl_ok 'a stack of several threads' leaks "$T"/workers/*.heap --json
is "$(shown)" 'stack grow 12 1' 'a stack of several threads: it is found'
is "$(json '.leaks[0].grew_in | map([.thread, .thread_name, .threads, (1000 * .share | floor)]) | tostring')" \
	'[[2,"worker",3,736],[5,null,1,122],[1,"main",1,122]]' 'a stack of several threads: by name, and none that shrank' ||
	diag "$(json '.leaks[0].grew_in')"
ctl_ok 'a stack of several threads, for people' leaks "$T"/workers/*.heap
like "$out" 'grow \(made.c:12\) < main \(made.c:7\); 73% in worker \(3 threads\), 12% in thread 5, 12% in main, and in 1 more' \
	'a stack of several threads, for people'

# --- nothing is certain ---
made doubt 8 'def count(i):
    return {(1, 12, "slow", "main"): 5 + i // 2, (1, 9, "keep", "main"): 40 + i % 2}'
ctl_ok 'in doubt' leaks "$T"/doubt/*.heap
unlike "$out" 'no leak|confidence' 'in doubt: a leak is not ruled out'
like "$out" '^nothing is certain to leak, among 2 stacks and what they have in common, in 8 profiles over 7m 0s' \
	'in doubt: what is known'
like "$out" '[0-9.]+[KM]/min \(-?[0-9.]+[KM] to [0-9.]+[KM]\), from [0-9.]+M to [0-9.]+M, p 0\.[0-9]+: slow' \
	'in doubt: what may leak, how fast, within which bounds'
ctl_ok 'in doubt, in JSON' leaks "$T"/doubt/*.heap --json
is "$(json '[(.leaks | length), .suspects[0].calls[0].function, .suspects[0].p > .p_certain] | tostring')" \
	'[0,"slow",true]' 'in doubt, in JSON: the suspects'

made empty 6 'def count(i):
    return {}'
ctl_fails 1 'nothing_sampled take_while_sampling' 'profiles without samples are refused' leaks "$T"/empty/*.heap

# --- a leak next to much larger fluctuations ---
made storms 13 'import random
random.seed(4)
level = [[random.choice([200, 400, 800, 100]) for _ in range(13)] for _ in range(62)]
def count(i):
    return {(1, 9, f"cache{k}", "main"): level[k][i] for k in range(62)} | {(1, 12, "grow", "main"): 20 + 20 * i}'
ctl_ok 'steady among storms' leaks "$T"/storms/*.heap --json
is "$(shown)" 'stack grow 12 1' 'steady among storms: it is found' || diag "$out"

# --- times ---
# lost NAME FORMAT: write the profiles of `stack` without their times, as copies made all at once
lost()
{
	local i

	mkdir "$T/$1"
	for i in 0 1 2 3 4 5 6 7; do
		# shellcheck disable=SC2059
		sed '/^# time_ns/d' "$T/stack/000$i.heap" >"$T/$1/$(printf "$2" "$((i + 5))")"
	done
	touch -d '2026-01-01 00:00:00' "$T/$1"/*
}

lost numbers 'made.4242.%d.i0.heap'
for i in 0 1 2 3 4 5 6 7; do
	mv "$T/numbers/made.4242.$((i + 5)).i0.heap" "$T/numbers/made.4242.$((i + 5)).i$i.heap"
done
ctl_ok 'numbered files' leaks "$T"/numbers/*.heap --json
is "$(shown), $(json '[.times, .seconds, .leaks[0].rate, .leaks[0].after] | tostring')" \
	"stack grow 12 1, [null,null,$(json '[.leaks[0].rate, .leaks[0].after] | tostring' | tr -d '[]')]" \
	'numbered files: their order is used, 5 to 12' || diag "$out"
is "$(json '.leaks[0] | .rate > 8388608 and .rate < 16777216')" true 'numbered files: the rate is per profile'
ctl_ok 'numbered files, for people' leaks "$T"/numbers/*.heap --limit 1G
like "$out" 'the times are unknown: the order is that of the file names' 'numbered files, for people: the order is explained'
like "$out" 'M/profile \(.*, in 8 profiles|in 8 profiles \(99 % confidence\)' 'numbered files, for people: no time is given'
unlike "$out" 'is reached in' 'numbered files, for people: no time is predicted'
for i in 0 1 2 3 4 5 6 7; do
	touch -d "2026-01-01 00:0$i:00" "$T/numbers/made.4242.$((i + 5)).i$i.heap"
done
ctl_ok 'numbered files with times' leaks "$T"/numbers/*.heap --json
is "$(shown), $(json '[.times, .seconds] | tostring')" 'stack grow 12 1, ["files",420]' 'numbered files with times: the times are used'
touch -d '2026-01-01 00:09:00' "$T/numbers/made.4242.5.i0.heap"
ctl_ok 'numbered files with wrong times' leaks "$T"/numbers/*.heap --json
is "$(shown), $(json .times)" 'stack grow 12 1, null' 'numbered files with wrong times: the times are ignored'

lost names 'made.4242.20260101T%02d0000Z.heap'
ctl_ok 'times in names' leaks "$T"/names/*.heap --json
is "$(shown), $(json '[.times, .seconds] | tostring')" 'stack grow 12 1, ["names",25200]' 'times in names: they are used'
ctl_ok 'times in names, for people' leaks "$T"/names/*.heap
like "$out" 'times are taken from the file names' 'times in names, for people: reported'

lost guarded 'made.4242.20260101T%02d0000Z.guard-rss.heap'
mv "$T"/guarded/*T05*.heap "$T/guarded/made.4242.20260101T050000Z.guard-every.heap"
mv "$T"/guarded/*T06*.heap "$T/guarded/made.4242.20260101T060000Z.heap"
gzip "$T"/guarded/*T07*.heap
ctl_ok 'profiles taken by guards' leaks "$T"/guarded/* --json
is "$(shown), $(json '[.times, .seconds] | tostring')" 'stack grow 12 1, ["names",25200]' \
	'profiles taken by guards, by several rules, and a dump: one series, in the order of the times in the names'

lost recording 'made.4242.20260101T000000Z.%04d.heap'
mv "$T"/recording/*.0005.heap "$T/recording/made.4242.20260101T000000Z.base.heap"
mv "$T"/recording/*.0012.heap "$T/recording/made.4242.20260101T000000Z.heap"
ctl_ok 'a recording' leaks "$T"/recording/*.heap --json
is "$(shown), $(json .times)" 'stack grow 12 1, null' 'a recording: first, numbers, last'

ctl_ok 'a file twice' leaks "$T"/names/*.heap "$T"/names/*T05*.heap "$T/names/../names"/*T05*.heap --json
is "$(json .profiles)" 8 'a file twice: it counts once'
lost other 'other%d.heap'
ctl_fails 1 no_time_between 'names that give no order, and no times' leaks "$T"/other/*.heap

# --- as a page ---
ctl_ok 'a page' leaks "$T"/depths/*.heap -o "$T/leaks.html"
is "$out" '' 'a page: only in its file'
is "$(grep -c '^<title>made: heap over 12 profiles, 20' "$T/leaks.html")" 1 'a page: the title'
page_data "$T/leaks.html"
is "$(json '[.series.moments[] | .value | add] == [.series.total[]]')" true 'a page: each moment adds up to its total'
is "$(json '.series | [(.moments | length), (.total | length), .left_out.stacks, .left_out.moments] | tostring')" \
	'[12,12,0,0]' 'a page: all stacks and moments'
is "$(json '[.series.growers[] | .certain] | [.[0], (.[1:] | any)] | tostring')" '[true,false]' 'a page: what is certain'
is "$(json '.series.growers[0] | [.curve[0], .curve[-1]] | map(round) | tostring')" \
	"$("$CTL" leaks "$T"/depths/*.heap --json | jq -c '.leaks[0] | [.before, .after]')" 'a page: the curve of a leak'
line=$(json '.series.growers[0] | "\(.rate) (\(.interval)), \(.change), p \(.p): \(.place)"')
ctl_ok 'for people' leaks "$T"/depths/*.heap
is "$(sed -n 2p "$T/out")" "$line" 'a page: the same words as in text'
"$CTL" leaks "$T"/depths/*.heap -f html >"$T/stdout.html" 2>"$T/err"
ok 'a page on stdout: the same' cmp "$T/stdout.html" "$T/leaks.html"
ctl_fails 10 'output_exists choose_or_force' 'a page: no file is replaced' leaks "$T"/depths/*.heap -o "$T/leaks.html"
ctl_fails 2 output_is_for_page '-o with text' leaks "$T"/depths/*.heap -o "$T/leaks.txt"
run_ctl leaks "$T"/depths/*.heap --json -f html
is "$status $(json .error.id)" '2 exclusive' '--json and a page'
ctl_ok 'a page of a stack' leaks "$T"/stack/*.heap -o "$T/stack.html"
page_data "$T/stack.html"
is "$(json '.functions.name as $name | .stacks as $s | .series.growers[0] | [$name[.function], $s.depth[.stack]] | tostring')" \
	'["grow",3]' 'a page of a stack: refers to it'
ctl_ok 'a page of a thread' leaks "$T"/thread/*.heap -o "$T/thread.html"
page_data "$T/thread.html"
is "$(json '[(.stacks.depth | length), (.series.growers[0] | .stack, .function)] | tostring')" '[40,-1,-1]' \
	'a page of a thread: the stacks of all threads together'

made evil 6 'def count(i):
    return {(1, 12, "</script><img src=x onerror=alert(1)>\xe2\x80\xa8\"\\\\", "main"): 20 + 20 * i}'
ctl_ok 'a page of hostile names' leaks "$T"/evil/*.heap -o "$T/evil.html"
is "$(grep -c '</script>' "$T/evil.html")" 2 'a page of hostile names: no script is closed'
is "$(grep -c '<img' "$T/evil.html")" 0 'a page of hostile names: no element is created'
page_data "$T/evil.html"
like "$(json '.series.growers[0].place')" '^</script><img' 'a page of hostile names: they are shown'

# More than fits: 66 profiles of 4,200 stacks.
made large 66 'def count(i):
    return {(1, 12, f"site{k}", "main"): 1 + (k * 7 + i) % 5 for k in range(4199)} | {(1, 9, "grow", "main"): 1 + i}'
ctl_ok 'a large page' leaks "$T"/large/*.heap -o "$T/large.html"
page_data "$T/large.html"
is "$(json '.series | [(.moments | length), (.total | length), .left_out.stacks, .left_out.moments] | tostring')" \
	'[64,66,104,2]' 'a large page: the number of omitted ones'
is "$(json '[.series.moments[] | .at] | [.[0], .[-1]] | tostring')" '[0,65]' 'a large page: the first and the last moment are kept'
is "$(json '.functions.name[-1]')" '[small stacks, left out]' 'a large page: a box for the others'
is "$(json '.series | .total as $total | [.moments[] | (.value | add) == $total[.at]] | all')" true \
	'a large page: each moment adds up to its total'
is "$(json '.functions.name as $name | $name[.series.growers[0].function]')" grow 'a large page: the growing function is kept'

done_testing
