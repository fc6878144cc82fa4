#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: what the process that may trace does, whatever the HTTP process sends. The latter is
# compromised here: tests/drivers/front.py replaces it, and sends what it is told to.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

OK=0 FULL=3
UNKNOWN='refusal 1 ' DENIED='refusal 2 ' DONE='refusal 0 code 0 '

# children: count the broker's, without zombies
children()
{
	ps -o pid=,stat= --ppid "$serve" | awk '$2 !~ /^Z/' | wc -l
}
prof_active()
{
	run_ctl get "$1" prof.active
	echo "${out##* }"
}

# --- without a working front ---
rm "$FRONT"
ctl_fails 1 'front_missing install_front' 'no HTTP program' serve --socket "$T/none.sock"
ok 'no socket is left' test ! -e "$T/none.sock"
printf '#!/bin/sh\nexit 3\n' >"$FRONT"
chmod +x "$FRONT"
ctl_fails 1 'front_unready' 'an HTTP program that exits at once' serve --socket "$T/none.sock"
ok 'no socket is left' test ! -e "$T/none.sock"
touch "${FRONT%/*}/UNREADY"
use_false_front

# --- errors on the command line ---
ctl_fails 2 'listen_needs_tokens give_tokens' 'a port without tokens' serve --listen 127.0.0.1:0
run_ctl serve --token-file "$T/tokens" --new-token control:tester
is "$status $(wc -c <"$T/out")" "0 65" 'a token is created'
token=$out
ctl_fails 2 'address_malformed' 'no port' serve --listen 127.0.0.1 --token-file "$T/tokens" --socket none
ctl_fails 2 'listen_beyond_loopback listen_on_loopback' 'a port on all addresses' \
	serve --listen 0.0.0.0:0 --token-file "$T/tokens" --socket none
ctl_fails 2 'token_role' 'no such role' serve --token-file "$T/tokens" --new-token admin
ctl_fails 2 'option_needs' 'a token without its file' serve --new-token read
ctl_fails 2 'no_such_group' 'no such group' serve --socket "$T/none.sock" --group nobodys-group
ok 'no socket is left' test ! -e "$T/none.sock"
: >"$T/file"
ctl_fails 1 'socket_failed' 'a file where the socket should be' serve --socket "$T/file"
ok 'the file is left' test -f "$T/file"

# --- serve is ready when the front is ---
"$CTL" serve --socket "$T/unready.sock" 2>"$T/unready.err" </dev/null &
serve=$!
own "$serve"
hears '^began'
is "$(said unready '^serving')" 0 'a front that is not confined yet: it does not serve'
order 'ask list 0'
within 60 eval "! kill -0 $serve"
status=0
wait "$serve" || status=$?
is "$status" 1 'a request before it is confined ends serve'
rm "${FRONT%/*}/UNREADY"

