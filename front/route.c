// SPDX-License-Identifier: Apache-2.0
#include "front/route.h"

#include "base/text.h"
#include "front/compat.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define PATH_SIZE 256
#define VALUE_SIZE 64

enum {
	GET = 1,
	HEAD = 2,
	POST = 4,
	DELETE = 8,
};

/* Query parameters. */
#define PARAMS(X)                  \
	X(PID, "pid")              \
	X(START, "start_time")     \
	X(FORMAT, "format")        \
	X(RATE, "sample_rate")     \
	X(DURATION, "duration")    \
	X(BASE, "base")            \
	X(STATS, "stats")          \
	X(ALL, "all")              \
	X(SECONDS, "seconds")      \
	X(DEBUG, "debug")          \
	X(ID, "id")                \
	X(ACTIVE, "active")        \
	X(TRIGGER, "trigger_dump") \
	X(JEPROF, "jeprof")        \
	X(NAME, "name")            \
	X(INTERVAL, "interval")    \
	X(SINCE, "since")          \
	X(WAIT, "wait")

enum param {
#define PARAM(id, name) PARAM_##id,
	PARAMS(PARAM)
#undef PARAM
		PARAM_COUNT
};

static const char *const param_names[] = {
#define PARAM(id, name) name,
	PARAMS(PARAM)
#undef PARAM
};

#define TAKES(id) (1u << PARAM_##id)
#define OTHERS (1u << PARAM_COUNT) /* unknown ones are ignored */
#define NEEDS_PID (2u << PARAM_COUNT)
#define PINNED TAKES(START)
#define LASTS (TAKES(DURATION) | TAKES(RATE))
#define SCRAPED (TAKES(SECONDS) | TAKES(DEBUG) | TAKES(FORMAT) | OTHERS)

struct row {
	unsigned int methods;
	const char *path; /* '#' matches a pid, '@' a run, and '*' at the end anything */
	enum route_style style;
	enum route_own own;
	enum wire_op op;
	enum wire_format format;
	uint32_t flags;
	unsigned int params;
	const char *what; /* for the index; NULL: not listed */
	bool attached;
};

#define SCRAPE (WIRE_IF_ACTIVE | WIRE_TEXT_ERRORS)
#define API "/api/v1/processes"
#define API_RUNS "/api/v1/runs"
#define API_EVENTS "/api/v1/events"
#define ASK(op, format, flags) ROUTE_ASKS, WIRE_##op, WIRE_FORMAT_##format, flags
#define OWN(what) ROUTE_##what, WIRE_OP_NONE, WIRE_FORMAT_TEXT, 0

