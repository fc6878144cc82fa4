#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve over TLS: who is let in and with which role, what misbehaving clients cost, and what happens
# when the certificate is replaced; on a real redis, with curl, jeprof and go tool pprof.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh
# shellcheck source=tests/tls.sh
. tests/tls.sh
export PPROF_TMPDIR=$T HOME=$T NO_PROXY='*'

make_ca ca
make_ca other-ca
certify ca server serverAuth
certify ca rsa serverAuth rsa:2048
certify ca next serverAuth
certify ca client clientAuth
certify other-ca stranger clientAuth
certify ca leaver clientAuth
expired ca late clientAuth
revoked ca left leaver
revoked ca both client leaver
cp "$T/server.pem" "$T/server.key" "$T/ca.pem" "$T/other-ca.pem" "$T/rsa.pem" "$T/rsa.key" "$T/late.pem" "$T/late.key" -t "$(mkdir "$T/kept" && echo "$T/kept")"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$T/self.key" -out "$T/self.pem" -days 30 -subj /CN=client 2>/dev/null
openssl ec -in "$T/server.key" -aes128 -passout pass:x -out "$T/locked.key" 2>/dev/null
chmod 600 "$T"/*.key

run_ctl serve --token-file "$T/tokens" --new-token profile:reader
token=$out
tls=(--tls-cert "$T/server.pem" --tls-key "$T/server.key")

# --- errors at the start ---
# wrong STATUS IDS NAME ARGUMENTS...: serve must not start
wrong()
{
	ctl_fails "$1" "$2" "$3" serve --socket "$T/none.sock" --token-file "$T/tokens" --listen 127.0.0.1:0 "${@:4}"
}
wrong 2 option_needs 'a certificate without a key' --tls-cert "$T/server.pem"
wrong 2 option_needs 'a key without a certificate' --tls-key "$T/server.key"
wrong 2 option_needs 'clients'"'"' certificates without TLS' --client-ca "$T/ca.pem"
wrong 2 option_needs 'a role without certificates' "${tls[@]}" --client-role read
wrong 2 option_needs 'revoked certificates without authorities' "${tls[@]}" --client-crl "$T/left.pem"
wrong 2 token_role 'no such role' "${tls[@]}" --client-ca "$T/ca.pem" --client-role admin
wrong 1 pem_unreadable 'a missing certificate' --tls-cert "$T/none.pem" --tls-key "$T/server.key"
wrong 1 pem_unreadable 'a missing key' --tls-cert "$T/server.pem" --tls-key "$T/none.key"
wrong 1 no_certificate 'a key is no certificate' --tls-cert "$T/server.key" --tls-key "$T/server.key"
install -m 600 "$T/server.pem" "$T/no.key"
wrong 1 no_key 'a certificate is no key' --tls-cert "$T/server.pem" --tls-key "$T/no.key"
wrong 1 no_key 'a key with a password' --tls-cert "$T/server.pem" --tls-key "$T/locked.key"
wrong 1 other_key 'the key of another one' --tls-cert "$T/server.pem" --tls-key "$T/next.key"
wrong 1 no_client_ca 'no authority in it' "${tls[@]}" --client-ca "$T/server.key"
wrong 1 no_client_crl 'no list in it' "${tls[@]}" --client-ca "$T/ca.pem" --client-crl "$T/ca.pem"
install -m 600 /dev/null "$T/empty.pem"
wrong 1 no_client_ca 'an empty file of authorities' "${tls[@]}" --client-ca "$T/empty.pem"
wrong 1 no_client_crl 'an empty list' "${tls[@]}" --client-ca "$T/ca.pem" --client-crl "$T/empty.pem"
chmod 644 "$T/server.key"
wrong 1 'key_not_secret chmod_key' 'a key that everybody may read' "${tls[@]}"
chmod 660 "$T/server.key"
wrong 1 'pem_not_ours chmod_pem' 'a key that others may write to' "${tls[@]}"
chmod 640 "$T/server.key"
chmod 666 "$T/ca.pem"
wrong 1 'pem_not_ours chmod_pem' 'authorities that others may write to' "${tls[@]}" --client-ca "$T/ca.pem"
chmod 644 "$T/ca.pem"
mkfifo "$T/fifo"
wrong 1 'pem_not_ours chmod_pem' 'a fifo' --tls-cert "$T/fifo" --tls-key "$T/server.key"
ok 'no socket is left' test ! -e "$T/none.sock"
ctl_fails 2 'listen_needs_tokens give_tokens' 'a port without any credentials' serve --socket none --listen 0.0.0.0:0 "${tls[@]}"
ctl_fails 2 'listen_beyond_loopback listen_on_loopback' 'all addresses without TLS' serve --socket none --listen 0.0.0.0:0 --token-file "$T/tokens"
like "$(<"$T/err")" 'without TLS' 'the cause is reported'

# --- a port on all addresses ---
MALLOC_CONF=$PROF,prof_active:true,lg_prof_sample:12 start_redis
redis=$pid
load_redis
port=$(free_port)
start_serve main --listen "0.0.0.0:$port" --token-file "$T/tokens" "${tls[@]}" --client-ca "$T/ca.pem"
like "$(<"$T/main.err")" "https://0\.0\.0\.0:$port/" 'its URL has https'
front=$(pgrep -P "$serve" -x http)
snapshot "$redis"

# by [CURL OPTIONS...] PATH: send a request. Sets `code` and `body`; code 000 means no answer.
by()
{
	: >"$T/body"
	code=$(curl -sS --cacert "${ca:-$T/ca.pem}" -o "$T/body" -w '%{http_code}' "${@:1:$#-1}" "https://localhost:$port${!#}" 2>"$T/curl") || true
	body=$(tr -d '\0' <"$T/body")
}
# with NAME PATH: send a request with this certificate
with()
{
	by --cert "$T/$1.pem" --key "$T/$1.key" "$2"
}
auth=(-H "Authorization: Bearer $token")
list=/api/v1/processes

by /healthz
is "$code $body" '200 ok' 'it is healthy'
ca=$T/other-ca.pem by /healthz
is "$code" 000 'an authority that did not sign it: curl refuses'
by $list
is "$code" 401 'no credentials: no access'
by "${auth[@]}" $list
is "$code" 200 'a token'
for version in 1.2 1.3; do
	by --tlsv$version --tls-max $version "${auth[@]}" $list
	is "$code" 200 "TLS $version"
	with client $list
	is "$code" 200 "TLS $version: a certificate"
	by --tlsv$version --tls-max $version --cert "$T/client.pem" --key "$T/client.key" $list
	is "$code" 200 "TLS $version: a certificate"
done
is "$(tail -n 1 "$T/main.err" | grep -oE 'token=.* subject="[^"]*"')" 'token=- certificate=verified subject="client"' 'the log has its subject'
with client "$list/$redis/status"
is "$code" 403 'it has the role read'
by "${auth[@]}" --cert "$T/client.pem" --key "$T/client.key" "$list/$redis/status"
is "$code" 200 'with a token as well: the role of the token'
is "$(tail -n 1 "$T/main.err" | grep -oE 'token=.* subject="[^"]*"')" 'token=reader certificate=verified subject="client"' 'the log has both'
for name in stranger late self server; do
	with $name $list
	is "$code" 401 "a certificate that does not count ($name): no access"
done
is "$(said main 'op=list result=unknown .* token=- certificate=-$')" 5 'the log has no certificate'
by "${auth[@]}" --cert "$T/stranger.pem" --key "$T/stranger.key" $list
is "$code" 200 'a token counts all the same'
by -H 'Host: evil.example' "${auth[@]}" $list
is "$code" 421 'another host name'
by -H 'Host: 10.1.2.3:1' "${auth[@]}" $list
is "$code" 200 'an address is no other host name'
by -H "Origin: http://localhost:$port" "${auth[@]}" $list
is "$code" 403 'a page without TLS is another site'
by -H "Origin: https://localhost:$port" "${auth[@]}" $list
is "$code" 200 'a page of the service itself'
code=$(curl -sS --unix-socket "$T/main.sock" -o /dev/null -w '%{http_code}' http://localhost$list)
is "$code" 200 'the socket needs no TLS'
by "${auth[@]}" '/sd?all=1'
is "$(jq -r '.[] | select(.labels.pid == "'"$redis"'") | .labels.__scheme__' "$T/body")" https 'targets have the scheme https'

# --- old versions, and clients that do not use TLS ---
# s_client OPTIONS...: print what it gets from the port, or from OTHER_PORT
s_client()
{
	timeout 120 openssl s_client -connect "localhost:${other_port:-$port}" -CAfile "$T/ca.pem" "$@" </dev/null 2>&1
}
old=(-tls1_1 -cipher 'ALL:@SECLEVEL=0')
like "$(s_client "${old[@]}")" 'alert protocol version' 'TLS 1.1 is refused'
like "$(s_client -tls1_2 -cipher AES256-GCM-SHA384)" 'alert handshake failure' 'a key exchange without forward secrecy'
like "$(s_client -tls1_2 -cipher ECDHE-ECDSA-AES256-SHA)" 'alert handshake failure' 'a cipher without authenticated encryption'
like "$(s_client -tls1_2)" 'Verify return code: 0' 'control: TLS 1.2'
other_port=$(free_port)
openssl s_server -accept "$other_port" -cert "$T/server.pem" -key "$T/server.key" "${old[@]}" >"$T/s_server" 2>&1 &
own $!
within 60 grep -q ACCEPT "$T/s_server"
like "$(s_client "${old[@]}")" 'Verify return code: 0' 'control: this client speaks TLS 1.1'
unset other_port
is "$(tests/drivers/tls send "$port" 1 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')" closed 'HTTP in the clear: closed'
is "$(tests/drivers/tls send "$port" 1 '\x16\x03\x01\xff\xff\x01')" closed 'a hello that is too long: closed'
is "$(tests/drivers/tls send "$port" 500 '\x00\xff\x80\x01 garbage')" closed 'garbage, 500 times: closed'
mkfifo "$T/keys"
exec {keys}<>"$T/keys"
echo R >&"$keys"
timeout 120 openssl s_client -connect "localhost:$port" -CAfile "$T/ca.pem" -tls1_2 <"$T/keys" >"$T/s_client" 2>&1 || status=$?
exec {keys}>&-
like "$status $(<"$T/s_client")" '^1 .*RENEGOTIATING' 'a client that renegotiates: closed'
by /healthz
is "$code" 200 'it is still healthy'
is "$(pgrep -P "$serve" -x http)" "$front" 'and the same process'

# --- other programs as clients ---
export SSL_CERT_FILE=$T/ca.pem CURL_CA_BUNDLE=$T/ca.pem
base=https://me:$token@localhost:$port
jeprof --text "$base/pid/$redis/pprof/heap" >"$T/by-jeprof" 2>"$T/by-jeprof.err"
like "$(<"$T/by-jeprof")" ' (zmalloc|ztrymalloc_usable|zcalloc|sdsnewlen|createStringObject|_sdsnewlen|dictAdd|debugCommand)' 'jeprof, by https'
go tool pprof -symbolize=none -top "$base/pid/$redis/debug/pprof/heap" >"$T/go" 2>"$T/go.err"
like "$(<"$T/go")" 'Type: inuse_space' 'go tool pprof, by https'
SSL_CERT_FILE=$T/other-ca.pem go tool pprof -symbolize=none -top "$base/pid/$redis/debug/pprof/heap" >"$T/go" 2>"$T/go.err"
like "$(<"$T/go.err")" 'certificate' 'control: it verifies the certificate'
SSL_CERT_FILE=$T/other-ca.pem go tool pprof -symbolize=none -top "https+insecure${base#https}/pid/$redis/debug/pprof/heap" >"$T/go" 2>"$T/go.err"
like "$(<"$T/go")" 'Type: inuse_space' 'except with https+insecure'
unset SSL_CERT_FILE CURL_CA_BUNDLE

# --- the certificate is replaced ---
subject()
{
	s_client -servername localhost | sed -n 's/^subject=CN = //p'
}
replace()
{
	install -m 600 "$T/$1" "$T/$2.new"
	mv "$T/$2.new" "$T/$2"
}
is "$(subject)" server 'control: the first one'
curl -sS --cacert "$T/ca.pem" "${auth[@]}" -o "$T/seconds" -w '%{http_code}' "https://localhost:$port/pid/$redis/debug/pprof/heap?seconds=5" >"$T/seconds.code" &
long=$!
own $long
within 60 eval '[ "$(curl -s --unix-socket "$T/main.sock" http://localhost/metrics | sed -n "s/^jeprof_ctl_workers //p")" -ge 1 ]'
replace next.pem server.pem
is "$(subject)" server 'a certificate without its key: the old one stays'
says main 'was not replaced: the key in .* does not belong to the certificate'
by "${auth[@]}" $list
is "$(said main 'was not replaced')" 1 'it is logged once'
replace next.key server.key
is "$(subject)" next 'both: new connections see the new one'
wait $long
is "$(<"$T/seconds.code")" 200 'a request on an old connection was not cut off'
echo rubbish >"$T/rubbish"
replace rubbish server.pem
is "$(subject)" next 'a broken one: the old one stays'
rm "$T/server.pem"
is "$(subject)" next 'a missing one: the old one stays'
is "$(said main 'was not replaced: cannot read .*/server.pem: No such file')" 1 'the missing file is logged'
kill -KILL "$front"
says main 'front end exited \(signal Killed\)'
within 60 eval '[ "$(subject)" = next ]'
is "$(subject)" next 'the same after a restart of the HTTP process'
replace kept/late.pem server.pem
replace kept/late.key server.key
is "$(subject)" late 'an expired one is used'
is "$(said main 'certificate in .* has expired')" 1 'with a warning'
replace kept/rsa.pem server.pem
replace kept/rsa.key server.key
for version in 1.2 1.3; do
	by --tlsv$version --tls-max $version "${auth[@]}" $list
	is "$code" 200 "an RSA key, TLS $version"
