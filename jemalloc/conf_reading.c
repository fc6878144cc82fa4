// SPDX-License-Identifier: Apache-2.0
/* How each family of versions reads a string, in words: where they differ, the words do. */
#include "jemalloc/conf_lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 60 /* bytes of a name that are quoted */

struct writer {
	char *buf;
	size_t size, at;
};

static void put(struct writer *w, const char *fmt, ...) __printf_like(2, 3);
static void put(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->buf + w->at, w->size - w->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->at += (size_t)n < w->size - w->at ? (size_t)n : w->size - w->at - 1;
}

/* A pair that this version does not take just as it is written. */
static void put_pair(struct writer *w, const struct conf_pair *pair, const struct conf_verdict *v)
{
	const char *message = conf_outcome_message(v->outcome);

	if (message)
		put(w, "; %.*s ignored (%s)", (int)(pair->key_len < SHOWN ? pair->key_len : SHOWN),
		    pair->key, message);
	else if (v->word &&
		 (v->word_len != pair->value_len || pair->key_len < strlen(v->option->name)))
		put(w, "; %s:%.*s", v->option->name, (int)v->word_len, v->word);
	else if (v->outcome != CONF_TAKEN || (v->option->type == CONF_SIGNED && !pair->value_len))
		put(w, "; %s:%lld", v->option->name, (long long)v->n);
}

static void describe(const char *text, int version, enum tristate with_prof, char *buf, size_t size)
{
	struct writer w = { .buf = buf, .size = size };
	struct conf_state state;
	const char *at = text, *bad;
	struct conf_pair pair;
	enum conf_step step;

	conf_state_init(&state, version, with_prof);
	conf_state_apply(&state, text, CONF_FROM_ENVIRONMENT);
	conf_state_finish(&state);
	put(&w, "opt.prof %s",
	    with_prof == TRI_NO	   ? "does not exist"
	    : state.v[CONF_PROF].n ? "true"
				   : "false");
	while ((step = conf_next(&at, &pair, &bad)) == CONF_PAIR) {
		struct conf_verdict v = conf_judge(&pair, version, with_prof);

		put_pair(&w, &pair, &v);
	}
	if (step != CONF_END)
		put(&w, "; the rest dropped");
	if (state.aborts)
		put(&w, "; the program aborts");
}

void conf_readings(const char *text, const int *versions, enum tristate with_prof,
		   struct conf_lint *out)
{
	for (const int *v = versions; *v; v++) {
		struct conf_reading *r = &out->readings[out->n_readings];

		describe(text, *v, with_prof, r->text, sizeof(r->text));
		if (out->n_readings && !strcmp(r[-1].text, r->text)) {
			r[-1].to = *v;
			continue;
		}
		r->from = r->to = *v;
		out->n_readings++;
	}
}
