// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: the files of TLS, for the front, which may open none. What is in them is the
 * front's to judge; here they are read, and sealed. They may be replaced at any time.
 */
#ifndef SERVE_CERTIFICATE_H
#define SERVE_CERTIFICATE_H

#include "serve/serve.h"

#include <stdbool.h>
#include <sys/stat.h>

struct certificate {
	const char *paths[WIRE_PEMS]; /* NULL: there is none */
	struct stat seen[WIRE_PEMS];  /* when they were read */
	int good, offered; /* memory files, or -1: of the front, and one it has to judge */
};

void certificate_init(struct certificate *c, const struct serve_request *request);
void certificate_fini(struct certificate *c);

/*
 * 1: they are not what was read last, and `offered` is what they are now; 0: they are the same, or
 * the last offer has not been judged yet;
 * -1: one cannot be read, is too long, or others may write to it, or read the key (ERR_FAILED).
 * That is said once, until they change again.
 */
int certificate_renew(struct certificate *c, struct err *err) __must_check;

/* It was not offered after all: it is read again. */
void certificate_withdraw(struct certificate *c);

/* For a front that has just started, `offered` is the last good one again, if there was one. */
void certificate_restart(struct certificate *c);

/*
 * What the front made of the offered one. 0: it is the good one now; 1: the same, but `err` is
 * a warning; -1: ERR_FAILED, and the good one stays.
 */
int certificate_judged(struct certificate *c, enum wire_loaded loaded, struct err *err)
	__must_check;

#endif
