#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian's other daemons that use jemalloc, in their simplest configuration, on loopback.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/daemons.sh
. tests/daemons.sh

export MALLOC_CONF=$PROF

# main_job NAME: activate, work a little, dump, deactivate
main_job()
{
	local name=$1

	shift
	snapshot "$pid"
	ctl_ok "$name: check" check "$pid"
	ctl_ok "$name: status" status "$pid" --json
	is "$(json '[.jemalloc[] | select(. == null)] | length')" 0 "$name: all addresses are known"
	profile_working "$name" "$@"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}

start_named
main_job named dns "$port"
start_nghttpx
main_job nghttpx http "$port"
start_varnishd
main_job varnishd http "$port"

# It contains LuaJIT: jemalloc would abort once a sample is taken below compiled Lua.
start_kresd
snapshot "$pid"
ctl_fails 1 'luajit_may_abort force_or_libunwind' 'kresd: activate is refused' activate "$pid"
ctl_fails 1 'luajit_may_abort force_or_libunwind' 'kresd: set is refused, too' set "$pid" prof.active true
run_ctl --json check "$pid"
is "$status $(json '.checks[] | select(.name == "unwinder").ok')" '1 false' 'kresd: check says so'
ctl_ok 'kresd: status' status "$pid"
ctl_ok 'kresd: statistics' stats "$pid" -f json
ctl_ok 'kresd: deactivate' deactivate "$pid"
for _ in 1 2 3 4 5; do
	dns_localhost "$port" >/dev/null 2>&1
done
ok 'kresd: still answers' within 60 dns_localhost "$port"
assert_untouched "$pid" 'kresd: untouched'
# The control: only sampling is refused, and it can be forced.
ctl_ok 'kresd: activate --force' activate "$pid" --force
ctl_ok 'kresd: deactivate again' deactivate "$pid"
assert_untouched "$pid" 'kresd: untouched by that'
stop_target "$pid"

done_testing