/* The first match counts, so those with '*' are last. */
static const struct row rows[] = {
	{ GET | HEAD, "/", ROUTE_PLAIN, OWN(INDEX), 0, "a page for browsers, otherwise this list",
	  false },
	{ GET | HEAD, "/healthz", ROUTE_PLAIN, OWN(HEALTH), 0, "says ok", false },
	{ GET, "/metrics", ROUTE_PLAIN, ASK(METRICS, PROM, WIRE_TEXT_ERRORS),
	  TAKES(PID) | TAKES(STATS), "for Prometheus; pid=, stats=1", false },
	{ GET, "/sd", ROUTE_PLAIN, ASK(DISCOVER, JSON, WIRE_TEXT_ERRORS), TAKES(ALL),
	  "targets for http_sd; all=1", false },
	{ GET, API, ROUTE_JSON, ASK(LIST, JSON, 0), 0, "processes that use jemalloc", false },
	{ GET, API "/#", ROUTE_JSON, ASK(LIST, JSON, 0), PINNED, "one of them", false },
	{ GET, API "/#/check", ROUTE_JSON, ASK(CHECK, JSON, 0), PINNED,
	  "whether it can be profiled", false },
	{ GET, API "/#/status", ROUTE_JSON, ASK(STATUS, JSON, 0), PINNED, "how profiling is set up",
	  false },
	{ GET, API "/#/explain", ROUTE_JSON, ASK(EXPLAIN, JSON, 0), PINNED, "where its memory is",
	  false },
	{ GET, API "/#/threads", ROUTE_JSON, ASK(THREADS, JSON, 0), PINNED, "its threads", false },
	{ GET, API "/#/stats", ROUTE_JSON, ASK(STATS, JSON, 0), PINNED | TAKES(FORMAT),
	  "jemalloc's statistics; format=json|text", false },
	{ POST, API "/#/activate", ROUTE_JSON, ASK(ACTIVATE, JSON, 0), PINNED, "start sampling",
	  false },
	{ POST, API "/#/deactivate", ROUTE_JSON, ASK(DEACTIVATE, JSON, 0), PINNED, "stop sampling",
	  false },
	{ POST, API "/#/reset", ROUTE_JSON, ASK(RESET, JSON, 0), PINNED | TAKES(RATE),
	  "forget all samples; sample_rate=512K", false },
	{ POST, API "/#/dump", ROUTE_JSON, ASK(DUMP, HEAP, 0), PINNED | TAKES(FORMAT),
	  "a profile; format=heap|pprof|folded|text|json|speedscope|html|svg", true },
	{ POST, API "/#/record", ROUTE_JSON, ASK(RECORD, JSON, 0), PINNED | LASTS,
	  "begin to record; duration=30s, sample_rate=512K", false },
	{ POST, API "/#/sample", ROUTE_JSON, ASK(SAMPLE, JSON, 0), PINNED | LASTS,
	  "the same without prof:true", false },
	{ GET, API_RUNS, ROUTE_JSON, ASK(RUNS, JSON, 0), TAKES(PID), "recorded runs; pid=", false },
	{ GET, API_RUNS "/@", ROUTE_JSON, ASK(RUN, JSON, 0), 0, "one run", false },
	{ DELETE, API_RUNS "/@", ROUTE_JSON, ASK(RUN_DELETE, JSON, 0), 0, "remove it", false },
	{ POST, API_RUNS "/@/stop", ROUTE_JSON, ASK(RUN_STOP, JSON, 0), 0, "end it early", false },
	{ GET, API_RUNS "/@/profile", ROUTE_JSON, ASK(RUN_PROFILE, HEAP, 0), TAKES(FORMAT),
	  "its profile; format=", true },
	{ GET, API_RUNS "/@/diff", ROUTE_JSON, ASK(RUN_PROFILE, JSON, WIRE_GROWTH),
	  TAKES(FORMAT) | TAKES(BASE),
	  "what grew meanwhile, or since the run base=; format=", true },
	{ GET, API_EVENTS, ROUTE_JSON, ASK(EVENTS, NDJSON, 0),
	  TAKES(SINCE) | TAKES(WAIT) | TAKES(PID), "events; since=, wait=30, pid=", false },
	{ GET, "/pid/#/pprof/heap", ROUTE_PPROF, ASK(DUMP, HEAP, SCRAPE), OTHERS, "for jeprof",
	  true },
	{ GET, "/pid/#/pprof/cmdline", ROUTE_PPROF, ASK(CMDLINE, TEXT, WIRE_TEXT_ERRORS), OTHERS,
	  NULL, false },
	{ GET | HEAD, "/pid/#/pprof/symbol", ROUTE_PPROF, OWN(SYMBOL_COUNT), OTHERS, NULL, false },
	{ POST, "/pid/#/pprof/symbol", ROUTE_PPROF, ASK(SYMBOLS, TEXT, WIRE_TEXT_ERRORS), OTHERS,
	  NULL, false },
	{ GET, "/pid/#/debug/pprof/", ROUTE_PPROF, OWN(PPROF_INDEX), OTHERS, NULL, false },
	{ GET, "/pid/#/debug/pprof/heap", ROUTE_PPROF, ASK(DUMP, PPROF, SCRAPE), SCRAPED,
	  "for go tool pprof; seconds=, debug=1, format=", true },
	{ GET, "/pid/#/debug/pprof/allocs", ROUTE_PPROF, ASK(DUMP, PPROF, SCRAPE), SCRAPED,
	  "the same", true },
	{ GET, "/pid/#/debug/pprof/cmdline", ROUTE_PPROF, ASK(CMDLINE, TEXT, WIRE_TEXT_ERRORS),
	  OTHERS, NULL, false },
	{ GET | HEAD, "/pid/#/debug/pprof/symbol", ROUTE_PPROF, OWN(SYMBOL_COUNT), OTHERS, NULL,
	  false },
	{ POST, "/pid/#/debug/pprof/symbol", ROUTE_PPROF, ASK(SYMBOLS, TEXT, WIRE_TEXT_ERRORS),
	  OTHERS, NULL, false },
	{ GET, "/debug/pprof/heap", ROUTE_PPROF, ASK(DUMP, PPROF, SCRAPE),
	  SCRAPED | TAKES(PID) | NEEDS_PID, "for Parca and Alloy; pid=", true },
	{ GET, "/debug/pprof/allocs", ROUTE_PPROF, ASK(DUMP, PPROF, SCRAPE),
	  SCRAPED | TAKES(PID) | NEEDS_PID, "the same", true },
	{ 0, "/pid/#/debug/pprof/*", ROUTE_PPROF, OWN(INDEX), 0, NULL, false },
	{ 0, "/debug/pprof/*", ROUTE_PPROF, OWN(INDEX), 0, NULL, false },
	{ 0, "/api/*", ROUTE_JSON, OWN(INDEX), 0, NULL, false },
};

