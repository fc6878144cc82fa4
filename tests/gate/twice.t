#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Repeated requests are not errors, and leave nothing behind.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

MALLOC_CONF=$PROF start_victim idle 2
snapshot "$pid"

for want in true false; do
	ctl_ok "activate ($want)" activate "$pid" --json
	is "$(json '[.changed, .after] | @csv')" "$want,true" "activate: changed is $want"
done
assert_untouched "$pid" 'activated twice'
for want in true false; do
	ctl_ok "deactivate ($want)" deactivate "$pid" --json
	is "$(json '[.changed, .after] | @csv')" "$want,false" "deactivate: changed is $want"
done
assert_untouched "$pid" 'deactivated twice'

for mode in thread inline; do
	ctl_ok "activate --mode $mode" activate "$pid" --mode "$mode" --json
	is "$(json .changed)" true "activate --mode $mode: changed"
	ctl_ok "deactivate --mode $mode" deactivate "$pid" --mode "$mode" --json
	is "$(json .changed)" true "deactivate --mode $mode: changed"
	assert_untouched "$pid" "untouched in mode $mode"
done

# measure: set `bytes`, the anonymous memory that is not jemalloc's, and `allocated`, what jemalloc
# has allocated
measure()
{
	local of_jemalloc

	read -r bytes _ <<<"$(tests/drivers/photo anon "$pid")"
	run_ctl stats "$pid" -f json
	read -r of_jemalloc allocated <<<"$(json '.jemalloc.stats | "\(.mapped + .retained) \(.allocated)"')"
	diag "$bytes bytes of anonymous memory, $of_jemalloc of them of jemalloc, $allocated allocated"
	[[ "$of_jemalloc $allocated" =~ ^[1-9][0-9]*\ [1-9][0-9]*$ ]] || bail_out 'no statistics'
	bytes=$((bytes - of_jemalloc))
}

# In the first rounds, the C library may keep memory; later rounds add none.
round()
{
	local ctl=("$CTL" "${patient[@]}")

	"${ctl[@]}" activate "$pid" && "${ctl[@]}" dump "$pid" -o "$T/x.heap" --force &&
		"${ctl[@]}" stats "$pid" -f json && "${ctl[@]}" deactivate "$pid"
} >"$T/round.log" 2>&1
for _ in 1 2 3 4 5; do
	round
done
measure
before=$bytes allocated_before=$allocated
bad=0
for _ in $(seq "${ROUNDS:-20}"); do
	round || { bad=$((bad + 1)) && cat "$T/round.log" >>"$T/bad.log"; }
done
is "$bad" 0 'twenty more rounds' || diag "$(<"$T/bad.log")"
# A stack of ours each round would take 20 MiB.
measure
ok 'twenty more rounds: no memory of ours stays mapped' test $((bytes - before)) -lt $((10 << 20)) ||
	diag "memory that is not jemalloc's: $before, then $bytes bytes"
ok 'twenty more rounds: nor does jemalloc hold more' \
	test $((allocated - allocated_before)) -lt $((10 << 20)) ||
	diag "allocated: $allocated_before, then $allocated bytes"
assert_untouched "$pid" 'untouched after all rounds'

# A probe of another program is a breakpoint in the code from which all addresses are derived.
# shellcheck source=tests/watching.sh
. tests/watching.sh
start_watch meanwhile "$pid"
ctl_ok 'watched: status' status "$pid" --json
is "$(json '[.jemalloc[] | select(. == null)] | length')" 0 'watched: all addresses are known'
ctl_ok 'watched: activate' activate "$pid"
ctl_ok 'watched: dump' dump "$pid" -o "$T/watched.heap"
end_watch meanwhile
ctl_ok 'no longer watched: deactivate' deactivate "$pid"
assert_untouched "$pid" 'untouched after that'

done_testing
