#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# guard: the profile is there before the OOM killer strikes, and a guard that is killed at any
# moment leaves nothing behind. 10 times each; 50 with LONG=1.

# A /run of our own, so that no recording of another test is undone here.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m "$0" "$@"
mount -t tmpfs -o mode=755 none /run || exit 99
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh
# shellcheck source=tests/groups.sh
. tests/groups.sh

times=${TIMES:-$([ -n "${LONG:-}" ] && echo 50 || echo 10)}

# --- the OOM killer ---
# oom_kills: the kernel's count for `group`
oom_kills()
{
	cat "$group/memory.events" "$group/memory.oom_control" 2>/dev/null | awk '$1 == "oom_kill" { print $2 }'
}

# grow_until_killed "RATE [rest]" [GUARD_OPTIONS...]: grow until the OOM killer strikes, with a
# guard if there are options; leave the wait status in `ended`
grow_until_killed()
{
	local how

	read -ra how <<<"$1"
	shift
	in_group start_grower "$GROWS" "${how[@]}"
	rm -rf "$T/oom"
	[ "$#" -eq 0 ] || start_guard oom "$pid" "$@"
	let_hold 4000
	{ wait "$pid"; } 2>/dev/null
	ended=$?
	[ "$#" -eq 0 ] || { within 120 eval "! kill -0 $guard" && wait "$guard"; }
}

# is_caught: there is a complete profile, and it shows who allocated
is_caught()
{
	local file

	file=$(jq -r 'select(.ok) | .file' "$T/oom.out" | head -n 1)
	[ -n "$file" ] && is_profile "$file" && [ "$(heaviest "$file")" = hoard ]
}

# guarded "RATE [rest]" TIMES: repeat it with a guard; leave the number of good profiles in `caught`
guarded()
{
	local i killed=0

	caught=0
	: >"$T/took"
	for ((i = 0; i < $2; i++)); do
		grow_until_killed "$1" --json --interval 1s
		[ "$ended" -ne 137 ] || killed=$((killed + 1))
		if is_caught; then
			caught=$((caught + 1))
		else
			cat "$T/oom.out" >>"$T/missed"
		fi
		jq -r 'select(.ok) | "\(.took_ms) \(.rule) \(.level_bytes / 1048576 | floor)M"' "$T/oom.out" | head -n 1 >>"$T/took"
	done
	is "$killed" "$2" "at $1 MiB/s: each is killed"
	diag "at $1 MiB/s: $caught of $2 are caught, in $(sort -n "$T/took" | awk '{ print $1 }' | paste -sd' ') ms"
}

if make_group 256; then
	before=$(oom_kills)
	grow_until_killed 100
	is "$ended $(($(oom_kills) - before))" '137 1' 'control: without a guard it is killed'
	before=$(oom_kills)
	guarded 100 "$times"
	is "$caught" "$times" 'at 100 MiB/s: each has a complete profile with the culprit' || diag "$(cat "$T/missed" "$T/oom.err")"
	is "$(($(oom_kills) - before))" "$times" 'at 100 MiB/s: the kernel killed them'
	# At full speed (0), a thread is nearly always in memset(3), where it cannot be borrowed.
	for how in 200 400 '400 rest' 0 '0 rest'; do
		guarded "$how" "$times"
	done
else
	skip 'control groups cannot be made here' 'before the OOM killer'
fi

# --- killed at any moment ---
seed=${SEED:-4711}
RANDOM=$seed
diag "seed $seed"

none_works()
{
	! pgrep -f "^$CTL " >/dev/null
}

# kill_one ACTION ALL: kill a guard after a moment; ALL: with its helpers, which then cannot restore
# anything
kill_one()
{
	local helpers=

	start_guard storm "$pid" --when 'every 1ms' --do "$1" --keep 1 --json
	sleep "$(awk -v r="$RANDOM" 'BEGIN { print r / 32768 * 1.5 }')"
	[ "$2" = no ] || { kill -STOP "$guard" && helpers=$(pgrep -P "$guard"); }
	[ -z "$helpers" ] || worked=$((worked + 1))
	kill_guard
	# shellcheck disable=SC2086 # pids
	[ -z "$helpers" ] || kill -KILL $helpers 2>/dev/null
	within 120 none_works || result 1 'the helpers of a guard end'
	[ ! -e "/run/jeprof-ctl/$pid" ] || left=$((left + 1))
	run_ctl undo "$pid" --json
	[ "$status" -eq 0 ] || result 1 'undo' || diag "$err"
	! grep -q '^TracerPid:.[^0]' "/proc/$pid/status" || result 1 'it is not traced'
	[ "$("$CTL" "${patient[@]}" get "$pid" prof.active -q)" = false ] || result 1 'profiling is off again'
	[ ! -e "/run/jeprof-ctl/$pid" ] || result 1 'no journal is left'
}

# storm ACTION ALL TIMES: leave the number of recordings that `undo` had to restore in `left`
storm()
{
	left=0 worked=0
	for ((i = 0; i < $3; i++)); do
		kill_one "$1" "$2"
	done
}

start_grower "${GROWS/prof:true/prof:true,prof_active:false}"
hold 50
# Our threads that exist at the same time make jemalloc create arenas.
storm 'record 300ms' no 5
storm 'record 300ms' yes 5
snapshot "$pid"
storm 'record 300ms' no "$times"
is "$left" 0 'killed while it records: all is restored without undo'
assert_untouched "$pid" 'killed while it records: untouched'
storm 'record 300ms' yes "$times"
diag "killed with its helpers: $worked were at work, and undo put $left back"
ok 'killed with its helpers: some were at work' test "$worked" -gt 0
assert_untouched "$pid" 'killed with its helpers: untouched'
storm dump no "$times"
storm dump yes "$times"
is "$left" 0 'killed while it dumps: nothing to restore'
assert_untouched "$pid" 'killed while it dumps: untouched'
ctl_ok 'a dump works afterwards' dump "$pid" -o "$T/last.heap"
assert_untouched "$pid" 'at the end'

done_testing
