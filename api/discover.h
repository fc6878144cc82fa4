// SPDX-License-Identifier: Apache-2.0
/* Which processes there are to scrape, for Prometheus' http_sd and who reads the same. */
#ifndef API_DISCOVER_H
#define API_DISCOVER_H

#include "base/json.h"
#include "ops/ops.h"

#include <stdbool.h>

/*
 * An array of targets, one for each process: `target` ("host:port", with `tls` by https) with
 * labels that tell it from the others, of which __param_pid becomes the parameter that says which
 * process is meant. Those whose profile can be had now, or with `all` each; the labels say which.
 * `list` is one with labels (struct ops_list_request). No label has a command line, or of the
 * environment more than the name of the service. `node` is what this host is called; NULL: its
 * host name.
 */
struct json_object *api_discover(const struct ops_list *list, const char *target, const char *node,
				 bool tls, bool all);

#endif
