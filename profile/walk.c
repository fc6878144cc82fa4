// SPDX-License-Identifier: Apache-2.0
#include "profile/walk.h"

void profile_stack_start(const struct profile *profile, const struct profile_stack *stack,
			 bool keep_allocator, uint32_t *frame, uint32_t *line)
{
	const struct profile_symbols *symbols = profile->symbols;

	*frame = 0;
	*line = 0;
	for (uint32_t i = stack->depth; i-- > 0 && !keep_allocator;) {
		uint32_t address = profile->frames[stack->first + i];
		const struct profile_location *at = &symbols->locations[address];

		for (uint32_t j = at->n; j-- > 0;) {
			if (!symbols->functions[symbols->lines[at->first + j].function].allocator)
				continue;
			*frame = j + 1 == at->n ? i + 1 : i;
			*line = j + 1 == at->n ? 0 : j + 1;
			return;
		}
	}
}

size_t profile_stack_lines(const struct profile *profile, const struct profile_stack *stack,
			   bool keep_allocator, struct profile_line *lines, size_t max)
{
	const struct profile_symbols *symbols = profile->symbols;
	uint32_t frame, line;
	size_t n = 0;

	profile_stack_start(profile, stack, keep_allocator, &frame, &line);
	for (; frame < stack->depth; frame++, line = 0) {
		uint32_t address = profile->frames[stack->first + frame];
		const struct profile_location *at = &symbols->locations[address];

		for (; line < at->n && n < max; line++)
			lines[n++] = symbols->lines[at->first + line];
	}
	return n;
}