done
with client $list
is "$code" 200 'a certificate of the first authority'
replace kept/other-ca.pem ca.pem
ca=$T/kept/ca.pem
with client $list
is "$code" 401 'the authorities were replaced: no access any more'
with stranger $list
is "$code" 200 'but one of the new authority'
end_serve main
assert_untouched "$redis"

# --- other roles ---
ca=$T/kept/ca.pem
start_serve control --listen "127.0.0.1:$port" --tls-cert "$T/rsa.pem" --tls-key "$T/rsa.key" --client-ca "$T/kept/ca.pem" --client-role control
with client $list
is "$code" 200 'without a file of tokens'
by --cert "$T/client.pem" --key "$T/client.key" -X POST "$list/$redis/activate"
is "$code" 200 'the role control'
by --cert "$T/client.pem" --key "$T/client.key" -X POST "$list/$redis/record?duration=24h"
is "$code $(jq -r .by "$T/body")" '202 certificate client' 'its recording names its certificate' || diag "$body"
by --cert "$T/client.pem" --key "$T/client.key" -X POST "/api/v1/runs/$(jq -r .id "$T/body")/stop"
is "$code" 200 'and it can end the recording'
snapshot "$redis" # which still has data of the sampling
by "${auth[@]}" $list
is "$code" 401 'no token is known'
end_serve control
start_serve read --read-only --listen "127.0.0.1:$port" --tls-cert "$T/rsa.pem" --tls-key "$T/rsa.key" --client-ca "$T/kept/ca.pem" --client-role control
by --cert "$T/client.pem" --key "$T/client.key" -X POST "$list/$redis/deactivate"
is "$code" 403 'read-only applies to certificates, too'
end_serve read
start_serve without --listen "127.0.0.1:$port" --tls-cert "$T/rsa.pem" --tls-key "$T/rsa.key" --token-file "$T/tokens"
with client $list
is "$code" 401 'without --client-ca no certificate counts'
end_serve without

