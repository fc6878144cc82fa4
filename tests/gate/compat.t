#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve --compat: scripts written for Mesos, libmtev and TiKV work for any process. Tests the texts,
# statuses and documents of each path, who may use it, and that it needs the option.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/recording.sh
. tests/recording.sh
# shellcheck source=tests/serve.sh
. tests/serve.sh

# get PATH: request PATH of `pid`. answers CODE TEXT NAME: check the answer.
get()
{
	at one "/pid/$pid$1"
}
answers()
{
	is "$code $body" "$1 $2" "$3"
}

# jq_is FILTER VALUE NAME: check the document
jq_is()
{
	is "$(jq -cr "$1" "$T/body" 2>&1)" "$2" "$3" || diag "$code $body"
}
head_has()
{
	like "$(tr -d '\r' <"$T/head")" "$1" "$2"
}

mp=/memory-profiler
# A name that no other test uses.
cp "$VICTIMS/leaky" "$T/compatible"
MALLOC_CONF=$PROF,lg_prof_sample:17 start_victim "$T/compatible"
leaky=$pid
MALLOC_CONF=$PROF start_redis
redis=$pid
MALLOC_CONF=prof:false start_victim idle
unprofiled=$pid
sleep 100000 &
plain=$!
own "$plain"
MALLOC_CONF=$PROF,prof_active:true start_victim idle
external=$pid
for p in "$leaky" "$redis" "$unprofiled" "$external"; do snapshot "$p"; done
pid=$leaky

# --- without --compat ---
start_serve one
for path in $mp/start $mp/stop $mp/state $mp/statistics $mp/download/raw /mtev/heap_profile /mtev/memory.json /debug/pprof/heap_activate \
	/debug/pprof/heap_list; do
	get "$path"
	is "$code" 404 "without --compat: $path"
done
end_serve one

# --- Mesos ---
start_serve one --compat mesos
get /mtev/heap_profile
is "$code" 404 'a path of another service'
at one $mp/start
is "$code" 404 'start at the root, without a process'
get $mp/stop
answers 400 'Not yet generated.' 'stop: nothing was started'
get $mp/download/raw
answers 400 'No heap profile exists: Not yet generated.' 'raw: nothing was started'
get $mp/download/text
answers 400 'No source profile exists: Not yet generated.' 'text: nothing was started'
get $mp/state
jq_is .memory_profiler.current_run '{"id":null}' 'state: no run'
get "$mp/start?duration=600"
answers 400 "Could not parse parameter 'duration': Invalid duration '600'." 'a duration without its unit'
get "$mp/start?duration=500ms"
answers 400 "Duration '500ms' must be between 1secs and 24hrs." 'a duration that is too short'
is "$(active_of "$pid")" false 'nothing was started'
get $mp/start
is "$code" 200 'start' || diag "$body"
head_has 'Content-Type: application/json' 'start: its type'
id=$(jq -r .id "$T/body")
jq_is '[.remaining_seconds|type, (tonumber >= 299 and tonumber <= 300)]' '["string",true]' 'start: five minutes remain, as text'
jq_is .message "Successfully started new heap profiling run. After the remaining time elapses, download the generated profile at '/pid/$pid$mp/download/raw?id=$id'. Visit '/pid/$pid$mp/stop' to stop collection earlier." 'start: its message'
is "$(active_of "$pid")" true 'start: sampling is on'
get "$mp/start?duration=1hrs"
is "$code" 200 'a second start'
jq_is '[.id, (.remaining_seconds|tonumber <= 300), .message[:34]]' "[$id,true,\"Heap profiling is already active. \"]" 'a second start: the first run'
get $mp/download/raw
answers 400 'No heap profile exists: Not yet generated.' 'raw: the run is not over'
get $mp/state
jq_is '[.memory_profiler | .jemalloc_detected, .current_run.id, (.current_run.remaining_seconds | type, . > 200)]' "[true,$id,\"number\",true]" 'state: the run'
jq_is '[.jemalloc | .profiling_enabled, .profiling_active, .malloc_conf.build_options]' '[true,true,""]' 'state: jemalloc'
jq_is .jemalloc.malloc_conf.environment "$PROF,lg_prof_sample:17" 'state: its configuration'
get $mp/stop
is "$code" 200 'stop'
stopped=$body
jq_is '[.id, .url_raw_profile, .url_graph, .url_symbolized_profile]' \
	"[\"$id\",\"/pid/$pid$mp/download/raw?id=$id\",\"/pid/$pid$mp/download/graph?id=$id\",\"/pid/$pid$mp/download/text?id=$id\"]" 'stop: the URLs'
