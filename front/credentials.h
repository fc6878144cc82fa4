// SPDX-License-Identifier: Apache-2.0
/* What the front proves itself with over TLS, and whose certificates of clients it believes. */
#ifndef FRONT_CREDENTIALS_H
#define FRONT_CREDENTIALS_H

#include "wire/wire.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>

/* Connections that began with it keep it: see credentials_keep(). */
struct credentials {
	gnutls_certificate_credentials_t v;
	bool asks; /* clients for a certificate */
	unsigned int users;
};

/*
 * Those in the file of a WIRE_CREDENTIALS, whose text is gone from memory then. Of one user;
 * *credentials is set where wire_loaded_is_good().
 */
enum wire_loaded credentials_load(int fd, struct credentials **credentials);

struct credentials *credentials_keep(struct credentials *credentials);
void credentials_drop(struct credentials *credentials);

/*
 * Did the other side show a certificate for clients that one of the authorities vouches for, and
 * has not revoked? A list that is past its time counts. Then `subject` is whose: its common name,
 * else the first of its other names that is text; may be "".
 */
bool credentials_vouch(const struct credentials *credentials, gnutls_session_t session,
		       char subject[WIRE_SUBJECT_SIZE]);

#endif
