// SPDX-License-Identifier: Apache-2.0
/*
 * Small profiles for unit tests, made from text: "main;work+inlined;malloc" is a stack of three
 * addresses, outermost first; the second one holds an inlined call. Functions named "malloc" belong
 * to the allocator.
 */
#ifndef TESTS_UNIT_MADE_PROFILE_H
#define TESTS_UNIT_MADE_PROFILE_H

#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdlib.h>
#include <string.h>

#define MADE_MAX 4096

struct made_stack {
	const char *calls;
	double objects, bytes;
	double alloc_objects, alloc_bytes;
};

struct made_profile {
	struct profile profile;
	struct profile_symbols symbols;
	struct profile_mapping mapping;
	struct profile_address addresses[MADE_MAX];
	uint32_t frames[MADE_MAX];
	struct profile_stack stacks[MADE_MAX];
	struct profile_function functions[MADE_MAX];
	struct profile_line lines[MADE_MAX];
	struct profile_location locations[MADE_MAX];
};

static uint32_t made_function(struct made_profile *m, const char *name, size_t len)
{
	struct profile_symbols *s = &m->symbols;
	struct profile_function *f;

	for (size_t i = 0; i < s->n_functions; i++)
		if (strlen(s->functions[i].name) == len && !memcmp(s->functions[i].name, name, len))
			return (uint32_t)i;
	f = &s->functions[s->n_functions];
	f->name = strndup(name, len);
	f->linkage = f->name;
	f->file = "made.c";
	f->known = true;
	f->allocator = !strcmp(f->name, "malloc");
	return (uint32_t)s->n_functions++;
}

/* An address for "outer+inlined": its lines, innermost first. */
static uint32_t made_address(struct made_profile *m, const char *names, size_t len)
{
	size_t at = m->profile.n_addresses++, end = len;
	struct profile_location *location = &m->locations[at];

	m->addresses[at] = (struct profile_address){ 0x401001 + 16 * at, 0 };
	location->first = (uint32_t)m->symbols.n_lines;
	while (end != (size_t)-1) {
		size_t start = end;

		while (start && names[start - 1] != '+')
			start--;
		m->lines[m->symbols.n_lines].function =
			made_function(m, names + start, end - start);
		m->lines[m->symbols.n_lines++].line = (uint32_t)at + 10;
		location->n++;
		end = start - 1;
	}
	m->symbols.n_locations = m->profile.n_addresses;
	return (uint32_t)at;
}

static void made_add(struct made_profile *m, const struct made_stack *from)
{
	struct profile_stack *stack = &m->stacks[m->profile.n_stacks++];
	const char *calls = from->calls;
	size_t end = strlen(calls);

	*stack = (struct profile_stack){
		.first = m->profile.n_frames,
		.thread = PROFILE_NONE,
		.value = { from->objects, from->bytes, from->alloc_objects, from->alloc_bytes },
	};
	while (end != (size_t)-1) {
		size_t start = end;

		while (start && calls[start - 1] != ';')
			start--;
		m->frames[m->profile.n_frames++] = made_address(m, calls + start, end - start);
		stack->depth++;
		end = start - 1;
	}
	if (from->alloc_bytes > 0)
		m->profile.has_alloc = true;
}

/* The caller frees it with made_free(). */
static struct made_profile *made_profile(const struct made_stack *stacks, size_t n)
{
	struct made_profile *m = calloc(1, sizeof(*m));

	m->mapping = (struct profile_mapping){ .start = 0x400000,
					       .end = 0x500000,
					       .path = "/usr/bin/made",
					       .build_id = "0123456789abcdef" };
	m->symbols.functions = m->functions;
	m->symbols.lines = m->lines;
	m->symbols.locations = m->locations;
	m->profile = (struct profile){ .facts = { .pid = 42, .comm = "made", .time_ns = 1000 },
				       .period = 524288,
				       .mappings = &m->mapping,
				       .n_mappings = 1,
				       .addresses = m->addresses,
				       .frames = m->frames,
				       .stacks = m->stacks,
				       .symbols = &m->symbols };
	for (size_t i = 0; i < n; i++)
		made_add(m, &stacks[i]);
	return m;
}

static void made_free(struct made_profile *m)
{
	for (size_t i = 0; i < m->symbols.n_functions; i++)
		free((char *)m->functions[i].name);
	free(m);
}

#endif
