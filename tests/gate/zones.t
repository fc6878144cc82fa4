#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks of which the program has protected a part: the room for a call ends where that begins.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF

beats()
{
	tests/drivers/photo board "$T/board.$pid" | jq '.beats[0]'
}

# start_zone KIND: no other thread than the one on such a stack can be borrowed
start_zone()
{
	start_victim stacks "$1"
	within 60 eval '[ "$(beats)" -gt 0 ]' || bail_out "$1 does not work"
}

clean()
{
	[ "$(tests/drivers/photo board "$T/board.$pid" | jq -c '[.eintr, .corrupt, .failed]')" = '[0,0,0]' ]
}

# --- there is none ---
for kind in near-zone-main; do
	start_zone "$kind"
	snapshot "$pid"
	for mode in thread inline; do
		is_left_alone 'no room on its stack' "$kind: refused ($mode)" status "$pid" --mode "$mode" --timeout 2s
	done
	assert_untouched "$pid" "$kind: untouched"
	ok "$kind: nothing is found changed" clean
	stop_target "$pid"
done

done_testing