# --- who may do what ---
MALLOC_CONF=$PROF start_victim leaky
target=$pid
snapshot "$target"
before=$(prof_active "$target")
start_serve main
is "$(stat -c '%a %F' "$T/main.sock")" '600 socket' 'only the owner can use its socket'
order "ask list 0"
hears '^answer'
like "$(tail -n 1 "${FRONT%/*}/HEARD")" "$UNKNOWN" 'no connection: refused'
connect_to "$T/main.sock"
order "ask list $target"
hears "^answer .*$DONE.*\"pid\":$target"
order "ask dump $target format=4"
hears "^answer .*$DONE.*format heap .*name leaky\.$target\.[0-9]{8}T[0-9]{6}Z\.heap body heap_v2/"
order "ask status $target connection=77" "ask activate $target connection=0"
hears "^answer .*$UNKNOWN" 3
is "$(heard "$UNKNOWN")" 3 'invalid connections: refused'
order "ask activate $target" # control: this one may
hears "^answer .*$DONE.*\"changed\":true"
is "$(prof_active "$target")" true 'control: a permitted request is carried out'
order "ask deactivate $target"
hears "^answer .*$DONE.*\"changed\":true" 2
is "$(heard writable)" 0 'the front cannot change an answer that it has'
is "$(said main 'op=activate result=ok uid=0 .*pid='"$target"' comm="leaky"')" 1 'the log shows who did what'
number=$(sed -n 's/^connection \([0-9]*\) .*/\1/p' "${FRONT%/*}/HEARD" | tail -n 1)
order "closed connection=$number" "ask status $target connection=$number"
hears "^answer .*$UNKNOWN" 4
end_serve main
ok 'its socket goes with it' test ! -e "$T/main.sock"
hears '^(finish|end)'

start_serve read --read-only
connect_to "$T/read.sock"
order "ask activate $target" "ask deactivate $target" "ask reset $target"
hears "^answer .*$DENIED" 3
order "ask status $target id=900"
hears "^answer 900 $DONE.*\"pid\":$target"
is "$(prof_active "$target")" "$before" 'read-only: nothing is changed'

# --- an invalid message ends it, and it is restarted ---
is_ended read short 'raw 00' 'kind 0' 'kind 6' 'kind 77' ready loaded 'loaded id=99' 'ask list 0 version=2' 'ask 0 0' 'ask 99 0' \
	'ask status 0' 'ask status -1' 'ask list 0 format=11' 'ask list 0 seconds=1' 'ask list 0 flags=0x80000000' 'ask symbols 1' \
	'ask dump 1 seconds=3601' 'ask reset 1 lg_sample=64' 'ask reset 1 lg_sample=-1'
ends=$(said read 'sent an invalid message')
order fd 'ask list 0'
says read 'sent an invalid message' $((ends + 1))
is "$(said read 'sent an invalid message')" $((ends + 1)) 'a descriptor that does not belong to it ends it'
hears '^began' $((ends + 4))
order mute
says read 'front end exited \(signal Killed\)'
is "$(said read 'front end exited \(signal Killed\)')" 1 'a front that closes its end, but goes on, is killed'
hears '^began' $((ends + 5))
connect_to "$T/read.sock"
order "ask list $target"
hears "^answer .*$DONE.*\"pid\":$target" 3
is "$(prof_active "$target")" "$before" 'none of it changed anything'
end_serve read

# --- how many run at once, and how many wait ---
start_serve full
connect_to "$T/full.sock"
waiting=()
for ((i = 1; i <= 16; i++)); do
	waiting+=("ask dump $target seconds=$((3000 + i)) id=$((1000 + i))")
done
order "${waiting[@]}" "ask dump $target seconds=3600 id=2000"
hears '^answer 2000'
like "$(grep -a '^answer 2000' "${FRONT%/*}/HEARD")" "refusal $FULL " 'more than 16 long requests: refused for now'
order "ask status $target id=2001"
hears '^answer 2001'
like "$(grep -a '^answer 2001' "${FRONT%/*}/HEARD")" "$DONE" 'nothing else waits for them'
for ((i = 16; i >= 1; i--)); do
	order "cancel id=$((1000 + i))"
done
says full 'op=dump result=failed' 16
is "$(said full 'op=dump result=failed')" 16 'running requests are ended'
is "$(children)" 1 'and their processes are gone'
order "ask status $target id=2002"
hears "^answer 2002 refusal $OK"
assert_untouched "$target" 'cancelled dumps: untouched'

# --- one profile for several clients ---
order "ask dump $target format=4 id=3001" "ask dump $target format=4 id=3002" "ask dump $target format=5 id=3003"
hears '^answer 300[123]' 3
is "$(said full 'op=dump result=ok .* shared=1$')" 1 'two requests for the same profile: one dump'
is "$(said full 'op=dump result=ok .* shared=0$')" 1 'another format: another dump'

# --- when the front or the broker ends ---
order "ask dump $target seconds=3000 id=4001" 'exit 7'
says full 'front end exited \(status 7\)'
says full 'op=dump result=failed' 17
hears '^began' $((ends + 7))
is "$(children)" 1 'a front that ended: its requests end, too'
connect_to "$T/full.sock"
order "ask dump $target seconds=3000 id=4002"
within 60 eval '[ "$(children)" = 2 ]'
end_serve full
is "$(said full 'op=dump result=failed')" 18 'Ctrl-C: running requests end cleanly'
assert_untouched "$target" 'ended: untouched'

start_serve killed
connect_to "$T/killed.sock"
order "ask dump $target seconds=3000 id=5001"
within 60 eval '[ "$(children)" = 2 ]'
left=$(ps -o pid= --ppid "$serve")
end_serve killed 137 -KILL
# shellcheck disable=SC2086 # pids
within 60 eval "! ps -o pid= -p $(echo $left | tr ' ' ,)" || true
# shellcheck disable=SC2086 # pids
is "$(ps -o pid= -p "$(echo $left | tr ' ' ,)")" '' 'killed: its processes end'
assert_untouched "$target" 'killed: untouched'
ok 'its socket is left' test -S "$T/killed.sock"
start_serve killed
ok 'a stale socket is no obstacle' test -S "$T/killed.sock"
ctl_fails 7 'socket_taken' 'a socket in use is refused' serve --socket "$T/killed.sock"
ok 'and stays' test -S "$T/killed.sock"
end_serve killed

# --- two are started at once: the first has bound its socket, but does not listen yet ---
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -D -o "$T/strace" -e trace=bind -e inject=bind:signal=SIGSTOP:when=1 \
	"$CTL" serve --socket "$T/pair.sock" --runs none >"$T/pair.out" 2>"$T/pair.err" </dev/null &
serve=$!
own "$serve"
within 60 grep -q 'stopped by SIGSTOP' "$T/strace"
ok 'two at once: control: nobody listens' eval '! curl -s --unix-socket "$T/pair.sock" http://localhost/healthz'
"$CTL" serve --socket "$T/pair.sock" --runs none >"$T/second.out" 2>"$T/second.err" </dev/null &
second=$!
own "$second"
within 60 eval 'find /proc/$second/fd -lname "$T/pair.sock.lock" | grep -q . || grep -q "^serving on" "$T/second.err"'
kill -CONT "$serve"
within 60 serves pair
within 60 eval '! kill -0 $second || grep -q "^serving on" "$T/second.err"'
end_child "$second" -INT
status=0
wait "$second" || status=$?
is "$status $(grep -c '^serving on' "$T/second.err")" '7 0' 'two at once: the second detects the first' || diag "$(<"$T/second.err")"
like "$(ss -xlH src "$T/pair.sock" | wc -l)" '^1$' 'two at once: one socket listens'
end_serve pair
is "$(compgen -G "$T/pair.sock*")" '' 'two at once: neither the socket nor a lock is left'
# One that is ending has seen that the socket is its own, but has not removed it yet.
strace -D -o "$T/strace" -P "$T/ending.sock" -e trace=newfstatat -e inject=newfstatat:signal=SIGSTOP:when=3 \
	"$CTL" serve --socket "$T/ending.sock" --runs none >"$T/ending.out" 2>"$T/ending.err" </dev/null &
serve=$!
own "$serve"
within 60 serves ending
kill -INT "$serve"
within 60 grep -q 'stopped by SIGSTOP' "$T/strace"
"$CTL" serve --socket "$T/ending.sock" --runs none >"$T/second.out" 2>"$T/second.err" </dev/null &
second=$!
own "$second"
within 60 eval '! kill -0 $second || grep -q "^serving on" "$T/second.err"'
end_child "$second" -INT
status=0
wait "$second" || status=$?
is "$status $(grep -c '^serving on' "$T/second.err")" '7 0' 'one that ends: its socket is not taken from it' || diag "$(<"$T/second.err")"
kill -CONT "$serve"
within 60 eval '! kill -0 $serve'
is "$(compgen -G "$T/ending.sock*")" '' 'one that ends: nothing is left'
start_serve later
rm "$T/later.sock"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/later.sock"
end_serve later
ok 'the socket of another one is left alone' test -S "$T/later.sock"

# --- a front that asks more than it reads, and ends ---
start_serve flood
began=$(heard '^began')
mapfile -t flood < <(yes 'ask list 0 connection=77' | head -n 3000)
order "${flood[@]}" 'exit 1'
hears '^began' $((began + 1))
is "$(said flood 'front end exited \(status 1\)')" 1 'its exit is noticed, and another one starts' || diag "$(<"$T/flood.err")"
connect_to "$T/flood.sock"
order "ask list $target id=5000"
hears "^answer 5000 $DONE"
is "$(heard "^answer 5000 $DONE")" 1 'the new one is answered'
end_serve flood

# --- ports ---
port=$(free_port)
start_serve port --listen "127.0.0.1:$port" --token-file "$T/tokens"
connect_to "$port"
order "ask list $target id=6001" "ask activate $target id=6002"
hears "^answer 600[12] $UNKNOWN" 2
is "$(prof_active "$target")" "$before" 'a port: no access without a token'
like "$(grep -a '^connection' "${FRONT%/*}/HEARD" | tail -n 1)" 'transport 1' 'the front knows that it is a port'
is "${#token}" 64 'control: there is a token'
before=$(heard '^connection')
python3 - "$port" "$T/many" <<-'PYTHON' &
	import socket, sys, time
	all = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(520)]
	for s in all[-4:]:
	    s.recv(1)
	open(sys.argv[2], "w")
	time.sleep(100000)
PYTHON
own $!
within 120 test -e "$T/many"
connect_to "$T/port.sock"
hears '^connection' $((before + 512)) # connect_to may have waited for one of these
is "$(($(heard '^connection') - before))" 512 'connections to a port: half of all, and room for the owner'
end_serve port
assert_untouched "$target"

done_testing
