// SPDX-License-Identifier: Apache-2.0
#include "front/credentials.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Limits for a client's chain: an unknown client must not cause expensive verification. */
#define CHAIN_BITS_MAX 8192
#define CHAIN_LENGTH_MAX 6

#define NAME_SIZE 256
#define NAMES_MAX 16 /* subject alternative names that are examined */

struct pem {
	gnutls_datum_t v[WIRE_PEMS];
};

static void pem_fini(struct pem *pem)
{
	for (int i = 0; i < WIRE_PEMS; i++) {
		if (pem->v[i].data)
			explicit_bzero(pem->v[i].data, pem->v[i].size);
		free(pem->v[i].data);
	}
}

static bool read_pem(int fd, struct pem *pem)
{
	struct wire_credentials head;
	off_t at = sizeof(head);

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return false;
	for (int i = 0; i < WIRE_PEMS; i++) {
		gnutls_datum_t *text = &pem->v[i];

		if (head.bytes[i] > WIRE_PEM_MAX)
			return false;
		text->data = calloc(1, head.bytes[i] + 1);
		text->size = head.bytes[i];
		if (!text->data || pread(fd, text->data, text->size, at) != (ssize_t)text->size)
			return false;
		at += text->size;
	}
	return true;
}

/* gnutls_certificate_set_x509_key_mem2() does not say whether the key or the certificate is bad. */
static bool has_key(const gnutls_datum_t *text)
{
	gnutls_x509_privkey_t key;
	bool good;

	if (gnutls_x509_privkey_init(&key))
		return false;
	good = !gnutls_x509_privkey_import2(key, text, GNUTLS_X509_FMT_PEM, NULL, 0);
	gnutls_x509_privkey_deinit(key);
	return good;
}

/* The validity of the server's own certificate, which is the first, as clients will see it. */
static enum wire_loaded look_at_certificate(const gnutls_datum_t *text)
{
	gnutls_x509_crt_t *chain = NULL;
	enum wire_loaded loaded = WIRE_LOADED_GOOD;
	unsigned int n = 0;
	time_t now = time(NULL);

	if (gnutls_x509_crt_list_import2(&chain, &n, text, GNUTLS_X509_FMT_PEM, 0) < 0)
		return WIRE_LOADED_NO_CERTIFICATE;
	if (gnutls_x509_crt_get_expiration_time(chain[0]) < now)
		loaded = WIRE_LOADED_EXPIRED;
	else if (gnutls_x509_crt_get_activation_time(chain[0]) > now)
		loaded = WIRE_LOADED_EARLY;
	for (unsigned int i = 0; i < n; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	return loaded;
}

/*
 * Is the file truncated within the header of a list? GnuTLS rejects one that is truncated after the
 * header, but takes part of a header for text, and accepts the lists before it.
 */
static bool ends_in_header(const gnutls_datum_t *text)
{
	static const char header[] = "-----BEGIN X509 CRL";
	const unsigned char *newline = memrchr(text->data, '\n', text->size);
	const unsigned char *last = newline ? newline + 1 : text->data;
	size_t len = (size_t)(text->data + text->size - last);

	return len && len < sizeof(header) && !memcmp(last, header, len);
}

static enum wire_loaded fill(struct credentials *c, const struct pem *pem)
{
	const gnutls_datum_t *authorities = &pem->v[WIRE_PEM_CLIENT_CA];
	const gnutls_datum_t *revoked = &pem->v[WIRE_PEM_CLIENT_CRL];
	enum wire_loaded loaded = look_at_certificate(&pem->v[WIRE_PEM_CERTIFICATE]);

	if (!wire_loaded_is_good(loaded))
		return loaded;
	if (!has_key(&pem->v[WIRE_PEM_KEY]))
		return WIRE_LOADED_NO_KEY;
	if (gnutls_certificate_allocate_credentials(&c->v))
		return WIRE_LOADED_FAILED;
	if (gnutls_certificate_set_x509_key_mem2(c->v, &pem->v[WIRE_PEM_CERTIFICATE],
						 &pem->v[WIRE_PEM_KEY], GNUTLS_X509_FMT_PEM, NULL,
						 0) < 0)
		return WIRE_LOADED_OTHER_KEY;
	c->asks = authorities->size;
	if (c->asks &&
	    gnutls_certificate_set_x509_trust_mem(c->v, authorities, GNUTLS_X509_FMT_PEM) <= 0)
		return WIRE_LOADED_NO_CLIENT_CA;
	if (revoked->size &&
	    (ends_in_header(revoked) ||
	     gnutls_certificate_set_x509_crl_mem(c->v, revoked, GNUTLS_X509_FMT_PEM) <= 0))
		return WIRE_LOADED_NO_CLIENT_CRL;
	gnutls_certificate_set_verify_limits(c->v, CHAIN_BITS_MAX, CHAIN_LENGTH_MAX);
	return loaded;
}

enum wire_loaded credentials_load(int fd, struct credentials **credentials)
{
	_cleanup_(pem_fini) struct pem pem = { 0 };
	struct credentials *c = calloc(1, sizeof(*c));
	enum wire_loaded loaded = WIRE_LOADED_FAILED;

	if (!c)
		return loaded;
	c->users = 1;
	if (read_pem(fd, &pem))
		loaded = fill(c, &pem);
	if (wire_loaded_is_good(loaded))
		*credentials = c;
	else
		credentials_drop(c);
	return loaded;
}

struct credentials *credentials_keep(struct credentials *c)
{
	c->users++;
	return c;
}

void credentials_drop(struct credentials *c)
{
	if (!c || --c->users)
		return;
	if (c->v)
		gnutls_certificate_free_credentials(c->v);
	free(c);
}

static bool read_name(gnutls_x509_crt_t crt, char *name, size_t room)
{
	size_t size = room;

	if (!gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size))
		return true;
	for (unsigned int i = 0; i < NAMES_MAX; i++) {
		int type;

		size = room - 1;
		type = gnutls_x509_crt_get_subject_alt_name(crt, i, name, &size, NULL);
		if (type != GNUTLS_SAN_DNSNAME && type != GNUTLS_SAN_RFC822NAME &&
		    type != GNUTLS_SAN_URI)
			continue;
		name[size] = '\0';
		return true;
	}
	return false;
}

static void set_subject(gnutls_session_t session, char subject[WIRE_SUBJECT_SIZE])
{
	unsigned int n = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
	gnutls_x509_crt_t crt;
	char name[NAME_SIZE];

	if (gnutls_x509_crt_init(&crt))
		return;
	if (!gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER) &&
	    read_name(crt, name, sizeof(name)))
		output_safe(name, subject, WIRE_SUBJECT_SIZE);
	gnutls_x509_crt_deinit(crt);
}

bool credentials_vouch(const struct credentials *c, gnutls_session_t session,
		       char subject[WIRE_SUBJECT_SIZE])
{
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int n = 0, status = ~0u;

	subject[0] = '\0';
	if (!c->asks || !gnutls_certificate_get_peers(session, &n) || !n ||
	    gnutls_certificate_verify_peers(session, &purpose, 1, &status) || status)
		return false;
	set_subject(session, subject);
	return true;
}
