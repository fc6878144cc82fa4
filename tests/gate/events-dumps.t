#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve --watch: every dump on the machine is an event, or is counted, even if the process that
# watches is killed. The kernel may also forbid watching.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
# shellcheck source=tests/events.sh
. tests/events.sh
# shellcheck source=tests/watching.sh
. tests/watching.sh

# dumps SINCE FILTER: print the dumps since then, through jq
dumps()
{
	at watched "/api/v1/events?wait=0&since=$1"
	jq -c "select(.type == \"dump\") | $2" "$T/body"
}
MALLOC_CONF=prof:true,prof_active:false start_dumper dumper-hidden.stripped
hidden=$pid
MALLOC_CONF=prof:true,prof_active:false start_redis
load_redis 10
snapshot "$pid"
make_tokens
start_serve watched --watch --listen "127.0.0.1:$port" --token-file "$T/tokens"
says watched '^watching [1-9][0-9]* process'
is "$(said watched "warning: $hidden \(dumper-hidden\.s\): prof_dump was not found; its dumps are seen only by")" 1 \
	'a process that is watched only in part: a warning' || diag "$(<"$T/watched.err")"
at watched '/api/v1/events?wait=0'
begin=$next
redis DEBUG MALLCTL-STR prof.dump "$T/manual.heap" >/dev/null
ok 'a dump is reported' within 60 eval '[ -n "$(dumps $begin .file)" ]'
as_schema 'a dump'
is "$(dumps "$begin" '[.pid, .comm, .kind, .ok, .file, .source, .by]')" "[$pid,\"redis-server\",\"manual\",true,\"$T/manual.heap\",\"uprobe\",null]" \
	'a dump: its fields'
is "$(dumps "$begin" '.stack[0].name | startswith("prof_dump")')" true 'a dump: its stack, for a client with all rights'
for role in read profile; do
	with "${token[$role]}" "/api/v1/events?wait=0&since=$begin&pid=$pid"
	as_schema "$role: a dump"
	is "$(of '[.file, has("stack")]')" "[\"$T/manual.heap\",$([ $role = read ] && echo false || echo true)]" "$role: a dump"
done
at watched -X POST "/api/v1/processes/$pid/dump"
is "$code" 200 'a dump of our own'
ok 'a dump of our own: identified as such' within 60 eval '[ "$(dumps $begin "select(.by != null) | .by")" = "\"jeprof-ctl\"" ]'

# More dumps than can be reported, as the broker is stopped meanwhile: each is reported or counted.
at watched "/api/v1/events?wait=0"
begin=$next
kill -STOP "$serve"
printf "DEBUG MALLCTL-STR prof.dump $T/own.%s.heap\n" {1..400} | redis >/dev/null
kill -CONT "$serve"
files=$(find "$T" -maxdepth 1 -name 'own.*.heap' | wc -l)
is "$files" 400 'control: there are many dumps'
# told SINCE: print how many dumps were reported or counted
told()
{
	at watched "/api/v1/events?wait=0&since=$1"
	jq -s '[.[] | if .type == "dump" then 1 elif .type == "lost" then .count else 0 end] | add' "$T/body"
}
ok 'each is reported or counted' within 120 eval '[ "$(told $begin)" = "$files" ]' || diag "$(told "$begin") of $files: $(<"$T/watched.err")"
as_schema 'dumps that were lost'
is "$(jq -c 'select(.type == "lost") | .what' "$T/body" | sort -u)" '"dumps"' 'not all of them are reported'
ok 'some of them are reported' test "$(grep -c '"type":"dump"' "$T/body")" -gt 20
at watched /healthz
is "$code" 200 'meanwhile it answers other requests'

# The process that watches is killed: it is started again.
watcher=$(pgrep -P "$serve" | grep -vxF "$(pgrep -P "$serve" -f libexec/jeprof-ctl/http)")
is "$(wc -w <<<"$watcher")" 1 'one process watches'
kill -KILL "$watcher"
says watched 'dumps are not watched: .*died: Killed'
says watched '^watching [1-9][0-9]* process' 2
at watched '/api/v1/events?wait=0'
begin=$next
redis DEBUG MALLCTL-STR prof.dump "$T/again.heap" >/dev/null
ok 'killed: the next watcher sees dumps' within 60 eval '[ "$(dumps $begin .file)" = "\"$T/again.heap\"" ]'
end_serve watched
assert_untouched "$pid" 'watched: untouched'
redis DEBUG MALLCTL-STR prof.dump "$T/later.heap" >/dev/null

# --- the kernel forbids watching ---
cp -r "$T/libexec" "$T/bound"
real=$CTL
cat >"$T/bounded" <<END
#!/bin/sh
exec setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-all "$real" "\$@"
END
chmod 755 "$T/bounded"
CTL=$T/bounded
start_serve bounded --watch
CTL=$real
says bounded 'dumps are not watched: '
is "$(said bounded 'dumps are not watched: ')" 1 'without eBPF: reported once, with the cause' || diag "$(<"$T/bounded.err")"
at bounded /api/v1/runs
is "$code" 200 'without eBPF: the service continues'
end_serve bounded
assert_untouched "$pid" 'at the end: untouched'

done_testing
