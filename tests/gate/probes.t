#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# probes: the kernel's own tracing sees what is allocated and freed, as perf does, and the process is
# as it was afterwards.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

# Events have the same names for the whole machine.
tracing=/sys/kernel/tracing
group=probes_${T##*[!A-Za-z0-9]}
instance=$tracing/instances/$group
mkdir "$instance" || bail_out 'no instance of tracefs'
forget_events()
{
	[ ! -e "$instance" ] || rmdir "$instance"
	for event in alloc free; do
		[ ! -e "$tracing/events/$group/$event" ] || echo "-:$group/$event" >>"$tracing/uprobe_events"
	done
}
at_end+=(forget_events)

# start_probes NAME ARGUMENTS...: place them, and wait until they are there. Sets `prober`.
start_probes()
{
	local name=$1

	shift
	start_probing "probes in" "$T/$name.out" "$T/$name.err" "$CTL" "${patient[@]}" probes "$pid" "${rate[@]}" "$@"
}

# attach NAME: do what it prints for perf, in a group of our own
attach()
{
	sed -n "s/^  echo '\(p:.*\)' >>.*/\1/p" "$T/$1.out" | sed "s/^p:otel_memory/p:$group/" >"$T/events"
	is "$(wc -l <"$T/events")" 2 "$1: it prints how to create two events"
	cat "$T/events" >>"$tracing/uprobe_events" || bail_out "$1: no such event: $(<"$T/events")"
	: >"$instance/trace"
	echo 1 >"$instance/events/$group/enable"
}

detach()
{
	echo 0 >"$instance/events/$group/enable"
	cp "$instance/trace" "$T/trace"
	forget_events
	mkdir "$instance"
}

# traced_bytes: what the traced allocations stand for
traced_bytes()
{
	sed -n 's/.* alloc: .*bytes=//p' "$T/trace" | awk '{ sum += $1 } END { print sum + 0 }'
}

# addresses EVENT: those in its events
addresses()
{
	sed -n "s/.* $1: .*address=\(0x[0-9a-f]*\).*/\1/p" "$T/trace" | sort -u
}

start_keepers

# --- others read them ---
start_probes plain -d 10m
is "$(state_of "$pid")" "$in_phase 1 1" 'they are there, without a reader'
tell leak 8
attach plain
is "$(state_of "$pid")" "$in_phase 2 2" 'with a reader, too'
keep_going leak 32
is "$(state_of "$pid")" "$in_phase 2 2" 'they stay'
keep_going churn 32
detach
is_near "$(traced_bytes)" 64 \
	'the reader sees what is allocated, in bytes'
is_near $(($(grep -c " alloc: " "$T/trace") * 65536)) 64 'a sample every 64 KiB'
ok 'it sees what is freed' test "$(grep -c " free: " "$T/trace")" -gt 100
addresses alloc >"$T/allocated"
addresses free >"$T/freed"
is "$(comm -13 "$T/allocated" "$T/freed")" '' 'only what was sampled before'
ok 'and not what is leaked' test "$(comm -23 "$T/allocated" "$T/freed" | wc -l)" -gt 100
is "$(awk '/ (alloc|free): / { print $1 }' "$T/trace" | grep -cv "^keepers-")" 0 'no other process'
is "$(state_of "$pid")" "$in_phase 1 1" 'the reader has ended: they stay'
ctl_fails 7 already_sampled 'sample is refused meanwhile' sample "$pid" -d 1s
ctl_fails 7 already_sampled 'undo as well' undo "$pid"
end_child "$prober" -INT
wait "$prober"
is "$?" 0 'Ctrl-C ends it' || diag "$(<"$T/plain.err")"
like "$(tail -n 1 "$T/plain.err")" "probes in $pid \(keepers\): [0-9.]+ s, ended by a signal, [0-9]{5,} allocations" 'it is reported'
is_out plain
tell free
assert_untouched "$pid"

# --- without their semaphores, as bpftrace attaches ---
start_probes bare -d 10m
sed -i 's/(0x[0-9a-f]*)//' "$T/bare.out"
attach bare
is "$(state_of "$pid")" "$in_phase 1 1" 'a reader without semaphores'
keep_going leak 16
detach
is_near "$(traced_bytes)" 16 'sees the same'
# Control: where somebody reads them, the kernel refuses such a reader.
end_child "$prober" -INT
wait "$prober"
start_sample read "${rate[@]}"
sed "s/(0x[0-9a-f]*)//; s/^p:otel_memory/p:$group/" "$T/events" >>"$tracing/uprobe_events"
ok 'control: not while jeprof-ctl reads them' eval '! echo 1 2>/dev/null >"$instance/events/$group/enable"'
forget_events
mkdir "$instance"
end_sample read 1
is_out bare
tell free
assert_untouched "$pid" 'without semaphores: untouched'

# --- the time is over ---
start_probes short -d 1s
wait "$prober"
is "$?" 0 'the time is over'
is_out 'the time is over'
assert_untouched "$pid" 'the time is over: untouched'

# --- killed ---
start_probes killed -d 10m
attach killed
tell churn 8
end_child "$prober" -KILL
wait "$prober" 2>/dev/null
ok 'killed: the reader alone is left' within 60 eval '[[ $(state_of "$pid") == "$in_phase 1 1" ]]'
tell churn 8
is "$(state_of "$pid")" "$in_phase 1 1" 'killed: they stay for the reader'
detach
ok 'killed: the reader has ended' within 60 eval '[[ $(state_of "$pid") == "$in_phase 0 0" ]]'
tell churn 1
is_out killed kept
assert_untouched "$pid" 'killed: untouched'

# --- more is live than it can track ---
start_probing "probes in" "$T/many.out" "$T/many.err" "$CTL" "${patient[@]}" probes "$pid" --sample-rate 4K --max-overhead 10000
tell leak 128 # 32,768 samples in 8,192 sets of 8
end_child "$prober" -INT
wait "$prober"
is "$?" 0 'too many: ends'
like "$(<"$T/many.err")" 'warning: [0-9]+ sampled allocations were not reported, because too many were live' 'too many: it is reported'
unlike "$(<"$T/plain.err")" 'not reported' 'control: not if there are few'
is_out 'too many'
tell free
assert_untouched "$pid" 'too many: untouched'

# --- for programs ---
"$CTL" "${patient[@]}" probes "$pid" -d 10m --json >"$T/json" 2>"$T/err" </dev/null &
prober=$!
own "$prober"
ok 'json: it is printed at the beginning' within 60 jq -e .image "$T/json"
cp "$T/json" "$T/out"
ok 'json: as the schema says' tests/drivers/schema-check --bites doc/schema/jeprof-ctl.json probes "$T/out"
ok 'json: the file is a program' test "$(head -c 4 "$(json .image)" | tail -c 3)" = ELF
like "$(readelf -n "$(json .image)" | tr -d '\n')" \
	"otel_memory.*alloc.*Location: 0x0*$(printf %x "$(json .alloc.offset)"),.*Semaphore: 0x0*$(printf %x "$(json .alloc.semaphore)").*free.*Location: 0x0*$(printf %x "$(json .free.offset)"),.*Semaphore: 0x0*$(printf %x "$(json .free.semaphore)")" \
	'json: the notes in that file say the same'
end_child "$prober" -TERM
wait "$prober"
is "$?" 0 'json: ends'
is_out json

# --- nobody can read what it prints ---
"$CTL" "${patient[@]}" probes "$pid" -d 10m >/dev/full 2>"$T/err"
is "$?" 10 'a full disk: it ends'
is_out 'a full disk'
assert_untouched "$pid" 'a full disk: untouched'

# --- too expensive ---
post flood 2
ok 'too costly: it ends by itself' eval '! "$CTL" "${patient[@]}" probes "$pid" --max-overhead 1 >"$T/out" 2>"$T/err"'
post nothing
ok 'too costly: it has left' within 60 eval '[[ $(state_of "$pid") == "$out_phase 0 0" ]]'
assert_untouched "$pid" 'too costly: untouched'
stop_target "$pid"

ctl_fails 2 sample_rate_range 'a rate that is too small' probes 1 --sample-rate 1
ctl_fails 3 no_process 'no such process' probes 4194304
start_victim idle-plain
ctl_fails 5 'no_jemalloc preload_jemalloc' 'no jemalloc' probes "$pid"
stop_target "$pid"

done_testing
