// SPDX-License-Identifier: Apache-2.0
/*
 * What a confined child (sandbox/confined.h) that works on profiles has its controller do:
 * open the files that the user named, put files in their place, start dot(1), keep names.
 *
 * In an ordinary process these functions do it themselves. The controller's side is
 * ops/apart/errand_run.h. It takes no descriptor from a child: to close one of a file system that
 * does not answer may take for ever. What a child made, in a memory file of its own, is moved to
 * one of the controller's.
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

/* The file `path`, "-" for the standard input, for reading; -1 with errno, EISDIR for a folder. */
int errand_open(const char *path);

/* Put the first `bytes` of `fd` where `path` says (io/output.h). */
int errand_write(const char *path, bool force, int fd, uint64_t bytes, struct err *err)
	__must_check;

/* Have a graph drawn (io/graphviz.h): *picture is a memory file, which the caller closes. */
int errand_draw(const char *type, int graph, int *picture, struct err *err) __must_check;

/* For the user's eyes; from a confined child alone. */
void errand_warn(void *ctx, const struct err *warning);

/* The names kept for a build id (symbols/cache.h); -1: none. In a confined child alone. */
int errand_names(const unsigned char *build_id, size_t len);

/* What is asked of the system's own files (sandbox/vouch.h): names of places in one of them. */
struct errand_places {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_len;
	const uint64_t *offsets; /* in the file; ascending and distinct */
	size_t n;
};
#define ERRAND_PLACES_MAX (1u << 20)

struct errand_found {
	int fd;		 /* the names, as errand_names() has them; -1: there are none */
	bool split;	 /* as in struct symbolize_image */
	char lacks[256]; /* the same */
};

/*
 * Have them looked up, and kept, by a child that never sees the profile.
 * In a confined child alone.
 */
void errand_look_up(const struct errand_places *places, struct errand_found *out);

/* The memory limit of the process that a profile is probably of. */
enum errand_limit { ERRAND_LIMIT_NONE, ERRAND_LIMIT_CGROUP, ERRAND_LIMIT_MACHINE };
enum errand_limit errand_limit(pid_t pid, const char *comm, struct limit *out);

/* The child is done; `answer` and what is in `fd` are for errand_run(). */
void errand_done(const struct pack *answer, int fd);

/* --- the messages, for both sides --- */

/* What a message from the child begins with. */
enum errand {
	ERRAND_DONE,
	ERRAND_FILE, /* an empty one, for what the next message is about */
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

/* Places that came by a message; errand_asked_fini() frees what they point to. */
struct errand_asked {
	struct errand_places p;
	char path[PATH_MAX];
	unsigned char build_id[ERRAND_ID_MAX];
	uint64_t *offsets;
};

void errand_pack_places(struct pack *p, const struct errand_places *places);
/* False when it makes no sense. */
bool errand_unpack_places(struct unpack *u, struct errand_asked *a);
void errand_asked_fini(struct errand_asked *a);

/* All but the descriptor, which travels beside it. */
void errand_pack_found(struct pack *p, const struct errand_found *found);
bool errand_unpack_found(struct unpack *u, struct errand_found *found);

#endif
