// SPDX-License-Identifier: Apache-2.0
/* Loading the PEM texts sent by the broker, and verifying client certificates over a socket. */
#include "front/credentials.h"

#include "base/cleanup.h"

#include <gnutls/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PEM_SIZE 8192
#define DAY 86400

struct identity {
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	char key_pem[PEM_SIZE], crt_pem[PEM_SIZE];
};

static struct identity authority, server, other, client, serving, expired, early, stranger;

static const char *common_name = "a", *dns_name;

/* Self-signed if `by` is NULL. Valid from `from` to `to`, in days from now. */
static void make(struct identity *id, const struct identity *by, const char *purpose, int from,
		 int to)
{
	static unsigned char serial;
	size_t size = PEM_SIZE - 1;
	time_t now = time(NULL);

	serial++;
	assert_int_equal(gnutls_x509_privkey_init(&id->key), 0);
	assert_int_equal(
		gnutls_x509_privkey_generate(id->key, GNUTLS_PK_ECDSA,
					     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	assert_int_equal(gnutls_x509_crt_init(&id->crt), 0);
	gnutls_x509_crt_set_version(id->crt, 3);
	gnutls_x509_crt_set_serial(id->crt, &serial, 1);
	gnutls_x509_crt_set_activation_time(id->crt, now + from * DAY);
	gnutls_x509_crt_set_expiration_time(id->crt, now + to * DAY);
	if (!purpose)
		gnutls_x509_crt_set_dn_by_oid(id->crt, GNUTLS_OID_X520_COMMON_NAME, 0, "ca", 2);
	else if (common_name)
		gnutls_x509_crt_set_dn_by_oid(id->crt, GNUTLS_OID_X520_COMMON_NAME, 0, common_name,
					      (unsigned int)strlen(common_name));
	else
		gnutls_x509_crt_set_dn_by_oid(id->crt, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, "o",
					      1);
	if (purpose && dns_name) {
		gnutls_x509_crt_set_subject_alt_name(id->crt, GNUTLS_SAN_IPADDRESS, "\x7f\0\0\1", 4,
						     GNUTLS_FSAN_SET);
		gnutls_x509_crt_set_subject_alt_name(id->crt, GNUTLS_SAN_DNSNAME, dns_name,
						     (unsigned int)strlen(dns_name),
						     GNUTLS_FSAN_APPEND);
	}
	gnutls_x509_crt_set_key(id->crt, id->key);
	gnutls_x509_crt_set_ca_status(id->crt, !purpose);
	if (purpose)
		gnutls_x509_crt_set_key_purpose_oid(id->crt, purpose, 0);
	assert_int_equal(gnutls_x509_crt_sign2(id->crt, by ? by->crt : id->crt,
					       by ? by->key : id->key, GNUTLS_DIG_SHA256, 0),
			 0);
	assert_int_equal(gnutls_x509_crt_export(id->crt, GNUTLS_X509_FMT_PEM, id->crt_pem, &size),
			 0);
	size = PEM_SIZE - 1;
	assert_int_equal(
		gnutls_x509_privkey_export(id->key, GNUTLS_X509_FMT_PEM, id->key_pem, &size), 0);
}

static int setup(void **state)
{
	(void)state;
	make(&authority, NULL, NULL, -1, 2);
	make(&server, &authority, GNUTLS_KP_TLS_WWW_SERVER, -1, 2);
	make(&other, &authority, GNUTLS_KP_TLS_WWW_SERVER, -1, 2);
	make(&client, &authority, GNUTLS_KP_TLS_WWW_CLIENT, -1, 2);
	make(&serving, &authority, GNUTLS_KP_TLS_WWW_SERVER, -1, 2);
	make(&expired, &authority, GNUTLS_KP_TLS_WWW_CLIENT, -2, -1);
	make(&early, &authority, GNUTLS_KP_TLS_WWW_CLIENT, 1, 2);
	make(&stranger, NULL, GNUTLS_KP_TLS_WWW_CLIENT, -1, 2);
	return 0;
}

static char crl[2 * PEM_SIZE]; /* "" for none */

static enum wire_loaded load(const char *crt, const char *key, const char *ca,
			     struct credentials **credentials)
{
	const char *texts[WIRE_PEMS] = { crt, key, ca, crl };
	_cleanup_(cleanup_close) int fd = memfd_create("pem", MFD_CLOEXEC);
	struct wire_credentials head = { 0 };

	for (int i = 0; i < WIRE_PEMS; i++)
		head.bytes[i] = (uint32_t)strlen(texts[i]);
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	for (int i = 0; i < WIRE_PEMS; i++)
		assert_int_equal(write(fd, texts[i], head.bytes[i]), head.bytes[i]);
	return credentials_load(fd, credentials);
}

static void test_load(void **state)
{
	static const char rubbish[] =
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
	char chain[2 * PEM_SIZE];
	const struct {
		const char *crt, *key, *ca;
		enum wire_loaded loaded;
	} rows[] = {
		{ server.crt_pem, server.key_pem, "", WIRE_LOADED_GOOD },
		{ server.crt_pem, server.key_pem, authority.crt_pem, WIRE_LOADED_GOOD },
		{ chain, server.key_pem, chain, WIRE_LOADED_GOOD },
		{ expired.crt_pem, expired.key_pem, "", WIRE_LOADED_EXPIRED },
		{ early.crt_pem, early.key_pem, "", WIRE_LOADED_EARLY },
		{ "", server.key_pem, "", WIRE_LOADED_NO_CERTIFICATE },
		{ server.key_pem, server.key_pem, "", WIRE_LOADED_NO_CERTIFICATE },
		{ rubbish, server.key_pem, "", WIRE_LOADED_NO_CERTIFICATE },
		{ server.crt_pem, "", "", WIRE_LOADED_NO_KEY },
		{ server.crt_pem, server.crt_pem, "", WIRE_LOADED_NO_KEY },
		{ server.crt_pem, other.key_pem, "", WIRE_LOADED_OTHER_KEY },
		{ server.crt_pem, server.key_pem, "x", WIRE_LOADED_NO_CLIENT_CA },
		{ server.crt_pem, server.key_pem, rubbish, WIRE_LOADED_NO_CLIENT_CA },
	};

	(void)state;
	snprintf(chain, sizeof(chain), "%s%s", server.crt_pem, authority.crt_pem);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct credentials *c = NULL;

		if (load(rows[i].crt, rows[i].key, rows[i].ca, &c) != rows[i].loaded)
			fail_msg("%zu", i);
		assert_int_equal(c != NULL, wire_loaded_is_good(rows[i].loaded));
		assert_false(c && c->asks != (rows[i].ca[0] != '\0'));
		credentials_drop(c);
	}
}

/* Files that the broker would never send. */
static void test_file(void **state)
{
	const struct wire_credentials heads[] = { { { WIRE_PEM_MAX + 1, 0, 0, 0 } },
						  { { UINT32_MAX, 1, 1, 1 } },
						  { { 100, 100, 100, 100 } } };
	struct credentials *c = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		_cleanup_(cleanup_close) int fd = memfd_create("pem", MFD_CLOEXEC);

		assert_int_equal(credentials_load(fd, &c), WIRE_LOADED_FAILED);
		assert_int_equal(write(fd, &heads[i], sizeof(heads[i])), sizeof(heads[i]));
		assert_int_equal(credentials_load(fd, &c), WIRE_LOADED_FAILED);
		assert_null(c);
	}
}

