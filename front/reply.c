// SPDX-License-Identifier: Apache-2.0
#include "front/reply.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "front/compat.h"
#include "front/outcome.h"
#include "front/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define OWN_SIZE 4096

/* For responses that are not web pages: nothing is loaded, run or framed. */
#define POLICY_CLOSED \
	"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/*
 * A page with a flame graph brings its own policy, with hashes; this one must not be stricter. The
 * sandbox gives it an opaque origin, so that its script cannot send requests to this service.
 */
#define POLICY_REPORT                                                                     \
	"sandbox allow-scripts allow-downloads; default-src 'none'; "                     \
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'; " \
	"base-uri 'none'; form-action 'none'"

static const char *const always[][2] = {
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cache-Control", "no-store" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "X-Frame-Options", "DENY" },
};

static bool add(struct MHD_Response *response, const char *name, const char *value)
{
	return MHD_add_response_header(response, name, value) == MHD_YES;
}

/* Sends all responses. `type`: NULL if there is no body. Takes the response, which may be NULL. */
static enum MHD_Result send_with(const struct reply_to *to, unsigned int status, const char *type,
				 const char *policy, struct MHD_Response *response)
{
	enum MHD_Result result = MHD_NO;
	bool good;

	if (!response)
		return MHD_NO;
	good = (!type || add(response, "Content-Type", type)) &&
	       add(response, "Content-Security-Policy", policy);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		good = good && add(response, always[i][0], always[i][1]);
	if (to->last)
		good = good && add(response, "Connection", "close");
	if (good)
		result = MHD_queue_response(to->connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_it(const struct reply_to *to, unsigned int status, const char *type,
			       struct MHD_Response *response)
{
	bool is_report = type && (!strncmp(type, "text/html", 9) || !strncmp(type, "image/svg", 9));

	return send_with(to, status, type, is_report ? POLICY_REPORT : POLICY_CLOSED, response);
}

static struct MHD_Response *copied(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
}

/* --- errors --- */

/* The schema is "error" in doc/schema/jeprof-ctl.json, as for all errors of this program. */
static struct MHD_Response *error_json(unsigned int status, const char *text)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();

	json_set_text(doc, "error.code", outcome_code(status));
	json_set_text(doc, "error.id", outcome_id(status));
	json_set(doc, "error.cause", NULL);
	json_set(doc, "error.about", json_object_new_object());
	json_set(doc, "error.errno", NULL);
	json_set_text(doc, "error.message", text);
	json_set(doc, "error.action", NULL);
	json_set(doc, "error.fix", NULL);
	return copied(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY));
}

/*
 * The headers of an error. Basic authentication is accepted but not offered: a browser would store
 * the password, and send it with requests of other sites.
 */
static bool add_error_headers(struct MHD_Response *response, const struct route *route,
			      unsigned int status, bool again)
{
	return (status != 401 || add(response, "WWW-Authenticate", "Bearer")) &&
	       (status != 405 || add(response, "Allow", route->allow)) &&
	       (!again || add(response, "Retry-After", "1")) &&
	       (route->style != ROUTE_PPROF || add(response, "X-Go-Pprof", "1"));
}

static enum MHD_Result send_error(const struct reply_to *to, unsigned int status, bool again,
				  const char *text)
{
	bool json = to->route->style == ROUTE_JSON;
	char line[sizeof(((struct route *)NULL)->text) + 1];
	struct MHD_Response *response;

	if (json) {
		response = error_json(status, text);
	} else {
		snprintf(line, sizeof(line), "%s\n", text);
		response = copied(line);
	}
	if (response && !add_error_headers(response, to->route, status, again)) {
		MHD_destroy_response(response);
		return MHD_NO;
	}
	return send_it(to, status, json ? "application/json" : TEXT_TYPE, response);
}

enum MHD_Result reply_error(const struct reply_to *to, unsigned int status, const char *text)
{
	return send_error(to, status, status == 503, text);
}

/* --- responses of the front itself --- */

enum MHD_Result reply_text(const struct reply_to *to, const char *text)
{
	return send_it(to, 200, TEXT_TYPE, copied(text));
}

static enum MHD_Result reply_index(const struct reply_to *to)
{
	char text[OWN_SIZE] = "jeprof-ctl: heap profiles of running processes\n\n", line[256];
	size_t used = strlen(text);

