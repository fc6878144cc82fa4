// SPDX-License-Identifier: Apache-2.0
#include "profile/mapping.h"

#include "base/intern.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Above all addresses that a program can map; the kernel's vsyscall page is there. */
#define USER_END (UINT64_C(1) << 56)
#define GAP 0x10000

uint32_t mapping_find(const struct profile *p, uint64_t at)
{
	size_t low = 0, high = p->n_mappings;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->mappings[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->n_mappings && p->mappings[low].start <= at ? (uint32_t)low : PROFILE_NONE;
}

void mapping_place(struct profile *p)
{
	/* A return address may be the first address after the mapping of the call. */
	for (size_t i = 0; i < p->n_addresses; i++)
		p->addresses[i].mapping = mapping_find(p, p->addresses[i].pc - 1);
}

/* The program is mapped below all libraries. */
static const struct profile_mapping *program_of(const struct profile *p)
{
	for (size_t i = 0; i < p->n_mappings; i++) {
		if (p->mappings[i].path[0] == '/')
			return &p->mappings[i];
	}
	return NULL;
}

static bool is_same_image(const struct profile_mapping *a, const struct profile_mapping *b)
{
	if (a->build_id && b->build_id)
		return !strcmp(a->build_id, b->build_id);
	if (a->path[0])
		return !strcmp(a->path, b->path);
	/* Code without a file: the same only at the same addresses. */
	return !b->path[0] && a->start == b->start && a->end == b->end;
}

/* The mapping of `p` with the same part of the same image; PROFILE_NONE: none. */
static uint32_t find_same(const struct profile *p, size_t n, const struct profile_mapping *m)
{
	uint32_t there = mapping_find(p, m->start);

	if (there != PROFILE_NONE && p->mappings[there].offset == m->offset &&
	    p->mappings[there].start == m->start && is_same_image(&p->mappings[there], m))
		return there;
	for (size_t i = 0; i < n; i++) {
		const struct profile_mapping *to = &p->mappings[i];

		if (to->offset == m->offset && to->end - to->start == m->end - m->start &&
		    is_same_image(to, m))
			return (uint32_t)i;
	}
	return PROFILE_NONE;
}

/* Add a mapping to `into`: at its own address if that is free, else above all others. */
static int add(struct profile *into, size_t n, size_t *room, const struct profile_mapping *m,
	       uint64_t *above, uint64_t *delta, struct err *err)
{
	struct profile_mapping copy = *m;
	uint64_t size = m->end - m->start;
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (into->mappings[mid].end <= m->start)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < n && into->mappings[low].start < m->end) {
		if (size > USER_END || *above > USER_END - size)
			return err_raise(err, ERROR_MAPPINGS_OVERLAP);
		copy.start = *above;
		copy.end = *above + size;
		*above += size + GAP;
		*delta = copy.start - m->start;
	}
	copy.path = intern_add(into->text, m->path, strlen(m->path));
	if (m->build_id)
		copy.build_id = intern_add(into->text, m->build_id, strlen(m->build_id));
	if (!copy.path || (m->build_id && !copy.build_id) ||
	    !vec_grow(into->mappings, *room, into->n_mappings))
		return err_no_memory(err);
	into->mappings[into->n_mappings++] = copy;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct profile_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int mapping_move(struct profile *into, const struct profile *other, uint64_t *delta,
		 struct err *err)
{
	const struct profile *const both[] = { into, other };
	uint64_t above = 0;
	const struct profile_mapping *a = program_of(into), *b = program_of(other);
	size_t n = into->n_mappings, room = n;

	if (a && b && !is_same_image(a, b)) {
		if (!strcmp(a->path, b->path))
			return err_raise(err, ERROR_OF_ANOTHER_BUILD, .file = a->path);
		return err_raise(err, ERROR_OF_ANOTHER_PROGRAM, .last_file = b->path,
				 .file = a->path);
	}
	/* A free address above all mappings of both. */
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < both[k]->n_mappings; i++) {
			uint64_t end = both[k]->mappings[i].end;

			above = end <= USER_END && end > above ? end : above;
		}
	}
	above += GAP;
	for (size_t i = 0; i < other->n_mappings; i++) {
		const struct profile_mapping *m = &other->mappings[i];
		uint32_t same = find_same(into, n, m);

		delta[i] = 0;
		if (same != PROFILE_NONE) {
			delta[i] = into->mappings[same].start - m->start;
		} else if (add(into, n, &room, m, &above, &delta[i], err)) {
			into->n_mappings = n;
			return -1;
		}
	}
	/*
	 * Taken for the same part: what one profile lacks is then unknown for both. Without build
	 * ids, two files of one path differ only by their inodes. (Not before: a failure leaves all
	 * as it was.)
	 */
	for (size_t i = 0; i < other->n_mappings; i++) {
		const struct profile_mapping *m = &other->mappings[i];
		uint32_t same = find_same(into, n, m);
		struct profile_mapping *to = same < n ? &into->mappings[same] : NULL;

		if (!to || (to->build_id && m->build_id))
			continue;
		to->build_id = NULL;
		if (to->inode && m->inode && m->inode != to->inode)
			to->other_inode = m->inode;
	}
	if (into->n_mappings > n)
		vec_sort(into->mappings, into->n_mappings, by_start);
	return 0;
}
