// SPDX-License-Identifier: Apache-2.0
/*
 * Where in a target an injection takes place: addresses of functions and instructions, and
 * the code in which no thread may be borrowed. Finding it reads ELF files and memory of the
 * target, which a confined process does; what it found goes to the controller as a message.
 */
#ifndef INJECTOR_SITE_H
#define INJECTOR_SITE_H

#include "base/err.h"
#include "base/pack.h"
#include "elf/image.h"
#include "jemalloc/jemalloc.h"
#include "process/proc.h"

struct callsite;

/*
 * ERR_FAILED when something that an injection needs cannot be found. Reads only. The process has
 * `n_mappings`.
 */
int injector_site_find(struct callsite **out, const struct proc *p, struct images *images,
		       size_t n_mappings, const struct jemalloc *je, struct err *err) __must_check;
void injector_site_free(struct callsite *site);

void injector_site_pack(const struct callsite *site, struct pack *p);

/*
 * NULL for a message that makes no sense, or is about another mallctl than that of `je`. Lengths
 * and order were checked. The addresses are what the target's files and memory say.
 */
struct callsite *injector_site_unpack(const struct jemalloc *je, struct unpack *u) __must_check;

#endif
