#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: real programs fetch profiles and statistics over HTTP from a real redis, which was never
# restarted, and show the same as the command line.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
export PPROF_TMPDIR=$T HOME=$T NO_PROXY='*'

# api METHOD PATH: send a request for $pid
api()
{
	at all -X "$1" "/api/v1/processes/$pid$2"
}

# of_log REGEX: print a field of the last line about an operation
of_log()
{
	tail -n 1 "$T/all.err" | grep -oE "$1" || true
}

MALLOC_CONF=$PROF start_redis
redis=$pid
load_redis
run_ctl serve --token-file "$T/tokens" --new-token profile:reader
reader=$out
run_ctl serve --token-file "$T/tokens" --new-token read:scraper
scraper=$out
port=$(free_port)
start_serve all --listen "127.0.0.1:$port" --token-file "$T/tokens" --host node.example --node node7
base=http://me:$reader@127.0.0.1:$port
api POST /deactivate
snapshot "$redis"

# --- the processes ---
at all /healthz
is "$code $body" '200 ok' 'it is healthy'
at all /api/v1/processes
is "$(jq -c "map(select(.pid == $pid)) | .[] | [.comm, .opt.prof, .prof.active]" "$T/body")" '["redis-server",true,false]' 'the list'
api GET ''
cp "$T/body" "$T/listed"
ctl_ok 'list' list --json
is "$(jq -cS '.[] | select(.pid == '"$pid"') | del(.rss_bytes, .command)' "$T/out")" "$(jq -cS '.[] | del(.rss_bytes, .command)' "$T/listed")" 'the same as list --json'
is "$(jq -c '.[0].command' "$T/listed")" '""' 'except for the command line, which may hold secrets'
for verb in check status explain threads; do
	api GET "/$verb"
	is "$code $(jq -r .pid "$T/body")" "200 $pid" "$verb"
	ctl_ok "$verb" "$verb" --json "$pid"
	is "$(jq -cS 'keys' "$T/body")" "$(jq -cS 'keys' "$T/out")" "$verb: the same members as on the command line"
done
api GET /stats
is "$code $(jq -r '.jemalloc.version != null' "$T/body")" '200 true' 'stats'
api GET '/stats?format=text'
like "$body" '^___ Begin jemalloc statistics ___' 'stats as text'
assert_untouched "$redis" 'inspection: untouched'

# --- off, on, off ---
at all "/pid/$pid/debug/pprof/heap"
is "$code" 403 'a GET turns nothing on'
like "$body" '^prof.active is false in '"$pid"' \(redis-server\)' 'the cause is reported'
like "$(<"$T/head")" 'X-Go-Pprof: 1' 'in a form that go tool pprof shows'
run_ctl get "$pid" prof.active
is "${out##* }" false 'control: it is off'
api POST /activate
is "$code $(jq -c '[.changed, .after]' "$T/body")" '200 [true,true]' 'activate'
api POST /activate
is "$code $(jq -c '[.changed, .after]' "$T/body")" '200 [false,true]' 'activate again: nothing to do'
load_redis 30000 300
api POST '/reset?sample_rate=4K'
is "$code $(jq -c .after "$T/body")" '200 12' 'reset'
load_redis 30000 300

# --- profiles ---
snapshot "$redis" # it has grown
api POST /dump
is "$code" 200 'a profile'
ok 'the body is a profile' is_profile "$T/body"
like "$(<"$T/head")" 'Content-Disposition: attachment; filename="redis-server\.'"$pid"'\.[0-9]{8}T[0-9]{6}Z\.heap"' 'its name'
like "$(<"$T/head")" 'X-Jeprof-Pause-Us: [0-9]+' 'its cost'
like "$(<"$T/head")" 'X-Jeprof-Role: control' 'and the role of the client'
is "$(of_log 'op=[a-z]* result=[a-z]*')" 'op=dump result=ok' 'the log has it'
cp "$T/body" "$T/served.heap"
ctl_ok 'the same by the command line' dump "$pid" -o "$T/own.heap"
# Little is sampled between the two.
in_use()
{
	run_ctl report --json -n 0 "$1"
	jq -r .total "$T/out"
}
served=$(in_use "$T/served.heap") own=$(in_use "$T/own.heap")
ok "as much in use as by dump: $served, $own" test "$(jq -n "($served - $own) / $own | fabs < 0.05")" = true
for format in folded speedscope html svg json pprof; do
	api POST "/dump?format=$format"
	is "$code $(test -s "$T/body" && echo some)" '200 some' "dump as $format"
done
api POST '/dump?format=pdf'
is "$code" 400 'no such format'

