// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a browser sends a request because another site told it to. All that a page of another
 * site can do is have its visitor's browser ask, here where that visitor may: by a form, an image,
 * or under a name that leads here for the moment (DNS rebinding).
 */
#ifndef FRONT_ORIGIN_H
#define FRONT_ORIGIN_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Headers; NULL: there is none. */
struct origin {
	const char *method;
	const char *host, *origin, *referer, *fetch_site;
	bool changes; /* something, whatever its method is: it is not safe */
};

enum origin_verdict {
	ORIGIN_GOOD,
	ORIGIN_OTHER_HOST, /* it was meant for a name that is not ours */
	ORIGIN_OTHER_SITE, /* another site sent it */
	ORIGIN_BROWSER,	   /* no browser speaks to a socket of a file system */
};

/*
 * As CrossOriginProtection of Go's net/http has it: safe methods may come from anywhere; others
 * from our own pages or the user, by Sec-Fetch-Site or, without that, by Origin. And an Origin
 * that is another's is refused for all.
 *
 * `hosts` are names by which we are known besides localhost, 127.0.0.1 and [::1], whatever the
 * port. On WIRE_TLS an address is one, too: a page that came from there is ours, as no name leads
 * there for the moment. On WIRE_UNIX any name will do, as none was looked up to come there.
 */
enum origin_verdict origin_judge(enum wire_transport transport, const struct origin *o,
				 const char *const *hosts, size_t n_hosts);

#endif
