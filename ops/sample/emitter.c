// SPDX-License-Identifier: Apache-2.0
#include "ops/sample/emitter.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "elf/image_head.h"
#include "elf/usdt.h"
#include "jemalloc/answer.h"
#include "ops/sample/end_guard.h"
#include "ops/target/look.h"
#include "ops/watch/filecache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[HEAP_EVENTS] = { [HEAP_ALLOC] = "alloc", [HEAP_FREE] = "free" };
static const size_t n_args[HEAP_EVENTS] = { [HEAP_ALLOC] = 3, [HEAP_FREE] = 1 };

void emitter_close(struct emitter *e)
{
	while (e->n_handles)
		cleanup_close(&e->handles[--e->n_handles]);
}

/* --- in the child that looks --- */

/* Of one image. */
struct found {
	struct pack *places;
	size_t n, unreadable;
};

static void add_probe(void *ctx, const char *name, const struct usdt_probe *probe)
{
	struct found *f = ctx;

	for (unsigned int i = 0; i < HEAP_EVENTS; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		f->unreadable += probe->n_args < n_args[i];
		f->n++;
		pack_u64(f->places, i);
		usdt_pack(probe, f->places);
	}
}

/* The mapping of code by which the image's file can be opened; NULL if it has no file. */
static const struct map *code_of(const struct session *s, const struct image *img)
{
	const struct map *m;

	for (size_t i = 0; i < img->n_exec; i++) {
		m = maps_find(&s->maps, img->exec[i].start);
		if (m && file_is_code(m) && !text_begins(m->path, BLOCK_PATH))
			return m;
	}
	return NULL;
}

/* Each file once, even if it is loaded twice. */
static bool is_repeated(const struct session *s, size_t image, const struct map *code)
{
	for (size_t i = 0; i < image; i++) {
		const struct map *m = code_of(s, &s->images.v[i]);

		if (m && image_head_same_file(m, code))
			return true;
	}
	return false;
}

int emitter_answer(struct session *s, struct unpack *nothing, struct pack *p, struct err *err)
{
	(void)nothing;
	for (size_t i = 0; i < s->images.n; i++) {
		_cleanup_(pack_fini) struct pack places = { 0 };
		struct found f = { .places = &places };
		struct image *img = &s->images.v[i];
		const struct map *code = code_of(s, img);
		size_t misplaced;

		if (!code || !img->is_loaded)
			continue;
		misplaced = usdt_each(img, "otel_memory", add_probe, &f);
		f.unreadable += misplaced;
		if (!(f.n + f.unreadable) || is_repeated(s, i, code))
			continue;
		if (f.unreadable)
			return err_raise(err, ERROR_PROBES_UNREADABLE, .path = img->path,
					 .number = (int64_t)f.unreadable);
		maps_pack(&(struct maps){ .v = (struct map *)code, .n = 1 }, p);
		pack_u64(p, f.n);
		pack_bytes(p, places.v, places.len);
		p->failed |= places.failed;
	}
	return 0;
}

/* --- in the controller --- */

static void read_args(const struct usdt_probe *probe, struct heap_args *args)
{
	static const unsigned int kinds[] = { [ARCH_CONSTANT] = HEAP_CONSTANT,
					      [ARCH_REGISTER] = HEAP_REGISTER,
					      [ARCH_MEMORY] = HEAP_MEMORY };

	*args = (struct heap_args){ 0 };
	for (size_t i = 0; i < probe->n_args; i++) {
		const struct usdt_arg *arg = &probe->args[i];

		args->v[i] = (struct heap_arg){ .kind = kinds[arg->at.kind],
						.reg = arg->at.reg,
						.value = arg->at.value,
						.shift = 64 - 8 * arg->size,
						.is_signed = arg->is_signed };
	}
}

static int open_file(struct session *s, struct emitter *e, const struct map *code, struct err *err)
{
	char name[MAP_FILE_NAME_SIZE];
	struct stat st;
	int fd;

	if (e->n_handles >= sizeof(e->handles) / sizeof(*e->handles))
		return err_raise(err, ERROR_TOO_MANY_PROBES, .limit = HEAP_PROBES_MAX);
	fd = door_proc_handle(s->proc.mm_pid, map_file_name(code->start, code->end, name));
	if (fd < 0)
		return err_raise_sys(err, ERROR_FILE_NOT_READ, errno, .path = code->path);
	e->handles[e->n_handles++] = fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_raise(err, ERROR_FILE_NOT_READ, .path = code->path);
	return 0;
}

/* Those in the file that was opened last. */
static int take_places(struct session *s, struct emitter *e, struct unpack *u, struct err *err)
{
	for (uint64_t n = unpack_u64(u); n && !u->bad; n--) {
		unsigned int event = (unsigned int)unpack_max(u, HEAP_EVENTS - 1);
		struct usdt_probe probe;
		struct heap_place *place;

		usdt_unpack(&probe, u);
		if (e->n[event] >= HEAP_PROBES_MAX)
			return err_raise(err, ERROR_TOO_MANY_PROBES, .limit = HEAP_PROBES_MAX);
		place = &e->places[event][e->n[event]++];
		*place = (struct heap_place){ .pid = s->proc.mm_pid,
					      .handle = e->handles[e->n_handles - 1],
					      .probe = { probe.offset, probe.semaphore } };
		read_args(&probe, &place->args);
	}
	return 0;
}

int emitter_find(struct session *s, struct emitter *e, struct err *err)
{
	const struct pack nothing = { 0 };
	struct unpack u;

	if (look_ask(s, &nothing, &u, err))
		return -1;
	while (u.at != u.end && !u.bad) {
		_cleanup_(maps_fini) struct maps code = { 0 };

		if (!maps_unpack(&code, &u) || code.n != 1)
			break;
		if (open_file(s, e, code.v, err) || take_places(s, e, &u, err))
			return -1;
	}
	if (!unpack_done(&u))
		return err_raise(err, ERROR_FOUND_MALFORMED, .pid = s->proc.pid);
	/* Objects of which only one end is seen say nothing about live memory. */
	if (!e->n[HEAP_ALLOC] || !e->n[HEAP_FREE])
		e->n[HEAP_ALLOC] = e->n[HEAP_FREE] = 0;
	return 0;
}
