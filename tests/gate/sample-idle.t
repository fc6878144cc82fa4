#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: threads that allocate nothing while it lasts, and end then. jemalloc marks all threads
# when hooks come or go, and does not clean up one that ends with the mark (tsd_cleanup(), tsd.c):
# its lists go on into a stack that is another thread's by then.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

# reuse: others have the stacks of those that ended, and jemalloc goes through its lists
reuse()
{
	tell threads 64
	tell idle 32
	tell end
	run_ctl get "$pid" epoch
	is "$status" 0 "$1: jemalloc goes through its lists" || diag "$err"
	ok "$1: it lives" kill -0 "$pid"
}

# The control: without sampling nothing is wrong with them.
start_victim keepers
tell idle 16
tell end
reuse control
stop_target "$pid"

for when in during after; do
	start_victim keepers
	tell idle 16
	start_sample "$when" "${rate[@]}"
	tell leak 8
	[ "$when" = after ] || tell end
	end_sample "$when"
	[ "$when" = during ] || tell end
	reuse "threads that end $when it"
	stop_target "$pid"
done

done_testing
