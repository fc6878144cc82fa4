// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of a confined child (sandbox/confined.h) that works on profiles to its controller: open
 * files named by the user, write output files, run dot(1), cache names.
 *
 * In an ordinary process these functions act directly. The controller's side is
 * ops/apart/errand_run.h. It accepts no descriptors from a child: closing one of an unresponsive
 * file system may block forever. Output of a child, in a memory file of its own, is moved to one of
 * the controller.
 */
#ifndef IO_ERRAND_H
#define IO_ERRAND_H

#include "base/err.h"
#include "process/limit.h"
#include "sandbox/confined.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Open `path` for reading, or standard input for "-"; -1 with errno, EISDIR for a directory. */
int errand_open(const char *path);

/* Write the first `bytes` of `fd` to the file `path` (io/output.h). */
int errand_write(const char *path, bool force, int fd, uint64_t bytes, struct err *err)
	__must_check;

/* Draw a graph (io/graphviz.h): *picture is a memory file, which the caller closes. */
int errand_draw(const char *type, int graph, int *picture, struct err *err) __must_check;

/* Show a warning to the user; only in a confined child. */
void errand_warn(void *ctx, const struct err *warning);

/* Open the cached names of a build ID (symbols/cache.h); -1: none. Only in a confined child. */
int errand_names(const unsigned char *build_id, size_t len);

/* A request for names of places in a system file (sandbox/vouch.h). */
struct errand_places {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_len;
	const uint64_t *offsets; /* in the file; ascending and distinct */
	size_t n;
};
#define ERRAND_PLACES_MAX (1u << 20)

struct errand_found {
	int fd;		 /* the names, as from errand_names(); -1: none */
	bool split;	 /* as in struct symbolize_image */
	char lacks[256]; /* likewise */
};

/*
 * Have them looked up and cached by another child, which never sees the profile. Only in a confined
 * child.
 */
void errand_look_up(const struct errand_places *places, struct errand_found *out);

/* The memory limit of the process that the profile probably belongs to. */
enum errand_limit { ERRAND_LIMIT_NONE, ERRAND_LIMIT_CGROUP, ERRAND_LIMIT_MACHINE };
enum errand_limit errand_limit(pid_t pid, const char *comm, struct limit *out);

/* The child is done; passes `answer` and the content of `fd` to errand_run(). */
void errand_done(const struct pack *answer, int fd);

/* --- the messages, for both sides --- */

/* The first field of a message from the child. */
enum errand {
	ERRAND_DONE,
	ERRAND_FILE, /* create an empty file, for the next message */
	ERRAND_OPEN,
	ERRAND_WRITE,
	ERRAND_DRAW,
	ERRAND_NAMES,
	ERRAND_LOOK_UP,
	ERRAND_WARN,
	ERRAND_LIMIT,
	ERRANDS
};

#define ERRAND_ID_MAX 64

/* Places from a message; errand_asked_fini() frees what they point to. */
struct errand_asked {
	struct errand_places p;
	char path[PATH_MAX];
	unsigned char build_id[ERRAND_ID_MAX];
	uint64_t *offsets;
};

void errand_pack_places(struct pack *p, const struct errand_places *places);
/* False when it is invalid. */
bool errand_unpack_places(struct unpack *u, struct errand_asked *a);
void errand_asked_fini(struct errand_asked *a);

/* Everything except the descriptor, which is sent separately. */
void errand_pack_found(struct pack *p, const struct errand_found *found);
bool errand_unpack_found(struct unpack *u, struct errand_found *found);

#endif