is "$(active_of "$pid")" false 'stop: sampling is off'
get $mp/stop
is "$code $body" "200 $stopped" 'a second stop: the same answer'
get $mp/state
jq_is .memory_profiler.current_run "{\"id\":$id,\"remaining_seconds\":0}" 'state: the last run'
get $mp/download/raw
is "$code" 200 'raw'
head_has 'Content-Type: application/octet-stream' 'raw: its type'
head_has 'Content-Disposition: attachment' 'raw: an attachment'
ok 'raw: as jemalloc wrote it' cmp "$T/body" "$T/one.runs/$id/profile.heap"
get "$mp/download/text?id=$id"
is "$code" 200 'text'
head_has 'Content-Type: text/plain' 'text: its type'
like "$body" '^Total: [0-9]+\.[0-9] MB' 'text: the total'
like "$body" ' +[0-9.]+ +[0-9.]+% +[0-9.]+% +[0-9.]+ +[0-9.]+% main' 'text: a line for each function'
get $mp/download/graph
is "$code" 200 'graph'
head_has 'Content-Type: image/svg' 'graph: its type'
like "$body" '<svg' 'graph: a picture'
get "$mp/download/raw?id=7"
answers 400 'Cannot serve requested id #7.' 'an unknown run'
get "$mp/download/raw?id=7x"
answers 400 "Invalid parameter 'id': Garbage after parsed id." 'an invalid id'
get $mp/statistics
is "$code $(jq -r 'has("jemalloc")' "$T/body")" '200 true' 'statistics'
at one -X POST "/pid/$pid$mp/start"
is "$code" 405 'start is for GET'
head_has 'Allow: GET' 'start is for GET: the Allow header'
assert_untouched "$leaky" 'Mesos: untouched'

# A script as written for Mesos, except for the host.
# shellcheck disable=SC2317,SC2329 # within a subshell
mesos_script()
(
	set -e
	curl() { command curl -sS --unix-socket "$T/one.sock" "$@"; }
	host=http://localhost/pid/$redis

	run=$(curl "$host/memory-profiler/start?duration=1secs" | jq -r .id)
	while [ "$(curl "$host/memory-profiler/state" | jq '.memory_profiler.current_run.remaining_seconds > 0')" = true ]; do sleep 0.2; done
	until curl -f "$host/memory-profiler/download/raw?id=$run" -o "$T/script.raw" 2>/dev/null; do sleep 0.2; done
	curl -f "$host/memory-profiler/download/text?id=$run" -o "$T/script.text"
	curl -f "$host/memory-profiler/download/graph?id=$run" -o "$T/script.svg"
)
ok 'a script: start, poll, download' mesos_script
like "$(head -c 8 "$T/script.raw")" '^heap_v2/' 'a script: the profile'
like "$(<"$T/script.text")" '^Total: ' 'a script: the table'

# --- across a restart ---
# Each part takes its own snapshot: jemalloc keeps address space for what is sampled
# (tests/gate/twice.t).
snapshot "$leaky"
end_serve one
start_serve one --compat mesos,mtev,tikv
pid=$leaky
get $mp/download/raw
ok 'after a restart: the profile is kept' cmp "$T/body" "$T/one.runs/$id/profile.heap"
get $mp/stop
is "$code $body" "200 $stopped" 'after a restart: stop gives the same answer'
get $mp/start
second=$(jq -r .id "$T/body")
end_serve one
is "$(active_of "$pid")" false 'the service ends during a run: sampling is off'
start_serve one --compat mesos,mtev,tikv
get $mp/stop
jq_is .id "$second" 'after a restart: the interrupted run is kept'
get $mp/start
get $mp/download/raw
answers 400 "A profiling run is currently in progress. To download results of the previous run, please pass an 'id' explicitly." \
	'raw without an id, during a run'
get "$mp/download/raw?id=$second"
is "$code" 200 'raw with an id, during a run'
get $mp/stop
assert_untouched "$leaky" 'across a restart: untouched'

# --- started by others, or not possible ---
pid=$external
get $mp/start
answers 409 'Heap profiling was started externally.' 'start: started externally'
get $mp/stop
answers 400 'Profiling is active, but was not started by libprocess. Accessing the raw profile through libprocess is currently not supported.' \
	'stop: started externally'
