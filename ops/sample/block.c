// SPDX-License-Identifier: Apache-2.0
#include "ops/sample/block.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "injector/memfd.h"
#include "ops/target/look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROL_TRIES 50
#define CONTROL_NAP_MS 20

void block_close(struct block *b)
{
	cleanup_close(&b->handle);
}

/* --- in the child that looks --- */

/* Compares the code, whether it is probed or not. */
static bool is_image(pid_t pid, uint64_t base, const unsigned char *image)
{
	_cleanup_(cleanup_free) unsigned char *got = malloc(SAMPLER_STATE);
	struct err ignored = ERR_INIT;

	if (!got || proc_read(pid, base, got, SAMPLER_STATE, &ignored))
		return false;
	got[sampler_offsets.alloc_probe] = image[sampler_offsets.alloc_probe];
	got[sampler_offsets.free_probe] = image[sampler_offsets.free_probe];
	got[sampler_offsets.alloc_hold] = image[sampler_offsets.alloc_hold];
	got[sampler_offsets.free_hold] = image[sampler_offsets.free_hold];
	return !memcmp(got, image, SAMPLER_STATE);
}

/* Its three parts, one behind the other. */
static bool is_block(const struct maps *maps, size_t i)
{
	const struct map *m = &maps->v[i];

	return i + 2 < maps->n && text_begins(m->path, BLOCK_PATH) && !m->offset &&
	       m->prot == (MAP_R | MAP_X) && m->end - m->start == SAMPLER_STATE &&
	       m[1].start == m->end && text_begins(m[1].path, BLOCK_PATH) &&
	       m[1].offset == SAMPLER_STATE && m[1].end - m->start == SAMPLER_DATA &&
	       m[2].start == m[1].end && !*m[2].path && m[2].prot == (MAP_R | MAP_W) &&
	       m[2].end - m->start >= SAMPLER_END;
}

int block_answer(struct session *s, struct unpack *u, struct pack *p, struct err *err)
{
	const uint64_t wanted = unpack_u64(u);
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	struct sampler_state state = { 0 };
	struct end_guard guard;
	uint64_t base = 0;
	size_t len;

	if (sampler_image(&image, &len, err))
		return -1;
	for (size_t i = 0; i < s->maps.n && !base; i++) {
		if ((!wanted || s->maps.v[i].start == wanted) && is_block(&s->maps, i) &&
		    is_image(s->proc.mm_pid, s->maps.v[i].start, image) &&
		    !proc_read(s->proc.mm_pid, s->maps.v[i].start + SAMPLER_STATE, &state,
			       sizeof(state), err))
			base = s->maps.v[i].start;
	}
	pack_u64(p, base);
	pack_u64(p, state.phase <= SAMPLER_LEAVING ? state.phase : SAMPLER_LEAVING);
	pack_u64(p, state.alloc_semaphore || state.free_semaphore);
	end_guard_find(s, base ? base + sampler_offsets.end : 0, &guard);
	pack_bytes(p, &guard, sizeof(guard));
	return 0;
}

/* --- in the controller --- */

int block_find(struct session *s, struct block *b, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	pack_u64(&p, b->base);
	if (look_ask(s, &p, &u, err))
		return -1;
	b->base = unpack_u64(&u);
	b->phase = (enum sampler_phase)unpack_max(&u, SAMPLER_LEAVING);
	b->is_read = unpack_bool(&u);
	unpack_bytes(&u, &b->guard, sizeof(b->guard));
	return unpack_done(&u) ? 0 : err_raise(err, ERROR_FOUND_MALFORMED, .pid = s->proc.pid);
}

static int not_ours(const struct session *s, struct err *err)
{
	err_raise(err, ERROR_BLOCK_REPLACED, SESSION_ARGS(s));
	return err_advise(err, FIX_DISTRUST);
}

static bool is_file(int fd, const unsigned char *image, size_t len)
{
	unsigned char got[SAMPLER_PAGE];

	for (size_t at = 0, n; at < len; at += n) {
		n = len - at < sizeof(got) ? len - at : sizeof(got);
		if (pread(fd, got, n, (off_t)at) != (ssize_t)n || memcmp(got, image + at, n) != 0)
			return false;
	}
	return (fcntl(fd, F_GET_SEALS) & MEMFD_SEALS) == MEMFD_SEALS;
}

