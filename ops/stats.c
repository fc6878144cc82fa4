// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"

#include "base/cleanup.h"
#include "ops/prom.h"
#include "ops/session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* jemalloc's own report is tens of kilobytes, some hundred with many arenas. */
#define STATS_MAX (64u << 20)

static int read_fd(int fd, char **text, size_t *len, struct err *err)
{
	_cleanup_(cleanup_free) char *buf = NULL;
	struct stat st;
	size_t at = 0;

	if (fstat(fd, &st))
		return err_sys(err, ERR_LOST, errno, "cannot read the statistics");
	if (st.st_size <= 0 || st.st_size > STATS_MAX)
		return err_set(err, ERR_FAILED, "the target wrote %lld bytes of statistics",
			       (long long)st.st_size);
	buf = malloc((size_t)st.st_size + 1);
	if (!buf)
		return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the statistics");
	while (at < (size_t)st.st_size) {
		ssize_t n = pread(fd, buf + at, (size_t)st.st_size - at, (off_t)at);

		if (n <= 0)
			return err_sys(err, ERR_LOST, n ? errno : EIO,
				       "cannot read the statistics");
		at += (size_t)n;
	}
	buf[at] = '\0';
	*text = take_ptr(buf);
	*len = at;
	return 0;
}

/*
 * Up to 5.2.1 jemalloc hands its JSON over in thousands of small pieces: the
 * per-arena and per-class sections are left out there.
 */
static const char *stats_options(const struct session *s, enum ops_stats_format format)
{
	if (format == OPS_STATS_TEXT)
		return "";
	return session_older(s, 5, 3, 0) ? "Jmdablx" : "J";
}

static int run_stats(struct session *s, enum ops_stats_format format, char **text, size_t *len,
		     struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct call call = { .name = stats_options(s, format), .flags = CALL_STATS, .fd = -1 };
	int failed = session_run(s, &call, 1, err);
	char who[SESSION_WHO_SIZE];

	fd = call.fd;
	if (failed)
		return -1;
	if (!call.made || call.ret || fd < 0)
		return err_sys(err, ERR_FAILED, call.sys ? call.sys : call.ret,
			       "malloc_stats_print failed in %s", session_who(s, who, sizeof(who)));
	return read_fd(fd, text, len, err);
}

int ops_stats(pid_t pid, enum ops_stats_format format, const struct ops_options *options,
	      struct ops_stats *out, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_free) char *text = NULL;
	char who[SESSION_WHO_SIZE];
	size_t len;

	if (session_open(&s, pid, options, err))
		return -1;
	if (!s.je->malloc_stats_print)
		return err_set(err, ERR_FAILED, "malloc_stats_print is not to be found in %s",
			       session_who(&s, who, sizeof(who)));
	if (format != OPS_STATS_TEXT && session_older(&s, 4, 3, 0)) {
		err_set(err, ERR_FAILED, "jemalloc %s in %s has no statistics in JSON", s.version,
			session_who(&s, who, sizeof(who)));
		return err_fix(err, "use stats -f text");
	}
	if (run_stats(&s, format, &text, &len, err))
		return -1;
	if (format == OPS_STATS_PROM) {
		char *prom;

		if (prom_render(text, s.proc.pid, s.proc.status.comm, &prom, &len, err))
			return -1;
		free(text);
		text = prom;
	}
	*out = (struct ops_stats){ .cost = s.cost, .text = take_ptr(text), .len = len };
	return 0;
}

void ops_stats_fini(struct ops_stats *stats)
{
	free(stats->text);
	stats->text = NULL;
}