is "$(active_of "$pid")" true 'started externally: sampling stays on'
assert_untouched "$external" 'started externally: untouched'
pid=$unprofiled
get $mp/start
is "$code" 400 'start: opt.prof is false'
like "$body" "profiling couldn't be enabled" 'start: opt.prof is false: the cause'
get /mtev/heap_profile
answers 200 $'opt.prof: false\n# needs MALLOC_CONF="prof:true"\nprof.active: error\nprof.thread_active_init: error' 'mtev: opt.prof is false'
pid=$plain
get $mp/start
is "$code" 400 'start: no jemalloc'
like "$body" "doesn't seem to be linked against jemalloc" 'start: no jemalloc: the cause'
get $mp/state
jq_is '[.memory_profiler.jemalloc_detected, has("jemalloc")]' '[false,false]' 'state: no jemalloc'
get /mtev/memory.json
answers 200 '{}' 'mtev: statistics without jemalloc'
get /mtev/heap_profile
answers 500 'libjemalloc is not loaded, cannot heap profile' 'mtev: no jemalloc'
at one "/pid/4194304$mp/start"
is "$code" 404 'no such process'
assert_untouched "$unprofiled" 'not possible: untouched'

# --- libmtev ---
pid=$leaky
snapshot "$leaky"
get /mtev/heap_profile
answers 200 $'opt.prof: true\nprof.active: false\nprof.thread_active_init: true' 'mtev: the state'
get '/mtev/heap_profile?active=true&trigger_dump=true'
answers 200 'Profiling is activated' 'mtev: on'
get /mtev/heap_profile
answers 200 $'opt.prof: true\nprof.active: true\nprof.thread_active_init: true' 'mtev: it is on'
get '/mtev/heap_profile?trigger_dump=true'
is "$code" 200 'mtev: a profile'
head_has 'Content-Type: application/x-jemalloc-heap-profile' 'mtev: its type'
ok 'mtev: jeprof reads it' eval 'jeprof --text "/proc/$pid/exe" "$T/body" >"$T/text" 2>"$T/jeprof"'
like "$(<"$T/text")" '^Total: ' 'mtev: the output of jeprof'
get '/mtev/heap_profile?active=0'
answers 200 'Profiling is deactivated' 'mtev: off'
get /mtev/memory.json
is "$code $(jq -r 'has("jemalloc")' "$T/body")" '200 true' 'mtev: statistics'
assert_untouched "$leaky" 'mtev: untouched'

# shellcheck disable=SC2317,SC2329 # within a subshell
mtev_script()
(
	set -e
	curl() { command curl -sSf --unix-socket "$T/one.sock" "$@"; }
	host=http://localhost/pid/$redis

	curl "$host/mtev/heap_profile?active=true"
	curl "$host/mtev/heap_profile" | grep '^prof.active: true$'
	redis DEBUG POPULATE 20000
	curl "$host/mtev/heap_profile?trigger_dump=true" >"$T/profile.prof"
	curl "$host/mtev/heap_profile?active=false"
	jeprof --text "/proc/$redis/exe" "$T/profile.prof"
)
ok 'a script: on, a profile, off' eval 'mtev_script >"$T/script" 2>"$T/script.err"'
like "$(<"$T/script")" 'Profiling is activated.*Profiling is deactivated.*Total: [0-9.]+ MB' 'a script: its output' || diag "$(<"$T/script.err")"
snapshot "$redis" # which now has the new keys

