// SPDX-License-Identifier: Apache-2.0
#include "front/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct route found(const char *method, const char *uri)
{
	const struct route_request request = { .method = method, .uri = uri };
	struct route route;

	memset(&route, 0xff, sizeof(route));
	route_find(&request, &route);
	return route;
}

static struct route good(const char *method, const char *uri)
{
	struct route route = found(method, uri);

	if (route.status != 200)
		fail_msg("%s %s: %u %s", method, uri, route.status, route.text);
	return route;
}

#define API "/api/v1/processes"
#define RUNS "/api/v1/runs"
#define EVENTS "/api/v1/events"

static const struct {
	const char *method, *uri;
	enum wire_op op;
	enum wire_format format;
	uint32_t flags;
	bool attached;
} asking[] = {
	{ "GET", API, WIRE_LIST, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7", WIRE_LIST, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7/check", WIRE_CHECK, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7/status", WIRE_STATUS, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7/explain", WIRE_EXPLAIN, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7/threads", WIRE_THREADS, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7/stats", WIRE_STATS, WIRE_FORMAT_JSON, 0, false },
	{ "GET", API "/7/stats?format=text", WIRE_STATS, WIRE_FORMAT_TEXT, 0, false },
	{ "POST", API "/7/activate", WIRE_ACTIVATE, WIRE_FORMAT_JSON, 0, false },
	{ "POST", API "/7/deactivate", WIRE_DEACTIVATE, WIRE_FORMAT_JSON, 0, false },
	{ "POST", API "/7/reset", WIRE_RESET, WIRE_FORMAT_JSON, 0, false },
	{ "POST", API "/7/dump", WIRE_DUMP, WIRE_FORMAT_HEAP, 0, true },
	{ "POST", API "/7/dump?format=text", WIRE_DUMP, WIRE_FORMAT_TEXT, 0, true },
	{ "POST", API "/7/record", WIRE_RECORD, WIRE_FORMAT_JSON, 0, false },
	{ "POST", API "/7/sample", WIRE_SAMPLE, WIRE_FORMAT_JSON, 0, false },
	{ "GET", RUNS, WIRE_RUNS, WIRE_FORMAT_JSON, 0, false },
	{ "GET", RUNS "?pid=7", WIRE_RUNS, WIRE_FORMAT_JSON, 0, false },
	{ "GET", RUNS "/5", WIRE_RUN, WIRE_FORMAT_JSON, 0, false },
	{ "DELETE", RUNS "/5", WIRE_RUN_DELETE, WIRE_FORMAT_JSON, 0, false },
	{ "POST", RUNS "/5/stop", WIRE_RUN_STOP, WIRE_FORMAT_JSON, 0, false },
	{ "GET", RUNS "/5/profile", WIRE_RUN_PROFILE, WIRE_FORMAT_HEAP, 0, true },
	{ "GET", RUNS "/5/profile?format=html", WIRE_RUN_PROFILE, WIRE_FORMAT_HTML, 0, true },
	{ "GET", RUNS "/5/diff", WIRE_RUN_PROFILE, WIRE_FORMAT_JSON, WIRE_GROWTH, true },
	{ "GET", RUNS "/5/diff?format=svg", WIRE_RUN_PROFILE, WIRE_FORMAT_SVG, WIRE_GROWTH, true },
	{ "GET", "/pid/7/pprof/heap", WIRE_DUMP, WIRE_FORMAT_HEAP,
	  WIRE_IF_ACTIVE | WIRE_TEXT_ERRORS, true },
	{ "GET", "/pid/7/debug/pprof/heap", WIRE_DUMP, WIRE_FORMAT_PPROF,
	  WIRE_IF_ACTIVE | WIRE_TEXT_ERRORS, true },
	{ "GET", "/pid/7/debug/pprof/allocs", WIRE_DUMP, WIRE_FORMAT_PPROF,
	  WIRE_IF_ACTIVE | WIRE_TEXT_ERRORS, true },
	{ "GET", "/debug/pprof/heap?pid=7", WIRE_DUMP, WIRE_FORMAT_PPROF,
	  WIRE_IF_ACTIVE | WIRE_TEXT_ERRORS, true },
	{ "GET", "/debug/pprof/allocs?gc=1&pid=7&x", WIRE_DUMP, WIRE_FORMAT_PPROF,
	  WIRE_IF_ACTIVE | WIRE_TEXT_ERRORS, true },
	{ "GET", "/pid/7/pprof/cmdline", WIRE_CMDLINE, WIRE_FORMAT_TEXT, WIRE_TEXT_ERRORS, false },
	{ "GET", "/pid/7/debug/pprof/cmdline", WIRE_CMDLINE, WIRE_FORMAT_TEXT, WIRE_TEXT_ERRORS,
	  false },
	{ "POST", "/pid/7/pprof/symbol", WIRE_SYMBOLS, WIRE_FORMAT_TEXT, WIRE_TEXT_ERRORS, false },
	{ "POST", "/pid/7/debug/pprof/symbol", WIRE_SYMBOLS, WIRE_FORMAT_TEXT, WIRE_TEXT_ERRORS,
	  false },
	{ "GET", "/metrics", WIRE_METRICS, WIRE_FORMAT_PROM, WIRE_TEXT_ERRORS, false },
	{ "GET", "/metrics?pid=7&stats=1", WIRE_METRICS, WIRE_FORMAT_PROM,
	  WIRE_TEXT_ERRORS | WIRE_TOUCH, false },
	{ "GET", "/sd", WIRE_DISCOVER, WIRE_FORMAT_JSON, WIRE_TEXT_ERRORS, false },
	{ "GET", "/sd?all=0", WIRE_DISCOVER, WIRE_FORMAT_JSON, WIRE_TEXT_ERRORS, false },
	{ "GET", "/sd?all=1", WIRE_DISCOVER, WIRE_FORMAT_JSON, WIRE_TEXT_ERRORS | WIRE_ALL, false },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		struct route r = good(asking[i].method, asking[i].uri);

		assert_int_equal(r.own, ROUTE_ASKS);
		assert_int_equal(r.op, asking[i].op);
		assert_int_equal(r.format, asking[i].format);
		assert_int_equal(r.flags, asking[i].flags);
		assert_int_equal(r.pid, strchr(asking[i].uri, '7') ? 7 : 0);
		assert_int_equal(r.attached, asking[i].attached);
		assert_int_equal(r.takes_body, r.op == WIRE_SYMBOLS);
		assert_int_equal(r.seconds, 0);
		assert_int_equal(r.start_time, 0);
		assert_int_equal(r.run, strchr(asking[i].uri, '5') ? 5 : 0);
		assert_int_equal(r.base, 0);
		assert_int_equal(r.duration_ms, wire_is_run(r.op) ? ROUTE_DURATION_MS : 0);
	}
}