#define ALIAS(path, op, format, params, attached)                                             \
	{                                                                                     \
		GET, path, ROUTE_PLAIN, ASK(op, format, WIRE_TEXT_ERRORS), (params) | OTHERS, \
			NULL, attached                                                        \
	}
#define MESOS "/memory-profiler"
#define TIKV "/debug/pprof"

/* Paths of other services, after "/pid/#". Some are GET but change a process. */
static const struct {
	enum wire_words words;
	struct row row;
} aliases[] = {
	{ WIRE_MESOS, ALIAS(MESOS "/start", MESOS_START, JSON, TAKES(DURATION), false) },
	{ WIRE_MESOS, ALIAS(MESOS "/stop", MESOS_STOP, JSON, 0, false) },
	{ WIRE_MESOS, ALIAS(MESOS "/state", MESOS_STATE, JSON, 0, false) },
	{ WIRE_MESOS, ALIAS(MESOS "/statistics", STATS, JSON, 0, false) },
	{ WIRE_MESOS, ALIAS(MESOS "/download/raw", MESOS_DOWNLOAD, HEAP, TAKES(ID), true) },
	{ WIRE_MESOS, ALIAS(MESOS "/download/text", MESOS_DOWNLOAD, TEXT, TAKES(ID), true) },
	{ WIRE_MESOS, ALIAS(MESOS "/download/graph", MESOS_DOWNLOAD, SVG, TAKES(ID), true) },
	{ WIRE_MTEV,
	  ALIAS("/mtev/heap_profile", MTEV_STATE, TEXT, TAKES(ACTIVE) | TAKES(TRIGGER), false) },
	{ WIRE_MTEV, ALIAS("/mtev/memory.json", STATS, JSON, 0, false) },
	{ WIRE_TIKV, ALIAS(TIKV "/heap_activate", ACTIVATE, TEXT, TAKES(INTERVAL), false) },
	{ WIRE_TIKV, ALIAS(TIKV "/heap_deactivate", DEACTIVATE, TEXT, 0, false) },
	{ WIRE_TIKV, ALIAS(TIKV "/heap_list", TIKV_LIST, TEXT, 0, false) },
	{ WIRE_TIKV,
	  ALIAS(TIKV "/heap", DUMP, HEAP, TAKES(PID) | TAKES(JEPROF) | TAKES(NAME), true) },
	{ WIRE_TIKV, ALIAS(TIKV "/cmdline", CMDLINE, TEXT, TAKES(PID), false) },
	{ WIRE_TIKV,
	  { GET | HEAD, TIKV "/symbol", ROUTE_PPROF, OWN(SYMBOL_COUNT), OTHERS, NULL, false } },
	{ WIRE_TIKV,
	  { POST, TIKV "/symbol", ROUTE_PPROF, ASK(SYMBOLS, TEXT, WIRE_TEXT_ERRORS),
	    TAKES(PID) | OTHERS, NULL, false } },
};

__attribute__((format(printf, 3, 4))) static bool refuse(struct route *route, unsigned int status,
							 const char *format, ...)
{
	va_list args;

	route->status = status;
	va_start(args, format);
	vsnprintf(route->text, sizeof(route->text), format, args);
	va_end(args);
	return false;
}

/* --- text --- */

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

