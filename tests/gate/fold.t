#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What holds memory: functions that allocate for their callers are folded into them, but only in
# output for people. Also the heaviest stacks, the share of one thread, and bare function names.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/made.sh
. "$(dirname "$0")/../made.sh"

functions=(main work zmalloc PyMem_Malloc 'std::__new_allocator<pair<int, long> >::allocate(unsigned long, void const*)'
	pool_take other 'void ns::outer<ns::deep<int> >::call(ns::deep<int>, char const*) const' use_malloc
	zmalloc.part.0 '_sdsnewlen' 'handler(void (*)(int))')
# shown: print the rows of the table, as "NAME FLAT"
shown()
{
	awk '/^$/ { exit } $2 ~ /[0-9]%$/ { name = $7; for (i = 8; i <= NF; i++) name = name " " $i; print name, $1 }' "$T/out" |
		grep -v ' 0B$' | LC_ALL=C sort
}

# --- folded ---
made fold.heap '1 1000 2 1 0' '1 2000 3 6 0' '1 4000 4 1 0' '1 8000 9 2 10 1 0' '1 16000 6 2 1 0' '1 32000 5 6 0' '1 64000 2'
ctl_ok 'folded' report --unit B "$T/fold.heap"
is "$(shown)" $'other 18000B\npool_take 32000B\nwork 13000B\nzmalloc 64000B' 'folded: what allocates for others is not shown'
like "$out" $'\n''5 allocator functions folded into their callers; --no-fold shows them'$'\n' 'folded: reported'
like "$out" '^inuse_space: 127000B ±' 'folded: nothing is lost'
ctl_ok 'no-fold' report --unit B --no-fold "$T/fold.heap"
like "$(shown)" 'zmalloc 65000B' 'no-fold: zmalloc is shown'
like "$(shown)" 'zmalloc.part.0 8000B' 'no-fold: zmalloc.part.0 is shown'
unlike "$out" 'folded' 'no-fold: nothing is reported'
ctl_ok 'keep-allocator' report --unit B --keep-allocator "$T/fold.heap"
like "$(shown)" 'zmalloc 65000B' 'keep-allocator: nothing is folded'
ctl_ok 'allocator' report --unit B --allocator '^pool_' --allocator '^nothing$' --allocator '^other$' "$T/fold.heap"
like "$(shown)" 'main 34000B' 'allocator: what matches is folded as well'
unlike "$(shown)" 'pool_take|other' 'allocator: and is not shown'
like "$(shown)" 'work 29000B' 'allocator: up to the first call that does not allocate'
ctl_fails 2 pattern_malformed 'allocator: invalid expression' report --allocator '(' "$T/fold.heap"
ctl_ok 'focus comes first' report --unit B --focus '^zmalloc$' "$T/fold.heap"
like "$out" '^inuse_space: 89000B ±.*, of 127000B' 'focus comes first: it can match zmalloc'
ctl_fails 1 'no_match show_allocators' 'peek at a folded function' report --peek '^PyMem' "$T/fold.heap"
ctl_ok 'peek, not folded' report --peek '^PyMem' --no-fold "$T/fold.heap"
ctl_ok 'tree' report --tree --unit B "$T/fold.heap"
like "$out" $'\n''5 allocator functions folded' 'tree: folded as well'
unlike "$out" 'PyMem' 'tree: they are not shown'
ctl_ok 'lines' report --lines --unit B "$T/fold.heap"
unlike "$out" 'PyMem' 'lines: folded as well'
ctl_ok 'JSON' report --json -n 0 "$T/fold.heap"
is "$(json '[.folded, (.rows | map(select(.name == "work"))[0].flat), .top_stacks[0].value, .top_stacks[1].calls] | tostring')" \
	'[5,13000,64000,["pool_take","other","main"]]' 'JSON: the number, and the same rows and stacks'
ctl_ok 'JSON, not folded' report --json --no-fold -n 0 "$T/fold.heap"
is "$(json '[.folded, (.rows | map(select(.name == "PyMem_Malloc"))[0].flat)] | tostring')" '[0,2000]' 'JSON, not folded: as in the profile'

