// SPDX-License-Identifier: Apache-2.0
/*
 * Packs what was found in a process into the message of the confined child that examined it
 * (sandbox/confined.h). Unpacking validates lengths, enum values, indexes and the termination of
 * strings. It cannot verify what is at an address: the target controls that.
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
 * An unpacked path does not name a file: it only shows which mappings have the same path, and is ""
 * for those without one.
 */
struct maps;
void maps_pack(const struct maps *maps, struct pack *p);
bool maps_unpack(struct maps *out, struct unpack *u) __must_check;

/* Files are not included: nothing can be looked up in unpacked images. */
void images_pack(const struct images *images, struct pack *p);

/* False, with `out` empty, for an invalid message. The caller releases `out`. */
bool images_unpack(struct images *out, struct unpack *u) __must_check;

/* `images`: the images they were found in, which were packed before. */
void jemallocs_pack(const struct jemalloc *v, size_t n, const struct images *images,
		    struct pack *p);

/* A malloc()ed array of at least one, owned by the caller; NULL for an invalid message. */
struct jemalloc *jemallocs_unpack(size_t *n, const struct images *images, struct unpack *u)
	__must_check;

/* What jemalloc_find_opts() adds, with the values at that time. */
void jemalloc_opts_pack(const struct jemalloc *je, const struct jemalloc_values *values,
			struct pack *p);
void jemalloc_opts_unpack(struct jemalloc *je, struct jemalloc_values *values, struct unpack *u);

void jemalloc_dump_pack(const struct jemalloc_dump *dump, struct pack *p);
void jemalloc_dump_unpack(struct jemalloc_dump *dump, struct unpack *u);

void jemalloc_event_pack(const struct jemalloc_event *event, struct pack *p);
void jemalloc_event_unpack(struct jemalloc_event *event, struct unpack *u);

#endif
