// SPDX-License-Identifier: Apache-2.0
#include "ops/target/facts.h"

#include "base/cleanup.h"
#include "base/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

/* "# key value". Bytes that could end the line, or look like a part of it, are written as \xNN. */
static void add_text(FILE *f, const char *key, const char *value)
{
	if (!*value)
		return;
	fprintf(f, "# %s ", key);
	for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
		if (*c < ' ' || *c == 0x7f || *c == '\\')
			fprintf(f, "\\x%02x", *c);
		else
			fputc(*c, f);
	}
	fputc('\n', f);
}

static int make_text(const struct session *s, char **text, size_t *len, struct err *err)
{
	FILE *f = open_memstream(text, len);
	char host[256] = "";
	struct timespec now;
	bool failed;

	if (!f)
		return err_raise_sys(err, ERROR_FACTS_UNWRITTEN, errno);
	clock_gettime(CLOCK_REALTIME, &now);
	if (gethostname(host, sizeof(host) - 1))
		*host = '\0';
	fprintf(f, "# pid %d\n", s->proc.pid);
	add_text(f, "comm", s->proc.status.comm);
	add_text(f, "host", host);
	add_text(f, "version", s->version);
	fprintf(f, "# time_ns %" PRId64 "\n", now.tv_sec * NS_PER_S + now.tv_nsec);
	if (s->recorded_ms)
		fprintf(f, "# duration_ns %" PRIu64 "\n", s->recorded_ms * (NS_PER_S / 1000));
	if (s->sample_bytes)
		fprintf(f, "# counts alloc_space\n# sample_bytes %" PRIu64 "\n", s->sample_bytes);
	if (s->allocated)
		fprintf(f, "# allocated %" PRIu64 "\n", s->allocated);
	if (s->opt_active != TRI_UNKNOWN)
		add_text(f, "opt.prof_active", s->opt_active == TRI_YES ? "true" : "false");
	for (size_t i = 0; i < s->images.n; i++) {
		const struct image *img = &s->images.v[i];

		for (size_t k = 0; k < img->n_exec && img->build_id_len; k++) {
			fprintf(f, "# build-id %" PRIx64 "-%" PRIx64 " ", img->exec[k].start,
				img->exec[k].end);
			for (size_t b = 0; b < img->build_id_len; b++)
				fprintf(f, "%02x", img->build_id[b]);
			fputc('\n', f);
		}
	}
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(take_ptr(*text));
		return err_no_memory(err);
	}
	return 0;
}

int facts_append(int fd, const struct session *s, struct err *err)
{
	_cleanup_(cleanup_free) char *text = NULL;
	off_t end = lseek(fd, 0, SEEK_END);
	size_t len = 0;
	int sys;

	if (make_text(s, &text, &len, err))
		return -1;
	if (end < 0)
		return err_raise_sys(err, ERROR_PROFILE_INCOMPLETE, errno);
	if (write_all(fd, text, len))
		return 0;
	/* A partial line would make the whole file unreadable. */
	sys = errno;
	if (ftruncate(fd, end))
		return err_raise_sys(err, ERROR_PROFILE_HALF_A_LINE, sys);
	return err_raise_sys(err, ERROR_PROFILE_INCOMPLETE, sys);
}
