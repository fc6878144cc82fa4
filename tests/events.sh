# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034 # code, body and next are for the test
# For tests of the events of `serve`. Sourced after tests/serve.sh.

next=''

# at NAME [CURL OPTIONS...] PATH: send a request to its socket. Sets `code`, `body` and `next`.
at()
{
	local sock=$T/$1.sock

	shift
	ask --unix-socket "$sock" "${@:1:$#-1}" "http://localhost${!#}"
}

# with TOKEN [CURL OPTIONS...] PATH: send a request to the port
with()
{
	local token=$1

	shift
	ask -H "Authorization: Bearer $token" "${@:1:$#-1}" "http://127.0.0.1:$port${!#}"
}

ask()
{
	code=$(curl -sS --noproxy '*' -o "$T/body" -D "$T/head" -w '%{http_code}' "$@" 2>"$T/curl")
	body=$(<"$T/body")
	next=$(tr -d '\r' <"$T/head" | sed -n 's/^X-Jeprof-Next: //Ip' | grep . || echo "$next")
}

# as_schema NAME: the last answer must conform to the schema
as_schema()
{
	ok "$1: conforms to the schema" tests/drivers/schema-check doc/schema/jeprof-ctl.json event "$T/body"
}

# of FILTER: apply jq to the last answer, on one line
of()
{
	jq -rc "$1" "$T/body" | paste -sd ' '
}

# make_tokens: create $T/tokens. Sets `token[ROLE]` for each role, and `port`.
declare -A token
make_tokens()
{
	local role

	for role in read profile control; do
		token[$role]=$("$CTL" serve --token-file "$T/tokens" --new-token "$role:its-name")
	done
	port=$(free_port)
}