static void test_own(void **state)
{
	(void)state;
	assert_int_equal(good("GET", "/").own, ROUTE_INDEX);
	assert_int_equal(good("HEAD", "/healthz").own, ROUTE_HEALTH);
	assert_int_equal(good("GET", "/pid/7/pprof/symbol").own, ROUTE_SYMBOL_COUNT);
	assert_int_equal(good("HEAD", "/pid/7/debug/pprof/symbol?x").own, ROUTE_SYMBOL_COUNT);
	assert_int_equal(good("GET", "/pid/7/debug/pprof/").own, ROUTE_PPROF_INDEX);
}

static void test_page(void **state)
{
	struct route_request request = { .method = "GET", .uri = "/" };
	struct route route;

	(void)state;
	request.accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
	route_find(&request, &route);
	assert_int_equal(route.status, 200);
	assert_int_equal(route.own, ROUTE_PAGE);
	request.method = "HEAD";
	route_find(&request, &route);
	assert_int_equal(route.own, ROUTE_PAGE);
	request.accept = "*/*";
	route_find(&request, &route);
	assert_int_equal(route.own, ROUTE_INDEX);
	/* All other pages are the same for a browser. */
	request =
		(struct route_request){ .method = "GET", .uri = "/healthz", .accept = "text/html" };
	route_find(&request, &route);
	assert_int_equal(route.own, ROUTE_HEALTH);
	request =
		(struct route_request){ .method = "GET", .uri = "/nothing", .accept = "text/html" };
	route_find(&request, &route);
	assert_int_equal(route.status, 404);
}