enum decoded { DECODED, DECODED_BAD, DECODED_LONG };

/* Only printable characters are allowed, encoded or not, and no encoded slash in a path. */
static enum decoded decode(const char *raw, size_t len, bool path, char *buf, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = raw[i];

		if (c == '%') {
			int high = i + 2 < len ? hex_digit(raw[i + 1]) : -1;
			int low = i + 2 < len ? hex_digit(raw[i + 2]) : -1;

			if (high < 0 || low < 0)
				return DECODED_BAD;
			c = (char)(high * 16 + low);
			i += 2;
			if (path && c == '/')
				return DECODED_BAD;
		}
		if (c <= ' ' || c > '~')
			return DECODED_BAD;
		if (n + 1 >= size)
			return DECODED_LONG;
		buf[n++] = c;
	}
	buf[n] = '\0';
	return DECODED;
}

/* Only digits, without leading zeros. False if malformed or more than `max`. */
static bool number(const char *text, size_t len, uint64_t max, uint64_t *n)
{
	uint64_t value = 0;

	if (!len || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned int digit = (unsigned int)(text[i] - '0');

		if (digit > 9 || value > max / 10 || value * 10 > max - digit)
			return false;
		value = value * 10 + digit;
	}
	*n = value;
	return true;
}

static bool pid_of(const char *text, size_t len, int32_t *pid)
{
	uint64_t n;

	if (!number(text, len, ROUTE_PID_MAX, &n) || !n)
		return false;
	*pid = (int32_t)n;
	return true;
}

static bool run_of(const char *text, size_t len, uint64_t *run)
{
	return number(text, len, ROUTE_RUN_MAX, run) && *run;
}

/* --- paths --- */

/* Numbers in a path. */
struct named {
	int32_t pid;
	uint64_t run;
};

static bool fits(const char *pattern, const char *path, struct named *named)
{
	for (; *pattern; pattern++) {
		size_t digits;

		if (*pattern == '*')
			return true;
		if (*pattern != '#' && *pattern != '@') {
			if (*path++ != *pattern)
				return false;
			continue;
		}
		digits = strcspn(path, "/");
		if (*pattern == '#' ? !pid_of(path, digits, &named->pid)
				    : !run_of(path, digits, &named->run))
			return false;
		path += digits;
	}
	return !*path;
}

static unsigned int method_of(const char *name)
{
	return !strcmp(name, "GET")	 ? GET
	       : !strcmp(name, "HEAD")	 ? HEAD
	       : !strcmp(name, "POST")	 ? POST
	       : !strcmp(name, "DELETE") ? DELETE
					 : 0;
}

static void set_allow(struct route *route, unsigned int methods)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "DELETE" };
	size_t used = 0;

	for (size_t i = 0; i < COUNT(names); i++)
		if (methods & 1u << i)
			used += (size_t)snprintf(route->allow + used, sizeof(route->allow) - used,
						 "%s%s", used ? ", " : "", names[i]);
}

/* NULL: no match; *methods is set to those that the path has. */
static const struct row *find_alias(const struct route_request *request, const char *path,
				    struct route *route, unsigned int *methods)
{
	struct named named = { 0 };
	bool at_root = !fits("/pid/#/*", path, &named);
	const char *rest = at_root ? path : strchr(path + strlen("/pid/"), '/');

	if (at_root && !request->at_root)
		return NULL;
	for (size_t i = 0; i < COUNT(aliases); i++) {
		if (!(request->words & 1u << aliases[i].words) ||
		    strcmp(rest, aliases[i].row.path) != 0)
			continue;
		*methods |= aliases[i].row.methods;
		if (!(aliases[i].row.methods & method_of(request->method)))
			continue;
		route->words = aliases[i].words;
		route->style = aliases[i].row.style;
		route->pid = named.pid;
		return &aliases[i].row;
	}
	return NULL;
}

/* NULL, with the error set: no such path, or another method. */
static const struct row *find_row(const struct route_request *request, const char *path,
				  struct route *route)
{
	unsigned int method = method_of(request->method), methods = 0;
	const struct row *alias = find_alias(request, path, route, &methods);

	if (alias)
		return alias;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct named named = { 0 };

