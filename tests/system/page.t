#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: its page in a browser, with a real redis-server: token, list, one process, recording under
# load, flame graph, difference, downloads, roles, keys, narrow and dark.
# tests/drivers/page-serve.mjs prints what it saw.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
need_tracefs # for `sample`

# KEEP=FOLDER keeps the screenshots.
pictures=${KEEP:-}
export T NO_PROXY='*'

# --- a redis, and another process, whose name is markup, without profiling ---
MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:14 start_redis
redis=$pid redis_sock=$sock
evil="$T/<b>x<img src=x>"
install -m 755 /bin/sleep "$evil"
LD_PRELOAD=libjemalloc.so.2 "$evil" 100000 &
other=$!
own "$other"
MALLOC_CONF=prof:false start_redis
bare=$pid bare_sock=$sock
mkdir -m 700 "$T/files"
for role in read profile control; do
	"$CTL" serve --token-file "$T/tokens" --new-token $role:$role >"$T/files/$role"
done
port=$(free_port)
start_serve page --listen "127.0.0.1:$port" --token-file "$T/tokens"
url=http://127.0.0.1:$port/
timeout -k 5 900 node tests/drivers/page-serve.mjs "$url" "$T/files" "$redis" "$redis_sock" "$other" \
	"$bare" "$bare_sock" ${pictures:+"$pictures"} >"$T/out" 2>"$T/err" || diag "$(<"$T/err")"
is "$(json '.failed // ""')" '' 'the walk through it is complete'

# --- for all pages ---
is "$(json '.complaints | join("\n")')" '' 'the browser has no complaints'
is "$(json '.violations | length')" 0 'the policy forbids nothing that is tried'
is "$(json '.elsewhere | join(" ")')" '' 'nothing is requested from another origin'
is "$(json '.unpinned | join(" ")')" '' 'no request has a pid without its start time'
is "$(json '.faults | join("\n")')" '' 'names, labels, headings, sizes, widths: wide and narrow'
is "$(json '.contrast | join("\n")')" '' 'text can be read, light and dark'
is "$(json '.still | join(" ")')" '0s 0.15s' 'reduced motion is respected'

# --- the token ---
is "$(json '.login | [.shown, .focused, .type, .asked] | tostring')" '[true,"token","text",1]' 'the token comes first, and nothing is asked without'
is "$(json .login.short)" 'A token has 64 hexadecimal digits.' 'a malformed token'
is "$(json '.login | [.wrong, .kept, .statuses, .twice] | tostring')" \
	'["The service does not know this token. It may have been withdrawn.",0,["401"],false]' 'an unknown token is not kept'
is "$(json '.login | [.role, .storage] | tostring')" '["control",[1,0,""]]' 'a known token: its role; kept only for the tab, and in no cookie'

# --- the list ---
is "$(json '.list.redis | [.[0, 1, 4, 6]] | join(" ")')" "$redis redis-server 5.3.0 off, can be turned on" 'redis is there'
is "$(json .list.other)" 'not started with prof:true; sample works' 'and a process that was not started for profiling'
is "$(json '.list | [.hostile, .markup] | tostring')" '["<b>x<img src=x>",0]' 'a name that is markup stays text'
is "$(json .list.sorted)" 'none none none none none descending none' 'the largest first, and marked so'
is "$(json '.list | .down == (.up | reverse) and .up == (.up | sort)')" true 'sorted by pid, both ways'
is "$(json .list.again)" ascending 'and marked so'
like "$(json '.list.paused | join(" ")')" '^true .*not refreshed' 'paused'
is "$(json '.crowd | [.same, .filtered] | tostring')" '[true,11]' '500 processes: rows stay, and can be filtered'
ok '500 processes: only what changed is touched' jq -e '.crowd.cells <= 500' "$T/out"
diag "500 processes: $(json .crowd.took) ms"

# --- keys ---
is "$(json '.keys.rows | join(" ")')" "$redis" 'filtered'
is "$(json '.keys.stops | join(", ")')" 'Pause, PID, Name, Unit, Container, jemalloc, RSS, Profiling, redis-server' 'Tab goes from the field to the process'
is "$(json '.keys.unseen | join(", ")')" '' 'each stop is visible'
is "$(json '.keys | [.hash, .focused] | join(" ")')" "#/process/$redis process-title" 'Enter opens it, and moves the focus'

# --- one process ---
is "$(json .asked.verdict)" 'It is ready.' 'check'
like "$(json .asked.bar)" "allocated by the program: .*%; .*files" 'explain: the bar in words'
ok 'explain: a bar of parts, and a table' jq -e '.asked | .pieces > 3 and .parts >= .pieces' "$T/out"
ok 'statistics: size classes and arenas' jq -e '.asked | .bins > 10 and .arenas >= 1' "$T/out"
is "$(json .asked.smallest)" '8 bytes' 'statistics: sorted'
like "$(json .asked.threads)" "${redis}redis-server" 'threads'
is "$(json '.switched | join(" ")')" 'false true on false' 'on and off, by keys'

# --- recording ---
is "$(json '.recorded | [.began, .label] | join(", ")')" \
	"The recording of redis-server ($redis) has begun: 3 s, progress of the recording of redis-server ($redis)" 'a recording: what is read out'
