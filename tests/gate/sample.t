#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: what a process not started for profiling keeps, and that it is left as it was,
# however sampling ends. Only what cannot be triggered depends on time: see tests/long/sample.t.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh

# --- what each function allocates, and how much of it is live ---
start_keepers
is "$(blocks_of "$pid")" 0 'before: nothing is mapped'
start_sample plain "${rate[@]}" --save "$T/plain.heap"
is "$(state_of "$pid")" "$in_phase 1 1" 'it is sampled'
keep_each
tell weird # which fail: what comes after them is seen
keep_going leak 32
end_sample plain
is_out plain
unlike "$(<"$T/plain.err")" 'too fast' 'plain: no sample was lost'
like "$(<"$T/plain.err")" "sampled $pid \(keepers\) for [0-9.]+ s, ended by a signal: [0-9]+M allocated, [0-9]+M of it not freed, [0-9.]+M of that from the first half; [0-9]+ samples, about [0-9.]+ % of a CPU" \
	'plain: what it saw is reported'
is "$(head -n 1 "$T/plain.heap")" heap_v2/65536 'plain: the rate is in the profile'
ok 'plain: the file is a profile' is_profile "$T/plain.heap"

each_as_kept 64
allocated grow_arrays 64 # all steps to it
allocated shrink_arrays 160 # 4 MB each, and the 1 MB that is left
is_near "$(jq ".total | round" "$T/report")" $((64 + 3 * 32 + 32 + 64 + 160 + 4 * 32)) 'the total of what was allocated'

# --- the profile is like any other ---
jeprof --text --inuse_space --show_bytes "$VICTIMS/keepers" "$T/plain.heap" >"$T/jeprof.out" 2>"$T/jeprof.err"
is_near "$(awk '$6 == "leak_blocks" { print $4 }' "$T/jeprof.out")" 64 'jeprof: leak_blocks' || diag "$(<"$T/jeprof.err")"
like "$(<"$T/plain.out")" 'inuse_space of keepers' 'the table shows what is live'
like "$(<"$T/plain.out")" 'leak_blocks < obey < main' 'with whole stacks'
tell free
# It grows more each time: at an even rate, samples may show by chance that growth has slowed down.
for i in 1 2 3; do
	# On a busy machine, samples may come too fast to be read: then once more.
	for tries in {1..5}; do
		start_sample "grows$i" "${rate[@]}" --save "$T/grows$i.heap" --force
		keep_going leak $((i * i * 8))
		end_sample "grows$i"
		grep -q 'too fast' "$T/grows$i.err" || break
		diag "try $tries: $(<"$T/grows$i.err")"
	done
	is_out "grows$i"
	# How long each takes depends on the machine; growth at an uneven rate is no certain leak.
	like "$(sed -i "s/^# time_ns .*/# time_ns $((1700000000 + i))000000000/w /dev/stdout" "$T/grows$i.heap")" time_ns \
		"grows$i: has a time"
done
ctl_ok 'leaks: reads them' leaks --json --no-cache "$T"/grows[123].heap
like "$(<"$T/out")" 'leak_blocks' 'leaks: finds what grows' || diag "$(cat "$T"/grows?.err "$T"/grows?.heap)"
tell free
assert_untouched "$pid"

post flood 2
ctl_ok 'json: ends' sample "$pid" -d 1s --sample-rate 4M --max-overhead 10000 --json
post nothing
ok 'json: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json report "$T/out"
is "$(json .type)" inuse_space 'json: what it counts'
is "$(json .warnings)" null 'json: no warning'
is_out json
post flood 2
if [ -n "$(hierarchy memory)" ]; then
	runner=(unshare -C -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh)
	ctl_ok 'no group is mounted: ends' sample "$pid" -d 1s --sample-rate 4M --max-overhead 10000 --json
	is "$(json '.warnings[].id')" limits_hidden 'no group is mounted: a warning'
	runner=()
else
	skip 'cgroups cannot limit memory here' 'a warning where limits are hidden'
fi
post nothing
assert_untouched "$pid" 'json: untouched'

# --- young memory does not count ---
start_sample young "${rate[@]}" --min-age 9m --save "$T/young.heap"
keep_going leak 16
end_sample young
is "$(bytes_of "$T/young.heap" leak_blocks)" 0 'too young: does not count as live'
is_near "$(bytes_of "$T/young.heap" leak_blocks --alloc-space)" 16 'too young: counts as allocated'
start_sample old "${rate[@]}" --min-age 1s --save "$T/old.heap"
keep_going leak 16
sleep 1.1 # it is older than that now, whatever else takes time
end_sample old
is_near "$(bytes_of "$T/old.heap" leak_blocks)" 16 'older than a second: counts as live'
tell free
assert_untouched "$pid" 'ages: untouched'

# --- one at a time ---
start_sample first "${rate[@]}"
ctl_fails 7 already_sampled 'while one runs: another is refused' sample "$pid" -d 1s
is "$(state_of "$pid")" "$in_phase 1 1" 'while one runs: that goes on'
tell leak 8
end_sample first
like "$(<"$T/first.out")" leak_blocks 'and sees later allocations'
is_out first

# --- Ctrl-C twice ---
start_sample interrupted "${rate[@]}"
tell leak 8
kill -INT "$sampler"
kill -INT "$sampler" 2>/dev/null
wait "$sampler"
like "$?" '^[01]$' 'interrupted twice: ends'
is_out 'interrupted twice'
assert_untouched "$pid" 'interrupted twice: untouched'