# --- a function that calls others allocates for itself, whatever its name ---
made outer.heap '1 1000 6 8 0' '1 3000 1 8 0' '1 4000 8 0'
ctl_ok 'not the innermost' report --unit B "$T/outer.heap"
is "$(shown)" $'main 4000B\nother 1000B\nwork 3000B' 'not the innermost: what it called is not folded'

# --- output for other programs is exact ---
for format in folded json raw callgrind speedscope dot svg html pprof jeprof; do
	for option in '' --no-fold; do
		# shellcheck disable=SC2086
		ctl_ok "$format $option" report -f "$format" $option "$T/fold.heap" -o "$T/as$option.$format"
	done
	ok "$format: nothing is folded" cmp "$T/as.$format" "$T/as--no-fold.$format"
done
like "$(<"$T/as.folded")" 'main;other;PyMem_Malloc 2000' 'folded stacks: with their allocators'

# --- what grew and what leaks ---
made less.heap '1 1000 2 1 0'
made more.heap '1 100000 2 1 0' '1 5000 3 6 0'
ctl_ok 'diff' diff "$T/less.heap" "$T/more.heap"
like "$out" ' work'$'\n' 'diff: the caller'
unlike "$out" 'zmalloc|PyMem' 'diff: not the allocator'
like "$out" $'\n''2 allocator functions folded into their callers; --no-fold shows them'$'\n' 'diff: reported'
ctl_ok 'diff --no-fold' diff --no-fold "$T/less.heap" "$T/more.heap"
like "$out" ' zmalloc'$'\n' 'diff --no-fold: the allocator'
ctl_ok 'diff --json' diff --json "$T/less.heap" "$T/more.heap"
is "$(json '[.folded, .functions[0].function, .stacks[0].calls[0].function] | tostring')" '[2,"work","work"]' 'diff --json: the same'
made grown.heap '1 100000 2 1 0' '1 50000 3 1 0' '1 5000 3 6 0'
ctl_ok 'diff, two allocators' diff --json "$T/less.heap" "$T/grown.heap"
is "$(json '[.stacks[] | [.after, .calls[0].function]] | tostring')" '[[150000,"work"],[5000,"other"]]' \
	'diff, two allocators: one stack for the same calls'
ctl_ok 'diff, two allocators, not folded' diff --json --no-fold "$T/less.heap" "$T/grown.heap"
is "$(json '.stacks | length')" 3 'diff, two allocators, not folded: each stack'
ctl_ok 'diff -f' diff -f folded "$T/less.heap" "$T/more.heap"
like "$out" 'main;work;zmalloc 99000' 'diff -f: exact'
for i in 1 2 3 4 5 6; do
	made "grow.7.$i.f.heap" "$((i * 100)) $((i * 1000000)) 2 1 0" '50 500000 6 0'
done
ctl_ok 'leaks' leaks "$T"/grow.7.?.f.heap
like "$out" ': work < main' 'leaks: the caller'
like "$out" '1 allocator function folded into its callers; --no-fold shows them' 'leaks: reported'
ctl_ok 'leaks --no-fold' leaks --no-fold "$T"/grow.7.?.f.heap
like "$out" ': zmalloc < work < main' 'leaks --no-fold: the allocator'

# --- file names to which gzip(1) added .gz are understood ---
gzip "$T"/grow.7.?.f.heap
touch -d @1000 "$T"/grow.7.?.f.heap.gz
ctl_ok 'leaks, packed' leaks "$T"/grow.7.{6,5,4,3,2,1}.f.heap.gz
like "$out" "the order is that of the file names" 'leaks, packed: their names give the order'
like "$out" ': work < main' 'leaks, packed: it grows in that order'

