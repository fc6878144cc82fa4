// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/answer.h"

#include "base/cleanup.h"

#include "process/maps.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_ROOM (PATH_MAX + 64) /* with " (deleted)" */
#define IMAGE_LEAST 64		  /* bytes in a message */
#define JEMALLOC_LEAST 64
#define JEMALLOCS_MAX 256

/* Offset by one: -1 is unknown. */
void tristate_pack(enum tristate value, struct pack *p)
{
	pack_u64(p, (uint64_t)(value - TRI_UNKNOWN));
}

enum tristate tristate_unpack(struct unpack *u)
{
	return (enum tristate)((int)unpack_max(u, TRI_YES - TRI_UNKNOWN) + TRI_UNKNOWN);
}

/* --- mappings --- */

#define MAP_WORDS 8
#define PATH_TEXT 12 /* "/4294967295" */

/* All mappings of an image are assumed to be within this many. */
#define SAME_FILE_WITHIN 64

/* An earlier mapping with the same path, within SAME_FILE_WITHIN. */
static size_t with_path(const struct maps *maps, const size_t *paths, size_t i)
{
	for (size_t k = i; k-- > 0 && i - k <= SAME_FILE_WITHIN;)
		if (!strcmp(maps->v[k].path, maps->v[i].path))
			return paths[k];
	return i;
}

void maps_pack(const struct maps *maps, struct pack *p)
{
	_cleanup_(cleanup_free) size_t *paths = calloc(maps->n + 1, sizeof(*paths));

	p->failed |= !paths;
	pack_u64(p, maps->n);
	for (size_t i = 0; i < maps->n && paths; i++) {
		const struct map *m = &maps->v[i];

		paths[i] = *m->path ? with_path(maps, paths, i) : i;
		pack_u64(p, m->start);
		pack_u64(p, m->end);
		pack_u64(p, m->offset);
		pack_u64(p, m->inode);
		pack_u64(p, m->dev_major);
		pack_u64(p, m->dev_minor);
		pack_u64(p, m->prot);
		pack_u64(p, *m->path ? paths[i] + 1 : 0);
	}
}

bool maps_unpack(struct maps *out, struct unpack *u)
{
	struct maps got = { .n = unpack_count(u, MAP_WORDS * sizeof(uint64_t)) };

	got.v = calloc(got.n + 1, sizeof(*got.v));
	got.text = calloc(got.n + 1, PATH_TEXT);
	u->bad |= !got.v || !got.text || got.n > UINT32_MAX;
	for (size_t i = 0; i < got.n && !u->bad; i++) {
		struct map *m = &got.v[i];
		size_t path;

		snprintf(got.text + i * PATH_TEXT, PATH_TEXT, "/%u", (unsigned int)i);
		m->start = unpack_u64(u);
		m->end = unpack_u64(u);
		m->offset = unpack_u64(u);
		m->inode = unpack_u64(u);
		m->dev_major = (uint32_t)unpack_max(u, UINT32_MAX);
		m->dev_minor = (uint32_t)unpack_max(u, UINT32_MAX);
		m->prot = (unsigned int)unpack_max(u, MAP_R | MAP_W | MAP_X | MAP_SHARED_BIT);
		path = (size_t)unpack_max(u, got.n);
		m->path = path ? got.text + (path - 1) * PATH_TEXT : "";
		u->bad |= m->start >= m->end || (i && m->start < m[-1].end);
	}
	if (u->bad) {
		maps_fini(&got);
		return false;
	}
	*out = got;
	return true;
}

/* --- images --- */

void range_pack(struct range r, struct pack *p)
{
	pack_u64(p, r.start);
	pack_u64(p, r.end);
}

struct range range_unpack(struct unpack *u)
{
	struct range r;

	r.start = unpack_u64(u);
	r.end = unpack_u64(u);
	return r;
}

static void pack_image(const struct image *img, struct pack *p)
{
	pack_text(p, img->path);
	pack_text(p, image_debug_source(img));
	pack_u64(p, img->start);
	pack_u64(p, img->end);
	pack_u64(p, img->bias);
	pack_u64(p, img->is_main);
	pack_u64(p, img->is_deleted);
	pack_u64(p, img->is_loaded);
	pack_u64(p, img->is_plain);
	pack_u64(p, img->has_interp);
	pack_u64(p, img->elf_class);
	pack_u64(p, img->machine);
	pack_u64(p, img->type);
	pack_u64(p, img->eh_frame_hdr);
	pack_u64(p, img->eh_frame_hdr_size);
	pack_u64(p, img->build_id_len);
	pack_bytes(p, img->build_id, img->build_id_len);
	pack_u64(p, img->n_exec);
	for (size_t i = 0; i < img->n_exec; i++)
		range_pack(img->exec[i], p);
}

static void unpack_image(struct image *img, struct unpack *u)
{
	img->path = unpack_text(u, PATH_ROOM);
	img->symbols_from = unpack_text(u, PATH_ROOM);
	img->start = unpack_u64(u);
	img->end = unpack_u64(u);
	img->bias = unpack_u64(u);
	img->is_main = unpack_bool(u);
	img->is_deleted = unpack_bool(u);
	img->is_loaded = unpack_bool(u);
	img->is_plain = unpack_bool(u);
	img->has_interp = unpack_bool(u);
	img->elf_class = (unsigned char)unpack_max(u, UCHAR_MAX);
	img->machine = (unsigned int)unpack_max(u, USHRT_MAX);
	img->type = (unsigned int)unpack_max(u, USHRT_MAX);
	img->eh_frame_hdr = unpack_u64(u);
	img->eh_frame_hdr_size = unpack_u64(u);
	img->build_id_len = (size_t)unpack_max(u, sizeof(img->build_id));
	unpack_bytes(u, img->build_id, img->build_id_len);
	img->n_exec = unpack_count(u, 2 * sizeof(uint64_t));
	img->exec = calloc(img->n_exec + 1, sizeof(*img->exec));
	u->bad |= !img->path || !img->exec;
	for (size_t i = 0; i < img->n_exec && img->exec; i++)
		img->exec[i] = range_unpack(u);
}

