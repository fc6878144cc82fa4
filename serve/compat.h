// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: operations in the words of services that had them first (enum wire_words): of
 * Mesos' libprocess (memory_profiler.cpp), libmtev (mtev_heap_profiler.c), and TiKV before it
 * sampled always (status_server). Each is as in serve/operate.c.
 */
#ifndef SERVE_COMPAT_H
#define SERVE_COMPAT_H

#include "serve/operate.h"

/*
 * What the broker does first: are these words allowed, and which process is meant at the root? If
 * only its name is known, the request is open: a process of its own finds it, and the broker goes
 * on with that.
 */
enum wire_refusal compat_resolve(const struct serve_request *request, struct wire_to_broker *ask);
bool compat_is_open(const struct wire_to_broker *ask);
void compat_find(const struct work *w, struct result *r);

int compat_mesos_start(const struct work *w, struct result *r, struct err *err);
int compat_mesos_stop(const struct work *w, struct result *r, struct err *err);
int compat_mesos_state(const struct work *w, struct result *r, struct err *err);
int compat_mesos_download(const struct work *w, struct result *r, struct err *err);
int compat_mtev_state(const struct work *w, struct result *r, struct err *err);
int compat_tikv_list(const struct work *w, struct result *r, struct err *err);

/* What is said of a recording that has begun, `doc`, and of a switch that was set. */
struct json_object *compat_began(const struct wire_to_broker *ask, struct json_object *doc,
				 bool already);
int compat_switched(const struct work *w, const struct ops_change *change, struct err *err)
	__must_check;

/* An error, a line for each; NULL: our own words will do. */
const char *compat_error(const struct wire_to_broker *ask, const struct err *why, char *buf,
			 size_t size);

/*
 * Who holds memory, as jeprof --text has it: bytes in a function, and with those it calls, the
 * largest first. `folded` is such a profile (profile/format/).
 */
int compat_table(int folded, int out, struct err *err) __must_check;

#endif
