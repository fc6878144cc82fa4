#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The events of serve: each is delivered once and in order, or others are reported as lost. Also who
# may wait for them, and who may see what.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
# shellcheck source=tests/events.sh
. tests/events.sh

make_tokens
start_serve one --runs none --listen "127.0.0.1:$port" --token-file "$T/tokens"

# --- what an event is ---
at one '/api/v1/events?wait=0'
is "$code $body" '200 ' 'nothing happened'
like "$next" '^[0-9]{16}$' 'the id to continue from'
like "$(<"$T/head")" 'Content-Type: application/x-ndjson' 'its type'
began=$next
at one '/api/v1/runs?pid=7'
at one "/api/v1/events?since=$began"
as_schema 'an operation'
is "$(of '[.type, .op, .result, .pid, .comm, .run, .bytes, .stops, .shared, .error, .uid]')" \
	"[\"operation\",\"runs\",\"ok\",7,null,null,12,0,0,null,$(id -u)]" 'an operation: its fields'
is "$(of .id)" "$next" 'its id is the one to continue from'
ok 'its id is larger than the previous one' test "$next" -gt "$began"
at one "/api/v1/events?since=$next&wait=0"
is "$code $body" '200 ' 'it comes once: a poll causes no event'
at one /api/v1/processes/4194304/status
at one "/api/v1/events?since=$next&wait=0"
as_schema 'a failed operation'
is "$(of '[.op, .result, .pid]')" '["status","failed",4194304]' 'a failed operation: its fields'
like "$(of .error)" 'no process 4194304' 'a failed operation: the cause'