static void test_arguments(void **state)
{
	struct route r = good("GET", API "/4194304/status?start_time=18446744073709551615");

	(void)state;
	assert_int_equal(r.pid, ROUTE_PID_MAX);
	assert_true(r.start_time == UINT64_MAX);
	r = good("POST", API "/7/reset?sample_rate=512K");
	assert_int_equal(r.lg_sample, 19);
	assert_int_equal(r.flags, WIRE_HAS_LG);
	assert_int_equal(good("POST", API "/7/reset?sample_rate=1").flags, WIRE_HAS_LG);
	r = good("GET", "/pid/7/debug/pprof/heap?seconds=3600&gc=1");
	assert_int_equal(r.seconds, WIRE_SECONDS_MAX);
	assert_int_equal(good("GET", "/debug/pprof/heap?pid=7&seconds=").seconds, 0);
	assert_int_equal(good("GET", "/debug/pprof/heap?pid=7&seconds=05").seconds, 5);
	r = good("GET", "/pid/7/debug/pprof/heap?debug=2");
	assert_int_equal(r.format, WIRE_FORMAT_TEXT);
	assert_false(r.attached);
	assert_int_equal(good("GET", "/pid/7/debug/pprof/heap?debug=x&seconds=1").format,
			 WIRE_FORMAT_PPROF);
	r = good("GET", "/pid/7/debug/pprof/heap?debug=1&format=svg");
	assert_int_equal(r.format, WIRE_FORMAT_SVG);
	assert_true(r.attached);
	r = good("POST", API "/7/record?duration=1h&sample_rate=64K&start_time=3");
	assert_int_equal(r.duration_ms, 3600000);
	assert_int_equal(r.lg_sample, 16);
	assert_int_equal(r.flags, WIRE_HAS_LG);
	assert_int_equal(r.start_time, 3);
	assert_int_equal(good("POST", API "/7/sample?duration=24h").duration_ms,
			 WIRE_DURATION_MAX_MS);
	r = good("GET", RUNS "/9999999999999999/diff?base=12");
	assert_true(r.run == ROUTE_RUN_MAX);
	assert_int_equal(r.base, 12);
	/* However it is encoded. */
	assert_int_equal(good("GET", "/%61pi/v1/processe%73/%37?s%74art_time=%31").start_time, 1);
	assert_int_equal(good("GET", "/sd?&&all=1&").flags & WIRE_ALL, WIRE_ALL);
}

static void assert_refused(const char *method, const char *uri, unsigned int status,
			   enum route_style style, const char *text)
{
	struct route r = found(method, uri);

	if (r.status != status || r.style != style || !strstr(r.text, text))
		fail_msg("%s %s: %u, style %d, %s", method, uri, r.status, r.style, r.text);
}

