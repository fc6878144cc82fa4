#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watch: many dumps at once. Those that are not shown are counted, to the last one.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

processes=8
pids=()
for ((i = 0; i < processes; i++)); do
	MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper dumper
	pids+=("$pid")
	snapshot "$pid"
done

# storm N: have every process make N dumps, all at the same time
storm()
{
	local n=$1 before=() i

	for i in "${!pids[@]}"; do
		before[i]=$(answers_of "${pids[i]}")
		tell "${pids[i]}" dumps "$n" "$T/storm.$i.heap"
	done
	for i in "${!pids[@]}"; do
		within 300 has_answered "${pids[i]}" $((before[i] + 1)) || bail_out 'the storm does not end'
		[ "$(tail -n 1 "$T/said.${pids[i]}")" = "$n" ] || bail_out 'not every dump succeeded'
	done
}

shown()
{
	jq -s 'map(select(.kind)) | length' "$T/$1.events"
}

lost()
{
	jq -s 'map(.lost // 0) | add // 0' "$T/$1.events"
}

# --- a reader that reads ---
start_watch reader "${pids[@]}"
storm 125
end_watch reader
is "$(shown reader)" 1000 '1,000 dumps: 1,000 events' || diag "$(lost reader) lost"
is "$(lost reader)" 0 '1,000 dumps: none lost'
is "$(seen reader .pid | uniq -c | awk '{ print $1 }' | uniq)" 125 '1,000 dumps: 125 of each process'
is "$(seen reader 'select(.kind != "manual" or .ok != true or .source != "uprobe")' | wc -l)" 0 \
	'1,000 dumps: each is described correctly'
is "$(seen reader '"\(.pid) \(.file)"' | uniq | awk '{ print $2 }' | sort | paste -sd ' ')" \
	"$(printf '%s\n' "$T"/storm.*.heap | sort | paste -sd ' ')" '1,000 dumps: each process has its file'
for p in "${pids[@]}"; do
	assert_untouched "$p"
done

# --- a reader that is stopped, and fills only its own buffer ---
start_watch still "${pids[@]}"
kill -STOP "$watcher"
storm 5000
kill -CONT "$watcher"
end_watch still
ok 'a stopped reader: loses some' test "$(lost still)" -gt 0
ok 'a stopped reader: shows some' test "$(shown still)" -gt 0
is $(($(shown still) + $(lost still))) $((5000 * processes)) 'a stopped reader: every dump is shown or counted' ||
	diag "$(shown still) shown, $(lost still) lost"
like "$(tail -n 1 "$T/still.talk")" "$(shown still) dumps, 0 failed, $(lost still) lost" \
	'a stopped reader: the summary has both numbers'
for p in "${pids[@]}"; do
	assert_untouched "$p"
done

# --- a watch that is killed: the kernel removes everything ---
start_watch killed "${pids[@]}"
for p in "${pids[@]}"; do
	tell "$p" dumps 2000 /dev/null
done
kill -KILL "$watcher"
wait "$watcher" 2>/dev/null
for p in "${pids[@]}"; do
	# The kernel needs a moment for this while all of them dump without a pause.
	ok 'a watch that is killed: the breakpoint is removed' \
		within 60 env PHOTO_PATIENCE=1 tests/drivers/photo check "$p" "$T/photo.$p"
	assert_untouched "$p" 'a watch that is killed: untouched'
done

# --- a process that is killed while it dumps: the watch goes on ---
start_watch mortal "${pids[@]}"
tell "${pids[0]}" dumps 100000 "$T/storm.0.heap"
within 60 test -s "$T/mortal.events"
kill -KILL "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
order "${pids[1]}" dump "$T/after.heap"
end_watch mortal
is "$(events_of mortal "${pids[1]}")" "$(rows_of "$T/after.heap")" 'a process that is killed: others are seen'
ok 'a process that is killed: at most one dump was cut short' \
	test "$(seen mortal 'select(.kind and (.ok | not))' | wc -l)" -le 1
assert_untouched "${pids[1]}"

done_testing
