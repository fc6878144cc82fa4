// SPDX-License-Identifier: Apache-2.0
#include "profile/filter.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/fit.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- regular expressions --- */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Plenty for names; an expression that backtracks is stopped within milliseconds. */
#define MATCH_LIMIT 200000
#define DEPTH_LIMIT 20000
#define HEAP_LIMIT_KIB 20000

struct regex {
	const char *what;
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	int failed; /* the first error of a match, 0 if none */
};

static void regex_free(struct regex *re)
{
	if (!re)
		return;
	pcre2_code_free(re->code);
	pcre2_match_data_free(re->data);
	pcre2_match_context_free(re->context);
	free(re);
}

void regex_close(struct regex **re)
{
	regex_free(*re);
}

int regex_new(const char *what, const char *pattern, struct regex **out, struct err *err)
{
	struct regex *re = calloc(1, sizeof(*re));
	PCRE2_UCHAR why[128];
	PCRE2_SIZE at;
	int code;

	if (!re)
		return err_no_memory(err);
	re->what = what;
	re->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
	if (!re->code) {
		regex_free(re);
		pcre2_get_error_message(code, why, sizeof(why));
		return err_raise(err, ERROR_PATTERN_MALFORMED, .name = what, .text = pattern,
				 .number = (int64_t)at, .what = (const char *)why);
	}
	re->data = pcre2_match_data_create(1, NULL);
	re->context = pcre2_match_context_create(NULL);
	if (!re->data || !re->context) {
		regex_free(re);
		return err_no_memory(err);
	}
	pcre2_set_match_limit(re->context, MATCH_LIMIT);
	pcre2_set_depth_limit(re->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(re->context, HEAP_LIMIT_KIB);
	*out = re;
	return 0;
}

static bool matches_part(struct regex *re, const char *text, size_t len)
{
	int got;

	if (re->failed)
		return false;
	got = pcre2_match(re->code, (PCRE2_SPTR)text, len, 0, 0, re->data, re->context);
	if (got >= 0)
		return true;
	if (got != PCRE2_ERROR_NOMATCH)
		re->failed = got;
	return false;
}

bool regex_matches(struct regex *re, const char *text)
{
	return matches_part(re, text, PCRE2_ZERO_TERMINATED);
}

bool regex_matches_name(struct regex *re, const char *name)
{
	size_t len = profile_name_untold(name);

	return regex_matches(re, name) || (name[len] && matches_part(re, name, len));
}

int regex_check(const struct regex *re, struct err *err)
{
	PCRE2_UCHAR why[128];

	if (!re || !re->failed)
		return 0;
	pcre2_get_error_message(re->failed, why, sizeof(why));
	return err_raise(err, ERROR_PATTERN_FAILED, .name = re->what, .what = (const char *)why);
}

/* --- filters --- */

struct expressions {
	struct regex *retain, *exclude, *focus, *ignore, *show, *hide;
};

static void close_filter(struct expressions *f)
{
	regex_free(f->retain);
	regex_free(f->exclude);
	regex_free(f->focus);
	regex_free(f->ignore);
	regex_free(f->show);
	regex_free(f->hide);
}

static int compile(const char *what, const char *pattern, struct regex **re, struct err *err)
{
	return pattern ? regex_new(what, pattern, re, err) : 0;
}

/* --- the allocator --- */

/* As profile_stack_start(), whose loop over every call of every stack would be slow. */
static int cut_allocator(struct profile *p, struct err *err)
{
	struct profile_symbols *s = p->symbols;
	/* For each location: some of it belongs to the allocator. */
	_cleanup_(cleanup_free) bool *cut = calloc(s->n_locations + 1, sizeof(*cut));

	if (!cut)
		return err_no_memory(err);
	/*
	 * Drop all lines of a location up to the outermost call of the allocator, in every stack.
	 * Whether more goes depends on the frames outside of it.
	 */
	for (size_t i = 0; i < s->n_locations; i++) {
		struct profile_location *at = &s->locations[i];
		uint32_t n = at->n;

		while (n && !s->functions[s->lines[at->first + n - 1].function].allocator)
			n--;
		at->first += n;
		at->n -= n;
		cut[i] = n > 0;
	}
	for (size_t i = 0; i < p->n_stacks; i++) {
		struct profile_stack *stack = &p->stacks[i];
		const uint32_t *frame = p->frames + stack->first;
		uint32_t n = stack->depth;

		while (n && !cut[frame[n - 1]])
			n--;
		/* The stack begins with the rest of the outermost location that was cut. */
		n -= n && s->locations[frame[n - 1]].n;
		stack->first += n;
		stack->depth -= n;
	}
	return 0;
}

/* --- calls --- */

/* The calls to keep, those that match or those that do not. */
struct choice {
	bool *matches; /* one for each function */
	bool keep_matching;
};

typedef void choose_fn(struct profile_symbols *s, struct profile_location *at,
		       const struct choice *choice);

/* Empty the location if its outermost function is not chosen. */
static void choose_whole(struct profile_symbols *s, struct profile_location *at,
			 const struct choice *choice)
{
	uint32_t outermost = at->n ? s->lines[at->first + at->n - 1].function : 0;

	if (at->n && choice->matches[outermost] != choice->keep_matching)
		at->n = 0;
}

/* Drop calls that are not chosen. Locations share no lines, so they shrink in place. */
static void choose_each(struct profile_symbols *s, struct profile_location *at,
			const struct choice *choice)
{
	uint32_t n = 0;

	for (uint32_t j = 0; j < at->n; j++) {
		struct profile_line line = s->lines[at->first + j];

		if (choice->matches[line.function] == choice->keep_matching)
			s->lines[at->first + n++] = line;
	}
	at->n = n;
}

static int select_calls(struct profile_symbols *s, choose_fn *choose, struct regex *re,
			bool keep_matching, struct err *err)
{
	_cleanup_(cleanup_free) bool *matches = NULL;

	if (!re)
		return 0;
	matches = calloc(s->n_functions + 1, sizeof(*matches));
	if (!matches)
		return err_no_memory(err);
	for (size_t i = 0; i < s->n_functions; i++)
		matches[i] = regex_matches_name(re, s->functions[i].name);
	for (size_t i = 0; i < s->n_locations; i++)
		choose(s, &s->locations[i], &(struct choice){ matches, keep_matching });
	return regex_check(re, err);
}

/* --- stacks --- */

static bool address_matches(const struct profile *p, size_t address, struct regex *re)
{
	const struct profile_location *at = &p->symbols->locations[address];
	char text[4200];

	snprintf(text, sizeof(text), "%016" PRIx64, p->addresses[address].pc - 1);
	if (regex_matches(re, text))
		return true;
	for (uint32_t i = 0; i < at->n; i++) {
		const struct profile_line *line = &p->symbols->lines[at->first + i];
		const struct profile_function *f = &p->symbols->functions[line->function];

		if (regex_matches_name(re, f->name))
			return true;
		if (!f->file)
			continue;
		snprintf(text, sizeof(text), "%s:%u", f->file, line->line);
		if (regex_matches(re, text))
			return true;
	}
	return false;
}

static int select_stacks(struct profile *p, struct regex *re, bool keep_matching, struct err *err)
{
	_cleanup_(cleanup_free) bool *matches = NULL;
	size_t n = 0;

	if (!re)
		return 0;
	matches = calloc(p->n_addresses + 1, sizeof(*matches));
	if (!matches)
		return err_no_memory(err);
	for (size_t i = 0; i < p->n_addresses; i++)
		matches[i] = p->symbols->locations[i].n && address_matches(p, i, re);
	for (size_t i = 0; i < p->n_stacks; i++) {
		const uint32_t *frame = p->frames + p->stacks[i].first;
		bool any = false;

		for (uint32_t j = 0; j < p->stacks[i].depth && !any; j++)
			any = matches[frame[j]];
		if (any == keep_matching)
			p->stacks[n++] = p->stacks[i];
	}
	p->n_stacks = n;
	return regex_check(re, err);
}

int profile_filter(struct profile *profile, const struct profile_filter *how, struct err *err)
{
	_cleanup_(close_filter) struct expressions f = { 0 };
	struct profile_symbols *s = profile->symbols;
	size_t n = 0;

	if (compile("retain", how->retain, &f.retain, err) ||
	    compile("exclude", how->exclude, &f.exclude, err) ||
	    compile("focus", how->focus, &f.focus, err) ||
	    compile("ignore", how->ignore, &f.ignore, err) ||
	    compile("show", how->show, &f.show, err) || compile("hide", how->hide, &f.hide, err))
		return -1;
	if (!how->keep_allocator && cut_allocator(profile, err))
		return -1;
	if (select_calls(s, choose_whole, f.retain, true, err) ||
	    select_calls(s, choose_whole, f.exclude, false, err) ||
	    select_stacks(profile, f.focus, true, err) ||
	    select_stacks(profile, f.ignore, false, err) ||
	    select_calls(s, choose_each, f.show, true, err) ||
	    select_calls(s, choose_each, f.hide, false, err))
		return -1;
	/* Drop frames with an empty location, and stacks that lost all their frames. */
	for (size_t i = 0; i < profile->n_stacks; i++) {
		struct profile_stack stack = profile->stacks[i];
		uint32_t depth = 0;

		for (uint32_t j = 0; j < stack.depth; j++) {
			uint32_t address = profile->frames[stack.first + j];

			if (s->locations[address].n)
				profile->frames[stack.first + depth++] = address;
		}
		stack.depth = depth;
		if (depth)
			profile->stacks[n++] = stack;
	}
	profile->n_stacks = n;
	/* By contract every address has a line; no stack uses the empty ones. */
	for (size_t i = 0; i < s->n_locations; i++) {
		if (!s->locations[i].n)
			s->locations[i] = (struct profile_location){ .first = 0, .n = 1 };
	}
	return 0;
}