# --- other programs as clients ---
jeprof --text "$base/pid/$pid/pprof/heap" >"$T/by-jeprof" 2>"$T/by-jeprof.err"
like "$(<"$T/by-jeprof")" '^Using remote profile|^Total: [0-9.]+ MB' 'jeprof, by URL'
like "$(<"$T/by-jeprof")" ' (zmalloc|ztrymalloc_usable|zcalloc|sdsnewlen|createStringObject|_sdsnewlen|dictAdd|debugCommand)' 'with names of functions'
go tool pprof -symbolize=none -top "$base/pid/$pid/debug/pprof/heap" >"$T/go" 2>"$T/go.err"
like "$(<"$T/go")" 'Type: inuse_space' 'go tool pprof, by URL'
like "$(<"$T/go")" 'debugCommand' 'with names of functions'
go tool pprof -symbolize=none -top "$base/debug/pprof/heap?pid=$pid" >"$T/go" 2>"$T/go.err"
like "$(<"$T/go")" 'debugCommand' 'in the form with ?pid='
go tool pprof -symbolize=none -seconds 1 -top "$base/pid/$pid/debug/pprof/heap" >"$T/go" 2>"$T/go.err"
like "$(<"$T/go")" 'Type: inuse_space' 'go tool pprof -seconds'
like "$(<"$T/go")" 'Duration: [1-9]' 'go tool pprof -seconds: the duration'
curl -sS -u "me:$scraper" "http://127.0.0.1:$port/metrics" | promtool check metrics >"$T/promtool" 2>&1
is "$? $(<"$T/promtool")" '0 ' 'promtool finds no fault in the metrics'
code=$(curl -sS -o "$T/body" -w '%{http_code}' -u "me:$scraper" "http://127.0.0.1:$port/sd")
is "$code $(jq -r '.[] | select(.labels.pid == "'"$pid"'") | [.targets[0], .labels.__param_pid, .labels.service_name, .labels.node] | tostring' "$T/body")" \
	"200 [\"127.0.0.1:$port\",\"$pid\",\"redis-server\",\"node7\"]" 'the target to scrape'

# --- who may do what ---
# as TOKEN METHOD PATH: over TCP. Sets `code`.
as()
{
	code=$(curl -sS -o "$T/body" -w '%{http_code}' ${1:+-H "Authorization: Bearer $1"} -X "$2" "http://127.0.0.1:$port$3")
}
wrong=${reader:0:63}$([ "${reader:63}" = 0 ] && echo 1 || echo 0)
as '' GET /api/v1/processes
is "$code" 401 'no token: no access'
as "$wrong" GET /api/v1/processes
is "$code" 401 'a wrong one: no access'
as "$scraper" GET "/api/v1/processes"
is "$code" 200 'read: the list'
as "$scraper" GET "/api/v1/processes/$pid/status"
is "$code" 403 'read: no call in a process'
as "$scraper" GET "/metrics?pid=$pid&stats=1"
is "$code" 403 'read: not for metrics either'
as "$reader" GET "/metrics?pid=$pid&stats=1"
is "$code" 200 'profile: statistics in metrics'
as "$reader" POST "/api/v1/processes/$pid/deactivate"
is "$code" 403 'profile: no change'
run_ctl get "$pid" prof.active
is "${out##* }" true 'and nothing is changed'

# --- errors as HTTP statuses ---
at all -X POST "/api/v1/processes/4194304/dump"
is "$code $(jq -r .error.code "$T/body")" '404 no_process' 'no such process'
at all -X POST "/api/v1/processes/$$/dump"
is "$code $(jq -r .error.code "$T/body")" '404 no_jemalloc' 'a process without jemalloc'
at all "/api/v1/processes/$pid?start_time=1"
is "$code $(jq -r .error.code "$T/body")" '404 no_process' 'a reused pid'
MALLOC_CONF=prof:false start_victim leaky
at all -X POST "/api/v1/processes/$pid/activate"
is "$code $(jq -r .error.code "$T/body")" '501 no_profiling' 'a process without prof:true'

# --- a process with a hostile name ---
odd=$T/odd$'\e'
install -m 755 "$VICTIMS/leaky" "$odd"
start_victim "$odd"
at all "/pid/$pid/pprof/cmdline"
is "$code $body" '200 odd\x1b' 'its name is escaped'

pid=$redis
api POST /deactivate
is "$code $(jq -c '[.changed, .after]' "$T/body")" '200 [true,false]' 'deactivate'
end_serve all
assert_untouched "$redis" 'all in all: untouched'

# --- nobody reads its output: it continues to serve ---
mkfifo "$T/pipe"
exec {pipe}<>"$T/pipe"
dd if=/dev/zero of="$T/pipe" bs=4096 oflag=nonblock status=none 2>/dev/null
"$CTL" "${patient[@]}" serve --socket "$T/all.sock" --runs none 2>"$T/pipe" </dev/null &
serve=$!
own "$serve"
is_there()
{
	at all /healthz
	[ "$code" = 200 ]
}
within 60 is_there
for _ in 1 2 3; do at all /sd; done
is "$code" 200 'nobody reads: it answers'
dd if="$T/pipe" of=/dev/null bs=4096 iflag=nonblock status=none 2>/dev/null
at all /sd
end_child "$serve" -INT
within 60 eval "! kill -0 $serve"
wait "$serve"
like "$(dd if="$T/pipe" bs=4096 iflag=nonblock status=none 2>/dev/null | tr -d '\0')" \
	'^3 lines were dropped'$'\n''time=.* op=discover result=ok' 'somebody reads again: the number of lost lines'
exec {pipe}<&-

done_testing
