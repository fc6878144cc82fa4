// SPDX-License-Identifier: Apache-2.0
#include "profile/threads.h"

#include "base/cleanup.h"

static int by_id(const void *a, const void *b)
{
	const struct profile_thread *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

int threads_sort(struct profile *p, struct err *err)
{
	_cleanup_(cleanup_free) const struct profile_thread **order =
		calloc(p->n_threads + 1, sizeof(void *));
	_cleanup_(cleanup_free) uint32_t *moved = calloc(p->n_threads + 1, sizeof(*moved));
	_cleanup_(cleanup_free) struct profile_thread *sorted =
		calloc(p->n_threads + 1, sizeof(*sorted));

	if (!order || !moved || !sorted)
		return err_set(err, ERR_FAILED, "no memory for the profile");
	for (size_t i = 0; i < p->n_threads; i++)
		order[i] = &p->threads[i];
	qsort(order, p->n_threads, sizeof(*order), by_id);
	for (size_t i = 0; i < p->n_threads; i++) {
		sorted[i] = *order[i];
		moved[order[i] - p->threads] = (uint32_t)i;
	}
	for (size_t i = 0; i < p->n_stacks; i++) {
		if (p->stacks[i].thread != PROFILE_NONE)
			p->stacks[i].thread = moved[p->stacks[i].thread];
	}
	free(p->threads);
	p->threads = take_ptr(sorted);
	return 0;
}
