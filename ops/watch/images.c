// SPDX-License-Identifier: Apache-2.0

#include "ops/watch/images.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "ops/watch/who.h"
#include "process/maps.h"
#include "process/proc.h"
#include "symbols/lookup.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

static void forget_places(struct watch_images *who)
{
	for (size_t i = 0; i < who->n_places; i++)
		free(who->places[i].name);
	who->n_places = 0;
}

static void forget(struct watch_images *who)
{
	forget_places(who);
	free(who->places);
	images_fini(&who->images);
	*who = (struct watch_images){ 0 };
}

void watch_images_fini(struct watch_processes *w)
{
	for (size_t i = 0; i < IMAGES_MAX; i++)
		forget(&w->v[i]);
}

static int read_images(struct watch_images *who, const struct proc *p)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct images images = { 0 };
	struct err ignored = ERR_INIT;

	if (maps_read(&maps, p->mm_pid, &ignored) ||
	    images_read(&images, p->mm_pid, &maps, &ignored))
		return -1;
	who->read_ns = now_boot_ns();
	forget_places(who);
	images_fini(&who->images);
	who->images = images;
	/* Opened now, they can be read after it has ended. */
	for (size_t i = 0; i < images.n; i++)
		image_may_name(&who->images.v[i], "");
	return 0;
}

/* Without its images, only the names of its addresses are missing. */
static int look(struct watch_images *who, pid_t pid, uint64_t began_ns)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err ignored = ERR_INIT;

	if (proc_open(&p, pid, &ignored) || !watch_is_same(&p, began_ns))
		return -1;
	(void)read_images(who, &p);
	who->pid = pid;
	who->began_ns = began_ns;
	return 0;
}

bool watch_images_refresh(struct watch_images *who)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err ignored = ERR_INIT;

	if (now_boot_ns() < who->read_ns + NS_PER_S || proc_open(&p, who->pid, &ignored) ||
	    !watch_is_same(&p, who->began_ns))
		return false;
	return read_images(who, &p) == 0;
}

struct watch_images *watch_images_find(struct watch_processes *w, pid_t pid, uint64_t began_ns)
{
	struct watch_images *oldest = &w->v[0];

	w->clock++;
	for (size_t i = 0; i < IMAGES_MAX; i++) {
		struct watch_images *who = &w->v[i];

		if (who->pid == pid && who->began_ns == began_ns) {
			who->used = w->clock;
			return who;
		}
		if (who->used < oldest->used)
			oldest = who;
	}
	forget(oldest);
	if (look(oldest, pid, began_ns)) {
		forget(oldest);
		return NULL;
	}
	oldest->used = w->clock;
	return oldest;
}

static const struct watch_place *find_place(const struct watch_images *who, uint64_t addr)
{
	for (size_t i = 0; i < who->n_places; i++)
		if (who->places[i].addr == addr)
			return &who->places[i];
	return NULL;
}

/* Addresses to name in one pass over an image's symbols. */
struct search {
	struct watch_place *v;
	size_t n;
	const struct image *image;
};

static int note_symbol(void *ctx, const char *name, const struct symbol *sym)
{
	static char plain[SYMBOLS_NAME_MAX];
	struct search *s = ctx;

	if (sym->type != STT_FUNC && sym->type != STT_GNU_IFUNC)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		struct watch_place *p = &s->v[i];

		if (p->image != s->image || p->name || p->addr < sym->addr ||
		    p->addr - sym->addr >= sym->size)
			continue;
		p->name = strdup(symbols_demangle(name, plain) ? plain : name);
		p->offset = p->addr - sym->addr;
	}
	return 0;
}

/* Make places for the addresses that have none, and name them. */
static void add_places(struct watch_images *who, const uint64_t *addrs, size_t n)
{
	struct watch_place *v;
	size_t first;

	if (!who->places)
		who->places = calloc(IMAGES_PLACES_MAX, sizeof(*who->places));
	if (!who->places)
		return;
	if (who->n_places + n > IMAGES_PLACES_MAX)
		forget_places(who);
	first = who->n_places;
	for (size_t i = 0; i < n; i++)
		if (!find_place(who, addrs[i]))
			who->places[who->n_places++] = (struct watch_place){ .addr = addrs[i] };
	v = who->places + first;
	n = who->n_places - first;
	for (size_t i = 0; i < who->images.n; i++) {
		struct image *img = &who->images.v[i];
		struct search s = { .v = v, .n = n, .image = img };
		bool any = false;

		for (size_t k = 0; k < n; k++) {
			if (image_contains(img, v[k].addr)) {
				v[k].image = img;
				any = true;
			}
		}
		if (any)
			image_each_symbol(img, note_symbol, &s);
	}
}

void watch_images_name(struct watch_images *who, struct watch_frame *frames, size_t n)
{
	uint64_t addrs[OPS_WATCH_FRAMES];

	/* A call that does not return may be followed by another function: look inside the call. */
	for (size_t i = 0; i < n; i++)
		addrs[i] = frames[i].addr - (i ? 1 : 0);
	add_places(who, addrs, n);
	for (size_t i = 0; i < n; i++) {
		const struct watch_place *place = find_place(who, addrs[i]);

		if (!place)
			continue;
		frames[i].image = place->image ? place->image->path : NULL;
		frames[i].name = place->name;
		frames[i].offset = place->offset + (i ? 1 : 0);
	}
}
