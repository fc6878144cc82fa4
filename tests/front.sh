# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of the HTTP process, with a test broker. Sourced after tests/lib.sh.

# The HTTP process next to the tested program, of which $CTL is a copy.
http_of_build=$(realpath "${JEPROF_CTL:-$B/jeprof-ctl}")
http_of_build=${http_of_build%/*}/libexec/jeprof-ctl/http

# start_front [PROGRAM [ARGUMENTS...]]: start it, through `wrap` if set. Sets `sock`, `port`,
# `tls_port`, `front` (its pid), `broker_log`, and `broker` (the descriptor for commands to it).
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

# tell_broker COMMAND: send it, and wait until it is done
tell_broker()
{
	local before

	before=$(grep -c "^did $1\$" "$broker_log")
	echo "$1" >&"$broker"
	within 60 eval "[ \$(grep -c '^did $1\$' $broker_log) -gt $before ]"
}

# ends_with STATUS NAME: the HTTP process must exit by itself
ends_with()
{
	within 60 grep -q '^exit' "$broker_log"
	is "$(grep '^exit' "$broker_log")" "exit $1" "$2"
}

# send URI [OPTIONS OF CURL...]: over the Unix socket. Sets `code` and `body`; headers are in
# $T/head.
send()
{
	local uri=$1

	shift
	call "http://localhost$uri" --unix-socket "$sock" "$@"
}

# send_tcp URI [OPTIONS OF CURL...]: the same over TCP
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

# raw [--half|--leave] TEXT...: over the Unix socket; see tests/drivers/http
raw()
{
	tests/drivers/http raw "$sock" "$@"
}

# is_raw WANTED NAME [OPTIONS] TEXT...: compare the answer to raw
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

# has_let_go NAME: all connections must end, and their descriptors be closed
has_let_go()
{
	ok "$1" within 60 eval "[ \$(fds_of_front) -eq $fds_at_rest ]" || diag "$(ls -l "/proc/$front/fd")"
}