int block_map(struct session *s, struct block *b, struct err *err)
{
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	_cleanup_(cleanup_close) int fd = -1;
	struct stat st;
	char name[MAP_FILE_NAME_SIZE];
	dev_t memfds;
	size_t len;

	if (sampler_image(&image, &len, err))
		return -1;
	if (!b->base) {
		const struct call_mapping mapping = { .name = SAMPLER_NAME,
						      .image = image,
						      .len = len,
						      .n_code = SAMPLER_STATE,
						      .n_file = SAMPLER_DATA,
						      .n_all = SAMPLER_END };
		struct call call = { .name = "mmap",
				     .flags = CALL_MAP,
				     .old = &b->base,
				     .old_len = sizeof(b->base),
				     .new = &mapping,
				     .new_len = sizeof(mapping) };

		if (session_run(s, &(struct run){ .calls = &call, .n = 1 }, err))
			return -1;
	}
	b->handle = door_proc_handle(s->proc.mm_pid,
				     map_file_name(b->base, b->base + SAMPLER_STATE, name));
	if (b->handle < 0)
		return err_raise_sys(err, ERROR_BLOCK_UNREADABLE, errno, SESSION_ARGS(s));
	/* It must be the file which was mapped, and sealed: the kernel is going to probe it. */
	if (memfd_device(&memfds, err))
		return -1;
	if (fstat(b->handle, &st) || !S_ISREG(st.st_mode) || st.st_dev != memfds ||
	    st.st_size != (off_t)len)
		return not_ours(s, err);
	if (memfd_open(b->handle, &fd, err))
		return -1;
	return is_file(fd, image, len) ? 0 : not_ours(s, err);
}

/* hook_alloc_realloc of hook.h: 5.3.1 has hook_alloc_pvalloc before it. */
static uint32_t realloc_type(const struct session *s)
{
	return session_older(s, 5, 3, 1) ? 7 : 8;
}

static struct call control(const char *name, const struct block *b,
			   const struct sampler_order *order)
{
	struct call call = call_write(name, order, sizeof(*order));

	call.at = b->base + sampler_offsets.control;
	return call;
}

/* Retried while a thread is just ending: that one is waited for. */
static int run_control(struct session *s, struct call *calls, size_t n, struct err *err)
{
	for (int i = 0;; i++) {
		if (session_run(s, &(struct run){ .calls = calls, .n = n }, err))
			return -1;
		if (!calls[0].made || calls[0].ret != EINPROGRESS || i >= CONTROL_TRIES)
			return 0;
		poll(NULL, 0, CONTROL_NAP_MS);
	}
}

int block_guard(struct session *s, const struct block *b, struct err *err)
{
	const struct sampler_order order = { .what = SAMPLER_GUARD,
					     .slot = b->guard.slot,
					     .cleanup = b->guard.cleanup,
					     .tsd_state = b->guard.tsd_state };
	struct call call = control("experimental.hooks.install", b, &order);

	/* The process that placed it may have been killed before it had waited. */
	if (b->guard.cleanup == b->base + sampler_offsets.end)
		return end_guard_wait(s, err);
	if (session_run(s, &(struct run){ .calls = &call, .n = 1 }, err))
		return -1;
	return call_succeeded(&call) ? end_guard_wait(s, err) : session_call_failed(s, &call, err);
}

int block_install(struct session *s, struct block *b, bool prof, uint64_t sample_bytes,
		  struct err *err)
{
	struct sampler_order order = { .what = prof ? SAMPLER_INSTALL_PROF : SAMPLER_INSTALL,
				       .realloc_type = realloc_type(s),
				       .sample_bytes = sample_bytes,
				       .mallctl = s->je->mallctl };
	struct call call = control("experimental.hooks.install", b, &order);
	int failed;

	if (getrandom(&order.seed, sizeof(order.seed), 0) != sizeof(order.seed))
		return err_raise_sys(err, ERROR_NO_RANDOM_NUMBER, errno);
	b->seed = order.seed;
	b->may_be_in = true; /* whatever the run reports */
	failed = run_control(s, &call, 1, err);
	b->may_be_in = !call.made || !call.ret;
	if (failed)
		return -1;
	if (call_succeeded(&call))
		return 0;
	switch (call.made ? call.ret : 0) {
	case ENOENT:
		return err_raise(err, ERROR_NO_HOOKS, SESSION_ARGS(s), .version = s->version);
	case EAGAIN:
		return err_raise(err, ERROR_HOOKS_TAKEN, SESSION_ARGS(s));
	case EBUSY:
		return err_raise(err, ERROR_ALREADY_SAMPLED, SESSION_ARGS(s));
	default:
		return session_call_failed(s, &call, err);
	}
}

int block_remove(struct session *s, const struct block *b, bool if_unread, struct err *err)
{
	const struct sampler_order order = { .what = if_unread ? SAMPLER_REMOVE_UNREAD
							       : SAMPLER_REMOVE,
					     .seed = b->seed,
					     .mallctl = s->je->mallctl };
	const struct call_range data = { b->base + SAMPLER_DATA, SAMPLER_END - SAMPLER_DATA };
	struct call calls[] = {
		control("experimental.hooks.remove", b, &order),
		{ .name = "madvise", .flags = CALL_EMPTY, .new = &data, .new_len = sizeof(data) },
	};

	if (run_control(s, calls, 2, err))
		return -1;
	if (calls[0].made && calls[0].ret == EBUSY)
		return if_unread ? err_raise(err, ERROR_ALREADY_SAMPLED, SESSION_ARGS(s)) : 0;
	/* It may have removed itself, or be about to. */
	return calls[0].made && (!calls[0].ret || calls[0].ret == EAGAIN)
		       ? 0
		       : session_call_failed(s, &calls[0], err);
}
