// SPDX-License-Identifier: Apache-2.0
/*
 * What is longer than the terminal is shown by a pager, as git(1) does it: that of
 * JEPROF_CTL_PAGER, of PAGER, or less(1). Where rights were borrowed (sudo, set-user-ID) it is less
 * alone, and cannot start a program or write a file, as with systemctl(1): what it could do is not
 * the user's to do.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include "cli/args.h"

#include <stdint.h>
#include <sys/types.h>

struct pager {
	pid_t pid;  /* 0: there is none */
	int stdout; /* what it was before */
};
#define PAGER_INIT    \
	{             \
		0, -1 \
	}

/*
 * Where the first `bytes` of `fd` are longer than the terminal and nothing is against it, start a
 * pager: what is written to stdout goes to it until pager_end().
 */
void pager_begin(struct pager *pager, const struct args *args, int fd, uint64_t bytes);

/* Wait until the user leaves it. */
enum pager_end {
	PAGER_NONE,	     /* it was not started */
	PAGER_SHOWED,	     /* to the end, or as much as was wanted */
	PAGER_SHOWED_NOTHING /* the command that was asked for could not be run */
};
enum pager_end pager_end(struct pager *pager);
void pager_close(struct pager *pager); /* the same, for _cleanup_() */

#endif
