// SPDX-License-Identifier: Apache-2.0
/*
 * Detects requests that a browser sends on behalf of another site. A page of another site can have
 * its visitor's browser send requests with the visitor's access: by a form, an image, or through a
 * name that temporarily resolves to this host (DNS rebinding).
 */
#ifndef FRONT_ORIGIN_H
#define FRONT_ORIGIN_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Method and headers; NULL: missing. */
struct origin {
	const char *method;
	const char *host, *origin, *referer, *fetch_site;
	bool changes; /* it changes something, so it is not safe even with a safe method */
};

enum origin_verdict {
	ORIGIN_GOOD,
	ORIGIN_OTHER_HOST, /* the Host is not ours */
	ORIGIN_OTHER_SITE, /* another site sent it */
	ORIGIN_BROWSER,	   /* sent by a browser, to a Unix socket */
};

/*
 * Like CrossOriginProtection of Go's net/http: safe methods are allowed from anywhere, others only
 * from our own pages or the user, by Sec-Fetch-Site or, without that, by Origin. In addition, a
 * foreign Origin is refused for all methods.
 *
 * `hosts` are the names of this host besides localhost, 127.0.0.1 and [::1], with any port. On
 * WIRE_TLS any IP address is accepted, too: no name was resolved, so this is not rebinding. On
 * WIRE_UNIX any name is accepted, for the same reason.
 */
enum origin_verdict origin_judge(enum wire_transport transport, const struct origin *o,
				 const char *const *hosts, size_t n_hosts);

#endif
