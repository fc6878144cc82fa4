// SPDX-License-Identifier: Apache-2.0
#include "ops/until.h"

#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 64

static int unknown(const char *text, struct err *err)
{
	err_raise(err, ERROR_UNTIL_UNKNOWN, .text = text);
	return err_advise(err, FIX_UNTIL_EXAMPLES);
}

/* "80%" or "500M". */
static int parse_amount(const char *text, struct until *u, struct err *err)
{
	size_t len = strlen(text);
	uint64_t bytes;
	char *end;

	u->percent = len && text[len - 1] == '%';
	if (u->percent) {
		u->amount = strtod(text, &end);
		return isdigit((unsigned char)*text) && end == text + len - 1 && u->amount > 0 &&
				       isfinite(u->amount)
			       ? 0
			       : err_raise(err, ERROR_NOT_A_PERCENTAGE, .text = text);
	}
	if (text_size_parse(text, &bytes, err))
		return -1;
	u->amount = (double)bytes;
	return bytes ? 0 : err_raise(err, ERROR_MUST_BE_MORE_THAN_0);
}

int until_parse(const char *text, struct until *out, struct err *err)
{
	struct until u = { .of = UNTIL_RSS };
	const char *at = text, *slash;
	char amount[TEXT_SIZE], within[TEXT_SIZE + 1];

	if (text_begins(text, "growth>")) {
		at += strlen("growth");
	} else if (text_begins(text, "cgroup")) {
		u.of = UNTIL_CGROUP;
		at += strlen("cgroup");
	} else if (text_begins(text, "rss")) {
		at += strlen("rss");
	}
	if (strlen(text) >= TEXT_SIZE || (*at != '+' && (*at != '>' || at == text)))
		return unknown(text, err);
	u.growth = *at++ == '+' || text_begins(text, "growth");
	slash = strchr(at, '/');
	snprintf(amount, sizeof(amount), "%.*s", (int)(slash ? slash - at : (ptrdiff_t)strlen(at)),
		 at);
	if (parse_amount(amount, &u, err))
		return err_within(err, ERROR_IN_UNTIL);
	if (slash) {
		/* "min", or "5min": a unit without a number means one of it. */
		snprintf(within, sizeof(within), "%s%s",
			 isalpha((unsigned char)slash[1]) ? "1" : "", slash + 1);
		if (text_duration_parse(within, &u.within_ms, err) ||
		    (!u.within_ms && err_raise(err, ERROR_MUST_BE_MORE_THAN_0)))
			return err_within(err, ERROR_IN_UNTIL);
	}
	if (slash && !u.growth) /* a rate only applies to growth */
		return unknown(text, err);
	*out = u;
	return 0;
}

/* The minimum seen within the last within_ms, including now. */
static uint64_t least_lately(const struct until *u, struct until_seen *seen, uint64_t now_ms,
			     uint64_t bytes)
{
	uint64_t length = (u->within_ms + UNTIL_PARTS - 1) / UNTIL_PARTS;
	uint64_t part = now_ms / length + 1, least = bytes;
	size_t at = part % UNTIL_PARTS;

	if (seen->v[at].part != part || bytes < seen->v[at].least) {
		seen->v[at].part = part;
		seen->v[at].least = bytes;
	}
	for (size_t i = 0; i < UNTIL_PARTS; i++) {
		if (seen->v[i].part && part - seen->v[i].part < UNTIL_PARTS &&
		    seen->v[i].least < least)
			least = seen->v[i].least;
	}
	return least;
}

double until_threshold(const struct until *until, struct until_seen *seen, uint64_t now_ms,
		       uint64_t bytes, uint64_t limit)
{
	double from = 0, whole;

	if (!seen->begun)
		seen->first = bytes;
	seen->begun = true;
	if (until->growth)
		from = (double)(until->within_ms ? least_lately(until, seen, now_ms, bytes)
						 : seen->first);
	if (!until->percent)
		return from + until->amount;
	whole = until->of == UNTIL_CGROUP || !until->growth ? (double)limit : from;
	return whole > 0 ? from + whole * until->amount / 100 : INFINITY;
}

bool until_reached(const struct until *until, struct until_seen *seen, uint64_t now_ms,
		   uint64_t bytes, uint64_t limit)
{
	return (double)bytes >= until_threshold(until, seen, now_ms, bytes, limit);
}
