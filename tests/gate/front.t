#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP process alone: what it asks the broker, and how it presents the answers. The broker is a
# test program that answers with the question (tests/target/broker.c).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/front.sh
. tests/front.sh

api=/api/v1/processes
token=$(printf '%064d' 0 | tr 0 a)
# Flags, formats, and pids with special answers.
text_errors=2 scrape=6 lg=8 touch=16 all=32
json_format=0 text=1 prom=2 openmetrics=3 heap=4 pprof=5 svg=9
fails=1000 refuses=1100 inactive=1200 pauses=1202 empty=1203 big=1204 bad_name=1205 twice=1206 bad_format=1207

start_front "$http_of_build" --host node7
fds_at_rest=$(fds_of_front)

# asks OP FLAGS FORMAT PID REST URI [OPTIONS...]: check what the broker is asked; REST is
# start_time, lg_sample, seconds and token
asks()
{
	local op=$1 flags=$2 format=$3 process=$4 start lg_sample seconds given

	read -r start lg_sample seconds given <<<"$5"
	shift 5
	send "$@"
	is "$code $body" "200 op=${op,,} flags=$flags format=$format pid=$process start_time=${start:-0} lg_sample=${lg_sample:-0} seconds=${seconds:-0} token=${given:-}" "$*"
}

# --- questions ---
asks LIST 0 $json_format 0 '' $api
asks LIST 0 $json_format 7 '' $api/7
for what in check status explain threads stats; do
	asks ${what^^} 0 $json_format 7 5 "$api/7/$what?start_time=5"
done
asks STATS 0 $text 7 '' "$api/7/stats?format=text"
asks ACTIVATE 0 $json_format 7 '' $api/7/activate -X POST
asks DEACTIVATE 0 $json_format 7 '' $api/7/deactivate -X POST
asks RESET 0 $json_format 7 '' $api/7/reset -X POST
asks RESET $lg $json_format 7 '0 19' "$api/7/reset?sample_rate=512K" -X POST
asks DUMP 0 $heap 7 '' $api/7/dump -X POST
asks DUMP 0 $svg 7 '' "$api/7/dump?format=svg" -X POST
asks DUMP $scrape $heap 7 '' /pid/7/pprof/heap
asks DUMP $scrape $pprof 7 '' /pid/7/debug/pprof/allocs
asks DUMP $scrape $pprof 7 '0 0 30' '/debug/pprof/heap?pid=7&seconds=30&gc=1'
asks DUMP $scrape $text 7 '' '/debug/pprof/heap?pid=7&debug=1'
asks CMDLINE $text_errors $text 7 '' /pid/7/pprof/cmdline
asks METRICS $text_errors $prom 0 '' /metrics
asks METRICS $text_errors $openmetrics 0 '' /metrics -H 'Accept: application/openmetrics-text'
asks METRICS $((text_errors + touch)) $prom 7 '' '/metrics?stats=1&pid=7'
asks DISCOVER $((text_errors + all)) $json_format 0 '' '/sd?all=1'
asks LIST 1 $json_format 0 "0 0 0 $token" $api -H "Authorization: Bearer $token"
asks LIST 1 $json_format 0 "0 0 0 $token" $api -H "authorization: bearer ${token^^}"
send_tcp $api
like "$code $body" '^200 op=list' 'over TCP'
call "http://localhost:$port$api" -H 'Host: node7:80' --resolve "localhost:$port:127.0.0.1"
is "$code" 200 'over TCP, under the name given by --host'

for folder in pprof debug/pprof; do
	send /pid/7/$folder/symbol
	is "$code $body" '200 num_symbols: 1' "$folder/symbol: there are symbols"
	send /pid/7/$folder/symbol --head
	is "$code $(header content-length)" '200 15' "$folder/symbol: HEAD"
	send /pid/7/$folder/symbol --data '0x1a+0xffffffffffffffff'
	like "$code $body" "^200 op=symbols flags=$text_errors format=$text pid=7 .* seals=0xf 0x1a 0xffffffffffffffff bytes=16$" \
		"$folder/symbol: POST"
