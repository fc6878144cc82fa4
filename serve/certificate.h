// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: reads the TLS files into a sealed memory file for the front, which cannot open
 * files itself. Only the front parses them. The files may be replaced at any time.
 */
#ifndef SERVE_CERTIFICATE_H
#define SERVE_CERTIFICATE_H

#include "serve/serve.h"

#include <stdbool.h>
#include <sys/stat.h>

struct certificate {
	const char *paths[WIRE_PEMS]; /* NULL: not given */
	struct stat seen[WIRE_PEMS];  /* at the last read */
	int good, offered; /* memory files, or -1: the one in use, and one the front is to check */
};

void certificate_init(struct certificate *c, const struct serve_request *request);
void certificate_fini(struct certificate *c);

/*
 * 1: the files have changed, and `offered` has their content; 0: they have not, or the front has
 * not checked the last offer yet; -1: one cannot be read, is too long, is writable by other users,
 * or the key is readable by them (ERR_FAILED). An error is reported once until the files change.
 */
int certificate_renew(struct certificate *c, struct err *err) __must_check;

/* The offer could not be sent: the files will be read again. */
void certificate_withdraw(struct certificate *c);

/* For a new front: offer the last good one again, if there is one. */
void certificate_restart(struct certificate *c);

/*
 * The result of the front's check. 0: the offered one becomes the good one; 1: the same, and `err`
 * is a warning; -1: ERR_FAILED, and the good one is kept.
 */
int certificate_judged(struct certificate *c, enum wire_loaded loaded, struct err *err)
	__must_check;

#endif
