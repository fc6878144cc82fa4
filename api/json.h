// SPDX-License-Identifier: Apache-2.0
/*
 * What operations return as JSON: one function for each result, used by every face of the program.
 * doc/schema/jeprof-ctl.json describes the documents; a key that exists keeps its name and meaning.
 *
 * Each returns a new document (json-c), which the caller drops with json_object_put(). Text of a
 * target is made safe to print (output_safe()). Sizes are bytes, times are named with their unit.
 * What is not known is null.
 */
#ifndef API_JSON_H
#define API_JSON_H

#include "base/json.h"
#include "ops/growth.h"
#include "ops/guard/guard.h"
#include "ops/ops.h"
#include "ops/unit/unit.h"
#include "ops/watch/watch.h"
#include "profile/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ops_bundle;

/* Puts an error's fixes into words, as fix_text() does for the command line. Returns `buf`. */
typedef const char *api_fix_fn(const struct err *err, char *buf, size_t size);

/* Once, before the others; until then fixes are null. */
void api_words(api_fix_fn *fix);

/* A warning and its fixes in one line. Returns `buf`. */
const char *api_warning_text(const struct err *warning, char *buf, size_t size);

/* An err_warn_fn: adds it to an array, `ctx`. */
void api_warning_add(void *ctx, const struct err *warning);

/* `doc` with its member warnings, unless there are none; `warnings` is taken, NULL is nothing. */
struct json_object *api_with_warnings(struct json_object *doc, struct json_object *warnings);

struct json_object *api_error(const struct err *err);
/* That of one of several processes: {"pid", "comm", "error"}. */
struct json_object *api_error_of(const struct ops_match *of, const struct err *err);
struct json_object *api_version(void);

struct json_object *api_list(const struct ops_process *const *processes, size_t n);
struct json_object *api_check(const struct ops_checks *checks);
/* `text`: what was checked; NULL: that of the process. */
struct json_object *api_conf(const char *text, const struct ops_conf *conf);
struct json_object *api_status(const struct ops_status *status);
struct json_object *api_get(const struct ops_value *values, size_t n, const struct ops_cost *cost);
struct json_object *api_set(const struct ops_set *set);
/* What became of the switch `name`. */
struct json_object *api_change(const char *name, const struct ops_change *change);
struct json_object *api_prefix(const char *prefix, const struct ops_prefix *result);
struct json_object *api_reset(const struct ops_reset *reset);
struct json_object *api_threads(const struct ops_threads *threads, bool rates);
struct json_object *api_dump(const struct ops_dump *dump);
struct json_object *api_bundle(const struct ops_bundle *bundle);
/* `done`: it was carried out; `restarted`: and the service was restarted. */
struct json_object *api_unit(const struct ops_unit *unit, bool done, bool restarted);
struct json_object *api_undo(const struct ops_undone *undone, size_t n);

/* `files`: the names of what was written of the difference, n of them. */
struct json_object *api_record(const struct ops_record *record, const struct ops_diff *diff,
			       const char *const *files, size_t n);
struct json_object *api_diff(const char *before, const char *after, const struct ops_diff *diff);
struct json_object *api_explain(const struct ops_explain *e);
/* The same as text, which the caller frees; NULL without memory. */
char *api_explain_text(const struct ops_explain *e);
struct json_object *api_leaks(const struct ops_leaks *leaks);

/* The rows that the options leave of a sorted table. `memory`: of its process, or NULL. */
struct json_object *api_report(const struct profile *profile, struct profile_table *table,
			       const struct profile_report_options *options,
			       const struct ops_explain *memory);

/* The members of a document, which is taken, on one line without braces; NULL without memory. */
char *api_members(struct json_object *doc);

/* Documents of a stream, each on one line. `since_start` adds the time since the watch began. */
struct json_object *api_watch_event(const struct ops_watch_event *event, bool since_start);
struct json_object *api_watch_lost(uint64_t n);
/* "dump", "record" or "sample". */
const char *api_guard_action(enum ops_guard_action action);
struct json_object *api_guard_event(const struct ops_guard_event *event,
				    enum ops_guard_action action);

#endif
