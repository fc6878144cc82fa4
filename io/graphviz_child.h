// SPDX-License-Identifier: Apache-2.0
/*
 * Private to io/graphviz.c: dot(1) as an unprivileged process. It reads text from a target, with
 * parsers that were not designed for untrusted input.
 */
#ifndef IO_GRAPHVIZ_CHILD_H
#define IO_GRAPHVIZ_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#define GRAPHVIZ_CANNOT 126 /* exit status if it cannot be confined or started */

struct graphviz_start {
	const char *path;	  /* of dot(1) */
	const char *option;	  /* "-Tsvg" */
	int graph, picture, said; /* its standard input, output and error */
	bool changes_user;	  /* run as `user`, with a group of the same ID; for root */
	uid_t user;
};

/*
 * Choose an unused user ID at random, from ranges that adduser(8), systemd (systemd.io/UIDS-GIDS)
 * and ID maps of containers do not use. False if none is free.
 */
bool graphviz_user(uid_t *user);

/*
 * In the child: execute dot(1) in a session of its own without a terminal, with only three
 * descriptors, only PATH in the environment, no groups, no capabilities or way to gain any, no
 * further processes, and limits on memory, time and output. It is killed when its parent exits.
 */
_Noreturn void graphviz_become(const struct graphviz_start *start);

#endif
