// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int progress_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

void progress_line(const char *line)
{
	int n = progress_columns() - 1;

	n = n < 1 ? 1 : n < PROGRESS_LINE_SIZE ? n : PROGRESS_LINE_SIZE - 1;
	fprintf(stderr, "\r%-*.*s", n, n, line);
	fflush(stderr);
}

void progress_clear(void)
{
	progress_line("");
	fputc('\r', stderr);
}

const char *progress_bar(uint64_t done, uint64_t of, char buf[PROGRESS_BAR_SIZE])
{
	size_t width = PROGRESS_BAR_SIZE - 1, n = of ? (size_t)(done * width / of) : 0;

	memset(buf, '.', width);
	memset(buf, '#', n < width ? n : width);
	buf[width] = '\0';
	return buf;
}
