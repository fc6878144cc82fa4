#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watch: all ways in which jemalloc gets into a program, and all places where the program runs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# --- every linkage, with and without symbols; in dumper-hidden, nothing leads to prof_dump ---
dumpers=(dumper{,-je,-rjem,-static,-static-pie} dumper-{je,rjem,static,static-pie,hidden}.stripped)
declare -A pids=()
for d in "${dumpers[@]}"; do
	MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:$T/$d start_dumper "$d"
	pids[$d]=$pid
	snapshot "$pid"
done
start_watch pids "${pids[@]}"
by_pid=$watcher
start_watch all --all
# A process whose prof_dump is not found is reported as soon as that is certain.
ok 'all: a process whose prof_dump is not found' \
	within 60 grep -q "^jeprof-ctl: warning: ${pids[dumper-hidden.stripped]} .*system calls" "$T/all.talk"
for d in "${dumpers[@]}"; do
	order "${pids[$d]}" dump "$T/$d.first.heap"
	is "$answer" 0 "$d: a dump"
	order "${pids[$d]}" dump "$T/no/$d.heap"
	is "$answer" 14 "$d: a dump that fails"
	order "${pids[$d]}" files 100 "$T/$d.other"
done
end_watch pids "$by_pid"
end_watch all
for d in "${dumpers[@]}"; do
	wanted=$({ rows_of "$T/$d.first.heap" && echo "manual false $T/no/$d.heap null"; } | sort)
	source=uprobe
	# Only its system calls are seen: a name that jemalloc does not give tells nothing.
	[ "$d" = dumper-hidden.stripped ] && source=tracepoint wanted=${wanted//manual/unknown}
	for watch in pids all; do
		is "$(events_of "$watch" "${pids[$d]}")" "$wanted" "$d: $watch: one event for each dump"
		is "$(seen "$watch" "select(.pid == ${pids[$d]}) | .source" | uniq)" "$source" "$d: $watch: how it was seen"
	done
	assert_untouched "${pids[$d]}" "$d: untouched"
done

start_watch final "${pids[@]}"
for d in "${dumpers[@]}"; do
	tell "${pids[$d]}" exit
	wait "${pids[$d]}"
	is "$?" 0 "$d: it exits normally"
done
wait "$watcher"
for d in "${dumpers[@]}"; do
	is "$(events_of final "${pids[$d]}")" "$(rows_of "$T/$d".[0-9]*.f.heap)" "$d: one event at the exit"
done

# --- started after the watch: a program that it has not seen, and one that ends immediately ---
# Its library is known from another process: otherwise, it would be gone before it is inspected.
cp "$VICTIMS/dumper-static.stripped" "$T/late"
MALLOC_CONF=prof:true start_dumper dumper
start_watch late --all
MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper "$T/late"
is_seen()
{
	order "$pid" dump "$T/late.heap"
	[ -n "$(events_of late "$pid")" ]
}
ok 'a program that starts later: is found' within 60 is_seen
for _ in 1 2 3; do
	order "$pid" dump "$T/later.heap"
done
for _ in 1 2 3 4 5; do
	MALLOC_CONF=prof:true,prof_final:true,prof_prefix:$T/short LD_PRELOAD=libjemalloc.so.2 /bin/true
done
end_watch late
is "$(events_of late "$pid" | grep -c '/later\.heap')" 3 'a program that starts later: one event for each dump'
is "$(events_of late "$pid" | grep -cvE '/later?\.heap')" 0 'a program that starts later: no other event'
ok 'a program that starts later: no event twice' \
	test "$(events_of late "$pid" | wc -l)" -le "$(answers_of "$pid")"
is "$(seen late 'select(.comm == "true") | '"$row")" "$(rows_of "$T"/short.*.f.heap)" \
	'programs that end at once: one event each'
is "$(seen late 'select(.comm == "true") | .pid' | wc -l)" 5 'programs that end at once: all of them'
if grep -q ' cgroup2 ' /proc/mounts; then
	is "$(seen late 'select(.comm == "true") | .cgroup[:1]' | uniq)" / 'programs that end at once: their control group'
else
	skip 'there is no unified hierarchy of control groups' 'programs that end at once: their control group'
fi
stop_target "$pid"

# --- a process that only maps the library does not affect those that are linked with it ---
mkdir "$T/mapped.d"
cp "$T/lib/libjemalloc.so.2" "$T/mapped.d/"
for how in '' clear; do
	wrap=(setpriv --reuid=65534 --clear-groups)
	start_mapper "$T/mapped.d/libjemalloc.so.2" $how
	wrap=()
	mapper=$pid
	start_watch "behind$how" --all
	LD_LIBRARY_PATH=$T/mapped.d MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper dumper
	is_seen()
	{
		order "$pid" dump "$T/behind.heap"
		[ -n "$(events_of "behind$how" "$pid")" ]
	}
	ok "behind one that maps the library, ${how:-whole}: is seen" within 60 is_seen
	is "$(seen "behind$how" "select(.pid == $pid) | .source" | uniq)" uprobe "behind one that maps the library, ${how:-whole}: by a probe"
	end_watch "behind$how"
	stop_target "$pid"
	stop_target "$mapper"
done

# --- a container: user, mount and pid namespaces ---
if unshare --user --map-root-user true 2>/dev/null; then
	mkdir "$T/inner"
	mkfifo "$T/inner/orders"
	inner=$(mktemp "$T/victim.XXXXXX")
	# shellcheck disable=SC2016 # the inner shell's arguments
	MALLOC_CONF=prof:true,lg_prof_sample:12 unshare --user --map-root-user --mount --pid --fork --kill-child \
		sh -c 'mount -t tmpfs none /mnt && exec "$0" fd:3 "$1"' "$VICTIMS/dumper" "$T/inner/orders" \
		3<>"$inner" >>"$T/victims.log" 2>&1 &
	outer=$!
	own "$outer"
	within 60 tests/drivers/photo ready "$inner" || bail_out 'no container'
	pid=$(pgrep -P "$outer")
	mv "$T/inner/orders" "$T/orders.$pid"
	mv "$T/inner/orders.said" "$T/said.$pid"
	snapshot "$pid"
	start_watch inside --all
	order "$pid" dump /mnt/inside.heap
	is "$answer" 0 'a container: a dump'
	end_watch inside
	bytes=$(stat -c %s "/proc/$pid/root/mnt/inside.heap")
	is "$(events_of inside "$pid")" "manual true /mnt/inside.heap $bytes" 'a container: one event'
	is "$(seen inside "select(.pid == $pid) | .host_file")" "/proc/$pid/root/mnt/inside.heap" \
		'a container: the path on the host'
	assert_untouched "$pid" 'a container: untouched'
	kill "$outer"
else
	skip 'user namespaces are switched off' 'a container'
fi

# --- without uprobes: no page of its code is changed ---
# changed_code: print the KiB of its library's code that differ from the file
changed_code()
{
	awk '/^[0-9a-f]+-[0-9a-f]+ / { code = $2 ~ /x/ && /libjemalloc/ }
		code && /^Anonymous:/ { kb += $2 } END { print kb + 0 }' "/proc/$pid/smaps"
}
MALLOC_CONF=prof:true,lg_prof_sample:12 start_dumper dumper
snapshot "$pid"
for how in without with; do
	options=() wanted=4 source=uprobe
	[ "$how" = with ] || options=(--no-uprobes) wanted=0 source=tracepoint
	start_watch "$how" "$pid" "${options[@]}"
	is "$(changed_code)" "$wanted" "$how uprobes: pages of code that the kernel copied (KiB)"
	order "$pid" dump "$T/$how.heap"
	end_watch "$how"
	is "$(seen "$how" "select(.pid == $pid) | .source")" "$source" "$how uprobes: one event, and how it was seen"
done
is "$(grep -c 'system calls' "$T/without.talk")" 0 'without uprobes: no warning, as requested'
assert_untouched "$pid" 'without uprobes: untouched'
stop_target "$pid"

done_testing
