#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record with another sample rate, until memory has grown, and with lines of progress.

# A private /run, so that no other test's recordings are undone here.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m "$0" "$@"
mount -t tmpfs -o mode=755 none /run || exit 99
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/recording.sh
. tests/recording.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh

# A small sampled object takes 16 KiB: only a few are sampled.
export MALLOC_CONF=$PROF,lg_prof_sample:17

# value NAME: print a value of the target; a recording that has just begun may still be attached
value()
{
	"$CTL" "${patient[@]}" get "$pid" "$1" --wait 30s -q 2>"$T/value.err" || diag "$(<"$T/value.err")" >&2
}

# --- another sample rate ---
start_victim leaky
snapshot "$pid"
before=$(value prof.lg_sample)
ctl_ok 'rate' record "$pid" -d 300ms --sample-rate 64K -o "$T/rate.heap" --json
is "$(json '.changed.prof | tostring')" '{"active":true,"lg_sample":true,"thread_active_init":false}' 'rate: the change is reported'
is "$(json .warning_id)" finer_later 'rate: a warning that a finer rate takes effect later'
like "$(json .warning)" '^each thread keeps the old rate until its next sample, after 128K on average' 'rate: the warning says when'
is "$(head -n 1 "$T/rate.heap")" heap_v2/65536 'rate: of the last profile'
is "$(head -n 1 "$T/rate.base.heap")" heap_v2/65536 'rate: of the first profile'
is "$(value prof.lg_sample)" "$before" 'rate: it is restored'
ctl_ok 'the same rate' record "$pid" -d 300ms --sample-rate "$((1 << before))" -o "$T/same.heap" --json
is "$(json .changed.prof.lg_sample)" false 'the same rate: there is nothing to change'
is "$(json .warning_id)" null 'the same rate: no warning'
ctl_ok 'a coarser rate' record "$pid" -d 300ms --sample-rate 256K -o "$T/coarser.heap" --json
is "$(json .warning_id)" null 'a coarser rate: no warning'
ctl_ok 'a finer rate, to read' record "$pid" -d 300ms --sample-rate 64K -o "$T/finer.heap"
like "$err" 'warning: each thread keeps the old rate until its next sample' 'a finer rate: the warning'
ctl_fails 2 'sample_rate_no_power use_a_power' 'a rate that is no power of two' record "$pid" --sample-rate 5000
start_recording -d 300s --sample-rate 256K
is "$(value prof.lg_sample)" 18 'meanwhile: the rate is set'
ctl_fails 7 'recorded_by end_recording' 'meanwhile: reset is refused' reset "$pid"
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
is "$(value prof.lg_sample)" 18 'killed: the rate is still changed'
ctl_fails 2 undo_needs_call 'killed: undo --mode poke is refused' undo "$pid" --mode poke
ctl_ok 'killed: undo' undo "$pid"
like "$out" 'profiling is off again; the sample rate is as it was' 'killed: undo says what it did'
start_recording -d 300s --sample-rate 256K
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ctl_ok 'killed: undo' undo "$pid" --json
is "$(json '.recordings[0] | [.state, .changed.prof.lg_sample] | tostring')" '["undone",true]' 'killed: undo reports the rate'
is "$(value prof.lg_sample) $(value prof.active)" "$before false" 'killed: undo restores the rate'
start_recording -d 300s --sample-rate 256K
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ctl_ok 'killed, then reset' reset "$pid" --lg-sample 15
ctl_ok 'killed, then reset: undo' undo "$pid" --json
is "$(value prof.lg_sample) $(value prof.active)" '15 false' 'killed, then reset: the rate is the user'"'"'s'
ctl_ok 'the rate as it was' reset "$pid" --lg-sample "$before"
start_recording -d 300s --sample-rate 256K
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
ctl_ok 'killed, then activate' activate "$pid"
ctl_ok 'killed, then activate: undo' undo "$pid"
like "$out" 'profiling is left as it is; the sample rate is as it was' 'killed, then activate: undo says what it did'
is "$(value prof.lg_sample) $(value prof.active)" "$before true" 'killed, then activate: profiling stays on'
run_ctl deactivate "$pid"
run_ctl activate "$pid"
ctl_fails 7 'sampled_at_another_rate keep_the_rate' 'a program that is being sampled' record "$pid" -d 300ms --sample-rate 4K -o "$T/w.heap"
ok 'a program that is being sampled: nothing is written' test ! -e "$T/w.heap"
is "$(value prof.lg_sample) $(value prof.active)" "$before true" 'a program that is being sampled: is left alone'
run_ctl deactivate "$pid"
assert_untouched "$pid" 'another rate leaves it untouched'

# --- until ---
snapshot "$pid"
ctl_ok 'not reached' record "$pid" -d 300ms --until rss+100G -o "$T/short.heap" --force
like "$err" 'for 0\.[0-9] s, without reaching rss\+100G; ' 'not reached: it is reported'
ctl_ok 'reached at once' record "$pid" --until 'rss>4K' -o "$T/short.heap" --force --json
is "$(json '[.early, .reached] | tostring')" '[false,true]' 'reached at once: it ends without -d'
is "$(value prof.active)" false 'reached at once: profiling is off again'
ctl_fails 2 'until_unknown until_examples' 'not a condition' record "$pid" --until 'swap>1G'
ctl_fails 2 'in_until not_a_percentage' 'not a percentage' record "$pid" --until rss+x%
assert_untouched "$pid" 'a condition leaves it untouched'
stop_target "$pid"
# A limit of a control group: 64 MiB.
start_victim leaky
if make_group 64; then
	echo "$pid" >"$group/cgroup.procs"
	ctl_ok 'cgroup, not reached' record "$pid" -d 300ms --until 'cgroup>99%' -o "$T/short.heap" --force --json
	is "$(json .reached)" false 'cgroup, not reached: goes on'
	ctl_ok 'cgroup, reached' record "$pid" -d 300s --until 'cgroup>4K' -o "$T/short.heap" --force --json
	is "$(json .reached)" true 'cgroup, reached: ends'
else
	skip 'cgroups cannot limit memory here' 'cgroup'
fi
stop_target "$pid"
# A program whose memory grows on request.
start_outside
start_recording --until rss+50M --interval 300s
ok 'until it grows: it waits' kill -0 "$recorder"
echo >"$T/map"
wait "$recorder"
is "$?" 0 'until it grows: it ends'
like "$(<"$T/bg.err")" ', until rss\+50M; ' 'until it grows: it is reported'
ok 'until it grows: there is a profile' is_profile "$T/bg.heap"
is "$(value prof.active)" false 'until it grows: profiling is off again'
start_recording --until +50%/1h -d 1h
echo >"$T/map"
wait "$recorder"
is "$?" 0 'a rate of growth: it ends'
like "$(<"$T/bg.err")" ', until \+50%/1h; ' 'a rate of growth: it is reported'
stop_target "$pid"

# --- lines of progress ---
start_victim leaky
ctl_ok 'progress' record "$pid" -d 3s --progress 100ms -o "$T/lines.heap"
like "$err" "recording $pid \(leaky\): [0-3] of 3 s, allocated [^,]* at first, RSS " 'progress: lines are printed'
ctl_ok 'progress -q' record "$pid" -d 500ms --progress 100ms -q -o "$T/quiet.heap"
unlike "$err" 'recording' 'progress -q: none'
ctl_ok 'progress --json' record "$pid" -d 500ms --progress 100ms --json -o "$T/json.heap"
unlike "$err" 'recording' 'progress --json: none'
stop_target "$pid"

done_testing