# --- killed: the process removes it by itself ---
start_sample killed "${rate[@]}"
keep_going churn 64 # 32,768 allocations
end_child "$sampler" -KILL
wait "$sampler" 2>/dev/null
# The process allocates nothing while it sleeps.
ok 'killed: nobody reads it' within 60 eval '[[ $(state_of "$pid") == *" 0 0" ]]'
is "$(state_of "$pid")" "$in_phase 0 0" 'killed: control: it is there until something is allocated'
tell churn 1
is_out killed kept
assert_untouched "$pid" 'killed: untouched'
start_sample after --sample-rate 1T
tell churn 1 # 512 allocations
end_sample after 1
like "$(<"$T/after.err")" 'allocated 5[0-9]{2} times in .* none of it was sampled' 'after that: starts from zero'
is_out 'after that'
start_sample idle "${rate[@]}"
tell leak 8
end_child "$sampler" -KILL
wait "$sampler" 2>/dev/null
ok 'killed while it is idle: nobody reads it' within 60 eval '[[ $(state_of "$pid") == "$in_phase 0 0" ]]'
start_sample next "${rate[@]}" --save "$T/next.heap"
is "$(state_of "$pid")" "$in_phase 1 1" 'killed while it is idle: it can be sampled'
keep_going leak 16
end_sample next
is_near "$(bytes_of "$T/next.heap" leak_blocks)" 16 'killed while it is idle: only its own samples'
is_out 'killed while it is idle'
assert_untouched "$pid" 'killed while it is idle: untouched'

# --- a child of the process ---
start_sample child "${rate[@]}" --save "$T/child.heap"
keep_going leak 16
start_child
is "$(state_of "$child" | cut -d' ' -f1)" "$out_phase" 'the child has left'
is "$(state_of "$pid")" "$in_phase 1 1" 'its parent has not'
keep_going leak 16
tell reap
is "$(beat 3)" 0 'the child exits normally'
end_sample child
is_near "$(bytes_of "$T/child.heap" leak_blocks)" 32 'what the child freed is still live here'
is_out child
assert_untouched "$pid" 'its child: untouched'

# --- no samples ---
start_sample nothing "${rate[@]}" --save "$T/nothing.heap"
end_sample nothing 1
like "$(<"$T/nothing.err")" 'allocated nothing in ' 'nothing allocated: an error'
ok 'nothing allocated: nothing is saved' test ! -e "$T/nothing.heap"
is_out 'nothing allocated'

# --- on a terminal: what it takes, in terms of what the block counted ---
post flood 1
script -qec "'$CTL' ${patient[*]} sample $pid -d 5s --sample-rate 16M --max-overhead 10000 --no-pager" /dev/null \
	>"$T/terminal" 2>&1 </dev/null
is "$?" 0 'on a terminal: ends' || diag "$(<"$T/terminal")"
like "$(tr '\r' '\n' <"$T/terminal")" 's left, [0-9]+ samples, about [1-9][0-9]*\.[0-9] % of a CPU' 'on a terminal: progress'
post nothing
is_out 'on a terminal'

# --- too expensive ---
start_sample dear --max-overhead 1
post flood 2
wait "$sampler"
is "$?" 8 'too costly: it ends by itself'
like "$(<"$T/dear.err")" 'was removed' 'too costly: the cause is reported'
ok 'too costly: it has left' within 60 eval '[ "$(state_of "$pid")" = "$out_phase 0 0" ]'
post nothing
assert_untouched "$pid" 'too costly: untouched'
stop_target "$pid"
start_victim keepers
post flood 64
ctl_fails 8 'sampling_too_costly' 'too costly: refused at once' sample "$pid" -d 1s --max-overhead 1
is "$(blocks_of "$pid")" 0 'too costly: nothing is mapped'
post nothing
stop_target "$pid"

# --- the process becomes another program, or ends ---
ends_while_sampled keepers

# --- refusals, which touch nothing ---
start_victim keepers
snapshot "$pid"
touch "$T/there.heap"
ctl_fails 10 output_exists 'a file that exists' sample "$pid" -d 1s --save "$T/there.heap"
ctl_fails 2 'in_option not_a_value' 'not a duration' sample 1 -d soon
ctl_fails 2 'in_option must_be_more_than_0' 'no overhead at all' sample 1 --max-overhead 0
ctl_fails 3 no_process 'no such process' sample 4194304
setpriv --bounding-set -bpf,-perfmon,-sys_admin "$CTL" sample "$pid" -d 1s >"$T/out" 2>"$T/err" </dev/null
is "$?" 4 'without the rights: refused'
build/tests/nobpf/jeprof-ctl sample "$pid" -d 1s >"$T/out" 2>"$T/err"
is "$?" 1 'a build without eBPF: refused'
like "$(<"$T/err")" 'built without eBPF' 'a build without eBPF: the cause is reported'
is "$(blocks_of "$pid")" 0 'refused: nothing is mapped'
assert_untouched "$pid" 'refused: untouched'
stop_target "$pid"
start_victim idle-plain
ctl_fails 5 'no_jemalloc preload_jemalloc' 'no jemalloc' sample "$pid" -d 1s
stop_target "$pid"

# --- behind a filter ---
for call in memfd_create fcntl mmap madvise munmap; do
	start_victim walled kill-process "$call"
	snapshot "$pid"
	ctl_fails 1 filter_punishes_thread "behind a filter: $call" sample "$pid" -d 1s
	is "$(blocks_of "$pid")" 0 "behind a filter: $call: nothing is mapped"
	assert_untouched "$pid" "behind a filter: $call: untouched"
	stop_target "$pid"
done
start_victim walled kill-process memfd_create
build/tests/careless/jeprof-ctl-fences "${patient[@]}" sample "$pid" -d 1s >"$T/out" 2>"$T/err" </dev/null
ok 'behind a filter: control: a careless build kills it' within 60 eval '! kill -0 "$pid"'

done_testing
