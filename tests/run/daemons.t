#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian's other daemons that use jemalloc, in their simplest configuration on loopback.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/daemons.sh
. tests/daemons.sh

export MALLOC_CONF=$PROF

# main_job NAME: activate, work a little, dump, deactivate
main_job()
{
	local name=$1 file=$T/$1.heap

	shift
	snapshot "$pid"
	ctl_ok "$name: check" check "$pid"
	ctl_ok "$name: activate" activate "$pid" --json
	is "$(json .changed)" true "$name: changed"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$@" >/dev/null 2>&1
	done
	ctl_ok "$name: dump" dump "$pid" -o "$file"
	ok "$name: a profile" is_profile "$file"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .changed)" true "$name: changed back"
	ok "$name: still answers" within 20 "$@"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}

start_named
main_job named dns "$port"
start_nghttpx
main_job nghttpx http "$port"
start_varnishd
main_job varnishd http "$port"

done_testing
