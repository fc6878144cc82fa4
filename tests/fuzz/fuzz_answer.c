// SPDX-License-Identifier: Apache-2.0
/* A confined child's answer about a process, as the controller reads it. */
#include "elf/usdt.h"
#include "injector/site.h"
#include "jemalloc/answer.h"
#include "jemalloc/file.h"
#include "ops/check/parts.h"
#include "ops/list_row.h"
#include "ops/watch/frames.h"
#include "ops/watch/look.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_images(const struct images *images)
{
	for (size_t i = 0; i < images->n; i++) {
		const struct image *img = &images->v[i];

		if (!img->path || img->start > img->end || img->build_id_len > IMAGE_BUILD_ID_MAX)
			abort();
		for (size_t k = 0; k < img->n_exec; k++)
			(void)images_find(images, img->exec[k].start);
	}
}

static void read_found(struct unpack u)
{
	struct images images = { 0 };
	struct jemalloc *v;
	struct callsite *site;
	struct jemalloc_values values;
	size_t n;

	if (!images_unpack(&images, &u))
		return;
	check_images(&images);
	v = jemallocs_unpack(&n, &images, &u);
	for (size_t i = 0; v && i < n; i++)
		if (v[i].image < images.v || v[i].image >= images.v + images.n ||
		    strlen(v[i].version) >= sizeof(v->version))
			abort();
	if (v) {
		jemalloc_opts_unpack(v, &values, &u);
		site = injector_site_unpack(v, &u);
		injector_site_free(site);
	}
	free(v);
	images_fini(&images);
}

static void read_rows(struct unpack u)
{
	struct ops_check row, was = { .name = "row" };
	struct ops_process process;
	struct jemalloc_dump dump;
	struct usdt_probe probe;

	check_row_unpack(&row, &was, &u);
	if (row.ok < TRI_UNKNOWN || row.ok > TRI_YES || strlen(row.detail) >= sizeof(row.detail))
		abort();
	list_row_unpack(&process, &u);
	if (process.linkage > LINKAGE_NONE || strlen(process.image) >= sizeof(process.image) ||
	    strlen(process.service_name) >= sizeof(process.service_name) ||
	    (process.command && strlen(process.command) >= OPS_COMMAND_SIZE))
		abort();
	free(process.command);
	usdt_unpack(&probe, &u);
	for (size_t i = 0; i < probe.n_args; i++)
		if (probe.args[i].at.kind >= ARCH_OPERAND_KINDS ||
		    probe.args[i].at.reg >= ARCH_DWARF_REGS)
			abort();
	jemalloc_dump_unpack(&dump, &u);
	if (dump.file_arg > DUMP_FILE_ARG_MAX)
		abort();
}

static void read_frames(struct unpack u)
{
	struct watch_frame frames[OPS_WATCH_FRAMES];
	struct watch_frames f = WATCH_FRAMES_INIT;
	size_t n = watch_frames_unpack(&f, &u, frames);

	for (size_t i = 0; i < n; i++)
		if (frames[i].name && strlen(frames[i].name) >= 16384)
			abort();
	watch_frames_fini(&f);
}

static void read_maps(struct unpack u)
{
	struct jemalloc_file *file = NULL;
	struct maps maps = { 0 };
	struct jemalloc je;

	if (!maps_unpack(&maps, &u))
		return;
	for (size_t i = 0; i < maps.n; i++)
		if (!maps_find(&maps, maps.v[i].start) || strlen(maps.v[i].path) > 11)
			abort();
	if ((jemalloc_file_unpack(&file, &u) == JEMALLOC_FILE_SOME) != (file != NULL))
		abort();
	for (size_t i = 0; file && i < maps.n; i++) {
		(void)jemalloc_file_is_loaded(file, &maps, &maps.v[i]);
		(void)jemalloc_file_only(file, &maps.v[i], &je);
	}
	for (size_t i = 0; file && i < jemalloc_file_count(file); i++) {
		(void)jemalloc_file_dump(file, i);
		(void)jemalloc_file_event(file, i);
	}
	jemalloc_file_free(file);
	maps_fini(&maps);
}

static void read_inside(struct unpack u)
{
	static struct watch_inside inside;

	if (watch_inside_unpack(&inside, &u) && inside.n > WATCH_FOUND_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct unpack u = { data, data + size, false };

	read_found(u);
	read_rows(u);
	read_frames(u);
	read_maps(u);
	read_inside(u);
	return 0;
}
