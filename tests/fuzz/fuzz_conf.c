// SPDX-License-Identifier: Apache-2.0
/* A configuration string, which may come from anybody, read like each version does. */
#include "jemalloc/conf_lint.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lint(const char *text, size_t len, int version, enum tristate with_prof)
{
	static struct conf_lint lint;

	conf_lint(text, version, with_prof, &lint);
	if (lint.n > CONF_FINDINGS_MAX || !lint.n_readings || lint.n_readings > CONF_VERSIONS)
		abort();
	for (size_t i = 0; i < lint.n; i++) {
		if (lint.v[i].at > len || !memchr(lint.v[i].text, 0, sizeof(lint.v[i].text)) ||
		    !memchr(lint.v[i].fix, 0, sizeof(lint.v[i].fix)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_lint(text, strlen(text), 0, TRI_UNKNOWN);
	for (const int *v = conf_versions; *v; v++)
		check_lint(text, strlen(text), *v, TRI_NO);
	(void)conf_version_parse(text);
	free(text);
	return 0;
}
