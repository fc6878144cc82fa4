#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: each operation of doc/schema/openapi.json answers as that file says, and the file has each that
# there is. What is asked is made of the file (tests/drivers/openapi.py).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

api=doc/schema/openapi.json
openapi=tests/drivers/openapi.py

# finds_fault COMMAND...
finds_fault()
{
	! "$@" >"$T/why" && test -s "$T/why"
}

# refused NAME JQ COMMAND...: the file is not taken any more after this change
refused()
{
	local name=$1 change=$2

	shift 2
	jq "$change" "$api" >"$T/changed.json" || bail_out "control: $name: jq"
	ok "control: $name: is refused" finds_fault "$@"
}

# --- the file and the source ---
ok 'the file has what the source has' "$openapi" routes "$api"
routes=("$openapi" routes "$T/changed.json")
refused 'a path that is left out' 'del(.paths["/sd"])' "${routes[@]}"
refused 'a method that is left out' 'del(.paths["/healthz"].head)' "${routes[@]}"
refused 'a path too many' '.paths["/debug/pprof/block"] = .paths["/debug/pprof/heap"]' "${routes[@]}"
refused 'a method too many' '.paths["/sd"].post = .paths["/sd"].get' "${routes[@]}"
refused 'another role' '.paths["/sd"].get.security[0].token = ["control"]' "${routes[@]}"
refused 'a parameter that is left out' 'del(.paths["/sd"].get.parameters)' "${routes[@]}"
refused 'errors of another form' '.paths["/sd"].get.responses["400"]["$ref"] = "#/components/responses/Json"' "${routes[@]}"
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
# The pages of a sampling stay (doc/sampling.md), which the others are not to have.
MALLOC_CONF=$PROF start_victim idle
sampled=$pid
port=$(free_port)
start_serve api --listen "127.0.0.1:$port" --token-file "$T/tokens"
# asks PID METHOD PATH FILE
asks()
{
	local without=$unprofiled

	[ "$1" = "$sampled" ] && without=$sampled
	"$openapi" ask "$4" "$2" "$3" --socket "$T/api.sock" --port "$port" --tokens "${tokens[@]}" \
		--pid "$1" --unprofiled "$without"
}
"$openapi" list "$api" >"$T/list"
is "$(wc -l <"$T/list")" "$(jq '[.paths[] | keys[]] | length' "$api")" 'each operation is asked'
while read -r method path; do
	on=$redis
	[[ $path == */sample ]] && on=$sampled
	ok "$method $path" asks "$on" "$method" "$path" "$api"
done <"$T/list"

# --- what is wrong would be seen ---
sd=(asks "$idle" get /sd "$T/changed.json")
refused 'another document' '.paths["/sd"].get.responses["200"].content["application/json"].schema["$ref"] = "jeprof-ctl.json#/$defs/list"' "${sd[@]}"
refused 'another type' '.paths["/sd"].get.responses["200"].content = {"text/plain": {}}' "${sd[@]}"
refused 'another status' '.paths["/sd"].get["x-passes-over"] = true' "${sd[@]}"
refused 'another value' '.components.parameters.All.schema.enum += ["2"]' "${sd[@]}"
refused 'another role' '.paths["/sd"].get.security[0].token = ["profile"]' "${sd[@]}"
refused 'no role' '.paths["/sd"].get.security = []' "${sd[@]}"
refused 'another method' '.paths["/sd"].post = .paths["/sd"].get' "${sd[@]}"
refused 'a header of all' '."x-headers-of-all-answers"["Cache-Control"] = "public"' "${sd[@]}"
refused 'a header that is left out' 'del(.components.responses.Text.headers["WWW-Authenticate"])' "${sd[@]}"
refused 'errors of another form' '.components.responses.Text.content = {"application/json": {"schema": {}}}' "${sd[@]}"
heap=(asks "$idle" get '/pid/{pid}/debug/pprof/heap' "$T/changed.json")
refused 'a profile while nothing is sampled' 'del(.paths["/pid/{pid}/debug/pprof/heap"].get["x-needs-active"])' "${heap[@]}"
refused 'a process without profiling' 'del(.paths["/pid/{pid}/debug/pprof/heap"].get.responses["501"])' "${heap[@]}"
refused 'no such process' 'del(.paths["/pid/{pid}/debug/pprof/heap"].get.responses["404"])' "${heap[@]}"
refused 'the type of a format' '.components.parameters.FormatOfScrape["x-media-type"].html = "text/plain"' "${heap[@]}"
end_serve api
for p in "$unprofiled" "$idle" "$redis"; do assert_untouched "$p"; done

done_testing
