#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sites: how much each function allocates, as seen by the kernel; no call is made in the process.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# shellcheck source=tests/sites.sh
. tests/sites.sh

# --- Debian's library, which is stripped; not started for profiling ---
start_victim allocators
snapshot "$pid"
remember
start_sites plain --sample-rate 64K --save "$T/plain.heap"
tell '\200' # 128 MB
end_sites plain
compare plain "$T/plain.heap"
like "$(<"$T/plain.err")" "sampled $pid \(allocators\) for [0-9.]+ s, ended by a signal: 1[0-9]{2}M \([0-9.]+[KMG]/s\) allocated, [0-9]+ samples" \
	'plain: what it saw is reported'
like "$(head -n 1 "$T/plain.out")" 'alloc_space of allocators' 'plain: the table shows what was allocated'
like "$(<"$T/plain.out")" 'allocate_small < .*main' 'plain: with the whole stack'
like "$(<"$T/plain.heap")" "# counts alloc_space" 'plain: the profile names what it counts'
assert_untouched "$pid"

# Control: without the probe, nothing is seen.
start_sites control
end_sites control 1
like "$(<"$T/control.err")" 'no thread of .* allocated as much as 64 KiB' 'nothing allocated: an error, no empty table'

# Nor is there an empty table if no sample was drawn in 1 MB.
start_sites rare --sample-rate 100G --save "$T/rare.heap"
tell '\001'
end_sites rare 1
like "$(<"$T/rare.err")" 'allocated [0-9]{3,4} KiB in [0-9.]+ s, but none of it was sampled' 'nothing sampled: an error'
like "$(<"$T/rare.err")" 'fix: .*--sample-rate' 'nothing sampled: the fix is shown'
ok 'nothing sampled: nothing is saved' test ! -e "$T/rare.heap"

# --- other outputs ---
"$CTL" sites "$pid" -d 3s "${dear[@]}" --json >"$T/json.out" 2>"$T/json.err" &
own $!
while kill -0 $! 2>/dev/null; do
	tell '\001' # 1 MB
done
wait $!
is "$?" 0 'json: ends'
is "$(<"$T/json.err")" '' 'json: no messages'
ok 'json: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json report "$T/json.out"
is "$(jq -r .type "$T/json.out")" alloc_space 'json: what it counts'
start_sites page -o "$T/page.html"
tell '\010'
end_sites page
ok 'a page: it is HTML' grep -q '^<!DOCTYPE html>' "$T/page.html"
ctl_fails 10 output_exists 'a file that exists' sites "$pid" --save "$T/plain.heap"
assert_untouched "$pid" 'other outputs: untouched'

# --- stacks are copied to their last byte: wherever they end, with little above them ---
stop_target "$pid"
wrap=(setarch -R env -i "LD_LIBRARY_PATH=$LD_LIBRARY_PATH")
for deeper in 1 256 512 768; do
	start_victim allocators "$deeper"
	start_sites deeper --sample-rate 64K
	tell '\010'
	end_sites deeper
	unlike "$(<"$T/deeper.err")" 'only part of their stack' "$deeper bytes deeper: the stacks are complete"
	stop_target "$pid"
done
wrap=()
start_victim allocators
snapshot "$pid"

# --- killed in the middle, it leaves nothing ---
start_sites killed
end_child "$sampler" -KILL
wait "$sampler" 2>/dev/null
tell '\010'
assert_untouched "$pid" 'killed: no breakpoint is left'
stop_target "$pid"

# --- with profiling on, whose own events come in between ---
MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:14 start_victim allocators
snapshot "$pid"
remember
start_sites active --sample-rate 64K --save "$T/active.heap"
tell '\200'
end_sites active
compare active "$T/active.heap"
assert_untouched "$pid" 'with profiling on: untouched'

# --- a child of the process is another process ---
start_sites child
tell '\376\377\377\377\377\377\377\377'
end_sites child 1
like "$(<"$T/child.err")" 'no thread of .* allocated' 'allocations of a child do not count'
assert_untouched "$pid" 'its child: untouched'

# --- it ends, or becomes another program ---
# Stacks are walked in its memory: wait until that is done.
start_sites exec --save "$T/exec.heap"
tell '\010'
sleep $((2 * SLOW))
tell '\377\377\377\377\377\377\377\377' nowait
wait "$sampler"
is "$?" 0 'another program: ends'
like "$(<"$T/exec.err")" 'until it ended' 'another program: it is reported'
like "$(<"$T/exec.heap")" '# build-id' 'another program: the profile is complete'
is "$(share allocate_small "$T/exec.heap" | grep -c '^[1-9]')" 1 'another program: and has names'
stop_target "$pid"
start_victim allocators
start_sites ended --save "$T/ended.heap"
tell '\010'
sleep $((2 * SLOW))
stop_target "$pid"
wait "$sampler"
is "$?" 0 'the process ends: sites ends, too'
like "$(<"$T/ended.heap")" 'MAPPED_LIBRARIES:' 'the process ends: the profile is complete'
is "$(share allocate_small "$T/ended.heap" | grep -c '^[1-9]')" 1 'the process ends: and has names'

# --- samples come faster than they are read: it ends on time ---
start_victim allocators
tell '\375\377\377\377\377\377\377\377'
snapshot "$pid"
timeout -s KILL $((60 * SLOW)) "$CTL" sites "$pid" -d 1s --sample-rate 1 "${dear[@]}" >"$T/out" 2>"$T/err"
is "$?" 0 'a flood: ends'
like "$(<"$T/err")" 'came too fast to be read' 'a flood: the loss is reported'
assert_untouched "$pid" 'a flood: untouched'
stop_target "$pid"

# --- refusals ---
ctl_fails 2 'needs_process give_a_process' 'no process' sites
ctl_fails 2 'in_option not_a_value' 'not a duration' sites 1 -d soon
ctl_fails 2 'in_option must_be_more_than_0' 'no overhead at all' sites 1 --max-overhead 0
ctl_fails 2 'option_unknown see_command_help' 'a thread, which the profile does not know' sites 1 --thread 1
ctl_fails 3 no_process 'no such process' sites 4194304
start_victim idle-plain
ctl_fails 5 'no_jemalloc preload_jemalloc' 'no jemalloc' sites "$pid" -d 1s
stop_target "$pid"
start_victim allocators
snapshot "$pid"
setpriv --bounding-set -bpf,-perfmon,-sys_admin "$CTL" sites "$pid" -d 1s >"$T/out" 2>"$T/err" </dev/null
is "$?" 4 'without the rights: refused'
like "$(<"$T/err")" 'fix: .*(root|CAP_BPF)' 'without the rights: the fix is shown'
build/tests/nobpf/jeprof-ctl sites "$pid" -d 1s >"$T/out" 2>"$T/err"
is "$?" 1 'a build without eBPF: refused'
like "$(<"$T/err")" 'built without eBPF' 'a build without eBPF: the cause is reported'
assert_untouched "$pid" 'refused: untouched'

done_testing
