// SPDX-License-Identifier: Apache-2.0
#include "front/compat.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	double ns;
} units[] = {
	{ "ns", 1 },	  { "us", 1e3 },     { "ms", 1e6 },	  { "secs", 1e9 },
	{ "mins", 60e9 }, { "hrs", 3600e9 }, { "days", 86400e9 }, { "weeks", 604800e9 },
};
#define UNITS (sizeof(units) / sizeof(*units))
#define DURATION_MIN_NS 1e9
#define DURATION_MAX_NS 86400e9

/* As Mesos prints it: in the largest unit, or in the next smaller one if that has no fraction. */
static void print_duration(double ns, char *buf, size_t size)
{
	size_t i = UNITS - 1;

	while (i && ns < units[i].ns)
		i--;
	if (i && (double)(uint64_t)(ns / units[i].ns) * units[i].ns != ns &&
	    (double)(uint64_t)(ns / units[i - 1].ns) * units[i - 1].ns == ns)
		i--;
	snprintf(buf, size, "%.15g%s", ns / units[i].ns, units[i].name);
}

static bool read_duration(const char *text, double *ns, char *why, size_t size)
{
	size_t digits = strspn(text, "0123456789."), i = 0;
	char number[32], *end;

	if (!text[digits]) {
		snprintf(why, size, "Could not parse parameter 'duration': Invalid duration '%s'.",
			 text);
		return false;
	}
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	*ns = strtod(number, &end);
	if (!digits || *end || digits >= sizeof(number)) {
		snprintf(why, size,
			 "Could not parse parameter 'duration': Failed to convert '%s' to number.",
			 number);
		return false;
	}
	while (i < UNITS && strcmp(text + digits, units[i].name) != 0)
		i++;
	if (i == UNITS) {
		snprintf(why, size,
			 "Could not parse parameter 'duration': Unknown duration unit '%.20s'; "
			 "supported "
			 "units are 'ns', 'us', 'ms', 'secs', 'mins', 'hrs', 'days', and 'weeks'.",
			 text + digits);
		return false;
	}
	*ns = *ns * units[i].ns;
	return true;
}

bool compat_duration(const char *text, uint32_t *ms, char *why, size_t size)
{
	char written[64];
	double ns;

	if (!read_duration(text, &ns, why, size))
		return false;
	if (ns >= DURATION_MIN_NS && ns <= DURATION_MAX_NS) {
		*ms = (uint32_t)(ns / 1e6);
		return true;
	}
	if (ns > 9e18) /* it does not hold more */
		ns = 9e18;
	print_duration((double)(uint64_t)ns, written, sizeof(written));
	snprintf(why, size, "Duration '%s' must be between 1secs and 24hrs.", written);
	return false;
}

unsigned int compat_status(enum wire_words words, enum wire_op op,
			   const struct wire_to_front *answer, unsigned int usual)
{
	switch (answer->code) {
	case ERR_NOPROC:
	case ERR_PERM:
	case ERR_UNSAFE:
	case ERR_LOST:
		return usual;
	default:
		break;
	}
	if (!words || answer->refusal)
		return usual;
	if (words == WIRE_MESOS)
		return answer->code == ERR_BUSY && op == WIRE_MESOS_START ? 409 : 400;
	return words == WIRE_TIKV && answer->code == ERR_USAGE ? 400 : 500;
}

const char *compat_type(enum wire_words words, enum wire_format format, const char *usual)
{
	return words == WIRE_MTEV && format == WIRE_FORMAT_HEAP
		       ? "application/x-jemalloc-heap-profile"
		       : usual;
}