void images_pack(const struct images *images, struct pack *p)
{
	pack_u64(p, images->n);
	for (size_t i = 0; i < images->n; i++)
		pack_image(&images->v[i], p);
}

bool images_unpack(struct images *out, struct unpack *u)
{
	struct images got = { 0 };
	size_t n = unpack_count(u, IMAGE_LEAST);

	got.v = calloc(n + 1, sizeof(*got.v));
	while (got.v && got.n < n && !u->bad)
		unpack_image(&got.v[got.n++], u);
	u->bad |= !got.v;
	/* images_find() relies on their order. */
	for (size_t i = 0; i < got.n && !u->bad; i++)
		u->bad |= got.v[i].start > got.v[i].end || (i && got.v[i].start < got.v[i - 1].end);
	if (u->bad) {
		images_fini(&got);
		return false;
	}
	*out = got;
	return true;
}

/* --- jemallocs --- */

void jemallocs_pack(const struct jemalloc *v, size_t n, const struct images *images, struct pack *p)
{
	pack_u64(p, n);
	for (size_t i = 0; i < n; i++) {
		const struct jemalloc *je = &v[i];

		pack_u64(p, (uint64_t)(je->image - images->v));
		pack_u64(p, je->linkage);
		pack_u64(p, je->by_scan);
		pack_u64(p, je->is_alone);
		pack_text(p, je->prefix);
		pack_text(p, je->conf_name);
		pack_u64(p, je->mallctl);
		pack_u64(p, je->malloc_stats_print);
		pack_u64(p, je->malloc_message);
		pack_text(p, je->version);
		tristate_pack(je->config_prof, p);
	}
}

struct jemalloc *jemallocs_unpack(size_t *n, const struct images *images, struct unpack *u)
{
	_cleanup_(cleanup_free) struct jemalloc *v = NULL;
	size_t want = unpack_count(u, JEMALLOC_LEAST);

	if (u->bad || !images->n || !want || want > JEMALLOCS_MAX)
		return NULL;
	v = calloc(want, sizeof(*v));
	for (size_t i = 0; i < want && v; i++) {
		struct jemalloc *je = &v[i];

		je->image = &images->v[(size_t)unpack_max(u, images->n - 1)];
		je->linkage = (enum jemalloc_linkage)unpack_max(u, LINKAGE_PRELOAD);
		je->by_scan = unpack_bool(u);
		je->is_alone = unpack_bool(u);
		unpack_into(u, je->prefix, sizeof(je->prefix));
		unpack_into(u, je->conf_name, sizeof(je->conf_name));
		je->mallctl = unpack_u64(u);
		je->malloc_stats_print = unpack_u64(u);
		je->malloc_message = unpack_u64(u);
		unpack_into(u, je->version, sizeof(je->version));
		je->config_prof = tristate_unpack(u);
		u->bad |= !je->mallctl || (*je->conf_name && !jemalloc_is_conf_name(je->conf_name));
	}
	if (!v || u->bad)
		return NULL;
	*n = want;
	return take_ptr(v);
}

void jemalloc_opts_pack(const struct jemalloc *je, const struct jemalloc_values *values,
			struct pack *p)
{
	for (size_t i = 0; i < JEMALLOC_OPTS; i++) {
		pack_u64(p, je->opt[i]);
		pack_u64(p, values->opt[i].known);
		pack_u64(p, (uint64_t)values->opt[i].value);
	}
	pack_u64(p, je->prof_active);
	pack_u64(p, je->unwinder);
	tristate_pack(values->prof_active, p);
}

void jemalloc_opts_unpack(struct jemalloc *je, struct jemalloc_values *values, struct unpack *u)
{
	for (size_t i = 0; i < JEMALLOC_OPTS; i++) {
		je->opt[i] = unpack_u64(u);
		values->opt[i].known = unpack_bool(u);
		values->opt[i].value = (int64_t)unpack_u64(u);
	}
	je->prof_active = unpack_u64(u);
	je->unwinder = (enum jemalloc_unwinder)unpack_max(u, UNWINDER_FRAMES);
	values->prof_active = tristate_unpack(u);
	je->opts_sought = true;
}

/* --- functions for dumps and events --- */

void jemalloc_dump_pack(const struct jemalloc_dump *dump, struct pack *p)
{
	pack_u64(p, dump->prof_dump);
	pack_u64(p, dump->file_arg);
	pack_u64(p, dump->n_names);
}

void jemalloc_dump_unpack(struct jemalloc_dump *dump, struct unpack *u)
{
	dump->prof_dump = unpack_u64(u);
	dump->file_arg = (unsigned int)unpack_max(u, DUMP_FILE_ARG_MAX);
	dump->n_names = (size_t)unpack_u64(u);
}

void jemalloc_event_pack(const struct jemalloc_event *event, struct pack *p)
{
	pack_u64(p, event->te_event_trigger);
}

void jemalloc_event_unpack(struct jemalloc_event *event, struct unpack *u)
{
	event->te_event_trigger = unpack_u64(u);
}