like "$(json .recorded.left)" '^[0-9]+ s left$' 'a recording: the time that is left'
is "$(json '.recorded.ended | join(", ")')" "done, The recording of redis-server ($redis): done" 'a recording: its end'
is "$(json .viewed.title)" "redis-server ($redis): heap profile" 'its flame graph'
like "$(json .viewed.matched)" '^matched [1-9][0-9.]* [KM]iB ' 'its flame graph has setCommand'
like "$(json .viewed.table)" '/profile\?.*view=table' 'the address has the view'
is "$(json .viewed.back)" "$(json .viewed.table)" 'Back undoes, step by step'
is "$(json '.compared | [.before, .hint] | tostring')" '[true,"and another one"]' 'two are compared, and no fewer'
like "$(json .compared.hash)" '^#/runs/[0-9]+/since/[0-9]+\?' 'a difference has an address'
like "$(json .compared.legend)" 'less than before.*more' 'a difference: what the colours say'
like "$(json .compared.total)" '^(\+|−)' 'a difference: the total'
is "$(json '.compared | [.back, .forward == .hash] | tostring')" '["#/runs",true]' 'Back and Forward'
is "$(json '.stopped | join(", ")')" "stopped, The recording of redis-server ($redis): stopped" 'stopped'
like "$(json .deleted.asked)" "^Delete the recording of redis-server \($redis\) of .*\?$" 'deleting needs a confirmation'
is "$(json '.deleted | [.open, .kept, .left] | tostring')" '[true,3,2]' 'deleted, when that was confirmed'
is "$("$CTL" status "$redis" --json | jq .prof.active)" false 'all is as it was'

# --- downloads ---
# fetched FORMAT: the download equals what curl gets
fetched()
{
	curl -sS -o "$T/curl" -H "Authorization: Bearer $(<"$T/files/profile")" "${url}api/v1/runs/$(json .run)/profile?format=$1"
	cmp "$T/curl" "$T/files/$(json ".downloads.$1.name")"
}
for format in heap pprof folded speedscope html svg json text; do
	ok "downloaded: $format is what curl gets" fetched $format
done
like "$(json .downloads.heap.name)" "^run-[0-9]+\.heap$" 'downloaded: the name'

# --- a profile taken just now ---
is "$(json '.dumped | [.title, .hash] | join(" ")')" "redis-server ($redis): heap profile #/process/$redis/profile?" 'a profile of now'
like "$(json .dumped.reloaded)" 'Take another one' 'it is not kept, and its address takes none'

# --- the snippets are those of the documentation ---
# block HEADING: print the fenced block below it
block()
{
	awk -v heading="## $1" '$0 == heading { here = 1 } here && /^```/ { if (on) exit; on = 1; next } on' doc/http-api.md
}
names=(Prometheus Parca 'Grafana Alloy')
for i in "${!names[@]}"; do
	is "$(json ".snippets[$i]")" "$(block "${names[i]}" | sed "s/127\.0\.0\.1:19477/127.0.0.1:$port/")" \
		"${names[i]}: as documented, with this address"
done
is "$(json '.walked | tostring')" '["#/scrape",true,"#/",true]' 'Back goes through the parts'

# --- a process without prof:true can be sampled ---
is "$(json .sampled.began)" "The sampling of redis-server ($bare) has begun: 3 s" 'a sampling: what is read out'
is "$(json '.sampled.ended | join(", ")')" "done, The sampling of redis-server ($bare): done" 'a sampling: its end'
like "$(json .sampled.title)" "^redis-server \($bare\): " 'a sampling: its flame graph'
like "$(json .sampled.matched)" '^matched [1-9][0-9.]* [KM]iB ' 'a sampling: who allocated is in it'
is "$(awk '/^TracerPid:/ { print $2 }' "/proc/$bare/status")" 0 'a sampling: the process goes on, and nobody traces it'

# --- a process that ends; roles ---
is "$(json .lost.title)" "<b>x<img src=x> ($other)" 'one that cannot be profiled'
like "$(json .lost.fix)" 'MALLOC_CONF=prof:true' 'the fix is shown'
is "$(json '.lost.can | tostring')" '[false,false,true]' 'it can only be sampled'
like "$(json .lost.said)" 'no process|no such process|has ended' 'it ended: it is reported'
is "$(json '.lost | [.statuses, .away] | tostring')" '[["404"],true]' 'and the message goes away'
is "$(json .forgotten)" 0 'the token is forgotten'
is "$(json '.reader.process | unique | join(", ")')" run 'the role read: no control except the link to the runs'
like "$(json .reader.words)" 'needs a token with the role control' 'the role read: what it needs'
is "$(json .reader.runs)" 0 'the role read: no control beside the runs'
is "$(json '.reader | [.refused[0], .statuses] | tostring')" \
	'["this needs a token with the role profile; yours has the role read",["403"]]' 'the role read: refused, with the role that is missing'
like "$(json '.reader.refused[1]')" 'jeprof-ctl serve --new-token profile' 'the role read: the fix is shown'
end_serve page
is "$(redis PING) $(awk '/^TracerPid:/ { print $2 }' "/proc/$redis/status")" 'PONG 0' 'redis goes on, and nobody traces it'

done_testing