static void test_bad_arguments(void **state)
{
	static const struct {
		const char *method, *uri, *text;
	} rows[] = {
		{ "GET", API "?x=1", "unknown parameter: x" },
		{ "GET", API "?start_time=1", "unknown parameter: start_time" },
		{ "GET", API "/7/status?", NULL },
		{ "GET", API "/7/status?start_time", "invalid value for \"start_time\"" },
		{ "GET", API "/7/status?start_time=-1", "invalid value for \"start_time\"" },
		{ "GET", API "/7/status?start_time=18446744073709551616", "invalid value" },
		{ "GET", API "/7/status?start_time=1&start_time=1",
		  "\"start_time\" is given twice" },
		{ "GET", API "/7/status?start_time=%3", "invalid value" },
		{ "GET", API "/7/status?%zz=1", "malformed query" },
		{ "GET", API "/7/status?%00=1", "malformed query" },
		{ "GET", API "/7/status?a%0d%0ab", "malformed query" },
		{ "GET", API "/7/stats?format=html", "json or text" },
		{ "GET", API "/7/stats?format=", "json or text" },
		{ "POST", API "/7/dump?format=raw", "speedscope" },
		{ "POST", API "/7/dump?seconds=1", "unknown parameter: seconds" },
		{ "POST", API "/7/reset?sample_rate=0", "power of two" },
		{ "POST", API "/7/reset?sample_rate=3", "power of two" },
		{ "POST", API "/7/reset?sample_rate=16E", "power of two" },
		{ "POST", API "/7/reset?sample_rate=-1", "power of two" },
		{ "POST", API "/7/reset?sample_rate=1%20", "invalid value" },
		{ "POST", API "/7/record?duration=0", "30s" },
		{ "POST", API "/7/record?duration=25h", "30s" },
		{ "POST", API "/7/record?duration=-1s", "30s" },
		{ "POST", API "/7/record?duration=", "30s" },
		{ "POST", API "/7/sample?sample_rate=3", "power of two" },
		{ "GET", RUNS "?pid=0", "the id of a process" },
		{ "GET", RUNS "/5?pid=7", "unknown parameter: pid" },
		{ "GET", RUNS "/5/profile?base=4", "unknown parameter: base" },
		{ "GET", RUNS "/5/diff?base=0", "the number of a run" },
		{ "GET", RUNS "/5/diff?base=../1", "the number of a run" },
		{ "GET", RUNS "/5/diff?format=heap", "pprof, folded" },
		{ "GET", RUNS "/5/diff?format=text", "pprof, folded" },
		{ "GET", EVENTS "?since=", "the id of an event" },
		{ "GET", EVENTS "?since=-1", "the id of an event" },
		{ "GET", EVENTS "?since=10000000000000000", "the id of an event" },
		{ "GET", EVENTS "?wait=61", "up to 60" },
		{ "GET", EVENTS "?wait=1s", "up to 60" },
		{ "GET", EVENTS "?wait=1&wait=1", "given twice" },
		{ "GET", EVENTS "?pid=0", "the id of a process" },
		{ "GET", EVENTS "?run=1", "unknown parameter: run" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].text)
			assert_refused(rows[i].method, rows[i].uri, 400, ROUTE_JSON, rows[i].text);
		else
			good(rows[i].method, rows[i].uri);
	assert_refused("GET", "/metrics?stats=1", 400, ROUTE_PLAIN, "pid is missing");
	assert_refused("GET", "/metrics?stats=2&pid=1", 400, ROUTE_PLAIN, "0 or 1");
	assert_refused("GET", "/sd?all=yes", 400, ROUTE_PLAIN, "0 or 1");
}

static void test_bad_pids(void **state)
{
	static const char *const pids[] = { "0",
					    "01",
					    "+1",
					    "-1",
					    "1.0",
					    "4194305",
					    "1a",
					    " 1",
					    "%201",
					    "",
					    "99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		char uri[128];

		snprintf(uri, sizeof(uri), "/metrics?pid=%s", pids[i]);
		assert_refused("GET", uri, 400, ROUTE_PLAIN, "invalid value for \"pid\"");
		if (!strstr(pids[i], "%20") && pids[i][0] != ' ' && pids[i][0]) {
			snprintf(uri, sizeof(uri), API "/%s", pids[i]);
			assert_refused("GET", uri, 404, ROUTE_JSON, "no such page");
		}
	}
}

