// SPDX-License-Identifier: Apache-2.0

#include "profile/series.h"

#include "base/intern.h"
#include "base/vec.h"
#include "profile/combine.h"

#include <stdlib.h>
#include <string.h>

static void clear_counts(struct profile *p)
{
	for (size_t i = 0; i < p->n_stacks; i++) {
		memset(p->stacks[i].value, 0, sizeof(p->stacks[i].value));
		memset(p->stacks[i].sampled, 0, sizeof(p->stacks[i].sampled));
		memset(p->stacks[i].variance, 0, sizeof(p->stacks[i].variance));
	}
}

int profile_series_add(struct profile_series *s, const struct profile *profile, struct err *err)
{
	struct profile_series_row *row;
	size_t n;

	if (!vec_grow(s->rows, s->room, s->n))
		return err_no_memory(err);
	if (!s->all.text)
		s->all.text = intern_new();
	if (!s->all.text)
		return err_no_memory(err);
	clear_counts(&s->all);
	if (profile_merge(&s->all, profile, err))
		return -1;
	row = &s->rows[s->n];
	n = s->all.n_stacks;
	*row = (struct profile_series_row){
		.value = malloc((n + 1) * sizeof(*row->value)),
		.variance = malloc((n + 1) * sizeof(*row->variance)),
		.n_stacks = n,
	};
	s->n++; /* the series frees a partial row */
	if (!row->value || !row->variance)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		row->value[i] = s->all.stacks[i].value[s->type];
		row->variance[i] = s->all.stacks[i].variance[s->type];
	}
	return 0;
}

int profile_series_difference(struct profile_series *s, const struct profile *before,
			      const struct profile *after, struct err *err)
{
	clear_counts(&s->all);
	if (profile_merge(&s->all, after, err))
		return -1;
	return profile_subtract(&s->all, before, err);
}

void profile_series_fini(struct profile_series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->rows[i].value);
		free(s->rows[i].variance);
	}
	free(s->rows);
	profile_fini(&s->all);
	*s = (struct profile_series){ 0 };
}

double profile_series_value(const struct profile_series *s, size_t profile, size_t stack)
{
	const struct profile_series_row *row = &s->rows[profile];

	return stack < row->n_stacks ? row->value[stack] : 0;
}

double profile_series_variance(const struct profile_series *s, size_t profile, size_t stack)
{
	const struct profile_series_row *row = &s->rows[profile];

	return stack < row->n_stacks ? row->variance[stack] : 0;
}
