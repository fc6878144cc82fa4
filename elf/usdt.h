// SPDX-License-Identifier: Apache-2.0
/*
 * USDT probes: an image's ".note.stapsdt" section, which sys/sdt.h of SystemTap fills
 * (sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */
#ifndef ELF_USDT_H
#define ELF_USDT_H

#include "arch/machine.h"
#include "base/pack.h"
#include "elf/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USDT_ARGS_MAX 3 /* further ones are ignored */

struct usdt_arg {
	struct arch_operand at;
	unsigned char size; /* in bytes: 1, 2, 4 or 8 */
	bool is_signed;
};

struct usdt_probe {
	uint64_t offset;    /* of the instruction in the file */
	uint64_t semaphore; /* likewise, of the count of its readers, a uint16_t; 0: none */
	struct usdt_arg args[USDT_ARGS_MAX];
	size_t n_args; /* up to the first one that is not understood */
};

/*
 * Call `fn` for each probe of `provider` that can be placed: its instruction is a nop, in exactly
 * one code segment of the file. Returns how many cannot.
 */
typedef void usdt_fn(void *ctx, const char *name, const struct usdt_probe *probe);
size_t usdt_each(struct image *img, const char *provider, usdt_fn *fn, void *ctx);

/* Has the file of a mapping such probes? Accesses only the file. */
bool usdt_in_mapped(pid_t pid, const struct map *map, const char *provider);

/*
 * The arguments as a note has them: operands in the notation of an assembler, with their sizes.
 * Returns how many, up to the first one that is not understood.
 */
size_t usdt_args(const char *text, struct usdt_arg args[USDT_ARGS_MAX]);

/* As a message; usdt_unpack() ensures what is said above of the arguments. */
void usdt_pack(const struct usdt_probe *probe, struct pack *p);
void usdt_unpack(struct usdt_probe *probe, struct unpack *u);

#endif