/* The messages are those of Go. */
static void test_pprof(void **state)
{
	static const char *const bad[] = { "0", "-1", "x", "1.5", "1s", "18446744073709551616" };
	char uri[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(uri, sizeof(uri), "/pid/7/debug/pprof/heap?seconds=%s", bad[i]);
		assert_string_equal(found("GET", uri).text,
				    "invalid value for \"seconds\" - must be a positive integer");
		assert_int_equal(found("GET", uri).status, 400);
	}
	assert_refused("GET", "/debug/pprof/allocs?pid=7&seconds=3601", 400, ROUTE_PPROF, "3600");
	assert_string_equal(found("GET", "/debug/pprof/heap?pid=7&seconds=1&debug=1").text,
			    "seconds and debug params are incompatible");
	assert_string_equal(found("GET", "/pid/7/debug/pprof/block").text, "Unknown profile");
	assert_refused("GET", "/pid/7/debug/pprof/block", 404, ROUTE_PPROF, "");
	assert_refused("GET", "/debug/pprof/profile?pid=7", 404, ROUTE_PPROF, "Unknown profile");
	assert_refused("GET", "/debug/pprof/heap", 400, ROUTE_PPROF, "pid is missing");
	assert_refused("GET", "/debug/pprof/heap?pid=7&pid=8", 400, ROUTE_PPROF, "twice");
}