		if (!fits(rows[i].path, path, &named))
			continue;
		if (!methods)
			route->style = rows[i].style;
		methods |= rows[i].methods;
		if (rows[i].methods & method) {
			route->pid = named.pid;
			route->run = named.run;
			return &rows[i];
		}
		if (!rows[i].methods)
			break;
	}
	if (methods) {
		set_allow(route, methods);
		refuse(route, 405, "allowed methods: %s", route->allow);
	} else if (route->style == ROUTE_PPROF) {
		refuse(route, 404, "Unknown profile");
	} else {
		refuse(route, 404, "no such page; / lists those that exist");
	}
	return NULL;
}

/* --- arguments --- */

/* State of parsing the query. */
struct query {
	const struct row *row;
	unsigned int seen; /* TAKES() */
	bool debug;
	bool active, dump, jeprof; /* of paths of other services */
	struct route *route;
};

static bool refuse_value(struct query *q, enum param param, const char *wanted)
{
	return refuse(q->route, 400, "invalid value for \"%s\": %s", param_names[param], wanted);
}

static bool set_format(struct query *q, const char *value)
{
	static const struct {
		const char *name;
		enum wire_format format;
	} formats[] = {
		{ "json", WIRE_FORMAT_JSON },	  { "text", WIRE_FORMAT_TEXT },
		{ "heap", WIRE_FORMAT_HEAP },	  { "pprof", WIRE_FORMAT_PPROF },
		{ "folded", WIRE_FORMAT_FOLDED }, { "speedscope", WIRE_FORMAT_SPEEDSCOPE },
		{ "html", WIRE_FORMAT_HTML },	  { "svg", WIRE_FORMAT_SVG },
	};
	/* Statistics have the first two only; differences have no formats of jemalloc's. */
	size_t n = q->row->op == WIRE_STATS ? 2 : COUNT(formats);
	bool growth = q->row->flags & WIRE_GROWTH;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(value, formats[i].name) && !(growth && (i == 1 || i == 2))) {
			q->route->format = formats[i].format;
			return true;
		}
	return refuse_value(q, PARAM_FORMAT,
			    n == 2   ? "json or text"
			    : growth ? "pprof, folded, json, speedscope, html or svg"
				     : "heap, pprof, folded, text, json, speedscope, html or svg");
}

static bool set_rate(struct query *q, const char *value)
{
	struct err err = ERR_INIT;
	uint64_t bytes;

	if (text_size_parse(value, &bytes, &err) < 0 || !bytes || bytes & (bytes - 1))
		return refuse_value(q, PARAM_RATE, "a power of two, such as 512K");
	q->route->lg_sample = __builtin_ctzll(bytes);
	q->route->flags |= WIRE_HAS_LG;
	return true;
}

static bool set_duration(struct query *q, const char *value)
{
	struct err err = ERR_INIT;
	char why[sizeof(q->route->text)];
	uint64_t ms;

	if (q->route->words)
		return compat_duration(value, &q->route->duration_ms, why, sizeof(why)) ||
		       refuse(q->route, 400, "%s", why);
	if (text_duration_parse(value, &ms, &err) < 0 || !ms || ms > WIRE_DURATION_MAX_MS)
		return refuse_value(q, PARAM_DURATION, "a time such as 30s, of up to 24h");
	q->route->duration_ms = (uint32_t)ms;
	return true;
}

static bool set_flag(struct query *q, enum param param, const char *value, uint32_t flag)
{
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return refuse_value(q, param, "0 or 1");
	if (*value == '1')
		q->route->flags |= flag;
	return true;
}

/* The messages are those of Go's net/http/pprof. */
static bool set_seconds(struct query *q, const char *value)
{
	uint64_t n = 0;

	if (!*value)
		return true;
	while (value[0] == '0' && value[1])
		value++;
	if (!number(value, strlen(value), UINT64_MAX, &n) || !n)
		return refuse(q->route, 400,
			      "invalid value for \"seconds\" - must be a positive integer");
	if (n > WIRE_SECONDS_MAX)
		return refuse(q->route, 400, "invalid value for \"seconds\" - must be at most %d",
			      WIRE_SECONDS_MAX);
	q->route->seconds = (uint32_t)n;
	return true;
}

/* As in Go, a malformed number is 0. */
static void set_debug(struct query *q, const char *value)
{
	char *end;
	long n = strtol(value, &end, 10);

	q->debug = n && !*end;
}

