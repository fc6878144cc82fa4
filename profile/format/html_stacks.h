// SPDX-License-Identifier: Apache-2.0
/*
 * Private to profile/format/html.c: the stacks of a profile as paths of
 * frames, where a frame is a function in a module. paths.h does not do: what
 * was inlined into two libraries is one function there.
 */
#ifndef PROFILE_FORMAT_HTML_STACKS_H
#define PROFILE_FORMAT_HTML_STACKS_H

#include "base/err.h"
#include "profile/index.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	uint32_t *module;  /* private: of each mapping */
	uint32_t *calls;   /* private: of all paths */
	size_t room;	   /* private: of frames */
	struct index keys; /* private: of frames */
};

/*
 * Needs profile->symbols. Allocator frames at the inner end are dropped unless
 * kept. ERR_FAILED: no memory. The caller ends it with html_stacks_fini().
 */
int html_stacks_init(struct html_stacks *out, const struct profile *profile, bool keep_allocator,
		     struct err *err) __must_check;
void html_stacks_fini(struct html_stacks *stacks);

/* How many frames two paths have in common at their outer end. */
uint32_t html_path_common(const struct html_path *a, const struct html_path *b);

#endif
