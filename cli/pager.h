// SPDX-License-Identifier: Apache-2.0
/*
 * Output longer than the terminal is shown in a pager, as in git(1): JEPROF_CTL_PAGER, PAGER, or
 * less(1). With elevated rights (sudo, set-user-ID) it is always less, in a mode that can neither
 * start programs nor write files, as in systemctl(1): the user must not gain these rights.
 */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include "cli/args.h"

#include <stdint.h>
#include <sys/types.h>

struct pager {
	pid_t pid;  /* 0: there is none */
	int stdout; /* the original stdout */
};
#define PAGER_INIT    \
	{             \
		0, -1 \
	}

/*
 * If the first `bytes` of `fd` do not fit the terminal, and a pager is wanted, start one: stdout
 * then goes to it until pager_end().
 */
void pager_begin(struct pager *pager, const struct args *args, int fd, uint64_t bytes);

/* Wait until the user quits it. */
enum pager_end {
	PAGER_NONE,	     /* it was not started */
	PAGER_SHOWED,	     /* to the end, or until the user quit */
	PAGER_SHOWED_NOTHING /* the command could not be run */
};
enum pager_end pager_end(struct pager *pager);
void pager_close(struct pager *pager); /* the same, for _cleanup_() */

#endif
