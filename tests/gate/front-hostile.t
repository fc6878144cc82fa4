#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP process alone: the rights that it drops, and what clients, other sites and a slow broker
# can do to it. The control is a build that drops nothing and accepts every origin.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/front.sh
. tests/front.sh

api=/api/v1/processes
never=1201
big=1204
careless=$ROOT/$B/tests/careless/http
[ -x "$careless" ] || careless=$ROOT/build/tests/careless/http

status_of()
{
	awk -v name="$1:" '$1 == name { print $2 }' "/proc/$front/status"
}

limit_of()
{
	awk -v name="Max $1" 'index($0, name) == 1 { print $(NF - 1) }' "/proc/$front/limits"
}

# its_descriptors: print their kinds, except for those from the test
its_descriptors()
{
	find "/proc/$front/fd" -mindepth 1 ! -name 0 ! -name 1 ! -name 2 -printf '%l\n' |
		sed 's/:\[[0-9]*\]$//; s/^\/memfd:.*/memfd/' | sort -u | paste -sd' '
}

# confined: print "yes", or what it still has
confined()
{
	local has=

	for caps in CapInh CapPrm CapEff CapBnd CapAmb; do
		[ "$(status_of $caps)" = 0000000000000000 ] || has+="$caps "
	done
	[ "$(status_of Uid)" -ge $((0x70000000)) ] || has+='Uid '
	[ "$(status_of Gid)" -ge $((0x70000000)) ] || has+='Gid '
	[ "$(awk '/^Groups:/ { print NF }' "/proc/$front/status")" = 1 ] || has+='Groups '
	[ "$(status_of NoNewPrivs)" = 1 ] || has+='NoNewPrivs '
	[ "$(status_of Seccomp)" = 2 ] || has+='Seccomp '
	[ -z "$(ls -A "/proc/$front/root/")" ] || has+='root '
	[ -z "$(ls -A "/proc/$front/cwd/")" ] || has+='cwd '
	[ "$(limit_of 'core file size') $(limit_of processes)" = '0 0' ] || has+='limits '
	echo "${has:-yes}"
}

# --- controls ---
start_front "$careless"
is "$(confined)" 'CapPrm CapEff CapBnd Uid Gid NoNewPrivs Seccomp root cwd limits ' 'the careless build drops nothing'
send $api -H 'Origin: http://evil.example'
is "$code" 200 'the careless build answers another site'
send_tcp $api -H 'Host: evil.example'
is "$code" 200 'the careless build answers under another name'
exec {broker}>&-
ends_with 0 'it ends with the broker'

