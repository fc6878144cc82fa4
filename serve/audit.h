// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: operations as the text of events (serve/events.h). */
#ifndef SERVE_AUDIT_H
#define SERVE_AUDIT_H

#include "base/json.h"
#include "serve/events.h"

/* The fields of the log; the client only for WIRE_ROLE_CONTROL. False: out of memory. */
bool audit_text(const struct serve_event *e, struct event_text *text);

/* The members of an event; takes `doc`. The caller's, or NULL if out of memory. */
char *audit_members(const char *type, struct json_object *doc);

#endif