# --- TiKV ---
snapshot "$leaky"
dp=/debug/pprof
get $dp/heap_deactivate
answers 200 'no heap profile is running' 'tikv: already off'
get $dp/heap
answers 500 'heap profile is not active' 'tikv: nothing is sampled'
get "$dp/heap_activate?interval=x"
answers 400 'invalid digit found in string' 'tikv: an invalid interval'
get "$dp/heap_activate?interval=60"
answers 200 'activate heap profile success' 'tikv: on'
get $dp/heap_activate
answers 500 'Already in Heap Profiling' 'tikv: already on'
get $dp/heap
is "$code" 200 'tikv: a profile'
head_has 'Content-Disposition: attachment; filename="profile"' 'tikv: its file name'
like "$(head -c 8 "$T/body")" '^heap_v2/' 'tikv: as jemalloc wrote it'
get "$dp/heap?jeprof=true"
is "$code" 200 'tikv: a picture'
head_has 'Content-Type: image/svg' 'tikv: its type'
get $dp/heap_deactivate
answers 200 'deactivate heap profile success' 'tikv: off'
get $dp/heap_list
like "$body" "^[0-9]+\.heap.*20[0-9-]+ [0-9:]+" 'tikv: a line for each profile'
get "$dp/heap?name=$id.heap"
ok 'tikv: a profile by its name' cmp "$T/body" "$T/one.runs/$id/profile.heap"
get "$dp/heap?name=7.heap"
answers 400 'heap profile 7.heap not found' 'tikv: an unknown profile'
get "$dp/heap?name=../x"
answers 400 'heap profile name ../x is invalid' 'tikv: an invalid name'
get $dp/cmdline
is "$code $body" '200 compatible' 'tikv: the command line'
assert_untouched "$leaky" 'tikv: untouched'
end_serve one

# --- who may do what ---
snapshot "$leaky"
declare -a tokens
for role in read profile control; do
	tokens+=("$("$CTL" serve --token-file "$T/tokens" --new-token $role:$role)")
done
port=$(free_port)
start_serve one --compat mesos,mtev,tikv --listen "127.0.0.1:$port" --token-file "$T/tokens"
# by ROLE [CURL OPTIONS...] PATH: over TCP, with the token of this role (0 to 2; - for none)
by()
{
	local with=()

	[ "$1" = - ] || with=(-H "Authorization: Bearer ${tokens[$1]}")
	shift
	code=$(curl -sS -o "$T/body" -D "$T/head" -w '%{http_code}' "${with[@]}" "${@:1:$#-1}" "http://127.0.0.1:$port/pid/$pid${!#}")
	body=$(tr -d '\0' <"$T/body")
}
changes=("$mp/start" "$mp/stop" '/mtev/heap_profile?active=true' '/mtev/heap_profile?active=false' "$dp/heap_activate" "$dp/heap_deactivate")
looks=("$mp/state" "$mp/statistics" "$mp/download/raw" /mtev/heap_profile /mtev/memory.json '/mtev/heap_profile?trigger_dump=true' "$dp/heap_list")
for path in "${changes[@]}"; do
	by - "$path"
	is "$code" 401 "without a token: $path"
	by 1 "$path"
	is "$code" 403 "role profile: $path"
	for site in cross-site same-site; do
		by 2 -H "Sec-Fetch-Site: $site" "$path"
		is "$code $body" '403 another site sent this request' "$site: $path"
	done
	by 2 -H 'Origin: http://other.example' "$path"
	is "$code" 403 "another origin: $path"
done
is "$(active_of "$pid")" false 'no refused request had an effect'
for path in "${looks[@]}"; do
	by 0 "$path"
	is "$code" 403 "role read: $path"
	by 1 "$path"
	is "$code" 200 "role profile: $path"
	by 1 -H 'Sec-Fetch-Site: cross-site' "$path"
	is "$code" 200 "cross-site, without a change: $path"
done
by 2 -H 'Sec-Fetch-Site: none' "$dp/heap_activate"
is "$code" 200 'control: allowed if typed by the user'
by 2 -H 'Sec-Fetch-Site: same-origin' "$dp/heap_deactivate"
is "$code" 200 'control: allowed from our own page'
end_serve one
start_serve one --compat mesos,mtev,tikv --read-only
for path in "${changes[@]}"; do
	get "$path"
	is "$code" 403 "read-only: $path"
done
end_serve one
is "$(active_of "$pid")" false 'read-only: sampling is off'
assert_untouched "$leaky" 'who may do what: untouched'

