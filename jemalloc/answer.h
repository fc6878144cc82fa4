// SPDX-License-Identifier: Apache-2.0
/*
 * What was found in a process, as a message from the confined child that looked
 * (sandbox/confined.h). What is unpacked was checked: lengths, numbers of enums, indexes,
 * the end of every text. Whether an address is what it is said to be was not: it is the target's.
 */
#ifndef JEMALLOC_ANSWER_H
#define JEMALLOC_ANSWER_H

#include "base/pack.h"
#include "elf/image.h"
#include "jemalloc/jemalloc.h"

void tristate_pack(enum tristate value, struct pack *p);
enum tristate tristate_unpack(struct unpack *u);

void range_pack(struct range r, struct pack *p);
struct range range_unpack(struct unpack *u);

/*
 * A path tells there which mappings have the same one, and is "" for those that have none; it
 * does not name a file.
 */
struct maps;
void maps_pack(const struct maps *maps, struct pack *p);
bool maps_unpack(struct maps *out, struct unpack *u) __must_check;

/* Without their files: nothing can be looked up in images that were unpacked. */
void images_pack(const struct images *images, struct pack *p);

/* False, with nothing in `out`, for a message that makes no sense. The caller ends `out`. */
bool images_unpack(struct images *out, struct unpack *u) __must_check;

/* `images`: those they were found in, which were packed before. */
void jemallocs_pack(const struct jemalloc *v, size_t n, const struct images *images,
		    struct pack *p);

/* At least one, in a malloc()ed array of the caller's; NULL for a message that makes no sense. */
struct jemalloc *jemallocs_unpack(size_t *n, const struct images *images, struct unpack *u)
	__must_check;

/* What jemalloc_find_opts() adds, with the values as they were then. */
void jemalloc_opts_pack(const struct jemalloc *je, const struct jemalloc_values *values,
			struct pack *p);
void jemalloc_opts_unpack(struct jemalloc *je, struct jemalloc_values *values, struct unpack *u);

void jemalloc_dump_pack(const struct jemalloc_dump *dump, struct pack *p);
void jemalloc_dump_unpack(struct jemalloc_dump *dump, struct unpack *u);

void jemalloc_event_pack(const struct jemalloc_event *event, struct pack *p);
void jemalloc_event_unpack(struct jemalloc_event *event, struct unpack *u);

#endif
