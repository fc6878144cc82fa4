// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: operations with the answers of other services (enum wire_words): Mesos'
 * libprocess (memory_profiler.cpp), libmtev (mtev_heap_profiler.c), and TiKV before it always
 * sampled (status_server). Their prototypes are those of serve/operate.c.
 */
#ifndef SERVE_COMPAT_H
#define SERVE_COMPAT_H

#include "serve/operate.h"

/*
 * The broker's first check: is this dialect enabled, and which process do paths without /pid/PID
 * mean? If only its name is known, the request is open: a subprocess finds the process, then the
 * broker continues with its pid.
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

/* The answers to a recording that has begun (`doc`) and to (de)activation. */
struct json_object *compat_began(const struct wire_to_broker *ask, struct json_object *doc,
				 bool already);
int compat_switched(const struct work *w, const struct ops_change *change, struct err *err)
	__must_check;

/* The text of an error in that dialect; NULL: use our own. */
const char *compat_error(const struct wire_to_broker *ask, const struct err *why, char *buf,
			 size_t size);

/*
 * Write the table of jeprof --text: flat and cumulative bytes by function, the largest first.
 * `folded` is a profile in that format (profile/format/).
 */
int compat_table(int folded, int out, struct err *err) __must_check;

#endif
