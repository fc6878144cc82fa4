// SPDX-License-Identifier: Apache-2.0

#include "jemalloc/file.h"

#include "base/cleanup.h"
#include "elf/image_data.h"
#include "elf/image_head.h"
#include "jemalloc/answer.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct one {
	struct jemalloc je;	   /* addresses as in the file's headers */
	struct jemalloc_dump dump; /* of this and the next, the function to probe; likewise */
	struct jemalloc_event event;
};

struct jemalloc_file {
	struct image_head head;
	size_t n;
	struct one v[];
};

/* Relocate; unknown addresses stay 0. */
static void move(struct jemalloc *je, uint64_t by)
{
	je->mallctl += by;
	je->malloc_stats_print += je->malloc_stats_print ? by : 0;
	je->malloc_message += je->malloc_message ? by : 0;
	for (size_t i = 0; i < JEMALLOC_OPTS; i++)
		je->opt[i] += je->opt[i] ? by : 0;
	je->prof_active += je->prof_active ? by : 0;
}

/* Where to probe a function, as an address in the file's headers. */
static void make_probe(uint64_t *entry, struct image *img)
{
	struct scan scan;

	if (!*entry)
		return;
	scan_open_code(&scan, img, 0);
	*entry = decode_probe(&scan.code, *entry) - img->bias;
}

static void keep(struct one *one, struct jemalloc *je, const struct jemalloc_file_look *look)
{
	const struct proc nobody = { 0 };

	jemalloc_find_opts(je, 0);
	if (look->dumps && je->config_prof != TRI_NO)
		(void)!jemalloc_find_prof_dump(je, &nobody, &one->dump);
	if (look->events)
		jemalloc_find_event(je, &nobody, &one->event);
	make_probe(&one->dump.prof_dump, je->image);
	make_probe(&one->event.te_event_trigger, je->image);
	one->je = *je;
	one->je.image = NULL;
	move(&one->je, -je->image->bias);
}

enum jemalloc_file_holds jemalloc_file_read(struct jemalloc_file **out,
					    const struct jemalloc_file_look *look, struct stat *st)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	struct jemalloc_file *file;
	struct image_head head;
	struct err ignored;
	size_t n;

	switch (images_open_mapped(&images, look->pid, look->map, &head, st)) {
	case IMAGE_MAPPED_UNKNOWN:
		return JEMALLOC_FILE_UNKNOWN;
	case IMAGE_MAPPED_NONE:
		return JEMALLOC_FILE_NONE;
	case IMAGE_MAPPED_FOUND:
		break;
	}
	if (!jemalloc_has_mark(&images.v[0]))
		return JEMALLOC_FILE_NONE;
	images.ask_debuginfod = look->debuginfod;
	if (!image_mapped_relocate(&images.v[0], &head) ||
	    jemalloc_find_alone(&images, &found, &n, &ignored))
		return JEMALLOC_FILE_UNKNOWN;
	file = calloc(1, sizeof(*file) + n * sizeof(file->v[0]));
	if (!file)
		return JEMALLOC_FILE_UNKNOWN;
	file->head = head;
	file->n = n;
	for (size_t i = 0; i < n; i++)
		keep(&file->v[i], &found[i], look);
	*out = file;
	return JEMALLOC_FILE_SOME;
}

void jemalloc_file_free(struct jemalloc_file *file)
{
	free(file);
}

/* --- as a message --- */

#define FILE_JEMALLOCS_MAX 64

static void pack_segment(const struct segment *s, struct pack *p)
{
	pack_u64(p, s->offset);
	pack_u64(p, s->vaddr);
	pack_u64(p, s->filesz);
	pack_u64(p, s->memsz);
	pack_u64(p, s->flags);
}

static void unpack_segment(struct segment *s, struct unpack *u)
{
	s->offset = unpack_u64(u);
	s->vaddr = unpack_u64(u);
	s->filesz = unpack_u64(u);
	s->memsz = unpack_u64(u);
	s->flags = (unsigned int)unpack_max(u, PF_R | PF_W | PF_X);
}

static struct jemalloc_file *unpack_file(struct unpack *u)
{
	size_t n = (size_t)unpack_max(u, FILE_JEMALLOCS_MAX);
	struct jemalloc_file *file = calloc(1, sizeof(*file) + n * sizeof(file->v[0]));
	struct jemalloc_values none;