done
send /pid/7/pprof/symbol --data ''
is "$code $body" '200 num_symbols: 1' 'no addresses: as in Go'
python3 -c 'print("+".join(f"0x{i:016x}" for i in range(30000)), end="")' >"$T/addresses"
send /pid/7/pprof/symbol --data "@$T/addresses"
like "$code $body" '^200 .* bytes=240000$' '30,000 addresses'
send /pid/7/pprof/symbol --data '0x1,0x2'
is "$code $body" '400 not of the form 0xA+0xB' 'invalid addresses'
python3 -c 'print("+".join(["0x1"] * 65537), end="")' >"$T/addresses"
send /pid/7/pprof/symbol --data "@$T/addresses"
is "$code $body" '413 too many addresses' 'too many addresses'
head -c 1048577 /dev/zero | tr '\0' 0 >"$T/addresses"
send /pid/7/pprof/symbol --data "@$T/addresses"
is "$code $body" '413 the body is too long' 'a body of more than 1 MiB'
send $api/7/activate --data "$(head -c 4097 "$T/addresses")"
is "$(json '.error | "\(.code) \(.message)"' "$T/body")" 'usage the body is too long' 'a body where none is needed'

# --- answers ---
send /healthz
is "$code $body" '200 ok' 'healthz'
send /healthz --head
is "$code $(header content-length)" '200 3' 'healthz: HEAD'
send /
like "$code $body" "^200 .*GET +$api/PID/status " 'the index'
is "$(header content-type)" 'text/plain; charset=utf-8' 'the index is text'
browser='Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
send / -H "$browser"
is "$code $(header content-type)" '200 text/html; charset=utf-8' 'a browser gets a page'
# hash_in ELEMENT: print its hash, as in a policy
hash_in()
{
	perl -0777 -ne "print \$1 if m{<$1(?: type=\"module\")?>(.*?)</$1>}s" "$T/body" | openssl dgst -sha256 -binary | base64
}
is "$(header content-security-policy)" \
	"default-src 'none'; script-src 'sha256-$(hash_in script)'; style-src 'sha256-$(hash_in style)'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'" \
	'the page: its policy names its script and its style, and this origin'
is "$(header cache-control) $(header x-frame-options)" 'no-store DENY' 'the page: the usual headers'
length=$(wc -c <"$T/body")
send_tcp / -H "$browser"
is "$code $(wc -c <"$T/body")" "200 $length" 'the page: over TCP, without a token'
send / -H "$browser" --head
is "$code $(header content-length)" "200 $length" 'the page: HEAD'
send /healthz -H "$browser"
is "$code $body" '200 ok' 'a browser gets text elsewhere'
send /pid/7/debug/pprof/
is "$code $(header content-type)" '200 text/html; charset=utf-8' "pprof's index"
like "$(header content-security-policy)" "^sandbox allow-scripts allow-downloads; default-src 'none';" 'a page has no origin'

send $api/7/dump -X POST
is "$(header content-disposition)" 'attachment; filename="echo.1.heap"' 'a dump is a file'
is "$(header content-type)" application/octet-stream 'a dump: its type'
send $api/$bad_name/dump -X POST
is "$code $(header content-disposition)" '200 attachment' 'an invalid file name'
send '/debug/pprof/heap?pid=7&debug=1'
is "$(header content-disposition) $(header content-type)" ' text/plain; charset=utf-8' 'text is shown'
send $api/7/status
is "$(header x-jeprof-pause-us)$(header x-jeprof-role)" '' 'no pause and no role: no headers'
send $api/$pauses/status
is "$(header x-jeprof-pause-us)" 345 'a header: how long threads were stopped'
is "$(header x-jeprof-role)" profile 'a header: the role of the client'
send $api/$empty/status
is "$code $(header content-length)" '200 0' 'an empty answer'
send $api/$bad_format/status
is "$code $(header content-type)" '200 text/plain; charset=utf-8' 'an invalid format'
send $api/$big/status
is "$code $(wc -c <"$T/body")" '200 16777216' '16 MiB'
send_tcp $api/$big/status
is "$code $(wc -c <"$T/body")" '200 16777216' '16 MiB, over TCP'
send $api/$twice/status
is "$code" 200 'answered twice'
tell_broker unknown

