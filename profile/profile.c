// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include "base/intern.h"
#include "profile/symbols.h"

#include <stdlib.h>

void profile_fini(struct profile *profile)
{
	free(profile->mappings);
	free(profile->addresses);
	free(profile->frames);
	free(profile->stacks);
	free(profile->threads);
	profile_symbols_free(profile->symbols);
	intern_free(profile->text);
	*profile = (struct profile){ 0 };
}

double profile_total(const struct profile *profile, enum profile_type type)
{
	double total = 0;

	for (size_t i = 0; i < profile->n_stacks; i++)
		total += profile->stacks[i].value[type];
	return total;
}
