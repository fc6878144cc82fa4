// SPDX-License-Identifier: Apache-2.0
/* Names from an ELF file and its DWARF, both of which may say anything. */
#include "base/cleanup.h"
#include "elf/image_debug.h"
#include "elf/image_file.h"
#include "profile/symbols.h"
#include "symbols/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE_MAX_ (1u << 20)
#define PLACES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct read {
	int fd, plain_fd;
	struct symbols_lookup *lookup;
};

static void read_elf(void *arg)
{
	struct read *r = arg;
	Elf *elf, *plain = NULL;

	elf_version(EV_CURRENT);
	elf = image_file_elf(r->fd);
	if (elf) {
		plain = image_plain(elf, r->fd, &r->plain_fd);
		symbols_lookup_dwarf(r->lookup, plain ? plain : elf, NULL, 0);
	}
	elf_end(plain);
	elf_end(elf);
}

/* Every call at every place has a function, and every function has a name. */
static void check(const struct profile_symbols *s)
{
	for (size_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l = &s->locations[i];

		if (l->n > SYMBOLS_INLINED_MAX || l->first + l->n > s->n_lines)
			abort();
		for (uint32_t k = 0; k < l->n; k++) {
			uint32_t f = s->lines[l->first + k].function;

			if (f >= s->n_functions || !*s->functions[f].name)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct read r = { .fd = memfd_create("fuzz", MFD_CLOEXEC), .plain_fd = -1 };
	struct profile_symbols *s = NULL;
	uint64_t places[PLACES];

	setenv("TMPDIR", "/dev/shm", 1);
	/* Places in the code of a small library, and two far away. */
	for (size_t i = 0; i < PLACES; i++)
		places[i] = i < PLACES - 2 ? 0x1000 + 16 * i : UINT64_MAX - PLACES + i;
	r.lookup = symbols_lookup_new(places, PLACES);
	if (r.lookup && size <= SIZE_MAX_ && write(r.fd, data, size) == (ssize_t)size &&
	    image_guard(read_elf, &r))
		s = symbols_lookup_take(r.lookup, 0);
	if (s)
		check(s);
	profile_symbols_free(s);
	symbols_lookup_free(r.lookup);
	cleanup_close(&r.plain_fd);
	close(r.fd);
	return 0;
}
