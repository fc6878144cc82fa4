# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP process beside a broker of the tests' own. Sourced after tests/lib.sh.

# It lies beside the program that is tested; that is a copy here.
http_of_build=$(realpath "${JEPROF_CTL:-$B/jeprof-ctl}")
http_of_build=${http_of_build%/*}/libexec/jeprof-ctl/http

# start_front [PROGRAM [ARGUMENTS...]]: sets `sock`, `port`, `tls_port`, `front` (its pid), `broker_log`, and
# `broker`, where commands for it go; `wrap` starts it in another way
start_front()
{
	local dir

	[ $# -gt 0 ] || set -- "$http_of_build"
	dir=$(mktemp -d "$T/front.XXXXXX")
	mkfifo "$dir/in"
	chmod 777 "$dir"
	sock=$dir/sock broker_log=$dir/log
	"${wrap[@]}" "$VICTIMS/broker" "$sock" "$@" <"$dir/in" >"$broker_log" 2>&1 &
	own $!
	exec {broker}>"$dir/in"
	within 60 grep -q '^ready' "$broker_log" || bail_out "the HTTP process did not start: $(<"$broker_log")"
	front=$(awk '/^front/ { print $2 }' "$broker_log")
	port=$(awk '/^port/ { print $2 }' "$broker_log")
	tls_port=$(awk '/^tls/ { print $2 }' "$broker_log")
}

# tell_broker COMMAND: and it has done so
tell_broker()
{
	local before

	before=$(grep -c "^did $1\$" "$broker_log")
	echo "$1" >&"$broker"
	within 60 eval "[ \$(grep -c '^did $1\$' $broker_log) -gt $before ]"
}

# ends_with STATUS NAME: the HTTP process ends by itself
ends_with()
{
	within 60 grep -q '^exit' "$broker_log"
	is "$(grep '^exit' "$broker_log")" "exit $1" "$2"
}

# send URI [OPTIONS OF CURL...]: by the socket; leaves `code`, `body`, and headers in $T/head
send()
{
	local uri=$1

	shift
	call "http://localhost$uri" --unix-socket "$sock" "$@"
}

# the same by TCP
send_tcp()
{
	local uri=$1

	shift
	call "http://localhost:$port$uri" --resolve "localhost:$port:127.0.0.1" "$@"
}

call()
{
	: >"$T/body"
	code=$(curl -sS --path-as-is --noproxy '*' -m $((120 * SLOW)) -o "$T/body" -D "$T/head" -w '%{http_code}' "$@" 2>"$T/err")
	body=$(tr -d '\0' <"$T/body")
}

# header NAME: of the last response
header()
{
	tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"
}

# raw [--half|--leave] TEXT...: by the socket, as tests/drivers/http has it
raw()
{
	tests/drivers/http raw "$sock" "$@"
}

# is_raw WANTED NAME [OPTIONS] TEXT...
is_raw()
{
	local want=$1 name=$2

	shift 2
	is "$(raw "$@")" "$want" "$name"
}

fds_of_front()
{
	find "/proc/$front/fd" -mindepth 1 | wc -l
}

# has_let_go NAME: all connections have ended, and with them what they held
has_let_go()
{
	ok "$1" within 60 eval "[ \$(fds_of_front) -eq $fds_at_rest ]" || diag "$(ls -l "/proc/$front/fd")"
}
