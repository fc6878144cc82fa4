#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks whose lowest pages the program has protected, as HotSpot does for its guard zones: a thread
# on such a stack is borrowed, and the room for a call ends where these pages begin.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

careless=$ROOT/build/tests/careless/jeprof-ctl
export MALLOC_CONF=$PROF

beats()
{
	on_board '.beats[0]'
}

# start_zone KIND: start a victim in which only the thread on such a stack can be borrowed
start_zone()
{
	start_victim stacks "$1"
	within 60 eval '[ "$(beats)" -gt 0 ]' || bail_out "$1 does not work"
}

# --- there is room above the zone ---
start_zone above-zone
tid=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 ! -name "$pid" -printf '%f\n')
# has_zone: does a writable mapping follow at least 512 KiB of inaccessible ones?
has_zone()
{
	sed -E 's/^([0-9a-f]+)-([0-9a-f]+) (....).*/\1 \2 \3/' "/proc/$pid/maps" | {
		while read -r from to prot; do
			[ "$from" = "${end:-}" ] || size=0
			[[ $prot != rw-p || ${size:-0} -lt 524288 ]] || exit 0
			[ "$prot" = ---p ] && size=$((size + 16#$to - 16#$from)) || size=0
			end=$to
		done
		exit 1
	}
}
ok 'above the zone: control: its lowest pages are protected' has_zone
snapshot "$pid"
for mode in thread inline; do
	ctl_ok "above the zone: borrowed ($mode)" get "$pid" version --mode "$mode"
	like "$err" "stopped one thread \\($tid\\)" "above the zone: it was that thread ($mode)"
done
ctl_ok 'above the zone: threads' threads "$pid" --json
is "$(json "[.threads[] | select(.tid == $tid).reason] | tostring")" '[null]' 'above the zone: the thread is queried'
ctl_ok 'above the zone: the deepest call' dump "$pid" --force --mode inline --in-target "$T/zone.heap"
assert_untouched "$pid" 'above the zone: untouched'
ok 'above the zone: the victim finds no damage' is_unharmed
stop_target "$pid"

# --- there is no room ---
for kind in near-zone near-zone-main; do
	start_zone "$kind"
	snapshot "$pid"
	for mode in thread inline; do
		is_left_alone 'not enough space on its stack' "$kind: refused ($mode)" status "$pid" --mode "$mode" --timeout 2s
	done
	assert_untouched "$pid" "$kind: untouched"
	ok "$kind: the victim finds no damage" is_unharmed
	stop_target "$pid"
done

# Control: without the safety check, a call runs into the zone.
start_zone near-zone
timeout -k 5 120 "$careless" "${patient[@]}" dump "$pid" --force --in-target "$T/careless.heap" --mode inline >"$T/careless" 2>&1
like "$(<"$T/careless")" 'killed by Segmentation fault' 'control: without the safety check it is harmed'
stop_target "$pid"

done_testing
