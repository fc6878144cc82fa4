// SPDX-License-Identifier: Apache-2.0
/* Private to serve/: what happened, as the text of an event (serve/events.h). */
#ifndef SERVE_AUDIT_H
#define SERVE_AUDIT_H

#include "base/json.h"
#include "serve/events.h"

/* As the log has it; who asked is for WIRE_ROLE_CONTROL alone. False: there is no memory. */
bool audit_text(const struct serve_event *e, struct event_text *text);

/* An event's members from a document, which is taken; NULL without memory. */
char *audit_members(const char *type, struct json_object *doc);

#endif
