// SPDX-License-Identifier: Apache-2.0
/*
 * Private to profile/format/: the pages, which are web/ as web/assemble puts it together, with data
 * in it as JSON. Numbers go in arrays, and of a stack only what it does not share with the one
 * before: a profile has too many calls for an object each. web/profile.js reads it.
 */
#ifndef PROFILE_FORMAT_HTML_H
#define PROFILE_FORMAT_HTML_H

#include "base/hashmap.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <stdio.h>

/*
 * The stacks of a profile as paths of frames, where a frame is a function in a module. Those of
 * profile/names.h do not do: what was inlined into two libraries is one function there.
 */
struct html_frame {
	uint32_t function; /* one of that name */
	uint32_t module;   /* n_modules: in none */
};

struct html_path {
	const uint32_t *frames; /* indices, the outermost first */
	uint32_t depth;
	const struct profile_stack *stack;
};

struct html_stacks {
	struct profile_names names;
	struct html_frame *frames;
	size_t n_frames;
	struct html_path *v; /* sorted: what begins alike lies together */
	size_t n;
	uint32_t *first; /* of each module, a mapping of its file; by address */
	uint32_t n_modules;
	const char *rest;    /* one more stack of this one call comes after them; NULL: none */
	uint32_t *module;    /* private: of each mapping */
	uint32_t *calls;     /* private: of all paths */
	size_t room;	     /* private: of frames */
	struct hashmap keys; /* private: of frames */
};

/*
 * The stacks for which `keep` has a flag, and the modules that they need; NULL: all. Needs
 * profile->symbols. Allocator frames at the inner end are dropped unless kept. ERR_FAILED: no
 * memory. The caller ends it with html_stacks_fini().
 */
int html_stacks_init(struct html_stacks *out, const struct profile *profile, const bool *keep,
		     bool keep_allocator, struct err *err) __must_check;
void html_stacks_fini(struct html_stacks *stacks);

/* Where the paths end that are the same as v[i]: they are one stack of the page. */
size_t html_same_end(const struct html_stacks *stacks, size_t i);

/* Modules, files, functions and stacks, with a comma after them. ERR_FAILED: no memory. */
int html_put_stacks(const struct profile *profile, const struct html_stacks *stacks, FILE *out,
		    struct err *err) __must_check;

/* What is known of the process, with a comma after it. */
void html_put_facts(const struct profile *profile, const char *title, bool difference, FILE *out);

void html_put_number(double n, FILE *out);
void html_put_comma(size_t i, FILE *out);

/*
 * The page of what `data` writes, members of an object of JSON. Its title is "REDIS: " and `what`,
 * with the time of the profile where that is known.
 */
typedef int html_data_fn(const void *ctx, FILE *out, struct err *err);
int html_page(const struct profile *profile, const char *title, const char *what,
	      html_data_fn *data, const void *ctx, FILE *out, struct err *err) __must_check;

#endif