# --- what it drops ---
start_front "$http_of_build" --host node7
is "$(find /run /tmp /var/tmp /dev/shm -maxdepth 2 -name 'front.??????' ! -path "$T/*" | wc -l)" 0 'its root directory is unlinked'
is "$(confined)" yes 'it is confined'
is "$(its_descriptors)" 'anon_inode:[eventpoll] socket' 'its descriptors'
is "$(readlink "/proc/$front/fd/1")" /dev/null 'its output goes to /dev/null'
# Sanitizer reports must be visible.
is "$(readlink "/proc/$front/fd/2" | grep -cx /dev/null)" "$(is_sanitized && echo 0 || echo 1)" 'it adds nothing to the log'
fds_at_rest=$(fds_of_front)

# --- clients that disconnect ---
# leaves ADDRESS ID NAME: a client ends before its question, which has this number, is answered
leaves()
{
	tests/drivers/http raw "$1" "GET $api/$never/status HTTP/1.1\r\nHost: localhost\r\n\r\n" >"$T/out" &
	own $!
	within 60 grep -q "^ask connection=[0-9]* id=$2 " "$broker_log"
	end_child $! -KILL
	ok "$3" within 60 grep -q "^cancel connection=[0-9]* id=$2\$" "$broker_log"
}
leaves "$sock" 1 'a client disconnects: the broker is told'
leaves "$port" 2 'a client disconnects: over TCP, too'
ok 'its connection is reported as closed' within 60 grep -q '^closed connection=2 ' "$broker_log"
is_raw '200 closed' 'a half-closed one is answered' --half "GET $api HTTP/1.1\r\nHost: x\r\n\r\n"
is "$(grep -c ^cancel "$broker_log")" 2 'a half-closed one is not cancelled'
has_let_go 'nothing of them is left'

# --- pages of other sites ---
# refused CODE NAME FUNCTION URI [OPTIONS...]: the request must get this status
refused()
{
	local want=$1 name=$2 how=$3

	shift 3
	"$how" "$@"
	is "$code" "$want" "$name"
}
for what in 'Origin: http://localhost' 'Origin: null' 'Referer: http://localhost/'; do
	refused 403 "socket: $what" send $api -H "$what"
done
refused 200 'socket: any name' send $api -H 'Host: evil.example'
for what in evil.example localhost.evil.example "evil.example:$port" 127.0.0.2 ''; do
	refused "$([ -n "$what" ] && echo 421 || echo 400)" "TCP: the name '$what'" send_tcp $api -H "Host:${what:+ $what}"
done
refused 421 'TCP: a name that is not ours' send_tcp / -H 'Host: evil.example'
like "$body" ' --host NAME ' 'TCP: a name that is not ours: the fix'
for what in localhost localhost:1 127.0.0.1 '[::1]:80' node7 node7:1; do
	refused 200 "TCP: the name '$what'" send_tcp $api -H "Host: $what"
done
refused 403 'TCP: GET from another site' send_tcp $api -H 'Origin: http://evil.example'
refused 200 'TCP: GET from our own page' send_tcp $api -H "Origin: http://localhost:$port"
post=(-X POST)
refused 200 'TCP: POST, not from a browser' send_tcp $api/7/activate "${post[@]}"
refused 200 'TCP: POST from our own page' send_tcp $api/7/activate "${post[@]}" -H 'Sec-Fetch-Site: same-origin'
refused 403 'TCP: POST, cross-site' send_tcp $api/7/activate "${post[@]}" -H 'Sec-Fetch-Site: cross-site'
refused 403 'TCP: POST, same-site' send_tcp $api/7/activate "${post[@]}" -H 'Sec-Fetch-Site: same-site'
refused 403 'TCP: POST from another port' send_tcp $api/7/activate "${post[@]}" -H 'Origin: http://localhost:1'
refused 403 'TCP: a form on another site' send_tcp $api/7/dump --data x=1 -H 'Origin: http://evil.example' -H 'Sec-Fetch-Site: cross-site'
is "$(grep -c 'evil' "$broker_log")" 0 'none of it reached the broker'

# --- requests that could be taken for two ---
begin='POST /pid/7/pprof/symbol HTTP/1.1\r\nHost: x\r\n'
inner="GET $api/666/status HTTP/1.1\r\nHost: x\r\n\r\n"
size=$(printf '%b' "$inner" | wc -c)
is_raw '411 closed' 'two lengths: CL and TE' --half "${begin}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n$inner"
is_raw '411 closed' 'TE alone' --half "${begin}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n$inner"
is_raw '411 closed' 'an unknown TE' --half "${begin}Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\n0x1a$inner"
is_raw '400 closed' 'TE with a blank before the colon' --half "${begin}Transfer-Encoding : chunked\r\nContent-Length: 4\r\n\r\n0x1a$inner"
is_raw '400 closed' 'TE in a folded line' --half "${begin}X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0x1a$inner"
is_raw '400 closed' 'CL twice' --half "${begin}Content-Length: 4\r\nContent-Length: 5\r\n\r\n0x1a$inner"
for length in +4 -4 0x4 '4, 4' 4a '' 99999999999999999999; do
	like "$(raw --half "${begin}Content-Length: $length\r\n\r\n0x1a$inner")" '^(4.. )?closed$' "an invalid length: '$length'"
done
is_raw '200 closed' 'a body that is not needed is no request' --half "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: $size\r\n\r\n$inner"
is_raw '404 closed' 'nor is a body sent to an unknown page' --half "GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: $size\r\n\r\n$inner"
is_raw '405 closed' 'nor is a body with another method' --half "DELETE /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: $size\r\n\r\n$inner"
is_raw '400 closed' 'Host twice' --half "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"
is_raw '400 closed' 'Authorization twice' --half "GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n"
is "$(grep -c 'pid=666' "$broker_log")" 0 'no hidden request reached the broker'
is_raw '200 200 closed' 'control: two real requests' --half "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET $api/666/status HTTP/1.1\r\nHost: x\r\n\r\n"
is "$(grep -c 'pid=666' "$broker_log")" 1 'control: the second one reaches the broker'

# --- requests that are too long, or incomplete ---
for text in 'GET /heal' "${begin}Content-Length: 100\r\n\r\n0x1a" 'GET /healthz HTTP/1.1\r\nHost: x\r\n' '\x16\x03\x01\x02\x00\x01'; do
	is_raw left "half a request: ${text:0:30}" --leave "$text"
done
like "$(raw 'GET /healthz HTTP/1.1\r\nHost: x\r\nX: a*65536' '\r\n\r\n')" '^(4[0-9]+ )?closed$' 'a header of 64 KiB'
like "$(raw 'GET /a*65536' ' HTTP/1.1\r\nHost: x\r\n\r\n')" '^(4[0-9]+ )?closed$' 'a path of 64 KiB'
is_raw '414 closed' 'a path of 3,000 bytes' 'GET /a*3000' ' HTTP/1.1\r\nHost: x\r\n\r\n'
is_raw '400 closed' 'a path that is an address' 'GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
for line in '/healthz\x00x' '/healthz\x00' '/healthz?\x00x' '/\x00' '/nothing\x00/healthz'; do
	is_raw '400 closed' "a NUL byte: $line" "GET $line HTTP/1.1\r\nHost: x\r\n\r\n"
done
is_raw '400 closed' 'a NUL byte: the method' 'GET\x00X /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
is_raw '505 closed' 'another version' 'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n'
is_raw '200 open' 'it still answers' 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
has_let_go 'nothing of them is left either'

# --- many connections ---
ok 'its limit is 4,096 descriptors' test "$(limit_of 'open files')" -eq 4096
is "$(tests/drivers/http idle "$sock" 1000 "GET $api HTTP/1.1\r\nHost: x\r\n\r\n")" '1000 200' '1,000 idle connections, and one that works'
has_let_go '1,000 connections have ended'
is "$(tests/drivers/http beyond "$sock" 1100)" '1024 76' '1,024 connections, and no more'
has_let_go '1,100 connections have ended'
is "$(tests/drivers/http loris "$sock" 200 "GET $api HTTP/1.1\r\nHost: x\r\n\r\n")" '200 closed' '200 slow clients delay no other one, and are cut off'
has_let_go '200 slow connections have ended'

# --- answers that nobody reads ---
# 16 MiB each; the memory file consists of a single hole.
python3 - "$sock" "GET $api/$big/status HTTP/1.1" <<-'PYTHON' &
	import socket, sys, time
	kept = []
	for _ in range(16):
	    s = socket.socket(socket.AF_UNIX)
	    s.connect(sys.argv[1])
	    s.sendall(sys.argv[2].encode() + b"\r\nHost: x\r\n\r\n")
	    kept.append(s)
	time.sleep(100000)
PYTHON
keeper=$!
own "$keeper"
asks()
{
	send "$api/7/status"
	[ "$code" = "$1" ]
}
ok 'with so much in memory further requests are refused' within 60 asks 503
send /healthz
is "$code" 200 'meanwhile it answers what needs no broker'
end_child "$keeper" -KILL
ok 'the clients are gone: requests are answered again' within 60 asks 200
has_let_go 'nothing of their answers is left'

# --- a slow broker ---
tell_broker deaf
tests/drivers/http flood "$sock" 1000 "GET $api HTTP/1.1\r\nHost: x\r\n\r\n" "$T/go" >"$T/out" &
flood=$!
own "$flood"
ok 'a broker that does not read: some requests are refused' within 60 test -e "$T/go"
send /healthz
is "$code" 200 'meanwhile it answers what needs no broker'
tell_broker hear
wait "$flood"
like "$(<"$T/out")" '^200:[0-9]+ 503:[0-9]+ early$' 'the others are answered later'
is "$(grep -oE '[0-9]+:[0-9]+' "$T/out" | cut -d: -f2 | paste -sd+ | bc)" 1000 'each has an answer'
has_let_go 'the connections of 1,000 requests have ended'

# --- bodies that were received completely ---
asking=()
for ((i = 0; i < 17; i++)); do
	curl -s --unix-socket "$sock" -d 0x1a "http://localhost/pid/$never/pprof/symbol" >/dev/null &
	own $!
	asking+=($!)
done
ok 'more than 16 can wait for names, as their bodies were read' \
	within 60 eval "[ \$(grep -c 'op=symbols .*pid=$never' $broker_log) -eq 17 ]"
kill "${asking[@]}"
has_let_go 'the connections of 17 requests have ended'

# --- the end ---
kill -INT "$front"
kill -TERM "$front"
send /healthz
is "$code" 200 'signals to its process group do not end it'
tests/drivers/http raw "$sock" "GET $api/$never/status HTTP/1.1\r\nHost: x\r\n\r\n" >"$T/out" &
own $!
within 60 eval "[ \$(grep -c 'op=status .*pid=$never' $broker_log) -eq 3 ]"
tell_broker end
ends_with 0 'it ends when told to'
is "$(grep -c '^invalid' "$broker_log")" 0 'all its messages were valid'

start_front
tell_broker nonsense
ends_with 1 'it ends after an invalid message'

wrap=(setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all)
install -m 755 "$http_of_build" "$T/http"
chmod 777 "$T"
start_front "$T/http"
wrap=()
is "$(confined)" 'CapBnd Uid Gid root cwd ' 'without root it keeps its user and root directory'
send /healthz
is "$code" 200 'without root it works'
done_testing
