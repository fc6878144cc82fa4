// SPDX-License-Identifier: Apache-2.0
/*
 * Private to io/graphviz.c: dot(1) as a process of which nothing is to be had.
 * It reads text that a target chose, with parsers that were not made for that.
 */
#ifndef IO_GRAPHVIZ_CHILD_H
#define IO_GRAPHVIZ_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#define GRAPHVIZ_CANNOT 126 /* the status of a child that cannot be fenced in, or started */

struct graphviz_start {
	const char *path;	  /* of dot(1) */
	const char *option;	  /* "-Tsvg" */
	int graph, picture, said; /* its standard input, output and error */
	bool changes_user;	  /* root's runs as `user`, in a group of that number */
	uid_t user;
};

/*
 * A user id that no process has, and nobody is to have: none that adduser(8),
 * systemd (systemd.io/UIDS-GIDS) or a container's map gives away, chosen at
 * random. False where none is free.
 */
bool graphviz_user(uid_t *user);

/*
 * In the child, which becomes dot(1): in a session of its own without a
 * terminal, with its three descriptors and no others, nothing in its
 * environment but a PATH, no groups, no capabilities, no way to gain any, no
 * further processes, and limits for memory, time and what it writes. Ends
 * with the process that started it.
 */
_Noreturn void graphviz_become(const struct graphviz_start *start);

#endif
