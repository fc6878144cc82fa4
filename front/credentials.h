// SPDX-License-Identifier: Apache-2.0
/* The TLS credentials of the front: its certificate, and the CAs and CRLs for clients. */
#ifndef FRONT_CREDENTIALS_H
#define FRONT_CREDENTIALS_H

#include "wire/wire.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* Reference-counted: a connection keeps the credentials it started with. */
struct credentials {
	gnutls_certificate_credentials_t v;
	bool asks; /* request client certificates */
	unsigned int users;
};

/*
 * Load the file of a WIRE_CREDENTIALS, and wipe its text from memory. *credentials, with one
 * reference, is set if wire_loaded_is_good().
 */
enum wire_loaded credentials_load(int fd, struct credentials **credentials);

struct credentials *credentials_keep(struct credentials *credentials);
void credentials_drop(struct credentials *credentials);

/*
 * Did the peer present a client certificate that is signed by one of the CAs and not revoked? An
 * expired CRL still counts. If so, `subject` is its common name, or else the first alternative name
 * that is text; may be "".
 */
bool credentials_vouch(const struct credentials *credentials, gnutls_session_t session,
		       char subject[WIRE_SUBJECT_SIZE]);

#endif
