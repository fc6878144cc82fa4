// SPDX-License-Identifier: Apache-2.0
#include "io/errand.h"

#include "base/cleanup.h"
#include "base/write.h"
#include "io/graphviz.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- messages --- */

void errand_pack_places(struct pack *p, const struct errand_places *places)
{
	pack_text(p, places->path);
	pack_u64(p, places->build_id_len);
	pack_bytes(p, places->build_id, places->build_id_len);
	pack_u64(p, places->n);
	pack_bytes(p, places->offsets, places->n * sizeof(*places->offsets));
}

bool errand_unpack_places(struct unpack *u, struct errand_asked *a)
{
	struct errand_places *p = &a->p;

	unpack_into(u, a->path, sizeof(a->path));
	p->path = a->path;
	p->build_id_len = unpack_max(u, sizeof(a->build_id));
	unpack_bytes(u, a->build_id, p->build_id_len);
	p->build_id = a->build_id;
	p->n = unpack_count(u, sizeof(*a->offsets));
	if (u->bad || p->n > ERRAND_PLACES_MAX || a->path[0] != '/')
		return false;
	a->offsets = calloc(p->n + 1, sizeof(*a->offsets));
	if (!a->offsets)
		return false;
	unpack_bytes(u, a->offsets, p->n * sizeof(*a->offsets));
	p->offsets = a->offsets;
	for (size_t i = 1; i < p->n; i++)
		if (a->offsets[i] <= a->offsets[i - 1])
			return false;
	return unpack_done(u) && p->n;
}

void errand_asked_fini(struct errand_asked *a)
{
	free(a->offsets);
	a->offsets = NULL;
}

void errand_pack_found(struct pack *p, const struct errand_found *found)
{
	pack_u64(p, found->split);
	pack_text(p, found->lacks);
}

bool errand_unpack_found(struct unpack *u, struct errand_found *found)
{
	found->split = unpack_bool(u);
	unpack_into(u, found->lacks, sizeof(found->lacks));
	return unpack_done(u);
}

/* --- in a confined child --- */

/* Send a request and get the reply; false when the controller is gone. */
static bool ask(enum errand op, const struct pack *args, struct unpack *reply, int *got)
{
	_cleanup_(pack_fini) struct pack p = { 0 };

	pack_u64(&p, op);
	if (args)
		pack_bytes(&p, args->v, args->len);
	p.failed |= args && args->failed;
	confined_reply(false, NULL, &p, -1);
	return confined_next(reply, got);
}

static int gone(struct err *err)
{
	return err_raise(err, ERROR_ERRAND_ENDED);
}

/* Copy from the end, truncating what was copied: so the data is in memory only once. */
static int move(int from, int to, uint64_t bytes, struct err *err)
{
	char buf[65536];

	while (bytes) {
		size_t n = bytes < sizeof(buf) ? (size_t)bytes : sizeof(buf);

		bytes -= n;
		if (pread(from, buf, n, (off_t)bytes) != (ssize_t)n ||
		    lseek(to, (off_t)bytes, SEEK_SET) < 0 || !write_all(to, buf, n) ||
		    ftruncate(from, (off_t)bytes))
			return err_raise_sys(err, ERROR_ERRAND_UNDELIVERED, errno);
	}
	return 0;
}

/* Move its first `bytes` to a memory file of the controller. */
static int hand_over(int fd, uint64_t bytes, struct err *err)
{
	_cleanup_(cleanup_close) int to = -1;
	struct unpack reply;

	if (!ask(ERRAND_FILE, NULL, &reply, &to))
		return gone(err);
	if (unpack_err(&reply, err))
		return -1;
	return move(fd, to, bytes, err);
}

static int ask_open(const char *path)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;
	int fd = -1, sys;

	pack_text(&p, path);
	if (!ask(ERRAND_OPEN, &p, &reply, &fd)) {
		errno = EPIPE;
		return -1;
	}
	sys = (int)unpack_u64(&reply);
	errno = sys;
	return sys ? -1 : fd;
}

static int ask_write(const char *path, int fd, uint64_t bytes, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;

	pack_text(&p, path);
	if (hand_over(fd, bytes, err))
		return -1;
	if (!ask(ERRAND_WRITE, &p, &reply, NULL))
		return gone(err);
	return unpack_err(&reply, err) ? -1 : 0;
}

static int ask_draw(const char *type, int graph, int *picture, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;
	uint64_t bytes;
	int fd = -1;

	pack_text(&p, type);
	if (memory_file_size(graph, &bytes, err) || hand_over(graph, bytes, err))
		return -1;
	if (!ask(ERRAND_DRAW, &p, &reply, &fd))
		return gone(err);
	if (unpack_err(&reply, err))
		return -1;
	*picture = fd;
	return 0;
}

