// SPDX-License-Identifier: Apache-2.0
/*
 * What an injection needs to know of a target: addresses of functions and instructions, and the
 * code in which no thread may be borrowed. A confined process finds it in ELF files and memory of
 * the target, and sends it to the controller as a message.
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
 * ERR_FAILED when something that an injection needs cannot be found. Read-only. `n_mappings` is the
 * number of mappings of the process.
 */
int injector_site_find(struct callsite **out, const struct proc *p, struct images *images,
		       size_t n_mappings, const struct jemalloc *je, struct err *err) __must_check;
void injector_site_free(struct callsite *site);

void injector_site_pack(const struct callsite *site, struct pack *p);

/*
 * NULL for an invalid message, or one for another mallctl than that of `je`. Lengths and order are
 * checked; the addresses are as untrusted as the target's files and memory.
 */
struct callsite *injector_site_unpack(const struct jemalloc *je, struct unpack *u) __must_check;

#endif
