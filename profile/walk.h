// SPDX-License-Identifier: Apache-2.0
/* The calls of a stack by name: what every report and every format starts from. */
#ifndef PROFILE_WALK_H
#define PROFILE_WALK_H

#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <stddef.h>

/* No stack that profile_parse() lets through is deeper in addresses; deeper in lines it is cut. */
#define PROFILE_DEPTH_MAX 8192

/*
 * The calls of one stack, the innermost first, inlined ones each on its own.
 * Without `keep_allocator` the outermost function of the allocator is left out
 * with all that it called. Writes at most `max` (PROFILE_DEPTH_MAX always
 * does) and returns how many. Needs profile->symbols.
 */
size_t profile_stack_lines(const struct profile *profile, const struct profile_stack *stack,
			   bool keep_allocator, struct profile_line *lines, size_t max);

/*
 * Where those calls begin: *frame of the stack's addresses are left out (all
 * of them: == depth), and so are the first *line lines of the next one.
 */
void profile_stack_start(const struct profile *profile, const struct profile_stack *stack,
			 bool keep_allocator, uint32_t *frame, uint32_t *line);

#endif