static bool set_since(struct query *q, const char *value)
{
	q->route->flags |= WIRE_HAS_SINCE;
	return number(value, strlen(value), ROUTE_RUN_MAX, &q->route->since) ||
	       refuse_value(q, PARAM_SINCE, "the id of an event");
}

static bool set_wait(struct query *q, const char *value)
{
	uint64_t n;

	if (!number(value, strlen(value), WIRE_WAIT_MAX, &n))
		return refuse_value(q, PARAM_WAIT, "seconds, up to 60");
	q->route->seconds = (uint32_t)n;
	return true;
}

/* --- parameters of other services --- */

static bool is_true(const char *value)
{
	return !strcmp(value, "true");
}

static bool set_id(struct query *q, const char *value)
{
	if (run_of(value, strlen(value), &q->route->run))
		return true;
	return strspn(value, "0123456789") == strlen(value)
		       ? refuse(q->route, 400, "Cannot serve requested id #%s.", value)
		       : refuse(q->route, 400, "Invalid parameter 'id': Garbage after parsed id.");
}

/* "1795739021.heap", as in the list. */
static bool set_name(struct query *q, const char *value)
{
	size_t digits = strspn(value, "0123456789");

	if (strcmp(value + digits, ".heap") != 0)
		return refuse(q->route, 400, "heap profile name %s is invalid", value);
	return run_of(value, digits, &q->route->run) ||
	       refuse(q->route, 400, "heap profile %s not found", value);
}

/* TiKV's interval for dumps into files, which are not supported: only checked. */
static bool set_interval(struct query *q, const char *value)
{
	uint64_t n;

	return number(value, strlen(value), UINT64_MAX, &n) ||
	       refuse(q->route, 400,
		      *value ? "invalid digit found in string"
			     : "cannot parse integer from empty string");
}

static bool set_other(struct query *q, enum param param, const char *value)
{
	switch (param) {
	case PARAM_ID:
		return set_id(q, value);
	case PARAM_NAME:
		return set_name(q, value);
	case PARAM_INTERVAL:
		return set_interval(q, value);
	case PARAM_ACTIVE:
		q->active = is_true(value);
		return true;
	case PARAM_TRIGGER:
		q->dump = is_true(value);
		return true;
	default:
		q->jeprof = is_true(value);
		return true;
	}
}

/* --- the query --- */

static bool set_param(struct query *q, enum param param, const char *value)
{
	switch (param) {
	case PARAM_PID:
		return pid_of(value, strlen(value), &q->route->pid) ||
		       refuse_value(q, param, "the id of a process");
	case PARAM_START:
		return number(value, strlen(value), UINT64_MAX, &q->route->start_time) ||
		       refuse_value(q, param, "a number");
	case PARAM_FORMAT:
		return set_format(q, value);
	case PARAM_RATE:
		return set_rate(q, value);
	case PARAM_DURATION:
		return set_duration(q, value);
	case PARAM_BASE:
		return run_of(value, strlen(value), &q->route->base) ||
		       refuse_value(q, param, "the number of a run");
	case PARAM_STATS:
		return set_flag(q, param, value, WIRE_TOUCH);
	case PARAM_ALL:
		return set_flag(q, param, value, WIRE_ALL);
	case PARAM_SECONDS:
		return set_seconds(q, value);
	case PARAM_DEBUG:
		set_debug(q, value);
		return true;
	case PARAM_SINCE:
		return set_since(q, value);
	case PARAM_WAIT:
		return set_wait(q, value);
	case PARAM_ID:
	case PARAM_ACTIVE:
	case PARAM_TRIGGER:
	case PARAM_JEPROF:
	case PARAM_NAME:
	case PARAM_INTERVAL:
		return set_other(q, param, value);
	case PARAM_COUNT:
		break;
	}
	return false;
}

