// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_SIZE 193
#define BAR_SIZE 21

static int columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* A line that wraps could not be overwritten. */
static void rewrite(const char *line)
{
	int n = columns() - 1;

	n = n < 1 ? 1 : n < LINE_SIZE ? n : LINE_SIZE - 1;
	fprintf(stderr, "\r%-*.*s", n, n, line);
	fflush(stderr);
}

void progress_clear(void)
{
	rewrite("");
	fputc('\r', stderr);
}

/* "#####..............." */
static const char *bar_of(uint64_t done, uint64_t of, char buf[BAR_SIZE])
{
	size_t width = BAR_SIZE - 1, n = (size_t)(done * width / of);

	memset(buf, '.', width);
	memset(buf, '#', n < width ? n : width);
	buf[width] = '\0';
	return buf;
}

void progress_show(const char *doing, const char *who, uint64_t elapsed_ms, uint64_t duration_ms,
		   const char *more)
{
	uint64_t left = duration_ms > elapsed_ms ? (duration_ms - elapsed_ms + 999) / 1000 : 0;
	char bar[BAR_SIZE], line[LINE_SIZE];
	int len;

	if (!duration_ms) {
		snprintf(line, sizeof(line), "%s %.30s for %" PRIu64 "s, %s", doing, who,
			 elapsed_ms / 1000, more);
		return rewrite(line);
	}
	len = snprintf(line, sizeof(line), "%s %.30s [%s] %" PRIu64 "s left, %s", doing, who,
		       bar_of(elapsed_ms, duration_ms, bar), left, more);
	if (len >= columns())
		snprintf(line, sizeof(line), "%.30s %" PRIu64 "s left, %s", who, left, more);
	rewrite(line);
}
