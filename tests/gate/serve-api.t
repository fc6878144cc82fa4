#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: each operation in doc/schema/openapi.json answers as described there, and no operation is
# missing. The requests are generated from the file (tests/drivers/openapi.py).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
need_tracefs # for `sample`

api=doc/schema/openapi.json
openapi=tests/drivers/openapi.py

# finds_fault COMMAND...: it must fail, and report the cause
finds_fault()
{
	! "$@" >"$T/why" && test -s "$T/why"
}

# refused NAME JQ COMMAND...: after this change, the file must be refused
refused()
{
	local name=$1 change=$2

	shift 2
	jq "$change" "$api" >"$T/changed.json" || bail_out "control: $name: jq"
	ok "control: $name: is refused" finds_fault "$@"
}

# --- the file and the source ---
ok 'the file and the source have the same routes' "$openapi" routes "$api"
routes=("$openapi" routes "$T/changed.json")
refused 'a missing path' 'del(.paths["/sd"])' "${routes[@]}"
refused 'a missing method' 'del(.paths["/healthz"].head)' "${routes[@]}"
refused 'an extra path' '.paths["/debug/pprof/block"] = .paths["/debug/pprof/heap"]' "${routes[@]}"
refused 'an extra method' '.paths["/sd"].post = .paths["/sd"].get' "${routes[@]}"
refused 'another role' '.paths["/sd"].get.security[0].token = ["control"]' "${routes[@]}"
refused 'a missing parameter' 'del(.paths["/sd"].get.parameters)' "${routes[@]}"
refused 'errors in another format' '.paths["/sd"].get.responses["400"]["$ref"] = "#/components/responses/Json"' "${routes[@]}"
refused 'a format of another type' '.components.parameters.Format["x-media-type"].svg = "text/html"' "${routes[@]}"

# --- the file and the service ---
declare -a tokens
for role in read profile control; do
	tokens+=("$("$CTL" serve --token-file "$T/tokens" --new-token $role:$role)")
done
MALLOC_CONF=prof:false start_victim idle
unprofiled=$pid
MALLOC_CONF=$PROF start_victim idle 2
idle=$pid
MALLOC_CONF=$PROF start_redis
redis=$pid
for p in "$unprofiled" "$idle" "$redis"; do snapshot "$p"; done
# The pages of a sampling stay mapped, so it has its own process.
MALLOC_CONF=$PROF start_victim idle
sampled=$pid
port=$(free_port)
start_serve api --listen "127.0.0.1:$port" --token-file "$T/tokens"

# Requests, one per line: see tests/drivers/openapi.py.
"$openapi" list "$api" >"$T/list"
is "$(wc -l <"$T/list")" "$(jq '[.paths[] | keys[]] | length' "$api")" 'each operation is requested'
while read -r operation; do
	case $operation in
	*/sample) printf '%s\t%s\t%s\t%s\t%s\n' "$operation" "$api" "$operation" "$sampled" "$sampled" ;;
	*) printf '%s\t%s\t%s\t%s\t%s\n' "$operation" "$api" "$operation" "$redis" "$unprofiled" ;;
	esac
done <"$T/list" >"$T/asked"
n=0
# control NAME JQ METHOD PATH: add a request for which the changed file must be found wrong
control()
{
	n=$((n + 1))
	jq "$2" "$api" >"$T/changed.$n.json" || bail_out "control: $1: jq"
	printf '%s\t%s\t%s\t%s\t%s\n' "control: $1" "$T/changed.$n.json" "$3" "$idle" "$unprofiled" >>"$T/asked"
}
control 'another document' '.paths["/sd"].get.responses["200"].content["application/json"].schema["$ref"] = "jeprof-ctl.json#/$defs/list"' 'get /sd'
control 'another type' '.paths["/sd"].get.responses["200"].content = {"text/plain": {}}' 'get /sd'
control 'another status' '.paths["/sd"].get["x-passes-over"] = true' 'get /sd'
control 'another value' '.components.parameters.All.schema.enum += ["2"]' 'get /sd'
control 'another role' '.paths["/sd"].get.security[0].token = ["profile"]' 'get /sd'
control 'no role' '.paths["/sd"].get.security = []' 'get /sd'
control 'another method' '.paths["/sd"].post = .paths["/sd"].get' 'get /sd'
control 'a header of all' '."x-headers-of-all-answers"["Cache-Control"] = "public"' 'get /sd'
control 'a missing header' 'del(.components.responses.Text.headers["WWW-Authenticate"])' 'get /sd'
control 'errors in another format' '.components.responses.Text.content = {"application/json": {"schema": {}}}' 'get /sd'
control 'a profile while nothing is sampled' 'del(.paths["/pid/{pid}/debug/pprof/heap"].get["x-needs-active"])' 'get /pid/{pid}/debug/pprof/heap'
control 'a process without profiling' 'del(.paths["/pid/{pid}/debug/pprof/heap"].get.responses["501"])' 'get /pid/{pid}/debug/pprof/heap'
control 'no such process' 'del(.paths["/pid/{pid}/debug/pprof/heap"].get.responses["404"])' 'get /pid/{pid}/debug/pprof/heap'
control 'the type of a format' '.components.parameters.FormatOfScrape["x-media-type"].html = "text/plain"' 'get /pid/{pid}/debug/pprof/heap'
"$openapi" ask --socket "$T/api.sock" --port "$port" --tokens "${tokens[@]}" <"$T/asked" >"$T/answers"
is "$?" 0 'all requests were made'
while IFS=$'\t' read -r name _; do
	IFS=$'\t' read -r -u 3 asked wrong why || why='it was not asked'
	case $name in
	control:*) ok "$name: is refused" test "$asked" = "$name" -a "$wrong" -gt 0 ;;
	*) is "$asked $wrong" "$name 0" "$name" || diag "$why" ;;
	esac
done <"$T/asked" 3<"$T/answers"
end_serve api
for p in "$unprofiled" "$idle" "$redis"; do assert_untouched "$p"; done

done_testing