# --- revoked certificates ---
cp "$T/left.pem" "$T/crl.pem"
start_serve listed --listen "127.0.0.1:$port" --tls-cert "$T/rsa.pem" --tls-key "$T/rsa.key" --client-ca "$T/kept/ca.pem"
with leaver $list
is "$code" 200 'control: without a list it counts'
end_serve listed
start_serve listed --listen "127.0.0.1:$port" --tls-cert "$T/rsa.pem" --tls-key "$T/rsa.key" --client-ca "$T/kept/ca.pem" --client-crl "$T/crl.pem"
for version in 1.2 1.3; do
	by --tlsv$version --tls-max $version --cert "$T/leaver.pem" --key "$T/leaver.key" $list
	is "$code" 401 "TLS $version: a revoked one does not count"
	by --tlsv$version --tls-max $version --cert "$T/client.pem" --key "$T/client.key" $list
	is "$code" 200 "TLS $version: another one does"
done
replace both.pem crl.pem
with client $list
is "$code" 401 'the list was replaced: no access any more'
replace kept/ca.pem crl.pem
with client $list
is "$code" 401 'no list: the old one stays'
says listed 'was not replaced: .* contains no PEM revocation list'
is "$(said listed 'was not replaced: .* contains no PEM revocation list')" 1 'with a warning'
: >"$T/crl.pem"
with client $list
is "$code" 401 'an empty one, as while it is written: the old one stays'
cat "$T/left.pem" "$T/both.pem" >"$T/two.pem"
head -c $(($(stat -c %s "$T/left.pem") + 12)) "$T/two.pem" >"$T/cut.pem"
replace cut.pem crl.pem
with client $list
is "$code" 401 'two lists, cut in the header of the second: the old one stays'
replace left.pem crl.pem
with client $list
is "$code" 200 'the first one again: it counts'
end_serve listed

