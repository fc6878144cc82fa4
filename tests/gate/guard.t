#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# guard: which rules lead to a profile and which do not, of which process, and that nothing is
# touched before. tests/gate/guard-actions.t tests what it does then. No rule depends on time: each
# line is caused by what a process holds, and what must not cause one is followed by what must.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh

# brings NAME N RULE WORD: the N-th line must be by that rule; check its profile and document
brings()
{
	local file

	is "$(line "$1" "$2" '[.ok, .rule, .pid, .comm, .action] | tostring')" "[true,\"$3\",$pid,\"grower\",\"dump\"]" "$3: a line"
	file=$(line "$1" "$2" .file)
	like "$file" "^$T/$1/grower\\.$pid\\.[0-9]{8}T[0-9]{6}Z\\.guard-$4\\.heap$" "$3: the name of its file"
	ok "$3: a profile" is_profile "$file"
	is "$(heaviest "$file")" hoard "$3: the heaviest function"
	is "$(jq -cS . "${file%.heap}.json")" "$(line "$1" "$2" | jq -cS .)" "$3: the document equals the line"
	is "$(wc -c <"$file")" "$(line "$1" "$2" .bytes)" "$3: its size"
}

# --- levels of a process, before which nothing is touched ---
# touches: count the calls that trace or write: none before a level. The guard only reads, once,
# where jemalloc is.
touches()
{
	grep -cE 'ptrace\(|process_vm_writev\(|mem", O_(RDWR|WRONLY)' "$T/calls"
}
start_grower
as_before 220
guard_by=(strace -f -o "$T/calls" -e 'trace=ptrace,process_vm_writev,openat,exit_group')
start_guard levels "$pid" --when 'rss>40M' --when rss+70M --when 'growth>110M/1h' --when +160M --json --again 0 --cooldown 1ms
guard_by=()
tracer=$guard guard=$(pgrep -P "$guard")
looks
hold 20
looks
is "$(touches)" 0 'no level is reached: nothing is touched'
is "$(wc -c <"$T/levels.out")" 0 'no level is reached: no line'
assert_untouched "$pid" 'no level is reached: untouched'
hold 60
brings levels 1 'rss>40M' rss
ok 'control: it is touched at a level' test "$(touches)" -gt 0
hold 100
brings levels 2 rss+70M growth
hold 140
brings levels 3 'growth>110M/1h' growth
hold 190
brings levels 4 +160M growth
is "$(line levels 4 '.rss_bytes >= .level_bytes and .level_bytes > 160 * 1048576 and .took_ms >= 0')" true 'the amounts in the line'
kill -INT "$guard"
guard=$tracer
guard_ends levels
is "$(tail -n 1 "$T/levels.err")" '4 profiles, 0 failed' 'the summary counts the profiles'
assert_untouched "$pid" 'levels: untouched'

# --- edges: three guards see the same ---
# It fires while the process grows, at any size from the level on. 62 MiB are just below the level.
hold 62
level=$(($(awk '{ print $2 * 4096 }' "/proc/$pid/statm") + (2 << 20)))
hold 0
start_guard edge "$pid" --when "rss>$level" --when 'rss>180M' --json --again 0 --cooldown 1ms --wait 60s
edge=$guard
start_guard again "$pid" --when "rss>$level" --json --again 50 --wait 60s
again=$guard
start_guard cooled "$pid" --when "rss>$level" --when 'rss>180M' --when 'rss>200M' --json --again 0 --wait 60s
cooled=$guard
all_look()
{
	for guard in "$edge" "$again" "$cooled"; do
		looks
	done
}
# rules NAME: print the rules of its lines, except the first
rules()
{
	sed 1d "$T/$1.out" | jq -r .rule | paste -sd ' '
}
all_look
hold 80
for name in edge again cooled; do
	is "$(line $name 1 .rule)" "rss>$level" "$name: the level is crossed"
done
hold 62 # less than the level, but not by 5 %
all_look
hold 82
all_look
hold 190
for name in edge again cooled; do
	line $name 2 >/dev/null
