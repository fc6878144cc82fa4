#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# named and varnish (or vinyl-cache) as Debian's services: other users, more threads, a worker
# child.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/daemons.sh
. tests/daemons.sh

# main_job NAME COMMAND...: profile it while COMMAND makes it work
main_job()
{
	local name=$1

	shift
	ok "$name: answers" within 60 "$@"
	# It may create threads for its first requests.
	for _ in 1 2 3 4 5 6; do
		"$@" >/dev/null 2>&1
	done
	snapshot "$pid"
	ctl_ok "$name: check" check "$pid"
	profile_working "$name" "$@"
	assert_untouched "$pid" "$name: untouched"
	feature "$name.service" "${how:-yes}"
}

# is_named_user: true once named, which starts as root, has changed its user
is_named_user()
{
	[ "$(ps -o user= -p "$pid")" = bind ]
}

# Debian's AppArmor profile for it, if there is one, is enforced.
systemctl start apparmor 2>/dev/null
# start_bind [VARIABLE=VALUE]: wait until it answers, as before that rndc(8) cannot stop it either
start_bind()
{
	start_service named "$PROF" "$@"
	ok 'named: is up' within 60 dns 53
}
start_bind
# Before 9.18, as in Debian 11, named does not use jemalloc.
how=yes
if ! ldd /usr/sbin/named | grep -q jemalloc; then
	ctl_fails 5 'no_jemalloc preload_jemalloc' 'named: without jemalloc' activate "$pid"
	start_bind LD_PRELOAD=libjemalloc.so.2
	how='yes, with LD_PRELOAD'
fi
ok 'named: its user' within 60 is_named_user
confined=$(cat "/proc/$pid/attr/current" 2>/dev/null)
diag "AppArmor: ${confined:-none}"
# The first time that it writes files, it creates the threads for that.
rndc dumpdb
main_job named dns 53
systemctl stop named
how=yes

# Its new name since Debian 14.
cache=varnish
systemctl cat vinyl-cache.service >/dev/null 2>&1 && cache=vinyl-cache
start_service "$cache" "$PROF"
port=6081
ok "$cache: answers" within 60 http "$port"
pid=$(pgrep -P "$pid" | head -n 1)
like "$(stat -c %U "/proc/$pid")" '^(vcache|vinyl.*)$' "$cache: the child has a user of its own"
main_job "$cache" http "$port"

done_testing