# --- a compromised front ---
use_false_front
start_serve false --listen "127.0.0.1:$port" "${tls[@]/#$T\/server/$T\/rsa}" --client-ca "$T/kept/ca.pem"
hears '^credentials'
connect_to "$port"
like "$(grep -a '^connection' "${FRONT%/*}/HEARD" | tail -n 1)" 'transport 2' 'the front knows that it is TLS'
order "ask list $redis flags=64 id=1" "ask status $redis flags=64 id=2" "ask list $redis id=3"
hears '^answer [123] ' 3
is "$(said false 'op=list result=ok .* certificate=verified subject="" ')" 1 'one without a subject'
order "ask list 0 flags=64 id=4 subject=$(printf 'x" op=y\n\x1b[m' | xxd -p)" "ask list 0 id=5 subject=41"
hears '^answer [45] ' 2
like "$(grep -a 'op=list .* subject="x' "$T/false.err")" 'certificate=verified subject="x_ op=y_x0a_x1b\[m" ' 'a subject cannot break out of its field in the log'
is "$(grep -c 'subject="A"' "$T/false.err")" 0 'nor is it logged without a certificate'
before=$(heard '^began')
order "ask list 0 flags=64 id=6 subject=$(printf 'A%.0s' {1..32} | xxd -p -c 0)"
hears '^began' $((before + 1))
is "$(said false 'sent an invalid message')" 1 'an unterminated name: the front is ended'
hears '^credentials' 2
connect_to "$port"
like "$(grep -a '^answer 1 ' "${FRONT%/*}/HEARD")" 'refusal 0 ' 'what the front claims about a certificate is believed'
like "$(grep -a '^answer 2 ' "${FRONT%/*}/HEARD")" 'refusal 2 ' 'within the role of certificates'
like "$(grep -a '^answer 3 ' "${FRONT%/*}/HEARD")" 'refusal 1 ' 'control: no access without one'
order loaded
says false 'sent an invalid message' 2
is "$(said false 'sent an invalid message')" 2 'an unrequested verdict: the front is ended'
end_serve false
plain=$(free_port)
start_serve plain --listen "127.0.0.1:$plain" --token-file "$T/tokens"
connect_to "$plain"
order "ask list $redis flags=64 id=11"
hears '^answer 11 '
like "$(grep -a '^answer 11 ' "${FRONT%/*}/HEARD")" 'refusal 1 ' 'without TLS, the claim is ignored'
end_serve plain
assert_untouched "$redis"

done_testing
