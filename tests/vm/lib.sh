# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # what lib.sh and the tests use
# What the tests for the virtual machines of vagrant/ share. They stop services, change sysctls,
# replace libraries and lock down the kernel, so they only run on a machine that is discarded
# afterwards. tests/vm/*.t source this instead of tests/lib.sh.
#
# They print their findings as TAP comments, from which a table of all machines is made:
#
#	# fact: NAME = VALUE		what the machine is
#	# feature: NAME = VALUE		"yes", or why not

[ -e /etc/jeprof-ctl-vm ] || {
	echo 'Bail out! not a virtual machine of vagrant/: there is no /etc/jeprof-ctl-vm'
	exit 1
}
# An emulated processor is 10 to 20 times slower.
SLOW=${SLOW:-10}
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
patient=(--max-pause 60s --timeout 120s)

# A user without an account, and a second one.
user=(setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all)
stranger=(setpriv --reuid 12346 --regid 12346 --clear-groups --inh-caps=-all)

# --- the table ----------------------------------------------------------------------------

fact()
{
	echo "# fact: $1 = $2"
}

# feature NAME [VALUE]: report "yes", or VALUE, if nothing has failed since the last feature
failed_before=0
feature()
{
	local value=${2:-yes}

	[ "$failures" -eq "$failed_before" ] || value='no: a test failed'
	failed_before=$failures
	echo "# feature: $1 = $value"
}

# --- kernels ------------------------------------------------------------------------------

kernel_is_before()
{
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" != "$1" ]
}

# set_sysctl NAME VALUE: restore it when the test ends
set_sysctl()
{
	local file=/proc/sys/${1//.//}

	at_end+=("echo $(<"$file") >$file 2>/dev/null")
	echo "$2" >"$file"
}

# --- services -----------------------------------------------------------------------------

# start_service UNIT MALLOC_CONF [VARIABLE=VALUE]: as Debian ships it, except for these variables.
# Set `pid`; undo everything when the test ends.
start_service()
{
	local folder=/run/systemd/system/$1.service.d

	mkdir -p "$folder"
	printf '[Service]\nEnvironment=MALLOC_CONF=%s %s\n' "$2" "${3:-}" >"$folder/profiling.conf"
	at_end+=("systemctl stop $1" "rm -rf $folder" "systemctl daemon-reload" "systemctl reset-failed $1 2>/dev/null")
	systemctl daemon-reload
	restart_service "$1"
}

# restart_service UNIT: set `pid` to the new process
restart_service()
{
	systemctl restart "$1" || bail_out "$1 does not start: $(systemctl status --no-pager "$1" 2>&1)"
	pid=$(systemctl show -p MainPID --value "$1")
	[ "${pid:-0}" -gt 0 ] || bail_out "$1 has no process"
}

# of_unit UNIT SETTING...: print the settings as systemd understood them
of_unit()
{
	local unit=$1 setting

	shift
	for setting; do
		systemctl show -p "$setting" --value "$unit"
	done | paste -sd ' '
}

# --- redis --------------------------------------------------------------------------------

# at_redis COMMAND...: ask the redis-server that Debian's service, or launch_redis, started last
at_redis()
{
	if [ -n "${sock:-}" ]; then
		redis-cli -s "$sock" "$@"
	else
		redis-cli "$@"
	fi
}

# start_redis_service MALLOC_CONF: start it, and wait until it answers
start_redis_service()
{
	start_service redis-server "$1"
	sock=
	within 60 redis_answers || bail_out 'redis-server.service does not answer'
}

redis_answers()
{
	[ "$(at_redis PING)" = PONG ]
}

# fill_redis [N]: add new keys with values of some size, so that a profile has something to show.
# All versions support this. The service may still have keys of another test.
fill_redis()
{
	at_redis EVAL "for i = 1, ${1:-5000} do redis.call('set', '$EPOCHREALTIME:' .. i, string.rep('x', 300)) end" 0 >/dev/null
}