static char subject[WIRE_SUBJECT_SIZE]; /* of the client's certificate */

/* A client with this certificate, or none, connects to a server with these credentials. */
static bool is_vouched_for(struct credentials *c, struct identity *id)
{
	gnutls_certificate_credentials_t own;
	gnutls_session_t ends[2];
	int pair[2], done[2] = { GNUTLS_E_AGAIN, GNUTLS_E_AGAIN };
	bool vouched;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	gnutls_certificate_allocate_credentials(&own);
	if (id)
		gnutls_certificate_set_x509_key(own, &id->crt, 1, id->key);
	for (int i = 0; i < 2; i++) {
		gnutls_init(&ends[i], (i ? GNUTLS_CLIENT : GNUTLS_SERVER) | GNUTLS_NONBLOCK |
					      (i ? GNUTLS_FORCE_CLIENT_CERT : 0));
		gnutls_set_default_priority(ends[i]);
		gnutls_credentials_set(ends[i], GNUTLS_CRD_CERTIFICATE, i ? own : c->v);
		gnutls_transport_set_int(ends[i], pair[i]);
	}
	gnutls_certificate_server_set_request(ends[0], GNUTLS_CERT_REQUEST);
	while (done[0] == GNUTLS_E_AGAIN || done[1] == GNUTLS_E_AGAIN)
		for (int i = 0; i < 2; i++)
			if (done[i] == GNUTLS_E_AGAIN)
				done[i] = gnutls_handshake(ends[i]);
	assert_int_equal(done[0], 0);
	assert_int_equal(done[1], 0);
	vouched = credentials_vouch(c, ends[0], subject);
	for (int i = 0; i < 2; i++) {
		gnutls_deinit(ends[i]);
		close(pair[i]);
	}
	gnutls_certificate_free_credentials(own);
	return vouched;
}

static void test_vouch(void **state)
{
	struct credentials *asking = NULL, *silent = NULL;

	(void)state;
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &asking), 0);
	assert_int_equal(load(server.crt_pem, server.key_pem, "", &silent), 0);
	assert_true(is_vouched_for(asking, &client));
	assert_false(is_vouched_for(asking, NULL));
	assert_false(is_vouched_for(asking, &serving)); /* not for clients */
	assert_false(is_vouched_for(asking, &expired));
	assert_false(is_vouched_for(asking, &early));
	assert_false(is_vouched_for(asking, &stranger));
	assert_false(is_vouched_for(silent, &client));
	credentials_drop(asking);
	credentials_drop(silent);
}

