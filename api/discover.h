// SPDX-License-Identifier: Apache-2.0
/* Processes to scrape, for Prometheus' http_sd and programs that read the same format. */
#ifndef API_DISCOVER_H
#define API_DISCOVER_H

#include "base/json.h"
#include "ops/ops.h"

#include <stdbool.h>

/*
 * An array of targets, one for each process: `target` ("host:port"; with `tls` by https), with
 * labels that identify the process. Of these, __param_pid becomes the request parameter that
 * selects it. Only processes whose profile is available now, or with `all` every process; labels
 * say which it is. `list` must have labels (struct ops_list_request). No label has the command
 * line, or more of the environment than the name of the service. `node`: the name of this host;
 * NULL: its host name.
 */
struct json_object *api_discover(const struct ops_list *list, const char *target, const char *node,
				 bool tls, bool all);

#endif
