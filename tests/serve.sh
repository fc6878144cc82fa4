# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # pid is set by lib.sh
# For tests of `serve`. Sourced after tests/lib.sh.

# The HTTP process, in the place where jeprof-ctl looks for it.
FRONT=$T/libexec/jeprof-ctl/http
install -D -m 755 "$(dirname "${JEPROF_CTL:-$B/jeprof-ctl}")/libexec/jeprof-ctl/http" "$FRONT"

# start_serve NAME ARGUMENTS...: start it on $T/NAME.sock, and wait until it serves. Sets `serve`;
# its stderr is in $T/NAME.err, its runs are in $T/NAME.runs.
start_serve()
{
	local name=$1

	shift
	rm -f "$T/$name.err"
	[[ " $* " == *" --runs "* ]] || set -- --runs "$T/$name.runs" "$@"
	"$CTL" "${patient[@]}" serve --socket "$T/$name.sock" "$@" >"$T/$name.out" 2>"$T/$name.err" </dev/null &
	serve=$!
	own "$serve"
	within 60 serves "$name"
	grep -q '^serving on' "$T/$name.err" || bail_out "$name: $(<"$T/$name.err")"
}

serves()
{
	grep -qs '^serving on' "$T/$1.err" || ! kill -0 "$serve"
}

# at NAME [CURL OPTIONS...] PATH: send a request to its socket. Sets `code` and `body`.
at()
{
	local sock=$T/$1.sock

	shift
	code=$(curl -sS --unix-socket "$sock" -o "$T/body" -D "$T/head" -w '%{http_code}' "${@:1:$#-1}" "http://localhost${!#}" 2>"$T/curl")
	body=$(tr -d '\0' <"$T/body")
}

# end_serve NAME [STATUS [SIGNAL]]: end it, by default as with Ctrl-C
end_serve()
{
	local status=0

	end_child "$serve" "${3:--INT}"
	within 120 eval "! kill -0 $serve"
	wait "$serve" || status=$?
	is "$status" "${2:-0}" "$1: it exits"
}

# said NAME REGEX: print the number of matching lines of its stderr
said()
{
	grep -cE "$2" "$T/$1.err" || true
}

# says NAME REGEX [N]: wait until N lines match
says()
{
	within 120 eval "[ \"\$(said $1 '$2')\" -ge ${3:-1} ]" || bail_out "$1 did not say: $2"
}

# --- a compromised front (tests/drivers/front.py) -----------------------------------------

use_false_front()
{
	install -m 755 tests/drivers/front.py "$FRONT"
	mkfifo "${FRONT%/*}/COMMANDS"
	: >"${FRONT%/*}/HEARD"
}

# order LINES...: make it send these lines
order()
{
	printf '%s\n' "$@" >"${FRONT%/*}/COMMANDS"
}

# heard REGEX: print the number of matching lines that it received
heard()
{
	grep -acE "$1" "${FRONT%/*}/HEARD" || true
}

# hears REGEX [N]: wait until N lines match
hears()
{
	within 120 eval "[ \"\$(heard '$1')\" -ge ${2:-1} ]" || bail_out "the front did not receive: $1"
}

# is_ended NAME ORDERS...: for each order, the broker must end the front, and the next front must
# work
is_ended()
{
	local name=$1 order ends began refused

	shift
	for order in "$@"; do
		ends=$(said "$name" 'sent an invalid message')
		began=$(heard '^began')
		refused=$(heard '^answer .*refusal 1 ')
		order "$order"
		says "$name" 'sent an invalid message' $((ends + 1))
		is "$(said "$name" 'sent an invalid message')" $((ends + 1)) \
			"\"$order\" ends the front"
		hears '^began' $((began + 1))
		order 'ask list 0' # counts as work: the next start comes soon
		hears '^answer .*refusal 1 ' $((refused + 1))
	done
}

# connect_to ADDRESS: open a connection that stays open, for the compromised front to use. ADDRESS
# is the path of a socket, or a port on loopback. Sets `client`.
connect_to()
{
	local before

	before=$(heard '^connection')
	python3 - "$1" <<-'PYTHON' &
		import socket, sys, time
		where = sys.argv[1]
		s = socket.socket(socket.AF_UNIX if where.startswith("/") else socket.AF_INET)
		s.connect(where if where.startswith("/") else ("127.0.0.1", int(where)))
		time.sleep(100000)
	PYTHON
	client=$!
	own "$client"
	hears '^connection' $((before + 1))
}