/* One parameter of `len` bytes. */
static bool take_argument(struct query *q, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t name_len = equals ? (size_t)(equals - text) : len;
	char name[VALUE_SIZE], value[VALUE_SIZE] = "";
	enum decoded named = decode(text, name_len, false, name, sizeof(name)), valued = DECODED;

	if (equals)
		valued = decode(equals + 1, len - name_len - 1, false, value, sizeof(value));
	for (enum param p = 0; named == DECODED && p < PARAM_COUNT; p++) {
		if (strcmp(name, param_names[p]) != 0 || !(q->row->params & 1u << p))
			continue;
		if (q->seen & 1u << p)
			return refuse(q->route, 400, "\"%s\" is given twice", name);
		q->seen |= 1u << p;
		if (valued != DECODED)
			return refuse(q->route, 400, "invalid value for \"%s\"", name);
		return set_param(q, p, value);
	}
	if (q->row->params & OTHERS)
		return true;
	if (named == DECODED_BAD)
		return refuse(q->route, 400, "malformed query");
	return refuse(q->route, 400, "unknown parameter: %.*s", 40,
		      named == DECODED ? name : "(a long one)");
}

static bool take_query(struct query *q, const char *query)
{
	while (query && *query) {
		size_t len = strcspn(query, "&");

		if (len && !take_argument(q, query, len))
			return false;
		query += len + (query[len] == '&');
	}
	return true;
}

static void combine_others(struct query *q)
{
	struct route *route = q->route;

	if (q->seen & TAKES(ACTIVE)) {
		route->op = q->active ? WIRE_ACTIVATE : WIRE_DEACTIVATE;
	} else if (q->dump) {
		route->op = WIRE_DUMP;
		route->format = WIRE_FORMAT_HEAP;
	}
	if (q->jeprof)
		route->format = WIRE_FORMAT_SVG;
	if (route->words == WIRE_TIKV && route->run)
		route->op = WIRE_RUN_PROFILE;
	else if (route->words == WIRE_TIKV && route->op == WIRE_DUMP)
		route->flags |= WIRE_IF_ACTIVE;
	if (!route->pid && !route->own)
		route->flags |= WIRE_AT_ROOT;
}

/* Combinations of parameters. */
static bool combine(struct query *q)
{
	struct route *route = q->route;

	if (route->seconds && q->debug)
		return refuse(route, 400, "seconds and debug params are incompatible");
	if (q->row->params & NEEDS_PID && !route->pid)
		return refuse(route, 400, "pid is missing");
	if (wire_is_run(route->op) && !route->duration_ms)
		route->duration_ms = route->words ? ROUTE_MESOS_MS : ROUTE_DURATION_MS;
	if (route->op == WIRE_EVENTS && !(q->seen & TAKES(WAIT)))
		route->seconds = ROUTE_WAIT_S;
	if (route->words)
		combine_others(q);
	if (route->flags & WIRE_TOUCH && !route->pid)
		return refuse(route, 400, "pid is missing: stats=1 is for one process");
	if (q->debug && !(q->seen & TAKES(FORMAT)))
		route->format = WIRE_FORMAT_TEXT;
	/* A browser shows it. */
	if (route->style == ROUTE_PPROF && route->format == WIRE_FORMAT_TEXT)
		route->attached = false;
	return true;
}

/* --- the request --- */

static bool read_path(const char *uri, char *path, struct route *route)
{
	size_t len = strcspn(uri, "?");

	if (*uri != '/')
		return refuse(route, 400, "the path must begin with a slash");
	switch (decode(uri, len, true, path, PATH_SIZE)) {
	case DECODED:
		return true;
	case DECODED_BAD:
		return refuse(route, 400, "malformed path");
	case DECODED_LONG:
		break;
	}
	return refuse(route, 404, "no such page; / lists those that exist");
}

void route_find(const struct route_request *request, struct route *route)
{
	const char *question = strchr(request->uri, '?');
	struct query q = { .route = route };
	char path[PATH_SIZE];

	memset(route, 0, sizeof(*route));
	if (read_path(request->uri, path, route))
		q.row = find_row(request, path, route);
	if (strlen(request->uri) > ROUTE_URI_MAX) {
		route->allow[0] = '\0';
		refuse(route, 414, "the address is too long");
		return;
	}
	if (!q.row)
		return;
	route->own = q.row->own;
	route->op = q.row->op;
	route->format = q.row->format;
	route->flags = q.row->flags;
	route->attached = q.row->attached;
	route->takes_body = q.row->op == WIRE_SYMBOLS;
	if (q.row->op == WIRE_METRICS && route_prefers_openmetrics(request->accept))
		route->format = WIRE_FORMAT_OPENMETRICS;
	if (q.row->own == ROUTE_INDEX && route_prefers_html(request->accept))
		route->own = ROUTE_PAGE;
	if (take_query(&q, question ? question + 1 : NULL) && combine(&q))
		route->status = 200;
}

