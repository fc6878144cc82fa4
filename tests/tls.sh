# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Certificates for tests. Sourced after tests/lib.sh.

# make_ca NAME: create an authority, $T/NAME.pem and $T/NAME.key
make_ca()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$T/$1.key" -out "$T/$1.pem" \
		-days 30 -subj "/CN=$1" -config /dev/stdin 2>/dev/null <<-CONF || bail_out "openssl: $1"
		[req]
		distinguished_name = none
		x509_extensions = authority
		[none]
		[authority]
		basicConstraints = critical,CA:TRUE
	CONF
}

# certify CA NAME PURPOSE [KEY [OPTIONS OF openssl x509...]]: create $T/NAME.pem and $T/NAME.key for
# localhost. PURPOSE is serverAuth or clientAuth; KEY is rsa:2048, ec or ed25519.
certify()
{
	local ca=$1 name=$2 purpose=$3 key=${4:-ec} of_key=()

	shift $(($# < 4 ? $# : 4))
	[ "$key" != ec ] || of_key=(-pkeyopt ec_paramgen_curve:P-256)
	openssl req -newkey "$key" "${of_key[@]}" -nodes -keyout "$T/$name.key" -out "$T/$name.csr" -subj "/CN=$name" 2>/dev/null &&
		printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=%s\n' "$purpose" >"$T/$name.ext" &&
		openssl x509 -req -in "$T/$name.csr" -CA "$T/$ca.pem" -CAkey "$T/$ca.key" -CAcreateserial -days 30 \
			-extfile "$T/$name.ext" -out "$T/$name.pem" "$@" 2>/dev/null || bail_out "openssl: $name"
	chmod 600 "$T/$name.key"
}

# expired CA NAME PURPOSE: create a certificate that expired long ago
expired()
{
	local database=$T/$2.ca

	certify "$@"
	mkdir "$database"
	: >"$database/index"
	echo 1000 >"$database/serial"
	openssl ca -batch -config /dev/stdin -cert "$T/$1.pem" -keyfile "$T/$1.key" -in "$T/$2.csr" -out "$T/$2.pem" \
		-startdate 20200101000000Z -enddate 20200201000000Z -notext -extfile "$T/$2.ext" 2>/dev/null <<-CONF || bail_out "openssl: $2"
		[ca]
		default_ca = own
		[own]
		database = $database/index
		new_certs_dir = $database
		serial = $database/serial
		default_md = sha256
		policy = any
		[any]
		commonName = supplied
	CONF
}

# revoked CA LIST [NAME...]: create $T/LIST.pem, the list of revoked certificates of CA
revoked()
{
	local ca=$1 list=$2 database=$T/$2.list name

	shift 2
	mkdir "$database"
	: >"$database/index"
	for name; do
		printf 'R\t%s\t%s\t%s\tunknown\t/CN=%s\n' "$(date -u -d +1year +%y%m%d%H%M%SZ)" "$(date -u +%y%m%d%H%M%SZ)" \
			"$(openssl x509 -in "$T/$name.pem" -noout -serial | cut -d= -f2)" "$name"
	done >>"$database/index"
	openssl ca -gencrl -config /dev/stdin -cert "$T/$ca.pem" -keyfile "$T/$ca.key" -crldays 30 -out "$T/$list.pem" \
		2>/dev/null <<-CONF || bail_out "openssl: $list"
		[ca]
		default_ca = own
		[own]
		database = $database/index
		default_md = sha256
	CONF
}