int errand_names(const unsigned char *build_id, size_t len)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;
	int fd = -1;

	pack_u64(&p, len);
	pack_bytes(&p, build_id, len);
	return ask(ERRAND_NAMES, &p, &reply, &fd) ? fd : -1;
}

void errand_look_up(const struct errand_places *places, struct errand_found *out)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;

	*out = (struct errand_found){ .fd = -1 };
	errand_pack_places(&p, places);
	if (ask(ERRAND_LOOK_UP, &p, &reply, &out->fd))
		errand_unpack_found(&reply, out);
}

void errand_warn(void *ctx, const struct err *warning)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;

	(void)ctx;
	pack_err(&p, warning);
	(void)ask(ERRAND_WARN, &p, &reply, NULL);
}

static enum errand_limit ask_limit(pid_t pid, const char *comm, struct limit *out)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack reply;
	uint64_t of;

	pack_u64(&p, (uint64_t)pid);
	pack_text(&p, comm);
	if (!ask(ERRAND_LIMIT, &p, &reply, NULL))
		return ERRAND_LIMIT_NONE;
	of = unpack_max(&reply, ERRAND_LIMIT_MACHINE);
	out->limit = unpack_u64(&reply);
	out->used = unpack_u64(&reply);
	return (enum errand_limit)of;
}

void errand_done(const struct pack *answer, int fd)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct err err = ERR_INIT;
	uint64_t bytes;

	if (fd >= 0 && (memory_file_size(fd, &bytes, &err) || hand_over(fd, bytes, &err))) {
		confined_reply(true, &err, NULL, -1);
		return;
	}
	pack_u64(&p, ERRAND_DONE);
	if (answer)
		pack_bytes(&p, answer->v, answer->len);
	p.failed |= answer && answer->failed;
	confined_reply(false, NULL, &p, -1);
}

/* --- directly, or by request --- */

/*
 * A terminal is usually open for writing too, which a child must not have: it is reopened. That is
 * not possible for a socket.
 */
static int open_input(void)
{
	int flags = fcntl(STDIN_FILENO, F_GETFL), fd = -1;

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	lseek(fd, lseek(STDIN_FILENO, 0, SEEK_CUR), SEEK_SET);
	return fd;
}

/* A child may not be able to fstat(2) it: some FUSE file systems allow that only to their owner. */
static int open_named(const char *path)
{
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	if (!S_ISDIR(st.st_mode))
		return take_fd(fd);
	errno = EISDIR;
	return -1;
}

int errand_open(const char *path)
{
	if (confined_inside())
		return ask_open(path);
	return strcmp(path, "-") != 0 ? open_named(path) : open_input();
}

int errand_write(const char *path, bool force, int fd, uint64_t bytes, struct err *err)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;

	if (confined_inside())
		return ask_write(path, fd, bytes, err);
	return output_open(&output, path, force, err) || output_commit(&output, fd, bytes, 0, err)
		       ? -1
		       : 0;
}

static int copy_graph(FILE *out, const void *ctx, struct err *err)
{
	const int *fd = ctx;
	uint64_t bytes;

	if (memory_file_size(*fd, &bytes, err) || fflush(out))
		return -1;
	return output_copy(fileno(out), "a memory file", *fd, bytes, 0, err);
}

struct drawing {
	const char *type;
	int graph;
};

static int draw(FILE *out, const void *ctx, struct err *err)
{
	const struct drawing *d = ctx;

	return graphviz_draw(d->type, copy_graph, &d->graph, out, err);
}

int errand_draw(const char *type, int graph, int *picture, struct err *err)
{
	const struct drawing d = { type, graph };
	uint64_t bytes;

	return confined_inside() ? ask_draw(type, graph, picture, err)
				 : memory_file_write(draw, &d, picture, &bytes, err);
}

enum errand_limit errand_limit(pid_t pid, const char *comm, struct limit *out)
{
	_cleanup_(proc_close) struct proc p = { .pidfd = -1 };
	struct err ignored;

	if (confined_inside())
		return ask_limit(pid, comm, out);
	/* The name is no proof, but good evidence. */
	if (proc_open(&p, pid, &ignored) || strcmp(p.status.comm, comm) != 0)
		return ERRAND_LIMIT_NONE;
	return limit_of_cgroup(pid, out) ? ERRAND_LIMIT_CGROUP
	       : limit_of_machine(out)	 ? ERRAND_LIMIT_MACHINE
					 : ERRAND_LIMIT_NONE;
}