# --- the heaviest stacks ---
made stacks.heap '1 1000 6 0' '1 3000 1 0' '1 2000 2 1 0' '1 500 7 0' '1 400 6 1 0' '1 300 6 6 0' '1 200 1 1 0' '1 100 0'
ctl_ok 'stacks' report --unit B "$T/stacks.heap"
is "$(sed '1,/^$/d' "$T/out")" "     stack      %  the heaviest, innermost call first
     5000B  66.7%  work < main
     1000B  13.3%  other < main
      500B   6.7%  void ns::outer<ns::deep<int> >::call(ns::deep<int>, char const*) const < main
      400B   5.3%  other < work < main
      300B   4.0%  other < other < main" 'stacks: five, equal ones added up, with full names'
ctl_ok 'traces' report --traces --unit B "$T/stacks.heap"
is "$(sed '1,/^$/d' "$T/out" | sed -n 1,5p)" "     5000B  66.7%  work
                   main

     1000B  13.3%  other
                   main" 'traces: each call on a line'
is "$(grep -c % "$T/out")" 7 'traces: every stack'
ctl_ok 'traces, of few' report --traces --unit B -n 2 "$T/stacks.heap"
like "$out" $'\n''and 5 more; -n 0 shows all$' 'traces, of few: how many are omitted'
ctl_ok 'traces, not folded' report --traces --unit B --no-fold "$T/stacks.heap"
like "$out" $'\n''     2000B  26\.7%  zmalloc'$'\n'' +work'$'\n'' +main'$'\n' 'traces, not folded: whole stacks'
ctl_ok 'traces of nothing' report --traces --base "$T/stacks.heap" "$T/stacks.heap" --sum
for other in --json --tree '--peek main' '-f folded'; do
	# shellcheck disable=SC2086
	run_ctl report --traces $other "$T/stacks.heap"
	is "$status" 2 "traces and $other: mutually exclusive"
done

# --- one thread ---
awk '/t\*: 0: 0/ { print; print "  t0: 0: 0 [0: 0]"; print "  t1: 0: 0 [0: 0] io"; print "  t12: 0: 0 [0: 0] io"; print "  t3: 0: 0 [0: 0] a b"; next }
	/^@/ { n++ } 1
	n && /t\*:/ { sub(/t\*/, n == 1 ? "t1" : n == 2 ? "t12" : n == 3 ? "t3" : "t0"); print }' "$T/stacks.heap" >"$T/threads.heap"
total()
{
	run_ctl report --json "$@" "$T/threads.heap"
	json .total
}
is "$(total --thread 1) $(total --thread 12) $(total --thread 0)" '1000 3000 1500' 'a thread, by its number'
is "$(total --thread io)" 4000 'a thread, by its name: all threads of that name'
is "$(total --thread 'a b')" 2000 'a thread whose name has a blank'
ctl_ok 'a thread: the title' report --thread io "$T/threads.heap"
like "$out" '^inuse_space, thread io: ' 'a thread: the title has its name'
ctl_fails 1 'no_thread_of_name_in_profile threads_of_profile' 'no thread of that name' report --thread none "$T/threads.heap"
like "$err" 'fix: its threads are 0, 1 io, 3 a b, 12 io: ' 'no thread of that name: the existing ones'
ctl_fails 1 'no_such_thread_in_profile threads_of_profile' 'no thread of that number' report --thread 7 "$T/threads.heap"
ctl_fails 1 no_such_thread_in_profile 'no threads at all' report --thread 7 "$T/stacks.heap"
unlike "$err" 'fix:' 'no threads at all: no fix'

# --- what distinguishes functions of the same name is not part of the name ---
functions=(main 'init (a.c)' 'init (b.c)' 'finit (c.c)')
made told.heap '1 1000 1 0' '1 2000 2 0' '1 4000 3 0'
told()
{
	run_ctl report --json -n 0 "$@" "$T/told.heap"
	json .shown
}
is "$(told --focus '^init$')" 3000 'focus: by the bare name'
is "$(told --focus '^init \(a')" 1000 'focus: by the whole name'
is "$(told --ignore '^init$')" 4000 'ignore: by the bare name'
is "$(told --show '^init$')" 3000 'show: by the bare name'
ctl_ok 'peek by the bare name' report --peek '^init$' "$T/told.heap"
is "$(grep -c '%.*  init (' "$T/out")" 2 'peek by the bare name: both'

done_testing
