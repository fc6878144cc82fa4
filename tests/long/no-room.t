#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that has no address space left at all, so that any allocation of its own may fail: what needs
# no thread is done in it again and again, and it sees no error. ROUNDS (40) times; how long a thread is
# kept for depends on the machine, and tests/gate/limits.t has the same with some room.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

for ((round = 1; round <= ${ROUNDS:-40}; round++)); do
	MALLOC_CONF=$PROF start_victim idle 2
	prlimit --pid "$pid" --as=1000000
	snapshot "$pid"
	for verb in activate status deactivate status; do
		ctl_ok "round $round: $verb" "$verb" "$pid"
	done
	assert_untouched "$pid" "round $round: untouched"
	stop_target "$pid"
done

done_testing
