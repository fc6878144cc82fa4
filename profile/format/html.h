// SPDX-License-Identifier: Apache-2.0
/*
 * Private to profile/format/: the pages, which web/assemble builds from web/, with data as JSON. As
 * a profile has too many calls for one object each, numbers are in arrays, and of each stack only
 * the calls that it does not share with the previous one. web/profile.js reads it.
 */
#ifndef PROFILE_FORMAT_HTML_H
#define PROFILE_FORMAT_HTML_H

#include "base/hashmap.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <stdio.h>

/*
 * The stacks of a profile as paths of frames, where a frame is a function in a module. (Paths of
 * profile/names.h do not suffice: a function inlined into two libraries is one function there.)
 */
struct html_frame {
	uint32_t function; /* any function of that name */
	uint32_t module;   /* n_modules: none */
};

struct html_path {
	const uint32_t *frames; /* indices, outermost first */
	uint32_t depth;
	const struct profile_stack *stack;
};

struct html_stacks {
	struct profile_names names;
	struct html_frame *frames;
	size_t n_frames;
	struct html_path *v; /* sorted: paths with a common beginning are adjacent */
	size_t n;
	uint32_t *first; /* a mapping for each module, by address */
	uint32_t n_modules;
	const char *rest;    /* an extra last stack has this single call; NULL: none */
	uint32_t *module;    /* private: for each mapping */
	uint32_t *calls;     /* private: for all paths */
	size_t room;	     /* private: of frames */
	struct hashmap keys; /* private: of frames */
};

/*
 * The stacks that are flagged in `keep` (NULL: all), and the modules that they need. Needs
 * profile->symbols. Innermost allocator frames are dropped unless kept. ERR_FAILED: no memory. The
 * caller ends it with html_stacks_fini().
 */
int html_stacks_init(struct html_stacks *out, const struct profile *profile, const bool *keep,
		     bool keep_allocator, struct err *err) __must_check;
void html_stacks_fini(struct html_stacks *stacks);

/* The end of the paths that are equal to v[i], and so are one stack on the page. */
size_t html_same_end(const struct html_stacks *stacks, size_t i);

/* Write modules, files, functions and stacks, and a comma. ERR_FAILED: no memory. */
int html_put_stacks(const struct profile *profile, const struct html_stacks *stacks, FILE *out,
		    struct err *err) __must_check;

/* Write what is known about the process, and a comma. */
void html_put_facts(const struct profile *profile, const char *title, bool difference, FILE *out);

void html_put_number(double n, FILE *out);
void html_put_comma(size_t i, FILE *out);

/*
 * Write the page with what `data` writes: members of a JSON object. The title is "REDIS: " and
 * `what`, with the time of the profile if known.
 */
typedef int html_data_fn(const void *ctx, FILE *out, struct err *err);
int html_page(const struct profile *profile, const char *title, const char *what,
	      html_data_fn *data, const void *ctx, FILE *out, struct err *err) __must_check;

#endif