static void test_methods(void **state)
{
	static const struct {
		const char *method, *uri, *allow;
	} rows[] = {
		{ "POST", "/", "GET, HEAD" },
		{ "OPTIONS", "/healthz", "GET, HEAD" },
		{ "HEAD", "/metrics", "GET" },
		{ "POST", API, "GET" },
		{ "GET", API "/7/activate", "POST" },
		{ "GET", API "/7/dump", "POST" },
		{ "DELETE", API "/7", "GET" },
		{ "POST", RUNS "/5", "GET, DELETE" },
		{ "GET", RUNS "/5/stop", "POST" },
		{ "DELETE", RUNS, "GET" },
		{ "PUT", "/pid/7/pprof/symbol", "GET, HEAD, POST" },
		{ "get", "/healthz", "GET, HEAD" },
		{ "GETX", "/healthz", "GET, HEAD" },
		{ "", "/healthz", "GET, HEAD" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct route r = found(rows[i].method, rows[i].uri);

		assert_int_equal(r.status, 405);
		assert_string_equal(r.allow, rows[i].allow);
	}
	assert_refused("OPTIONS", "/nothing", 404, ROUTE_PLAIN, "");
}

static void test_paths(void **state)
{
	static const char *const missing[] = {
		"//",
		"/healthz/",
		"//healthz",
		"/./healthz",
		"/../healthz",
		"/x/../healthz",
		"/healthz/.",
		"/pid//pprof/heap",
		"/pid/7//pprof/heap",
		"/pid/7/pprof",
		"/pid/7/pprof/heap/",
		"/pid/7/debug/pprof",
		"/pid/#/pprof/heap",
		"/pid/*/pprof/heap",
		"/Healthz",
		"/pid/7",
		"/;/healthz",
		"/healthz%3fx",
		"/metrics%23",
		"/%2e%2e/healthz",
	};
	static const char *const malformed[] = {
		"",
		"healthz",
		"*",
		"http://x/healthz",
		"/%",
		"/%4",
		"/%g0",
		"/a%2fb",
		"/healthz%00",
		"/healthz%0a",
		"/\x80",
		"/%ff",
		"/pid/7%2Fpprof/heap",
		"/ healthz",
		"/healthz\x01",
		"?",
		"/%2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		assert_refused("GET", missing[i], 404, ROUTE_PLAIN, "no such page");
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_refused("GET", malformed[i], 400, ROUTE_PLAIN, "path");
}

static void test_runs(void **state)
{
	static const char *const bad[] = { "0", "05", "-1", "x", "..", "1.5", "10000000000000000" };
	char uri[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(uri, sizeof(uri), RUNS "/%s", bad[i]);
		assert_refused("GET", uri, 404, ROUTE_JSON, "no such page");
	}
}

static void test_events(void **state)
{
	struct route r = good("GET", EVENTS);

	(void)state;
	assert_int_equal(r.op, WIRE_EVENTS);
	assert_int_equal(r.format, WIRE_FORMAT_NDJSON);
	assert_int_equal(r.flags, 0);
	assert_int_equal(r.since, 0);
	assert_int_equal(r.seconds, ROUTE_WAIT_S);
	assert_int_equal(r.pid, 0);
	r = good("GET", EVENTS "?since=0&wait=0&pid=7");
	assert_int_equal(r.flags, WIRE_HAS_SINCE);
	assert_int_equal(r.since, 0);
	assert_int_equal(r.seconds, 0);
	assert_int_equal(r.pid, 7);
	r = good("GET", EVENTS "?since=9999999999999999&wait=60");
	assert_int_equal(r.since, 9999999999999999);
	assert_int_equal(r.seconds, WIRE_WAIT_MAX);
}

static void test_long(void **state)
{
	char uri[ROUTE_URI_MAX + 3];

	(void)state;
	memset(uri, 'a', sizeof(uri));
	uri[0] = '/';
	uri[ROUTE_URI_MAX] = '\0';
	assert_refused("GET", uri, 404, ROUTE_PLAIN, "");
	uri[ROUTE_URI_MAX] = 'a';
	uri[ROUTE_URI_MAX + 1] = '\0';
	assert_refused("GET", uri, 414, ROUTE_PLAIN, "too long");
	memcpy(uri, API "?", sizeof(API));
	assert_refused("GET", uri, 414, ROUTE_JSON, "too long");
	memcpy(uri, "/pid/7/pprof/heap?", 18);
	assert_refused("GET", uri, 414, ROUTE_PPROF, "too long");
	assert_refused("PUT", uri, 414, ROUTE_PPROF, "too long");
	assert_string_equal(found("PUT", uri).allow, "");
	memcpy(uri, "/sd?", 4);
	uri[1000] = '\0';
	assert_refused("GET", uri, 400, ROUTE_PLAIN, "unknown parameter: (a long one)");
}

static void test_accept(void **state)
{
	static const struct {
		const char *accept;
		bool preferred;
	} rows[] = {
		{ NULL, false },
		{ "", false },
		{ "*/*", false },
		{ "text/plain", false },
		{ "application/openmetrics-text", true },
		{ "Application/OpenMetrics-Text; version=1.0.0", true },
		{ "application/openmetrics-text; version=2.0.0", false },
		{ "application/openmetrics-text;q=0", false },
		{ "application/openmetrics-text;q=0.5,text/plain;q=0.4", true },
		{ "application/openmetrics-text;q=0.4,text/plain;q=0.5", false },
		{ "text/plain;q=0.4 , application/openmetrics-text;q=0.5", true },
		{ "application/openmetrics-text, text/plain", false },
		{ "application/openmetrics-text;q=0.5,*/*;q=0.1", true },
		{ "application/openmetrics-text;q=0.5,*/*", false },
		{ "application/openmetrics-text;q=0.5,*/*,text/plain;q=0.1", true },
		{ "application/openmetrics-text;q=0.5,text/*;q=0.6,*/*;q=0.1", false },
		/* Prometheus 2.40 and 3 */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  true },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
		  "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;"
		  "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,/;q=0.1",
		  true },
		{ "application/openmetrics-text;q=2,text/plain;q=0.1", false },
		{ "application/openmetrics-text;q=0.5555,text/plain;q=0.1", false },
		{ "application/openmetrics-text;q=x", false },
		{ "application/openmetrics-text;q=", false },
		{ ";;;,,,;q=1", false },
		{ "application/openmetrics-textual", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (route_prefers_openmetrics(rows[i].accept) != rows[i].preferred)
			fail_msg("%s", rows[i].accept);
}

static void test_prefers_html(void **state)
{
	static const struct {
		const char *accept;
		bool preferred;
	} rows[] = {
		{ NULL, false },
		{ "", false },
		{ "*/*", false }, /* curl, Wget, Python's requests */
		{ "text/*", false },
		{ "text/plain", false },
		{ "text/html", true },
		{ "Text/HTML; charset=utf-8", true },
		{ "text/html;q=0", false },
		{ "text/html, text/plain", false },
		{ "text/html;q=0.9, text/plain;q=0.8", true },
		{ "text/plain, text/html;q=0.9", false },
		{ "text/htmlx", false },
		{ "application/json", false },
		/* Firefox, Chromium, Safari */
		{ "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true },
		{ "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
		  "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (route_prefers_html(rows[i].accept) != rows[i].preferred)
			fail_msg("%s", rows[i].accept ? rows[i].accept : "none");
}

#define MESOS "/memory-profiler"
#define TIKV "/debug/pprof"

static const struct {
	const char *uri;
	enum wire_words words;
	enum wire_op op;
	enum wire_format format;
	uint64_t run;
	uint32_t duration_ms;
	bool attached;
} others[] = {
	{ MESOS "/start", WIRE_MESOS, WIRE_MESOS_START, WIRE_FORMAT_JSON, 0, 300000, false },
	{ MESOS "/start?duration=1.5mins&x=1", WIRE_MESOS, WIRE_MESOS_START, WIRE_FORMAT_JSON, 0,
	  90000, false },
	{ MESOS "/stop", WIRE_MESOS, WIRE_MESOS_STOP, WIRE_FORMAT_JSON, 0, 0, false },
	{ MESOS "/state", WIRE_MESOS, WIRE_MESOS_STATE, WIRE_FORMAT_JSON, 0, 0, false },
	{ MESOS "/statistics", WIRE_MESOS, WIRE_STATS, WIRE_FORMAT_JSON, 0, 0, false },
	{ MESOS "/download/raw", WIRE_MESOS, WIRE_MESOS_DOWNLOAD, WIRE_FORMAT_HEAP, 0, 0, true },
	{ MESOS "/download/text?id=5", WIRE_MESOS, WIRE_MESOS_DOWNLOAD, WIRE_FORMAT_TEXT, 5, 0,
	  true },
	{ MESOS "/download/graph?id=5", WIRE_MESOS, WIRE_MESOS_DOWNLOAD, WIRE_FORMAT_SVG, 5, 0,
	  true },
	{ "/mtev/heap_profile", WIRE_MTEV, WIRE_MTEV_STATE, WIRE_FORMAT_TEXT, 0, 0, false },
	{ "/mtev/heap_profile?active=true", WIRE_MTEV, WIRE_ACTIVATE, WIRE_FORMAT_TEXT, 0, 0,
	  false },
	{ "/mtev/heap_profile?trigger_dump=true&active=1", WIRE_MTEV, WIRE_DEACTIVATE,
	  WIRE_FORMAT_TEXT, 0, 0, false },
	{ "/mtev/heap_profile?trigger_dump=true", WIRE_MTEV, WIRE_DUMP, WIRE_FORMAT_HEAP, 0, 0,
	  false },
	{ "/mtev/heap_profile?trigger_dump=1", WIRE_MTEV, WIRE_MTEV_STATE, WIRE_FORMAT_TEXT, 0, 0,
	  false },
	{ "/mtev/memory.json", WIRE_MTEV, WIRE_STATS, WIRE_FORMAT_JSON, 0, 0, false },
	{ TIKV "/heap_activate?interval=60", WIRE_TIKV, WIRE_ACTIVATE, WIRE_FORMAT_TEXT, 0, 0,
	  false },
	{ TIKV "/heap_deactivate", WIRE_TIKV, WIRE_DEACTIVATE, WIRE_FORMAT_TEXT, 0, 0, false },
	{ TIKV "/heap_list", WIRE_TIKV, WIRE_TIKV_LIST, WIRE_FORMAT_TEXT, 0, 0, false },
	{ TIKV "/heap", WIRE_TIKV, WIRE_DUMP, WIRE_FORMAT_HEAP, 0, 0, true },
	{ TIKV "/heap?jeprof=true", WIRE_TIKV, WIRE_DUMP, WIRE_FORMAT_SVG, 0, 0, true },
	{ TIKV "/heap?name=5.heap", WIRE_TIKV, WIRE_RUN_PROFILE, WIRE_FORMAT_HEAP, 5, 0, true },
	{ TIKV "/cmdline", WIRE_TIKV, WIRE_CMDLINE, WIRE_FORMAT_TEXT, 0, 0, false },
};

static struct route found_in(const char *prefix, const char *path, unsigned int words, bool at_root)
{
	struct route_request request = { .method = "GET", .words = words, .at_root = at_root };
	struct route route;
	char uri[128];

	snprintf(uri, sizeof(uri), "%s%s", prefix, path);
	request.uri = uri;
	memset(&route, 0xff, sizeof(route));
	route_find(&request, &route);
	return route;
}

static void test_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		unsigned int words = 1u << others[i].words;
		struct route r = found_in("/pid/7", others[i].uri, words, false);

		if (r.status != 200)
			fail_msg("%s: %s", others[i].uri, r.text);
		assert_int_equal(r.words, others[i].words);
		assert_int_equal(r.op, others[i].op);
		assert_int_equal(r.format, others[i].format);
		assert_int_equal(r.run, others[i].run);
		assert_int_equal(r.duration_ms, others[i].duration_ms);
		assert_int_equal(r.attached, others[i].attached);
		assert_int_equal(r.pid, 7);
		assert_false(r.flags & WIRE_AT_ROOT);
		r = found_in("", others[i].uri, words, true);
		assert_int_equal(r.status, 200);
		assert_int_equal(r.pid, 0);
		assert_true(r.flags & WIRE_AT_ROOT);
		assert_int_not_equal(found_in("", others[i].uri, words, false).status, 200);
		assert_int_equal(found_in("/pid/7", others[i].uri, ~words, false).words, 0);
		assert_int_equal(found_in("/pid/0", others[i].uri, words, true).status, 404);
	}
	/* A process that is named is not the one configured for the root. */
	assert_int_equal(found_in("", TIKV "/heap?pid=7", 1u << WIRE_TIKV, true).flags,
			 WIRE_TEXT_ERRORS | WIRE_IF_ACTIVE);
}

static void test_bad_others(void **state)
{
	static const struct {
		const char *uri, *text;
	} bad[] = {
		{ MESOS "/start?duration=5",
		  "Could not parse parameter 'duration': Invalid duration '5'." },
		{ MESOS "/download/raw?id=", "Cannot serve requested id #." },
		{ MESOS "/download/raw?id=0", "Cannot serve requested id #0." },
		{ MESOS "/download/raw?id=-1", "Invalid parameter 'id': Garbage after parsed id." },
		{ TIKV "/heap?name=x", "heap profile name x is invalid" },
		{ TIKV "/heap?name=0.heap", "heap profile 0.heap not found" },
		{ TIKV "/heap_activate?interval=-1", "invalid digit found in string" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct route r = found_in("/pid/7", bad[i].uri, ~0u, false);

		assert_int_equal(r.status, 400);
		assert_string_equal(r.text, bad[i].text);
	}
}

/* Each path in the index exists. */
static void test_index(void **state)
{
	char line[256], method[8], path[128], uri[160];
	size_t n = 0;

	(void)state;
	for (; route_line(n, line, sizeof(line)); n++) {
		const char *of;

		assert_int_equal(line[strlen(line) - 1], '\n');
		assert_int_equal(sscanf(line, "%7s %127s", method, path), 2);
		of = strstr(path, "PID") ? strstr(path, "PID") : strstr(path, "RUN");
		snprintf(uri, sizeof(uri), "%.*s%s%s%s", of ? (int)(of - path) : 127, path,
			 of ? "7" : "", of ? of + 3 : "",
			 strncmp(path, "/debug", 6) != 0 ? "" : "?pid=7");
		good(method, uri);
	}
	assert_in_range(n, 10, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	   cmocka_unit_test(test_own),
		cmocka_unit_test(test_page),	   cmocka_unit_test(test_prefers_html),
		cmocka_unit_test(test_arguments),  cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_bad_pids),   cmocka_unit_test(test_pprof),
		cmocka_unit_test(test_methods),	   cmocka_unit_test(test_paths),
		cmocka_unit_test(test_accept),	   cmocka_unit_test(test_index),
		cmocka_unit_test(test_runs),	   cmocka_unit_test(test_events),
		cmocka_unit_test(test_long),	   cmocka_unit_test(test_others),
		cmocka_unit_test(test_bad_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
