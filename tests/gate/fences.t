#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets behind seccomp filters: whatever can work there works, the rest is refused, and nothing is
# ever done that the filter punishes.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF

# behind FENCE: start a victim behind it, with a single thread, as it could not create more
behind()
{
	wrap=("$VICTIMS/fenced" "$1")
	start_victim idle
	wrap=()
	snapshot "$pid"
}

for fence in nnp clone-errno clone-kill memfd-errno open-errno; do
	behind "$fence"
	ctl_ok "$fence: activate" activate "$pid" --json
	is "$(json .changed)" true "$fence: changed"
	assert_untouched "$pid" "$fence: untouched by activate"
	run_ctl dump "$pid" -o "$T/$fence.heap" --json
	if [ "$status" -eq 0 ]; then
		ok "$fence: a profile" is_profile "$T/$fence.heap"
	else
		like "$status" '^(8|10|4|1)$' "$fence: dump is refused"
		like "$(json .error.fix)" '.' "$fence: dump: the fix"
		ok "$fence: no file is left" test ! -e "$T/$fence.heap"
	fi
	diag "$fence: dump: exit $status $(json '.error.message // empty')"
	assert_untouched "$pid" "$fence: untouched by dump"
	ctl_ok "$fence: deactivate" deactivate "$pid"
	ctl_ok "$fence: status" status "$pid"
	assert_untouched "$pid" "$fence: untouched"
	stop_target "$pid"
done

# If clone3(2) is reported not to exist, as by systemd and container runtimes, threads start in
# clone(2), but can still be reached.
for name in idle idle-static; do
	wrap=("$VICTIMS/fenced" clone3-nosys)
	MALLOC_CONF='' start_victim "$name" 4
	wrap=()
	snapshot "$pid"
	tids=("/proc/$pid/task"/*)
	ctl_ok "clone3-nosys: $name: threads" threads "$pid" --json
	is "$(json '"\(.missed) \(.threads | length)"')" "0 ${#tids[@]}" "clone3-nosys: $name: all are reached"
	assert_untouched "$pid" "clone3-nosys: $name: untouched"
	stop_target "$pid"
done

done_testing