done
is "$(rules edge)" 'rss>180M' 'edge: no second profile until it falls by more than 5 %'
is "$(line again 2 ".level_bytes >= $level * 1.5")" true 'again: only after it has grown by 50 %'
hold 20
all_look
hold 90
line edge 3 >/dev/null
hold 215
line edge 4 >/dev/null
line cooled 3 >/dev/null
is "$(rules edge)" "rss>180M rss>$level rss>180M" \
	'edge: further profiles once it has fallen by more, and risen'
is "$(rules cooled)" 'rss>180M rss>200M' 'cooldown: no profile within it'
for name in edge again cooled; do
	guard=${!name}
	end_guard $name
done
assert_untouched "$pid" 'edges: untouched'

# --- within the cooldown, but it has grown ---
hold 0
start_guard grown "$pid" --when 'rss>64M' --json --again 50
hold 80
is "$(line grown 1 .rule)" 'rss>64M' 'grown: the level is crossed'
hold 20
looks
hold 90
looks
hold 180
is "$(line grown 2 '.level_bytes / 1048576 >= 96')" true 'grown: a profile after growth by 50 %, despite a dip'
end_guard grown

# --- for people ---
hold 0
start_guard table "$pid" --when 'rss>40M' --when 'rss>4T' --count 1
hold 60
guard_ends table
like "$(<"$T/table.out")" "^TIME +PROCESS +RULE +MEMORY +PROFILE +TOOK +FILE"$'\n'"[0-9:]{8}Z +$pid \(grower\) +rss>40M +[4-6][0-9.]*M of [0-9.]+[MGT] +[0-9.]+K? +[0-9]+ms +$T/table/grower.*heap$" \
	'a table for people'
is "$(sed -n '1p;$p' "$T/table.err" | paste -sd/)" 'guarding 1 process/1 profile, 0 failed' '--count: it ends after that many'

# --- at intervals, and for a limited time ---
start_guard clock "$pid" --when 'every 100ms' --json --count 2
guard_ends clock
brings clock 1 'every 100ms' every
is "$(line clock 2 '[.rule, .ok] | tostring')" '["every 100ms",true]' 'every: a second time'
is "$(wc -l <"$T/clock.out")" 2 'every: --count'
start_guard brief "$pid" --when 'rss>4T' --for 100ms
guard_ends brief
is "$(sed -n '$p' "$T/brief.err")" '0 profiles, 0 failed' '--for: it ends, without a profile'
assert_untouched "$pid" 'every, --for, --count: untouched'
stop_target "$pid"

# --- a control group ---
if make_group 256; then
	in_group start_grower
	as_before 220
	small=$pid
	in_group start_grower
	as_before 160
	big=$pid
	guard_for=("$small" "$big")
	start_guard group "${guard_for[@]}" --when 'cgroup>60%' --when 'rss>80%' --json --again 0 --cooldown 1ms
	hold 40 "$small"
	looks
	hold 130 "$big"
	is "$(line group 1 '[.rule, .pid, .limit_bytes, .group] | tostring')" "[\"cgroup>60%\",$big,268435456,\"$group\"]" \
		'cgroup: the largest process'
	is "$(line group 1 '.level_bytes >= .limit_bytes * 0.6 and .level_bytes > .rss_bytes')" true 'cgroup: the memory of the whole group'
	like "$(line group 1 .file)" "/grower\\.$big\\.[^/]*\\.guard-cgroup\\.heap$" 'cgroup: the name of its file'
	hold 20 "$big"
	looks
	hold 150 "$small"
	is "$(line group 2 '[.rule, .pid] | tostring')" "[\"cgroup>60%\",$small]" 'cgroup: the other process, once it is the largest'
	hold 0 "$big"
	hold 215 "$small"
	is "$(line group 3 '[.rule, .pid, .limit_bytes] | tostring')" "[\"rss>80%\",$small,268435456]" 'rss: a percentage of the limit'
	end_guard group
	is "$(grep -c "event:high is not available" "$T/group.err")" 0 \
		'cgroup: no event is unavailable'
	start_guard unseen "$small" --when event:high --when 'cgroup>99%' --for 1ms
	guard_ends unseen
	is "$(grep -c 'event:high is not available' "$T/unseen.err") $(grep -c 'cgroup>99% is not available' "$T/unseen.err")" \
		"$((group_version == 1)) 0" 'events that this cgroup version lacks are reported'
	assert_untouched "$small" 'cgroup: untouched'
	assert_untouched "$big" 'cgroup: the other process: untouched'
	stop_target "$small"
	stop_target "$big"
