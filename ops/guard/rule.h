// SPDX-License-Identifier: Apache-2.0
/* When a guard takes a profile: rules, and their state. Pure functions. */
#ifndef OPS_GUARD_RULE_H
#define OPS_GUARD_RULE_H

#include "base/err.h"
#include "ops/until.h"

#include <stdbool.h>
#include <stdint.h>

/* Linux, Documentation/: admin-guide/cgroup-v2.rst, accounting/psi.rst. */
enum guard_kind {
	GUARD_LEVEL, /* resident memory, or what the control group uses */
	GUARD_PSI,   /* tasks of its control group wait for memory */
	GUARD_EVENT, /* in memory.events */
	GUARD_EVERY,
};

enum guard_event { GUARD_HIGH, GUARD_MAX, GUARD_OOM, GUARD_EVENTS };

struct guard_rule {
	const char *text; /* as given */
	enum guard_kind kind;
	struct until level;
	uint64_t stall_us, window_us; /* GUARD_PSI: "some" of so much in so long */
	enum guard_event event;
	uint64_t every_ms;
};

/*
 * "rss>80%", "rss>2G", "cgroup>90%", "growth>25%/10m" and everything else of until_parse();
 * "psi>150ms/1s"; "event:high"; "every 10m". ERR_USAGE, with its fix. `text` is kept.
 */
int guard_rule_parse(const char *text, struct guard_rule *out, struct err *err) __must_check;

/* The word for it in the names of files: "rss", "cgroup", "growth", "psi", "high", "every". */
const char *guard_rule_word(const struct guard_rule *rule);
bool guard_is_word(const char *text);

/* "high", "max", "oom": the key in memory.events. */
const char *guard_event_key(enum guard_event event);

/* Limits on how often a rule fires, the same for all rules. */
struct guard_policy {
	uint64_t cooldown_ms;	    /* for one process and rule, from one profile to the next; */
	unsigned int again_percent; /* sooner if it has grown by so much; 0: never sooner */
};

/* State of a rule for a process; zeroed at first. */
struct guard_memory {
	struct until_seen seen;
	bool fired;	   /* the level was reached, and was not left since */
	double at;	   /* bytes, when it fired last; 0: unknown */
	uint64_t quiet_ms; /* does not fire before */
	uint64_t every_ms; /* when the next profile is due; 0: not set yet */
};

/*
 * Does a level fire now? When it is crossed upwards; again when memory fell 5 % below it and
 * crossed it once more, after the cooldown; and each time that memory has grown by again_percent
 * since it fired. *threshold is set to the bytes that reach it, as in until_threshold().
 */
bool guard_level_fires(const struct guard_rule *rule, struct guard_memory *m,
		       const struct guard_policy *policy, uint64_t now_ms, uint64_t bytes,
		       uint64_t limit, double *threshold);

/*
 * Does an event, or pressure, that has just come fire, with so many bytes in use? Not before the
 * end of the cooldown, unless these have grown by again_percent since.
 */
bool guard_event_fires(struct guard_memory *m, const struct guard_policy *policy, uint64_t now_ms,
		       uint64_t bytes);

/* Is a profile due? The first one is after the first `every_ms`. */
bool guard_every_fires(const struct guard_rule *rule, struct guard_memory *m, uint64_t now_ms);

/* The profile could not be taken: the rule may fire again after so long. */
void guard_fires_again(struct guard_memory *m, uint64_t now_ms, uint64_t after_ms);

#endif
