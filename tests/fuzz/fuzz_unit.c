// SPDX-License-Identifier: Apache-2.0
/* The output of systemctl, files of variables, and drop-ins: the files may belong to a service. */
#include "jemalloc/conf.h"
#include "ops/unit/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NAME "MALLOC_CONF"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A drop-in returns what went into it, unless that is longer than any value. */
static void check_round(const char *value)
{
	char was[UNIT_VALUE_SIZE], *text = drop_in_make("a.service", NAME, value, "prof:true");
	bool was_set;

	if (!text || !drop_in_is_ours(text))
		abort();
	if (!strchr(value, '\n') && strlen(value) < UNIT_VALUE_SIZE / 4 &&
	    (!drop_in_was(text, NAME, &was_set, was, sizeof(was)) || strcmp(was, value) != 0))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *buf = malloc(UNIT_VALUE_SIZE), name[UNIT_NAME_SIZE];
	struct err err;
	const char *at;
	bool was_set;

	if (!text || !buf)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	at = text;
	while (unit_property_next(&at, "Environment", buf, UNIT_VALUE_SIZE))
		unit_list_names(buf, NAME);
	if (unit_list_get(text, NAME, buf, UNIT_VALUE_SIZE) ||
	    unit_file_get(text, NAME, buf, UNIT_VALUE_SIZE) ||
	    drop_in_was(text, NAME, &was_set, buf, UNIT_VALUE_SIZE))
		conf_merge(buf, "prof:true", text, size);
	text[size] = '\0';
	memcpy(text, data, size);
	check_round(text);
	if (!unit_name(text, name, &err) && strpbrk(name, "/\n"))
		abort();
	free(text);
	free(buf);
	return 0;
}
