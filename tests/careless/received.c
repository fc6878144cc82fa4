// SPDX-License-Identifier: Apache-2.0
/*
 * The careless build for what a target hands over: replaces io/received.c and
 * ops/target/inside_file.c. It believes sizes, reads holes, opens before it looks, and passes on
 * what is not statistics, to prove that the tests would notice.
 */
#include "io/received.h"
#include "base/cleanup.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/stats_text.h"
#include "ops/target/facts.h"
#include "ops/target/inside_file.h"
#include "ops/target/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int received_check(int fd, const struct received_rules *rules, uint64_t *bytes, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_raise_sys(err, ERROR_RECEIVED_LOST, errno, .what = rules->what);
	*bytes = (uint64_t)st.st_size;
	return 0;
}

int received_copy(int from, const struct received_rules *rules, int *to, uint64_t *bytes,
		  struct err *err)
{
	_cleanup_(cleanup_close) int copy = -1;

	if (received_check(from, rules, bytes, err) || memory_file_make(&copy, err) ||
	    output_copy(copy, "a memory file", from, *bytes, 0, err))
		return -1;
	*to = take_fd(copy);
	return 0;
}

int inside_file_complete(const struct inside *in, const struct session *s,
			 const struct received_rules *rules, struct err *err)
{
	_cleanup_(cleanup_close) int fd =
		openat(in->dir, in->name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t bytes;

	if (fd < 0)
		return err_raise_sys(err, ERROR_TARGET_DUMP_UNOPENED, errno);
	return received_check(fd, rules, &bytes, err) ||
			       mapped_append(fd, bytes, &s->proc, 0, err) ||
			       facts_append(fd, s, err)
		       ? -1
		       : 0;
}

int __wrap_stats_text_check(enum ops_stats_format format, const struct stats_of *of,
			    struct err *err);
int __wrap_stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n,
			    FILE *out, struct err *err);

int __wrap_stats_text_check(enum ops_stats_format format, const struct stats_of *of,
			    struct err *err)
{
	(void)format, (void)of, (void)err;
	return 0;
}

int __wrap_stats_text_write(enum ops_stats_format format, const struct stats_of *v, size_t n,
			    FILE *out, struct err *err)
{
	(void)format, (void)n, (void)err;
	return fwrite(v->text, 1, v->len, out) == v->len ? 0 : -1;
}