bool route_line(size_t i, char *buf, size_t size)
{
	size_t used;

	for (size_t r = 0; r < COUNT(rows); r++) {
		if (!rows[r].what || i--)
			continue;
		used = (size_t)snprintf(buf, size, "%-6s  ",
					rows[r].methods & POST	   ? "POST"
					: rows[r].methods & DELETE ? "DELETE"
								   : "GET");
		for (const char *p = rows[r].path; *p && used + 4 < size; p++)
			used += (size_t)snprintf(buf + used, size - used, "%.*s",
						 *p == '#' || *p == '@' ? 3 : 1,
						 *p == '#'   ? "PID"
						 : *p == '@' ? "RUN"
							     : p);
		snprintf(buf + used, size - used, "%*s  %s\n", used < 40 ? (int)(40 - used) : 0, "",
			 rows[r].what);
		return true;
	}
	return false;
}

/* --- Accept --- */

struct wish {
	size_t type_len;
	unsigned int q; /* thousandths */
	bool known_version;
};

/* "0.25" in thousandths; 0 if malformed. */
static unsigned int quality(const char *text, size_t len)
{
	unsigned int n, unit = 100;

	if (!len || (text[0] != '0' && text[0] != '1') || (len > 1 && text[1] != '.') || len > 5)
		return 0;
	n = (unsigned int)(text[0] - '0') * 1000;
	for (size_t i = 2; i < len; i++, unit /= 10) {
		if (!isdigit((unsigned char)text[i]))
			return 0;
		n += (unsigned int)(text[i] - '0') * unit;
	}
	return n > 1000 ? 0 : n;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && !strncasecmp(text, word, len);
}

/* One media range of `len` bytes. */
static struct wish wish_of(const char *text, size_t len)
{
	struct wish wish = { .type_len = len, .q = 1000, .known_version = true };
	const char *end = text + len, *at = memchr(text, ';', len);

	if (at)
		wish.type_len = (size_t)(at - text);
	while (wish.type_len && isspace((unsigned char)text[wish.type_len - 1]))
		wish.type_len--;
	while (at) {
		const char *next, *equals;
		size_t n;

		for (at++; at < end && isspace((unsigned char)*at); at++)
			;
		next = memchr(at, ';', (size_t)(end - at));
		n = (size_t)((next ? next : end) - at);
		while (n && isspace((unsigned char)at[n - 1]))
			n--;
		equals = memchr(at, '=', n);
		if (equals && is_word(at, (size_t)(equals - at), "q"))
			wish.q = quality(equals + 1, n - (size_t)(equals + 1 - at));
		if (equals && is_word(at, (size_t)(equals - at), "version"))
			wish.known_version = is_word(equals, n - (size_t)(equals - at), "=1.0.0");
		at = next;
	}
	return wish;
}

static bool prefers(const char *accept, const char *type)
{
	/* The quality of text: the most specific range counts. */
	static const char *const texts[] = { "*/*", "text/*", "text/plain" };
	unsigned int q = 0, text_q = 0;
	size_t text_rank = 0;

	while (accept && *accept) {
		size_t len = strcspn(accept, ",");
		const char *at = accept, *end = accept + len;
		struct wish wish;

		for (; at < end && isspace((unsigned char)*at); at++)
			;
		wish = wish_of(at, (size_t)(end - at));
		if (is_word(at, wish.type_len, type) && wish.known_version && wish.q > q)
			q = wish.q;
		for (size_t i = 0; i < COUNT(texts); i++)
			if (is_word(at, wish.type_len, texts[i]) && i >= text_rank) {
				text_q = i > text_rank || wish.q > text_q ? wish.q : text_q;
				text_rank = i;
			}
		accept = end + (*end == ',');
	}
	return q > text_q;
}

bool route_prefers_openmetrics(const char *accept)
{
	return prefers(accept, "application/openmetrics-text");
}

bool route_prefers_html(const char *accept)
{
	return prefers(accept, "text/html");
}
