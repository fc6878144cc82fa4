#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: a process that a control group freezes, as CRIU and `docker pause` do: while it is sampled,
# when that ends, and at moments spread over installation and removal. Each run ends, with a profile
# or a reason; once thawed, the process works, and nothing but the documented mapping remains.
# They are 100 ms apart, 20 with LONG=1, or STEP. Also, with a tracer, as CRIU has.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh
# shellcheck source=tests/freezer.sh
. tests/freezer.sh

step_ms=${STEP:-$([ -n "${LONG:-}" ] && echo 20 || echo 100)}
brief=(--timeout 5s)

has_ended()
{
	! kill -0 "$sampler"
}

# hold NAME SECONDS: freeze it for that long, or, for 0, until the sampler has ended
hold()
{
	local before

	freeze || result 1 "$1: it is frozen"
	before=$(beat 0)
	[ "$2" != 0 ] || within 60 has_ended || result 1 "$1: sampling ends"
	sleep "${2/#0/0.1}"
	[ "$(beat 0)" = "$before" ] || result 1 "$1: control: it is at rest"
	thaw
}

# works NAME: it works, and nothing but the mapping remains
works()
{
	tell churn 1
	tell free
	ctl_ok "$1: undo" undo "$pid"
	like "$(state_of "$pid")" "^($out_phase 0 0)?\$" "$1: it is not sampled"
	assert_untouched "$pid" "$1: untouched"
}

frozen_while_sampled()
{
	start_sample during "${rate[@]}" --save "$T/during.heap" --force
	keep_going leak 16
	hold "$1" 3
	keep_going leak 16
	end_sample during
	is_near "$(bytes_of "$T/during.heap" leak_blocks)" 32 "$1: the profile is complete"
	works "$1"
}

frozen_at_the_end()
{
	start_sample end "${rate[@]}" "${brief[@]}" --save "$T/end.heap" --force
	keep_going leak 16
	sleep "$SLOW" # stacks are walked in its memory: wait until that is done
	freeze || result 1 "$1: it is frozen"
	end_sample end
	like "$(<"$T/end.err")" 'could not be removed at once: .*; thaw it' "$1: what remains is reported"
	is_near "$(bytes_of "$T/end.heap" leak_blocks)" 16 "$1: the profile is complete"
	is "$(state_of "$pid")" "$in_phase 0 0" "$1: control: it is there, and nobody reads it"
	ctl_fails 8 'cgroup_frozen thaw' "$1: undo is refused" undo "$pid"
	thaw
	ctl_ok "$1: thawed: undo removes it" undo "$pid"
	is_out "$1: thawed" kept
	works "$1"
}

# Like CRIU: freeze it, trace its threads, and let them run into that.
traced_at_the_end()
{
	local tracer

	start_sample end "${rate[@]}" "${brief[@]}" --save "$T/end.heap" --force
	keep_going leak 16
	freeze || result 1 "$1: it is frozen"
	"$VICTIMS/tracer" "$pid" >"$T/tracer" &
	tracer=$!
	own "$tracer"
	within 60 grep -q ready "$T/tracer" || result 1 "$1: another tracer"
	thaw
	end_sample end
	like "$(<"$T/end.err")" "could not be removed at once: .*($tracer|traced)" "$1: what remains is reported"
	is_near "$(bytes_of "$T/end.heap" leak_blocks)" 16 "$1: the profile is complete"
	is "$(state_of "$pid")" "$in_phase 0 0" "$1: control: it is there, and nobody reads it"
	end_child "$tracer" -KILL
	wait "$tracer" 2>/dev/null
	works "$1"
}

# start_or_end NAME installation|removal: start sampling, or end it
start_or_end()
{
	if [ "$2" = removal ]; then
		start_sample "$1" "${rate[@]}" "${brief[@]}"
		tell leak 8
		end_child "$sampler" -INT
		return
	fi
	"$CTL" sample "$pid" -d 1s "${rate[@]}" "${brief[@]}" --no-pager >"$T/$1.out" 2>"$T/$1.err" </dev/null &
	sampler=$!
	own "$sampler"
}

# spread NAME installation|removal MS: freeze it at moments up to MS after that has begun, alternately
# until sampling has ended and for two seconds
spread()
{
	local name ms seconds=0 status reason
	local -A ends=()

	for ((ms = 0; ms < $3; ms += step_ms)); do
		name="$1: $ms ms into $2"
		start_or_end spread "$2"
		sleep "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
		hold "$name" $seconds
		seconds=$((2 - seconds))
		within 60 has_ended || result 1 "$name: sampling ends"
		wait "$sampler"
		status=$?
		reason=$(grep -oE 'is frozen|allocated nothing|none of it was sampled|no safe moment|removed at once|not freed|until the timeout' "$T/spread.err" | tail -n 1)
		[[ "$status $reason" =~ ^(0|1|8)' '[a-z] ]] || result 1 "$name: a result, or a reason" || diag "$status: $(<"$T/spread.err")"
		ends[$status, $reason]=$((${ends[$status, $reason]:-0} + 1))
		works "$name"
	done
	for reason in "${!ends[@]}"; do
		diag "$1: $2: exit $reason: ${ends[$reason]} times"
	done
}

start_keepers
for version in v2 v1; do
	if ! enter_freezer $version; then
		skip 'cgroups cannot freeze a process here' "frozen, $version"
		continue
	fi
	ok "$version: it is frozen" freeze
	ctl_fails 8 'cgroup_frozen thaw' "$version: a frozen process is left alone" sample "$pid" -d 1s
	unlike "$(state_of "$pid")" "^$in_phase" "$version: nothing is installed"
	thaw
	frozen_while_sampled "$version, while it is sampled"
	frozen_at_the_end "$version, at the end"
	traced_at_the_end "$version, traced at the end"
	spread $version installation 1500
	spread $version removal 500
	leave_freezer
done
done_testing