/* Names in certificates, and as they are reported. */
static void test_subject(void **state)
{
	static const struct {
		const char *common, *dns, *told;
	} rows[] = {
		{ "prometheus", "node7", "prometheus" },
		{ NULL, "node7", "node7" },
		{ NULL, NULL, "" },
		{ "a\nb", NULL, "a\\x0ab" },
		{ "an authority may well give a long name", NULL,
		  "an authority may well give a lo" },
		{ "123456789012345678901234567890\xc3\xa9", NULL,
		  "123456789012345678901234567890" },
	};
	struct credentials *c = NULL;

	(void)state;
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct identity id;

		common_name = rows[i].common;
		dns_name = rows[i].dns;
		make(&id, &authority, GNUTLS_KP_TLS_WWW_CLIENT, -1, 2);
		assert_true(is_vouched_for(c, &id));
		assert_string_equal(subject, rows[i].told);
		gnutls_x509_crt_deinit(id.crt);
		gnutls_x509_privkey_deinit(id.key);
	}
	assert_false(is_vouched_for(c, &stranger));
	assert_string_equal(subject, "");
	credentials_drop(c);
}

/* A revocation list by `by` for one certificate. The next list is due in `days` days. */
static void revoke_one(const struct identity *by, const struct identity *id, int days)
{
	unsigned char serial[32];
	size_t serial_size = sizeof(serial), size = PEM_SIZE - 1;
	time_t now = time(NULL);
	gnutls_x509_crl_t list;

	assert_int_equal(gnutls_x509_crt_get_serial(id->crt, serial, &serial_size), 0);
	assert_int_equal(gnutls_x509_crl_init(&list), 0);
	gnutls_x509_crl_set_version(list, 2);
	gnutls_x509_crl_set_this_update(list, now - 2 * DAY);
	gnutls_x509_crl_set_next_update(list, now + days * DAY);
	gnutls_x509_crl_set_crt_serial(list, serial, serial_size, now - DAY);
	gnutls_x509_crl_set_number(list, "\1", 1);
	assert_int_equal(gnutls_x509_crl_sign2(list, by->crt, by->key, GNUTLS_DIG_SHA256, 0), 0);
	memset(crl, 0, sizeof(crl));
	assert_int_equal(gnutls_x509_crl_export(list, GNUTLS_X509_FMT_PEM, crl, &size), 0);
	gnutls_x509_crl_deinit(list);
}

static void test_revoked(void **state)
{
	struct credentials *c = NULL;

	(void)state;
	revoke_one(&authority, &client, 1);
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c), 0);
	assert_false(is_vouched_for(c, &client));
	credentials_drop(c);
	revoke_one(&stranger, &client, 1);
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c), 0);
	assert_true(is_vouched_for(c, &client)); /* the list of another authority */
	credentials_drop(c);
	revoke_one(&authority, &other, 1);
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c), 0);
	assert_true(is_vouched_for(c, &client));
	credentials_drop(c);
	revoke_one(&authority, &client, -1);
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c), 0);
	assert_false(is_vouched_for(c, &client)); /* the list is out of date */
	credentials_drop(c);
	snprintf(crl, sizeof(crl), "x");
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c),
			 WIRE_LOADED_NO_CLIENT_CRL);
	crl[0] = '\0';
}

/* A file with two lists that is truncated anywhere in the second is rejected, not read in part. */
static void test_cut_list(void **state)
{
	char first[PEM_SIZE], second[PEM_SIZE];
	struct credentials *c = NULL;

	(void)state;
	revoke_one(&authority, &other, 1);
	memcpy(first, crl, sizeof(first));
	revoke_one(&authority, &client, 1);
	memcpy(second, crl, sizeof(second));
	for (size_t n = 1; n < strlen(second) - sizeof("-----END X509 CRL-----"); n++) {
		snprintf(crl, sizeof(crl), "%s%.*s", first, (int)n, second);
		assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c),
				 WIRE_LOADED_NO_CLIENT_CRL);
	}
	snprintf(crl, sizeof(crl), "%s%s", first, second);
	assert_int_equal(load(server.crt_pem, server.key_pem, authority.crt_pem, &c), 0);
	assert_false(is_vouched_for(c, &client));
	credentials_drop(c);
	crl[0] = '\0';
}

static void test_keep(void **state)
{
	struct credentials *c = NULL;

	(void)state;
	assert_int_equal(load(server.crt_pem, server.key_pem, "", &c), 0);
	assert_ptr_equal(credentials_keep(c), c);
	credentials_drop(c);
	assert_false(is_vouched_for(c, NULL)); /* still in use */
	credentials_drop(c);
	credentials_drop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),	cmocka_unit_test(test_file),
		cmocka_unit_test(test_vouch),	cmocka_unit_test(test_subject),
		cmocka_unit_test(test_revoked), cmocka_unit_test(test_cut_list),
		cmocka_unit_test(test_keep),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
