// SPDX-License-Identifier: Apache-2.0
/* A forged tree of names: pointers are offsets in the input, relocated here. */
#include "jemalloc/scan.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS 2048
#define NAMES_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t words[WORDS];

static int see(void *ctx, const char *name, uint64_t handler)
{
	const uint64_t base = (uint64_t)(uintptr_t)words;

	if (strlen(name) >= CTL_NAME_SIZE || handler < base || handler >= base + sizeof(words) ||
	    ++*(unsigned int *)ctx > NAMES_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t base = (uint64_t)(uintptr_t)words;
	struct range code = { base, base + sizeof(words) };
	struct image image = { .start = code.start,
			       .end = code.end,
			       .exec = &code,
			       .n_exec = 1,
			       .elf_class = ELFCLASS64 };
	static struct peek memory;
	struct ctl_tree t = { .image = &image, .memory = &memory, .children = base };
	unsigned int seen = 0;

	memset(words, 0, sizeof(words));
	memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
	/* Small numbers are flags and counts, larger ones are pointers. */
	for (size_t i = 0; i < WORDS; i++)
		if (words[i] >= 64 && words[i] < sizeof(words))
			words[i] += base;
	peek_init(&memory, getpid());
	t.n_children = size ? data[0] : 0;
	words[0] = 1;
	ctl_tree_each(&t, see, &seen);
	ctl_tree_handler(&t, "opt.prof");
	ctl_tree_handler(&t, "prof.active");
	return 0;
}
