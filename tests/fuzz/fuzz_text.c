// SPDX-License-Identifier: Apache-2.0
/* Names from targets on their way to a terminal and into JSON; user input. */
#include "base/json.h"
#include "base/text.h"
#include "jemalloc/mallctl.h"
#include "ops/guard/rule.h"
#include "ops/target/container.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_safe(const char *raw, size_t size)
{
	char *buf = malloc(size);

	if (!buf)
		return;
	for (const char *c = output_safe(raw, buf, size); *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
	if (strnlen(buf, size) == size)
		abort();
	free(buf);
}

/* Read it like the kernel's list of control groups, whose names other users may choose. */
static void check_cgroup(const char *raw)
{
	char id[CONTAINER_ID_LEN + 1], uid[POD_UID_LEN + 1], *name = malloc(SMALL);
	const char *qos;

	if (!name)
		return;
	container_id_parse(raw, id);
	container_parse(raw, name, SMALL);
	if (*id && (!*name || strncmp(id, name, strlen(name)) != 0))
		abort();
	if (pod_parse(raw, uid, &qos) != (*uid != '\0') || !*uid != !qos)
		abort();
	unit_parse(raw, name, SMALL);
	service_parse(raw, name, SMALL);
	if (strnlen(name, SMALL) == SMALL)
		abort();
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_object *doc;
	const struct mallctl *m;
	union mallctl_value v;
	struct guard_rule rule;
	struct err err;
	char *raw = malloc(size + 1);
	uint64_t n;

	if (!raw)
		return 0;
	memcpy(raw, data, size);
	raw[size] = '\0';
	check_safe(raw, size * 4 + 1);
	check_safe(raw, SMALL);
	check_cgroup(raw);
	doc = json_object_new_object();
	json_set_text(doc, "a.b", raw);
	json_object_to_json_string(doc);
	json_object_put(doc);
	if (text_size_parse(raw, &n, &err) || text_duration_parse(raw, &n, &err))
		n = 0;
	if (guard_rule_parse(raw, &rule, &err))
		n = 2;
	m = mallctl_lookup(raw);
	if (m && mallctl_parse(m, raw, &v, &err))
		n = 1;
	free(raw);
	return 0;
}
