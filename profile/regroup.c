// SPDX-License-Identifier: Apache-2.0
#include "profile/regroup.h"

#include "base/cleanup.h"
#include "profile/symbols_build.h"

#include <inttypes.h>
#include <stdio.h>

#define NAME_SIZE 16384

static void name_of(const struct profile_function *f, uint32_t line, uint64_t pc,
		    enum profile_grain grain, char name[NAME_SIZE])
{
	char place[4200], address[32];

	/* Not all of them are cleared: this is done for every call at every address. */
	*place = *address = '\0';
	if (f->file && line)
		snprintf(place, sizeof(place), " %s:%u", f->file, line);
	else if (f->file)
		snprintf(place, sizeof(place), " %s", f->file);
	if (grain == PROFILE_BY_ADDRESS)
		snprintf(address, sizeof(address), "0x%" PRIx64 " ", pc - 1);
	if (grain == PROFILE_BY_FILE)
		snprintf(name, NAME_SIZE, "%s", f->file ? f->file : f->name);
	else
		snprintf(name, NAME_SIZE, "%s%.8192s%s", address, f->name,
			 grain == PROFILE_BY_FUNCTION ? "" : place);
}

/* The same lines, each of the function that stands for its group now. */
static void regroup_address(struct symbols_build *b, const struct profile *p, size_t address,
			    enum profile_grain grain)
{
	const struct profile_symbols *s = p->symbols;
	const struct profile_location *at = &s->locations[address];
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	uint32_t n = at->n < SYMBOLS_INLINED_MAX ? at->n : SYMBOLS_INLINED_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_line *line = &s->lines[at->first + i];
		const struct profile_function *f = &s->functions[line->function];
		char name[NAME_SIZE];
		struct profile_function g = { .name = name, .allocator = f->allocator };

		g.known = f->known && grain == PROFILE_BY_FUNCTION;
		name_of(f, line->line, p->addresses[address].pc, grain, name);
		lines[i] = (struct profile_line){ .function = symbols_build_function(b, &g) };
	}
	symbols_build_location(b, address, lines, n);
}

int profile_regroup(struct profile *profile, enum profile_grain grain, struct err *err)
{
	_cleanup_(symbols_build_close) struct symbols_build *b =
		symbols_build_new(profile->n_addresses);

	if (!b)
		return err_set(err, ERR_FAILED, "no memory for the names");
	for (size_t i = 0; i < profile->n_addresses; i++)
		regroup_address(b, profile, i, grain);
	return symbols_build_finish(b, profile, err);
}
