// SPDX-License-Identifier: Apache-2.0
#include "ops/guard/rule.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* How far memory has to fall below a level before it can be crossed again. */
#define LEFT 0.95

#define TEXT_SIZE 64

/* Windows that the kernel accepts (WINDOW_MIN_US and WINDOW_MAX_US of kernel/sched/psi.c). */
#define WINDOW_MIN_MS 500
#define WINDOW_MAX_MS 10000

static const char *const events[] = {
	[GUARD_HIGH] = "high",
	[GUARD_MAX] = "max",
	[GUARD_OOM] = "oom",
};

const char *guard_event_key(enum guard_event event)
{
	return events[event];
}

static int unknown(const char *text, struct err *err)
{
	err_raise(err, ERROR_UNTIL_UNKNOWN, .text = text);
	return err_advise(err, FIX_WHEN_EXAMPLES);
}

/* "150ms/1s", after "psi>" */
static int parse_psi(const char *text, const char *amount, struct guard_rule *r, struct err *err)
{
	const char *slash = strchr(amount, '/');
	uint64_t stall_ms, window_ms;
	char stall[TEXT_SIZE];

	if (!slash || (size_t)(slash - amount) >= sizeof(stall))
		return unknown(text, err);
	snprintf(stall, sizeof(stall), "%.*s", (int)(slash - amount), amount);
	if (text_duration_parse(stall, &stall_ms, err) ||
	    text_duration_parse(slash + 1, &window_ms, err))
		return -1;
	if (window_ms < WINDOW_MIN_MS || window_ms > WINDOW_MAX_MS || !stall_ms ||
	    stall_ms > window_ms)
		return err_raise(err, ERROR_PSI_WINDOW, .text = text);
	r->stall_us = stall_ms * 1000;
	r->window_us = window_ms * 1000;
	return 0;
}

/* What follows `start` in `text`; NULL if it does not begin with that. */
static const char *behind(const char *text, const char *start)
{
	return text_begins(text, start) ? text + strlen(start) : NULL;
}

static int parse(const char *text, struct guard_rule *r, struct err *err)
{
	const char *rest;
	int ret;

	if ((rest = behind(text, "psi>"))) {
		r->kind = GUARD_PSI;
		return parse_psi(text, rest, r, err);
	}
	if ((rest = behind(text, "event:"))) {
		r->kind = GUARD_EVENT;
		for (int i = 0; i < GUARD_EVENTS; i++) {
			r->event = (enum guard_event)i;
			if (!strcmp(rest, events[i]))
				return 0;
		}
		return unknown(text, err);
	}
	if ((rest = behind(text, "every "))) {
		r->kind = GUARD_EVERY;
		if (text_duration_parse(rest, &r->every_ms, err))
			return -1;
		return r->every_ms ? 0 : err_raise(err, ERROR_MUST_BE_MORE_THAN_0);
	}
	r->kind = GUARD_LEVEL;
	ret = until_parse(text, &r->level, err);
	return ret && err->ids[0] == ERROR_UNTIL_UNKNOWN ? err_advise(err, FIX_WHEN_EXAMPLES) : ret;
}

int guard_rule_parse(const char *text, struct guard_rule *out, struct err *err)
{
	struct guard_rule r = { .text = text };

	if (parse(text, &r, err))
		return -1;
	*out = r;
	return 0;
}

const char *guard_rule_word(const struct guard_rule *rule)
{
	switch (rule->kind) {
	case GUARD_PSI:
		return "psi";
	case GUARD_EVENT:
		return guard_event_key(rule->event);
	case GUARD_EVERY:
		return "every";
	case GUARD_LEVEL:
	default:
		return rule->level.growth		? "growth"
		       : rule->level.of == UNTIL_CGROUP ? "cgroup"
							: "rss";
	}
}

bool guard_is_word(const char *text)
{
	static const char *const others[] = { "rss", "cgroup", "growth", "psi", "every" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!strcmp(text, others[i]))
			return true;
	}
	for (size_t i = 0; i < GUARD_EVENTS; i++) {
		if (!strcmp(text, events[i]))
			return true;
	}
	return false;
}

static void fire(struct guard_memory *m, const struct guard_policy *policy, uint64_t now_ms,
		 uint64_t bytes)
{
	m->fired = true;
	m->at = (double)bytes;
	m->quiet_ms = now_ms + policy->cooldown_ms;
}

/* Has it grown enough to override the cooldown? Even if it was less in between. */
static bool has_grown(const struct guard_memory *m, const struct guard_policy *policy,
		      uint64_t bytes)
{
	return policy->again_percent && m->at > 0 &&
	       100 * (double)bytes >= m->at * (100.0 + policy->again_percent);
}

bool guard_level_fires(const struct guard_rule *rule, struct guard_memory *m,
		       const struct guard_policy *policy, uint64_t now_ms, uint64_t bytes,
		       uint64_t limit, double *threshold)
{
	double now = (double)bytes;

	*threshold = until_threshold(&rule->level, &m->seen, now_ms, bytes, limit);
	if (now < *threshold) {
		if (now < LEFT * *threshold)
			m->fired = false;
		return false;
	}
	if ((m->fired || now_ms < m->quiet_ms) && !has_grown(m, policy, bytes))
		return false;
	fire(m, policy, now_ms, bytes);
	return true;
}

bool guard_event_fires(struct guard_memory *m, const struct guard_policy *policy, uint64_t now_ms,
		       uint64_t bytes)
{
	if (now_ms < m->quiet_ms && !has_grown(m, policy, bytes))
		return false;
	fire(m, policy, now_ms, bytes);
	return true;
}

bool guard_every_fires(const struct guard_rule *rule, struct guard_memory *m, uint64_t now_ms)
{
	if (!m->every_ms)
		m->every_ms = now_ms + rule->every_ms;
	if (now_ms < m->every_ms)
		return false;
	/* Those missed while the machine was asleep are not made up for. */
	m->every_ms += (1 + (now_ms - m->every_ms) / rule->every_ms) * rule->every_ms;
	return true;
}

void guard_fires_again(struct guard_memory *m, uint64_t now_ms, uint64_t after_ms)
{
	m->fired = false;
	m->at = 0;
	m->quiet_ms = now_ms + after_ms;
}