# --- each event once, and in order, over many polls ---
# follow SINCE UNTIL FILE: poll up to pid UNTIL, each time from where the last answer ended
follow()
{
	local since=$1 got

	: >"$3"
	while ! grep -q "\"pid\":$2," "$3"; do
		got=$(curl -sS --unix-socket "$T/one.sock" -w '\n%header{x-jeprof-next}' "http://localhost/api/v1/events?wait=60&since=$since") || return
		echo poll >>"$3.polls"
		since=${got##*$'\n'}
		got=${got%$'\n'*}
		[ -z "$got" ] || printf '%s\n' "${got%$'\n'}" >>"$3"
	done
}
# in_order N FILE: the pids are 1 to N
in_order()
{
	[ "$(jq -r .pid "$2" | paste -sd ' ')" = "$(seq -s ' ' "$1")" ] && [ "$(jq .id "$2")" = "$(jq .id "$2" | sort -nu)" ]
}
at one '/api/v1/events?wait=0'
follow "$next" 200 "$T/followed" &
follower=$!
own "$follower"
curl -sS --unix-socket "$T/one.sock" 'http://localhost/api/v1/runs?pid=[1-200]' >"$T/answers"
wait "$follower"
ok 'each event comes once, in order' in_order 200 "$T/followed" || diag "$(jq -c '[.id, .pid]' "$T/followed")"
ok 'over many polls' test "$(wc -l <"$T/followed.polls")" -gt 1
sed 100d "$T/followed" >"$T/damaged"
ok 'control: a lost event is detected' eval '! in_order 200 "$T/damaged"'
sed 100p "$T/followed" >"$T/damaged"
ok 'control: a duplicate event is detected' eval '! in_order 200 "$T/damaged"'

at one '/api/v1/events?wait=0'
since=$next
at one '/api/v1/runs?pid=7'
at one '/api/v1/runs?pid=8'
at one /api/v1/runs
at one "/api/v1/events?wait=0&pid=7&since=$since"
is "$(of '[.pid]')" '[7] [null]' 'of one process: its own, and those of no process'
at one '/api/v1/runs?pid=8'
at one "/api/v1/events?wait=0&pid=7&since=$next"
is "$body" '' 'of one process: none of another'
at one "/api/v1/events?wait=0&since=$next"
is "$body" '' 'of one process: the id skips those of another'

# --- who may see what ---
since=$next
with "${token[read]}" -X POST /api/v1/processes/7/activate
is "$code" 403 'a denied operation'
with "${token[control]}" '/api/v1/runs?pid=9'
for role in read profile; do
	with "${token[$role]}" "/api/v1/events?wait=0&since=$since"
	as_schema "$role"
	is "$(of '[.pid, .op, .result]')" '[7,"activate","denied"] [9,"runs","ok"]' "$role: what was done"
	unlike "$body" 'its-name|127\.0\.0\.1|"uid"|"token"' "$role: not who did it"
done
with "${token[control]}" "/api/v1/events?wait=0&since=$since"
as_schema control
is "$(of '[.address | startswith("127.0.0.1:")] + [.token]')" '[true,"its-name"] [true,"its-name"]' 'control: who did it'
at one "/api/v1/events?wait=0&since=$next"
ask "http://127.0.0.1:$port/api/v1/events?wait=0"
is "$code" 401 'without a token'
with "$(printf '%064d' 0)" /api/v1/runs
is "$code" 401 'with an unknown token'
at one "/api/v1/events?wait=0&since=$next"
is "$body" '' 'an unknown client causes no event'
is "$(said one 'result=unknown')" 2 'control: it is logged'

# --- events that are no longer kept ---
since=$next
with "${token[read]}" '/api/v1/runs?pid=10'
# All are refused, without starting a process.
curl -sS --noproxy '*' -H "Authorization: Bearer ${token[read]}" -X POST "http://127.0.0.1:$port/api/v1/processes/[1-1024]/activate" >/dev/null
at one "/api/v1/events?wait=0&since=$since"
as_schema 'too old'
is "$(jq -c '[.type, .what, .count, .since]' "$T/body" | head -n 1)" "[\"lost\",\"events\",null,$since]" 'too old: the loss comes first'
is "$(tail -n +2 "$T/body" | jq -r .pid | paste -sd ' ')" "$(seq -s ' ' 1024)" 'too old: then all that are kept'
oldest=$(head -n 1 "$T/body" | jq .id)
at one "/api/v1/events?wait=0&since=$oldest"
is "$(wc -l <"$T/body") $(grep -c '"lost"' "$T/body")" '1024 0' 'the oldest that is kept: nothing is lost'
at one "/api/v1/events?wait=60&since=$((oldest - 1))"
is "$(head -n 1 "$T/body" | jq -r .type)" lost 'the one before that: lost, at once'

# --- clients that wait ---
# waits N: start N clients, each on its own connection. Sets `waiters`; their answers are in $T/got.
# A client that comes while is_full asks may be told that the service is busy: it asks again.
waits()
{
	: >"$T/got"
	python3 - "$T/one.sock" "$1" >"$T/got" <<-'PYTHON' &
		import select, socket, sys, time
		def ask():
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(b"GET /api/v1/events?wait=60 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		    return s
		clients = [ask() for _ in range(int(sys.argv[2]))]
		while clients:
		    for s in select.select(clients, [], [])[0]:
		        data = b""
		        while part := s.recv(65536):
		            data += part
		        clients.remove(s)
		        if b'"busy"' in data and b'is ending' not in data:
		            time.sleep(0.1)
		            clients.append(ask())
		            continue
		        status = data.split(b" ")[1].decode() if data else "cut"
		        print(status, data.split(b"\r\n\r\n")[-1].decode().replace("\n", " "), flush=True)
	PYTHON
	waiters=$!
	own "$waiters"
}
has_room()
{
	at one '/api/v1/events?wait=0'
	[ "$code" = 200 ]
}
is_full()
{
	! has_room
}
waits 63
curl -sS --retry 60 --unix-socket "$T/one.sock" 'http://localhost/api/v1/events?wait=60' >"$T/alone" &
alone=$!
own "$alone"
ok '64 clients wait' within 60 is_full
at one /api/v1/events
is "$code $(jq -r .error.code "$T/body")" '503 busy' 'one more: refused'
like "$(<"$T/head")" 'Retry-After: 1' 'one more: when to try again'
is "$(find "/proc/$serve/task/$serve/children" -exec wc -w {} + | awk '{ print $1 }')" 1 'waiting needs no process'
end_child "$alone" -KILL
wait "$alone" 2>/dev/null
ok 'one leaves: its place is free' within 60 has_room
at one '/api/v1/runs?pid=11'
wait "$waiters"
is "$(wc -l <"$T/got") $(cut -d ' ' -f 1 "$T/got" | sort -u)" '63 200' 'all get the event'
is "$(cut -d ' ' -f 2- "$T/got" | sort -u | jq -c '[.op, .pid]')" '["runs",11]' 'the same for all'

# The HTTP process is killed: its clients are cut off, and others can wait.
waits 64
ok '64 wait again' within 60 is_full
kill -KILL "$(pgrep -P "$serve" -f libexec/jeprof-ctl/http)"
wait "$waiters"
is "$(cut -d ' ' -f 1 "$T/got" | sort | uniq -c | xargs)" '64 cut' \
	'the HTTP process is killed: clients are cut off'
ok 'the HTTP process is killed: their places are free' within 60 has_room

# --- the service ends, and is started again ---
before=$next
waits 64
ok '64 wait for the end' within 60 is_full
end_serve one
wait "$waiters"
is "$(cut -d ' ' -f 1 "$T/got" | sort | uniq -c | xargs)" '64 503' 'the service ends: waiting clients are answered'
like "$(<"$T/got")" 'the service is ending' 'the service ends: the cause'
start_serve one --runs none
at one "/api/v1/events?since=$before"
as_schema 'after a restart'
is "$(of '[.type, .what, .since]')" "[\"lost\",\"events\",$before]" 'after a restart: a possible loss is reported'
ok 'after a restart: ids are larger' test "$next" -gt "$before"
at one "/api/v1/events?since=9999999999999999"
is "$(of .type) $next" "lost $(of .id)" 'an id from the future: reported at once'
end_serve one

# --- a compromised front ---
use_false_front
start_serve false --runs none
connect_to "$T/false.sock"
order 'ask events 0 format=10 seconds=60 id=1' 'ask runs 0 id=2'
hears '^answer 2 '
hears '^answer 1 refusal 0 code 0 .*run [0-9]* .*"op":"runs"'
ok 'control: valid requests are answered' test "$(heard '^answer 1 refusal 0 code 0')" = 1
order 'ask events 0 seconds=60 id=0' 'ask events 0 seconds=60 id=3' 'ask events 0 seconds=60 id=3' 'cancel id=3' 'cancel id=3' \
	'ask events 0 flags=512 since=1 id=4'
hears '^answer 4 refusal 0 code 0 .*"lost"'
ok 'invalid ids: the broker continues' kill -0 "$serve"
order 'ask events 0 seconds=61 id=5'
says false 'sent an invalid message'
is "$(said false 'sent an invalid message')" 1 'a wait of more than a minute is invalid'
connect_to "$T/false.sock"
order 'deaf' 'ask events 0 seconds=0 id=6'
ok 'a front that stops reading answers is replaced' within 60 eval '[ "$(said false "front end exited")" = 1 ]'
connect_to "$T/false.sock"
order 'ask events 0 seconds=0 id=7'
ok 'the next front works' hears '^answer 7 refusal 0 code 0'
end_serve false

done_testing