else
	skip 'control groups cannot be made here' 'a control group'
fi

# --- processes that start later, by name, group and descent; and unsuitable ones ---
grower=$T/late-grower
install -m 755 "$VICTIMS/grower" "$grower"
cp /bin/sleep "$T/late"
mkdir "$T/others"
cp "$T/late" "$T/others/late-grower"
"$T/others/late-grower" 1000 &
own "$!"
MALLOC_CONF=prof:false start_grower prof:false
unfit=$pid
snapshot "$unfit"
others=("$unfit" "$!")
start_guard name --comm late-grower --when 'rss>40M' --when 'every 200ms' --json --wait 60s
name=$guard
start_guard parent --children $$ --when 'rss>40M' --json --wait 60s
parent=$guard
start_guard all --all --when 'rss>40M' --json --wait 60s
all=$guard
is "$(grep -h '^guarding' "$T/name.err")" 'guarding 0 processes, and any that start later' 'it waits for processes that start later'
start_grower
as_before 60
late=$pid
hold 60
for guard in name parent all; do
	# The first line may be that of the other rule.
	ok "$guard: a process that started later" \
		within 60 eval '[ "$(jq -r "select(.rule == \"rss>40M\") | .pid" "$T/$guard.out" 2>&1 | uniq)" = "$late" ]'
done
line name 3 >/dev/null
is "$(jq -r .pid "$T/name.out" | sort -u)" "$late" 'name: unsuitable processes are ignored'
hold 0
stop_target "$late"
guard=$name
end_guard name
guard=$parent
end_guard parent
guard=$all
end_guard all
assert_untouched "$unfit" 'an unsuitable process is untouched'
for pid in "${others[@]}"; do
	stop_target "$pid"
done

# --- nobody reads its output: it continues to guard ---
# profiles_in NAME N: are there N profiles, complete with their documents?
profiles_in()
{
	[ "$(find "$T/$1" -name '*.json' | wc -l)" -eq "$2" ]
}
mkfifo "$T/pipe"
exec {pipe}<>"$T/pipe"
dd if=/dev/zero of="$T/pipe" bs=4096 oflag=nonblock status=none 2>/dev/null
# shellcheck disable=SC2016 # of the inner shell
guard_by=(sh -c 'exec "$@" >"$0"' "$T/pipe")
start_grower
as_before 220
start_guard unread "$pid" --when 'rss>40M' --when rss+70M --when 'growth>110M/1h' --json --again 0 --cooldown 1ms --count 3
guard_by=()
hold 60
ok 'nobody reads: a profile' within 60 profiles_in unread 1
hold 100
ok 'nobody reads: another one' within 60 profiles_in unread 2
looks
# Drop the zeros that fill the pipe.
dd if="$T/pipe" of=/dev/null bs=4096 iflag=nonblock status=none 2>/dev/null
hold 140
guard_ends unread
dd if="$T/pipe" bs=4096 iflag=nonblock status=none 2>/dev/null >"$T/read"
is "$(jq -c '[.ok, .rule]' "$T/read")" '[true,"growth>110M/1h"]' 'somebody reads again: the next line is complete'
like "$(<"$T/unread.err")" '2 lines were dropped'$'\n''3 profiles, 0 failed' 'nobody reads: the dropped lines are counted'
exec {pipe}<&-
assert_untouched "$pid" 'nobody reads: untouched'
stop_target "$pid"

done_testing