	if (!file)
		return NULL;
	file->n = n;
	file->head.n_loads = (size_t)unpack_max(u, HEAD_LOADS_MAX);
	for (size_t i = 0; i < file->head.n_loads; i++)
		unpack_segment(&file->head.loads[i], u);
	unpack_segment(&file->head.relro, u);
	for (size_t i = 0; i < n; i++) {
		struct one *one = &file->v[i];

		unpack_into(u, one->je.prefix, sizeof(one->je.prefix));
		unpack_into(u, one->je.version, sizeof(one->je.version));
		one->je.config_prof = tristate_unpack(u);
		one->je.mallctl = unpack_u64(u);
		jemalloc_opts_unpack(&one->je, &none, u);
		jemalloc_dump_unpack(&one->dump, u);
		jemalloc_event_unpack(&one->event, u);
	}
	if (!u->bad && n)
		return file;
	free(file);
	return NULL;
}

void jemalloc_file_pack(enum jemalloc_file_holds holds, const struct jemalloc_file *file,
			struct pack *p)
{
	struct jemalloc_values none = { .prof_active = TRI_UNKNOWN };

	pack_u64(p, holds);
	if (holds != JEMALLOC_FILE_SOME)
		return;
	/* Of its headers, what is needed to compute where it is loaded. */
	pack_u64(p, file->n);
	pack_u64(p, file->head.n_loads);
	for (size_t i = 0; i < file->head.n_loads; i++)
		pack_segment(&file->head.loads[i], p);
	pack_segment(&file->head.relro, p);
	for (size_t i = 0; i < file->n; i++) {
		const struct one *one = &file->v[i];

		pack_text(p, one->je.prefix);
		pack_text(p, one->je.version);
		tristate_pack(one->je.config_prof, p);
		pack_u64(p, one->je.mallctl);
		jemalloc_opts_pack(&one->je, &none, p);
		jemalloc_dump_pack(&one->dump, p);
		jemalloc_event_pack(&one->event, p);
	}
}

enum jemalloc_file_holds jemalloc_file_unpack(struct jemalloc_file **out, struct unpack *u)
{
	enum jemalloc_file_holds holds =
		(enum jemalloc_file_holds)unpack_max(u, JEMALLOC_FILE_SOME);
	struct jemalloc_file *file = holds == JEMALLOC_FILE_SOME ? unpack_file(u) : NULL;

	if (!unpack_done(u) || (holds == JEMALLOC_FILE_SOME && !file)) {
		jemalloc_file_free(file);
		return JEMALLOC_FILE_UNKNOWN;
	}
	if (file)
		*out = file;
	return holds;
}

/* --- in a process --- */

static bool bias_of(const struct jemalloc_file *file, const struct map *code, uint64_t *bias)
{
	return image_head_bias(&file->head, code->start, code->offset, image_head_flags(code),
			       bias);
}

bool jemalloc_file_is_loaded(const struct jemalloc_file *file, const struct maps *maps,
			     const struct map *code)
{
	uint64_t bias;

	return bias_of(file, code, &bias) && image_head_is_loaded(&file->head, maps, code, bias);
}

bool jemalloc_file_only(const struct jemalloc_file *file, const struct map *code,
			struct jemalloc *je)
{
	uint64_t bias;

	if (file->n != 1 || !bias_of(file, code, &bias))
		return false;
	*je = file->v[0].je;
	move(je, bias);
	return true;
}

size_t jemalloc_file_count(const struct jemalloc_file *file)
{
	return file->n;
}

/* The file offset of the code at `at`, an address as in its headers; false if it is not code. */
static bool offset_of(const struct jemalloc_file *file, uint64_t at, uint64_t *offset)
{
	for (size_t i = 0; i < file->head.n_loads; i++) {
		const struct segment *s = &file->head.loads[i];

		if (!(s->flags & PF_X) || at < s->vaddr || at - s->vaddr >= s->filesz)
			continue;
		*offset = s->offset + (at - s->vaddr);
		return true;
	}
	return false;
}

struct jemalloc_file_dump jemalloc_file_dump(const struct jemalloc_file *file, size_t i)
{
	const struct one *one = &file->v[i];
	struct jemalloc_file_dump out = { .may_dump = one->je.config_prof != TRI_NO };

	out.known = one->dump.prof_dump && offset_of(file, one->dump.prof_dump, &out.offset);
	out.file_arg = out.known ? one->dump.file_arg : 0;
	return out;
}

struct jemalloc_file_event jemalloc_file_event(const struct jemalloc_file *file, size_t i)
{
	uint64_t at = file->v[i].event.te_event_trigger;
	struct jemalloc_file_event out = { 0 };

	out.known = at && offset_of(file, at, &out.offset);
	return out;
}
