#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP process over TLS: under its filter, with clients that are many, slow, early, or gone.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/front.sh
. tests/front.sh
# shellcheck source=tests/tls.sh
. tests/tls.sh

api=/api/v1/processes
never=1201
big=1204
token=$(printf '%064d' 7)

# credentials CERTIFICATE KEY [CLIENT_CA [CLIENT_CRL]]: write a struct wire_credentials for the
# broker to hand over
credentials()
{
	python3 - "$T/credentials" "$@" <<-'PYTHON'
		import struct, sys
		texts = [open(name, "rb").read() for name in sys.argv[2:]]
		texts += [b""] * (4 - len(texts))
		with open(sys.argv[1], "wb") as out:
		    out.write(struct.pack("=IIII", *map(len, texts)) + b"".join(texts))
	PYTHON
}

# tls COMMAND ARGUMENTS...: run a command of tests/drivers/tls
tls()
{
	tests/drivers/tls "$1" "$tls_port" "$T/ca.pem" "${@:2}"
}
ticks()
{
	awk '{ print $14 + $15 }' "/proc/$front/stat"
}

make_ca ca
for key in ec rsa:2048 ed25519; do
	certify ca "${key%:*}" serverAuth "$key"
done
certify ca client clientAuth
export CREDENTIALS=$T/credentials

# --- keys, and versions ---
for key in ec rsa ed25519; do
	credentials "$T/$key.pem" "$T/$key.key" "$T/ca.pem"
	start_front "$http_of_build" --tls
	is "$(grep -c '^loaded 0$' "$broker_log")" 1 "$key: the certificate is accepted"
	for version in 1.2 1.3; do
		call "https://localhost:$tls_port$api" --cacert "$T/ca.pem" --tlsv$version --tls-max $version
		like "$code $body" '^200 op=list flags=0 ' "$key, TLS $version"
		call "https://localhost:$tls_port$api" --cacert "$T/ca.pem" --tlsv$version --tls-max $version --cert "$T/client.pem" --key "$T/client.key"
		like "$code $body" '^200 op=list flags=64 ' "$key, TLS $version: with a certificate"
	done
	tell_broker end
	ends_with 0 "$key: it ends"
done
credentials "$T/ec.pem" "$T/rsa.key"
CREDENTIALS=$T/credentials "$VICTIMS/broker" "$T/sock" "$http_of_build" --tls </dev/null >"$T/log" 2>&1 || true
is "$(grep -c '^ready' "$T/log")" 0 'it does not start with the key of another certificate'

# --- clients ---
credentials "$T/ec.pem" "$T/ec.key"
start_front "$http_of_build" --tls
fds_at_rest=$(fds_of_front)
is "$(awk '$1 == "Seccomp:" { print $2 }' "/proc/$front/status")" 2 'it is under its filter'
is "$(tls slow $api/$big/status "$token")" $((16 << 20)) 'an answer of 16 MiB, to a slow reader'
is "$(tls pipeline 2000 /healthz "$token")" 2000 '2,000 requests at once'
is "$(tls pipeline 500 "$api" "$token")" 500 '500 requests to the broker at once'
is "$(tls many 400 "$api" "$token")" 400 '400 connections'
has_let_go 'nothing of them is left'
asked=$(grep -c '^cancel' "$broker_log")
tls cut "$api/$never/status" "$token"
ok 'a client disconnects: the broker is told' within 60 eval "[ \$(grep -c '^cancel' $broker_log) -gt $asked ]"
has_let_go 'nothing of it is left'

# --- unfinished handshakes ---
before=$(ticks)
tls hold 200 >"$T/held" &
holder=$!
own $holder
within 60 grep -q held "$T/held"
is "$(tls many 5 "$api" "$token")" 5 '200 unfinished handshakes delay no other client'
wait $holder
is "$(tail -n 1 "$T/held")" closed '200 unfinished handshakes are cut off'
has_let_go 'nothing of them is left, either'
ok "they kept no processor busy: $(($(ticks) - before)) ticks" test $(($(ticks) - before)) -lt $((500 * SLOW))

# --- the end ---
tls many 1 "$api" "$token" >/dev/null
tell_broker end
ends_with 0 'it ends'
is "$(grep -c '^invalid' "$broker_log")" 0 'all its messages were valid'
closed=$(grep -c '^closed' "$broker_log")
is "$closed" "$(grep '^closed' "$broker_log" | sort -u | wc -l)" 'each connection ends once'
done_testing