	for (size_t i = 0; route_line(i, line, sizeof(line)); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", line);
	return reply_text(to, text);
}

enum MHD_Result reply_own(const struct reply_to *to)
{
	static const char pprof[] =
		"<!DOCTYPE html>\n<html "
		"lang=\"en\"><head><title>/debug/pprof/</title></head><body>\n"
		"<ul>\n<li><a href=\"heap?debug=1\">heap</a></li>\n"
		"<li><a href=\"allocs?debug=1\">allocs</a></li>\n"
		"<li><a href=\"cmdline\">cmdline</a></li>\n</ul>\n</body></html>\n";
	const char *page;
	size_t len;

	switch (to->route->own) {
	case ROUTE_HEALTH:
		return reply_text(to, "ok\n");
	case ROUTE_SYMBOL_COUNT:
		return reply_text(to, "num_symbols: 1\n");
	case ROUTE_PPROF_INDEX:
		return send_it(to, 200, "text/html; charset=utf-8", copied(pprof));
	case ROUTE_PAGE:
		page = page_bytes(&len);
		return send_with(to, 200, "text/html; charset=utf-8", page_policy(),
				 MHD_create_response_from_buffer(len, (void *)page,
								 MHD_RESPMEM_PERSISTENT));
	case ROUTE_INDEX:
	case ROUTE_ASKS:
		break;
	}
	return reply_index(to);
}

/* --- answers of the broker --- */

static bool add_answer_headers(struct MHD_Response *response, const struct route *route,
			       const struct wire_to_front *answer, bool done)
{
	/* The web page shows the role of its token. */
	const char *role = answer->role < WIRE_ROLES ? wire_role_name(answer->role) : "";
	char value[WIRE_NAME_SIZE + 32];

	if (*role && !add(response, "X-Jeprof-Role", role))
		return false;
	if (answer->stops) {
		snprintf(value, sizeof(value), "%" PRIu64, answer->pause_us);
		if (!add(response, "X-Jeprof-Pause-Us", value))
			return false;
	}
	if (done && !route->words && wire_is_run(route->op)) {
		snprintf(value, sizeof(value), "/api/v1/runs/%" PRIu64, answer->run);
		if (!add(response, "Location", value))
			return false;
	}
	if (done && route->op == WIRE_EVENTS) {
		snprintf(value, sizeof(value), "%" PRIu64, answer->run);
		if (!add(response, "X-Jeprof-Next", value))
			return false;
	}
	if (!done || !route->attached)
		return true;
	if (route->words == WIRE_TIKV)
		snprintf(value, sizeof(value), "attachment; filename=\"profile\"");
	else if (outcome_name_is_safe(answer->name))
		snprintf(value, sizeof(value), "attachment; filename=\"%s\"", answer->name);
	else
		snprintf(value, sizeof(value), "attachment");
	return add(response, "Content-Disposition", value);
}

/* Errors are in the format of the request. */
static const char *type_of(const struct route *route, const struct wire_to_front *answer, bool done)
{
	if (!done)
		return route->flags & WIRE_TEXT_ERRORS ? TEXT_TYPE : "application/json";
	return compat_type(route->words, answer->format,
			   wire_media_type(answer->format < WIRE_FORMATS ? answer->format
									 : WIRE_FORMAT_TEXT));
}

/* The status of success. */
static unsigned int status_of(const struct route *route)
{
	if (wire_is_run(route->op) && !route->words)
		return 202; /* it has begun */
	return route->op == WIRE_RUN_DELETE ? 204 : 200;
}

enum MHD_Result reply_answer(const struct reply_to *to, const struct wire_to_front *answer, int fd)
{
	const struct route *route = to->route;
	const struct outcome outcome = outcome_of(answer);
	bool done = outcome.status == 200;
	unsigned int status = done ? status_of(route)
				   : compat_status(route->words, route->op, answer, outcome.status);
	struct MHD_Response *response;

	if (!answer->bytes || fd < 0) {
		cleanup_close(&fd);
		if (!done)
			return send_error(to, status, outcome.again, outcome.text);
		response = copied("");
	} else {
		response = MHD_create_response_from_fd64(answer->bytes, fd);
		if (!response)
			cleanup_close(&fd);
	}
	if (response &&
	    (!add_answer_headers(response, to->route, answer, done) ||
	     (!done && !add_error_headers(response, to->route, status, outcome.again)))) {
		MHD_destroy_response(response);
		return MHD_NO;
	}
	return send_it(to, status, status == 204 ? NULL : type_of(to->route, answer, done),
		       response);
}
