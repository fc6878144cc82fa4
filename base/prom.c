// SPDX-License-Identifier: Apache-2.0
#include "base/prom.h"

#include "base/text.h"

#define LABEL_SIZE 2048

void prom_head(FILE *out, bool openmetrics, const char *name, enum prom_type type, const char *help)
{
	/* In OpenMetrics a family's name lacks the suffix of its samples. */
	static const struct {
		const char *name, *suffix;
	} types[] = {
		[PROM_GAUGE] = { "gauge", "" },
		[PROM_COUNTER] = { "counter", "_total" },
		[PROM_INFO] = { "info", "_info" },
	};
	size_t len = strlen(name);

	if (openmetrics && type != PROM_GAUGE)
		len = text_stem(name, types[type].suffix);
	else if (type == PROM_INFO)
		type = PROM_GAUGE;
	fprintf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)len, name, help, (int)len, name,
		types[type].name);
}

void prom_label(FILE *out, const char *name, const char *raw)
{
	char safe[LABEL_SIZE];

	output_safe(raw, safe, sizeof(safe));
	fprintf(out, "%s=\"", name);
	for (const char *c = safe; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
}