# --- --pid: one process, at the root ---
snapshot "$leaky"
start_serve one --compat mesos,tikv --pid "$leaky"
at one "$mp/start?duration=1mins"
is "$code" 200 '--pid: start'
jq_is .message "Successfully started new heap profiling run. After the remaining time elapses, download the generated profile at '$mp/download/raw?id=$(jq -r .id "$T/body")'. Visit '$mp/stop' to stop collection earlier." '--pid: its message'
at one $mp/stop
is "$code" 200 '--pid: stop'
at one $mp/download/raw
like "$code $(head -c 8 "$T/body")" '^200 heap_v2/' '--pid: raw'
at one $dp/heap_list
is "$code" 200 '--pid: tikv'
at one "/pid/$redis$mp/state"
is "$code" 200 '--pid: other processes by their path'
end_serve one
start_serve one --compat mesos --comm compatible
strace -f -o "$T/trace" -e trace=open,openat -p "$serve" 2>"$T/strace" &
tracer=$!
own "$tracer"
within 60 grep -q attached "$T/strace"
at one $mp/state
is "$code" 200 '--comm: the process of that name'
end_child "$tracer" -INT
wait "$tracer" 2>/dev/null
is "$(grep -c "^$serve .*\"/proc/[0-9]" "$T/trace")" 0 '--comm: the broker does not look for it itself'
ok '--comm: control: another process does' grep -q "\"/proc/$leaky/stat" "$T/trace"
at one "$mp/start?duration=1mins"
id=$(jq -r .id "$T/body")
is "$code $(active_of "$leaky")" '200 true' '--comm: start'
like "$(tail -n 1 "$T/one.err")" "op=mesos_start result=began .* pid=$leaky comm=\"compatible\" run=$id " '--comm: the log names it'
get "$mp/start"
jq_is .id "$id" '--comm: it is the run of that process'
at one $mp/stop
jq_is .id "$id" '--comm: stop'
is "$(active_of "$leaky")" false '--comm: sampling is off again'
MALLOC_CONF=$PROF start_victim "$T/compatible"
at one $mp/state
is "$code" 409 '--comm: two of that name'
like "$body" 'several processes have that name' '--comm: two of that name: the cause'
like "$(tail -n 1 "$T/one.err")" 'op=mesos_state result=several uid=[0-9]+ client=[0-9]+$' '--comm: two of that name: the log'
stop_target "$pid"
at one $mp/state
is "$code" 200 '--comm: one again'
end_serve one
start_serve one --compat mesos --comm nobody-at-all
at one $mp/start
answers 404 'no process has that name' '--comm: none of that name'
end_serve one
ctl_fails 2 'choice_unknown' 'an unknown service' serve --socket "$T/two.sock" --compat mesos,other
ctl_fails 2 'option_needs' '--pid without --compat' serve --socket "$T/two.sock" --pid "$leaky"
ctl_fails 2 'exclusive' '--cgroup' serve --socket "$T/two.sock" --compat mesos --cgroup x
pid=$leaky
assert_untouched "$leaky" 'at the root: untouched'

# --- a compromised front ---
snapshot "$leaky"
use_false_front
start_serve false
connect_to "$T/false.sock"
order "ask mesos_start $pid words=1 duration_ms=60000 id=1" "ask mesos_stop $pid words=1 id=2" "ask mesos_state $pid words=1 id=3" \
	"ask mesos_download $pid words=1 id=4" "ask mtev_state $pid words=2 id=5" "ask tikv_list $pid words=3 id=6" \
	"ask activate $pid words=2 id=7" "ask activate $pid words=3 id=8" "ask mesos_start 0 words=1 flags=256 duration_ms=60000 id=9"
for i in 1 2 3 4 5 6 7 8 9; do hears "^answer $i refusal 2"; done
is "$(heard '^answer [1-9] refusal 2 .*bytes 0')" 9 'without --compat the broker refuses them itself'
is "$(active_of "$pid")" false 'without --compat: nothing is done'
assert_untouched "$leaky" 'without --compat: untouched'
order "ask status $pid id=10"
hears '^answer 10 refusal 0 code 0'
is "$(heard '^answer 10 refusal 0 code 0')" 1 'control: an allowed request is answered'
is_ended false "ask mesos_state $pid" "ask mesos_state $pid words=2" "ask mesos_state $pid words=4" "ask mesos_start $pid words=1" \
	"ask status 0 flags=256" "ask mesos_state $pid words=1 flags=256"
end_serve false
start_serve false --compat mesos
connect_to "$T/false.sock"
order "ask mesos_state $pid words=1 id=20" "ask mtev_state $pid words=2 id=21" "ask mesos_state 0 words=1 flags=256 id=22"
for i in 20 21 22; do hears "^answer $i "; done
is "$(heard '^answer 20 refusal 0 code 0')" 1 'control: with --compat it is answered'
is "$(heard '^answer 21 refusal 2 ')" 1 'a request of another service is refused'
is "$(heard '^answer 22 refusal 4 ')" 1 'a request without a process is refused'
end_serve false
for p in "$redis" "$unprofiled" "$external"; do assert_untouched "$p" 'at the end: untouched'; done

done_testing
