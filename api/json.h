// SPDX-License-Identifier: Apache-2.0
/*
 * Results of operations as JSON: one function for each result, used by every interface of the
 * program. doc/schema/jeprof-ctl.json describes the documents; existing keys keep their names and
 * meanings.
 *
 * Each function returns a new document (json-c), which the caller releases with json_object_put().
 * Text from a target is made safe to print (output_safe()). Sizes are in bytes, names of times have
 * the unit. Unknown values are null.
 */
#ifndef API_JSON_H
#define API_JSON_H

#include "base/json.h"
#include "ops/growth.h"
#include "ops/guard/guard.h"
#include "ops/ops.h"
#include "ops/sample/sample.h"
#include "ops/unit/unit.h"
#include "ops/watch/watch.h"
#include "profile/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ops_bundle;

/* Formats an error's fixes as text, as fix_text() does for the command line. Returns `buf`. */
typedef const char *api_fix_fn(const struct err *err, char *buf, size_t size);

/* Call once, before the other functions; until then fixes are null. */
void api_words(api_fix_fn *fix);

/* A warning and its fixes in one line. Returns `buf`. */
const char *api_warning_text(const struct err *warning, char *buf, size_t size);

/* An err_warn_fn that adds the warning to the array `ctx`. */
void api_warning_add(void *ctx, const struct err *warning);

/* Add `warnings` to `doc` unless empty. Takes ownership of `warnings`, which may be NULL. */
struct json_object *api_with_warnings(struct json_object *doc, struct json_object *warnings);

struct json_object *api_error(const struct err *err);
/* The error of one of several processes: {"pid", "comm", "error"}. */
struct json_object *api_error_of(const struct ops_match *of, const struct err *err);
struct json_object *api_version(void);

struct json_object *api_list(const struct ops_process *const *processes, size_t n);
struct json_object *api_check(const struct ops_checks *checks);
/* `text`: the string that was checked; NULL: that of the process. */
struct json_object *api_conf(const char *text, const struct ops_conf *conf);
struct json_object *api_status(const struct ops_status *status);
struct json_object *api_get(const struct ops_value *values, size_t n, const struct ops_cost *cost);
struct json_object *api_set(const struct ops_set *set);
/* The result of a change of the switch `name`. */
struct json_object *api_change(const char *name, const struct ops_change *change);
struct json_object *api_prefix(const char *prefix, const struct ops_prefix *result);
struct json_object *api_reset(const struct ops_reset *reset);
struct json_object *api_threads(const struct ops_threads *threads, bool rates);
struct json_object *api_dump(const struct ops_dump *dump);
struct json_object *api_bundle(const struct ops_bundle *bundle);
/* `done`: the change was made; `restarted`: the service was restarted, too. */
struct json_object *api_unit(const struct ops_unit *unit, bool done, bool restarted);
struct json_object *api_probes(const struct ops_sample_progress *p);
struct json_object *api_undo(const struct ops_undone *undone, size_t n);

/* `files`: the names of the `n` files written of the difference. */
struct json_object *api_record(const struct ops_record *record, const struct ops_diff *diff,
			       const char *const *files, size_t n);
struct json_object *api_diff(const char *before, const char *after, const struct ops_diff *diff);
struct json_object *api_explain(const struct ops_explain *e);
/* The same as a string, which the caller frees; NULL without memory. */
char *api_explain_text(const struct ops_explain *e);
struct json_object *api_leaks(const struct ops_leaks *leaks);

/* The rows of a sorted table that the options leave. `memory`: of its process, or NULL. */
struct json_object *api_report(const struct profile *profile, struct profile_table *table,
			       const struct profile_report_options *options,
			       const struct ops_explain *memory);

/* The members of a document on one line, without braces; NULL without memory. Releases `doc`. */
char *api_members(struct json_object *doc);

/* Documents of a stream, one per line. `since_start` adds the time since the watch began. */
struct json_object *api_watch_event(const struct ops_watch_event *event, bool since_start);
struct json_object *api_watch_lost(uint64_t n);
/* "dump", "record" or "sample". */
const char *api_guard_action(enum ops_guard_action action);
struct json_object *api_guard_event(const struct ops_guard_event *event,
				    enum ops_guard_action action);

#endif
