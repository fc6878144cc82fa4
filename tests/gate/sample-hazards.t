#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample, again and again on one process: each run starts anew, however the one before ended, and
# jemalloc's list of threads remains intact.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sites.sh
. tests/sites.sh

# start_run NAME: start one in the background, and wait until it samples
start_run()
{
	start_probing sampling "$T/$1.out" "$T/$1.err" "$CTL" "${patient[@]}" sample "$pid" -d 10m \
		--no-pager --sample-rate 64K --max-overhead 10000
	sampler=$prober
}

start_victim allocators
for run in first second third; do
	start_run "$run"
	tell '\040' # 32 MB
	end_child "$sampler" -INT
	wait "$sampler"
	is "$?" 0 "$run run: ends" || diag "$(<"$T/$run.err")"
	like "$(<"$T/$run.err")" ': [234][0-9](\.[0-9])?M allocated' \
		"$run run: saw what was allocated"
done

# Its block has left by itself; what it counted and kept does not belong to the next run.
start_run killed
tell '\040'
end_child "$sampler" -KILL
wait "$sampler"
is_left() # the kernel removes the probes a little later
{
	tell '\001'
	"$CTL" undo "$pid" >"$T/undo" 2>&1
}
ok 'killed: the probes are removed' within 60 is_left
start_run after
tell '\040'
end_child "$sampler" -INT
wait "$sampler"
is "$?" 0 'after a killed one: ends' || diag "$(<"$T/after.err")"
like "$(<"$T/after.err")" ': [234][0-9](\.[0-9])?M allocated' 'after a killed one: saw what was allocated'

# A new thread is added to the list, and one that ends is removed from it.
ctl_ok 'another thread of the process' stats "$pid" --json
done_testing