statuses=(200 500 400 404 403 404 501 409 503 502 507)
for i in "${!statuses[@]}"; do
	send $api/$((fails + 300 + i))/status
	is "$code $body" "${statuses[i]} $(sed -n '$s/^ask connection=[0-9]* id=[0-9]* //p' <<<"$(grep ^ask "$broker_log")")" "code $i, with a message from the broker"
	[ "$i" -gt 0 ] || continue
	send $api/$((fails + i))/status
	is "$code $(header content-type)" "${statuses[i]} application/json" "code $i, without a message"
	is "$(header retry-after)" "$(case $i in 7 | 8) echo 1 ;; esac)" "code $i: whether to try again"
	send /pid/$((fails + i))/pprof/heap
	is "$code $(header content-type) $(header x-go-pprof)" "${statuses[i]} text/plain; charset=utf-8 1" "code $i, for pprof"
done
send $api/$((refuses + 1))/status
is "$code $(header www-authenticate)" '401 Bearer' 'a token is needed'
send $api/$((refuses + 2))/status
is "$code $(json .error.code "$T/body")" '403 permission' 'the role is not enough'
send $api/$((refuses + 3))/status
is "$code $(header retry-after) $(json .error.code "$T/body")" '503 1 busy' 'too many operations'
send /pid/$inactive/pprof/heap
like "$code $(header x-go-pprof) $body" '^403 1 prof.active is false; ' 'prof.active is false'

for uri in / /healthz /nothing $api $api/nothing $api/$((fails + 1)) /pid/7/pprof/heap "$api/7/stats?x"; do
	send "$uri"
	is "$(header content-security-policy)" "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'" "$uri: nothing may be loaded"
	is "$(for h in x-content-type-options referrer-policy cache-control cross-origin-{opener,resource}-policy x-frame-options; do header "$h"; done | paste -sd' ')" \
		'nosniff no-referrer no-store same-origin same-origin DENY' "$uri: its headers"
	is "$(grep -ci '^access-control' "$T/head")" 0 "$uri: no other site may read it"
done

# --- refusals ---
send $api/7/nothing
is "$code $(json .error.id "$T/body")" '404 no_such_page' 'no such page'
cp "$T/body" "$T/out"
ok 'its own errors conform to the schema' tests/drivers/schema-check --bites doc/schema/jeprof-ctl.json error "$T/out"
send $api/7/status -X POST
is "$code $(header allow) $(json .error.id "$T/body")" '405 GET method_not_allowed' 'another method'
send /pid/7/pprof/symbol -X OPTIONS
is "$code $(header allow)" '405 GET, HEAD, POST' 'OPTIONS'
send /metrics --head
is "$code" 405 'HEAD of an answer from the broker'
send "$api/7/status?verbose=1"
is "$code $(json .error.message "$T/body")" '400 unknown parameter: verbose' 'an unknown parameter'
send '/debug/pprof/heap?pid=7&seconds=0'
is "$code $(header x-go-pprof) $body" '400 1 invalid value for "seconds" - must be a positive integer' "Go's words: seconds"
send /pid/7/debug/pprof/goroutine
is "$code $(header x-go-pprof) $body" '404 1 Unknown profile' "Go's words: another profile"
for given in 'Bearer' 'Bearer ' "Bearer ${token}a" "Bearer ${token%a}" "Bearer ${token%a}g" "Basic $token" "Basic $(printf me:%s "${token%a}" | base64 -w0)" "Digest $token"; do
	send $api -H "Authorization: $given"
	is "$code $(header www-authenticate)" '401 Bearer' "an invalid token: $given"
done
for uri in //healthz /./healthz /x/../healthz /healthz/ /pid//pprof/heap /pid/7/pprof/../pprof/heap /%2e%2e/healthz /pid/07/pprof/heap; do
	send "$uri"
	is "$code" 404 "$uri is no page"
done
for uri in /a%2fb /healthz%00 /healthz%00x /%zz; do
	send "$uri"
	is "$code" 400 "$uri is malformed"
done
has_let_go 'no connection is left'

# --- the end ---
before=$(grep -c '^closed' "$broker_log")
is "$before" "$(grep -oP '^(ask|closed) connection=\K[0-9]+' "$broker_log" | sort -n | tail -n 1)" 'the end of each connection is reported'
exec {broker}>&-
ends_with 0 'it ends with the broker'
is "$(grep -c '^invalid' "$broker_log")" 0 'all its messages were valid'
done_testing
