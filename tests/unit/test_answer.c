// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/answer.h"

#include "base/cleanup.h"
#include "injector/callsite.h"
#include "injector/site.h"
#include "ops/check/parts.h"
#include "ops/list_row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/look.h"

static struct unpack reading(const struct pack *p)
{
	return (struct unpack){ p->v, p->v + p->len, false };
}

/* Everything about an image except its file survives packing and unpacking. */
static void test_images(void **state)
{
	_cleanup_(look_end) struct look look;
	_cleanup_(images_fini) struct images got = { 0 };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	(void)state;
	look_at(&look, getpid());
	images_pack(&look.images, &p);
	u = reading(&p);
	assert_true(images_unpack(&got, &u));
	assert_true(unpack_done(&u));
	assert_int_equal(got.n, look.images.n);
	for (size_t i = 0; i < got.n; i++) {
		const struct image *a = &look.images.v[i], *b = &got.v[i];

		assert_string_equal(a->path, b->path);
		assert_true(a->start == b->start && a->end == b->end && a->bias == b->bias);
		assert_true(a->is_main == b->is_main && a->is_loaded == b->is_loaded);
		assert_true(a->eh_frame_hdr == b->eh_frame_hdr && a->type == b->type);
		assert_int_equal(a->build_id_len, b->build_id_len);
		assert_memory_equal(a->build_id, b->build_id, a->build_id_len);
		assert_int_equal(a->n_exec, b->n_exec);
		assert_memory_equal(a->exec, b->exec, a->n_exec * sizeof(*a->exec));
		assert_null(b->file);
	}
	assert_ptr_equal(images_find(&got, got.v[0].start), &got.v[0]);
}

/* images_find() uses binary search, so an answer with unsorted images is rejected. */
static void test_disorder(void **state)
{
	_cleanup_(look_end) struct look look;
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct images got = { 0 };
	struct image first;
	struct unpack u;

	(void)state;
	look_at(&look, getpid());
	first = look.images.v[0];
	look.images.v[0] = look.images.v[1];
	look.images.v[1] = first;
	images_pack(&look.images, &p);
	u = reading(&p);
	assert_false(images_unpack(&got, &u));
	assert_null(got.v);
}

static struct jemalloc some_jemalloc(struct images *images)
{
	struct jemalloc je = { .image = &images->v[1],
			       .linkage = LINKAGE_STATIC,
			       .is_alone = true,
			       .prefix = "je_",
			       .mallctl = 0x1000,
			       .malloc_stats_print = 0x2000,
			       .version = "5.3.0-0-g54eaed1d",
			       .config_prof = TRI_UNKNOWN };

	je.opt[OPT_PROF] = 77;
	return je;
}

static void test_jemallocs(void **state)
{
	_cleanup_(look_end) struct look look;
	_cleanup_(cleanup_free) struct jemalloc *got = NULL;
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct jemalloc_values values = { .prof_active = TRI_YES }, read;
	struct jemalloc je;
	struct unpack u;
	size_t n;

	(void)state;
	look_at(&look, getpid());
	je = some_jemalloc(&look.images);
	je.unwinder = UNWINDER_COMPILER;
	values.opt[OPT_LG_PROF_SAMPLE].known = true;
	values.opt[OPT_LG_PROF_SAMPLE].value = -19;
	jemallocs_pack(&je, 1, &look.images, &p);
	jemalloc_opts_pack(&je, &values, &p);
	u = reading(&p);
	got = jemallocs_unpack(&n, &look.images, &u);
	assert_non_null(got);
	assert_int_equal(n, 1);
	assert_ptr_equal(got->image, je.image);
	assert_string_equal(got->prefix, je.prefix);
	assert_string_equal(got->version, je.version);
	assert_true(got->mallctl == 0x1000 && got->linkage == LINKAGE_STATIC && got->is_alone);
	assert_true(got->config_prof == TRI_UNKNOWN);
	assert_true(got->opt[OPT_PROF] == 0);
	jemalloc_opts_unpack(got, &read, &u);
	assert_true(unpack_done(&u));
	assert_int_equal(got->unwinder, UNWINDER_COMPILER);
	assert_true(got->opt[OPT_PROF] == 77 && got->opts_sought && read.prof_active == TRI_YES);
	assert_true(read.opt[OPT_LG_PROF_SAMPLE].known && !read.opt[OPT_PROF].known);
	assert_true(read.opt[OPT_LG_PROF_SAMPLE].value == -19);
	/* An image that is out of range, then an address that is missing. */
	je.image = look.images.v + look.images.n;
	p.len = 0;
	jemallocs_pack(&je, 1, &look.images, &p);
	u = reading(&p);
	assert_null(jemallocs_unpack(&n, &look.images, &u));
	je.image = look.images.v;
	je.mallctl = 0;
	p.len = 0;
	jemallocs_pack(&je, 1, &look.images, &p);
	u = reading(&p);
	assert_null(jemallocs_unpack(&n, &look.images, &u));
}

/* The variable's name becomes part of a systemd unit, so any other name is rejected. */
static void test_conf_names(void **state)
{
	static const struct {
		const char *name;
		bool good;
	} rows[] = {
		{ "", true },
		{ "MALLOC_CONF", true },
		{ "_RJEM_MALLOC_CONF", true },
		{ "JE4_MALLOC_CONF", true },
		{ "LD_PRELOAD", false },
		{ "MALLOC_CONF2", false },
		{ "A\" \"MALLOC_CONF", false },
		{ "A\nMALLOC_CONF", false },
		{ "je_MALLOC_CONF", false },
	};
	_cleanup_(look_end) struct look look;

	(void)state;
	look_at(&look, getpid());
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		_cleanup_(cleanup_free) struct jemalloc *got = NULL;
		_cleanup_(pack_fini) struct pack p = { 0 };
		struct jemalloc je = some_jemalloc(&look.images);
		struct unpack u;
		size_t n;

		strcpy(je.conf_name, rows[i].name);
		jemallocs_pack(&je, 1, &look.images, &p);
		u = reading(&p);
		got = jemallocs_unpack(&n, &look.images, &u);
		assert_true((got != NULL) == rows[i].good);
	}
}

static void test_site(void **state)
{
	struct range danger[] = { { 10, 20 }, { 30, 40 } }, known[] = { { 5, 50 } };
	struct unwind_entry entries[] = { { -5, 1 }, { 7, 2 } };
	struct callsite cs = { .mallctl = 0x1000,
			       .stats_print = 0x2000,
			       .pthread_create = 0x3000,
			       .home = 0x4000,
			       .home_call = 1,
			       .restorer = 0x5000,
			       .gadget = { 0x6000, 0x6100, 7, -8 },
			       .has_errno = true,
			       .errno_offset = -64,
			       .cancel_offset = 776,
			       .danger = danger,
			       .n_danger = 2,
			       .known = known,
			       .n_known = 1,
			       .proof = "proof",
			       .table = { entries, 2, 0x7000 } };
	const struct jemalloc je = { .mallctl = 0x1000, .malloc_stats_print = 0x2000 };
	const struct jemalloc other = { .mallctl = 0x1001, .malloc_stats_print = 0x2000 };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct callsite *got;
	struct unpack u;

	(void)state;
	injector_site_pack(&cs, &p);
	u = reading(&p);
	got = injector_site_unpack(&je, &u);
	assert_non_null(got);
	assert_true(unpack_done(&u));
	assert_true(got->errno_offset == -64 && got->has_errno && got->cancel_offset == 776);
	assert_memory_equal(got->danger, danger, sizeof(danger));
	assert_memory_equal(got->table.v, entries, sizeof(entries));
	assert_memory_equal(got->proof, cs.proof, sizeof(cs.proof));
	assert_true(got->home == 0x4000 && got->home_call == 1);
	assert_true(callsite_is_dangerous(got, 35) && !callsite_is_dangerous(got, 25));
	injector_site_free(got);
	/* A site for another mallctl, then ranges that overlap. */
	u = reading(&p);
	assert_null(injector_site_unpack(&other, &u));
	danger[1].start = 15;
	p.len = 0;
	injector_site_pack(&cs, &p);
	u = reading(&p);
	assert_null(injector_site_unpack(&je, &u));
}

/* Mappings of the same file still have equal paths, and those of different files do not. */
static void test_maps(void **state)
{
	_cleanup_(look_end) struct look look;
	_cleanup_(maps_fini) struct maps got = { 0 };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	(void)state;
	look_at(&look, getpid());
	maps_pack(&look.maps, &p);
	u = reading(&p);
	assert_true(maps_unpack(&got, &u));
	assert_true(unpack_done(&u));
	assert_int_equal(got.n, look.maps.n);
	for (size_t i = 0; i < got.n; i++) {
		const struct map *a = &look.maps.v[i], *b = &got.v[i];

		assert_true(a->start == b->start && a->end == b->end && a->offset == b->offset);
		assert_true(a->inode == b->inode && a->dev_major == b->dev_major);
		assert_true(a->prot == b->prot && !*a->path == !*b->path);
		if (i)
			assert_int_equal(!strcmp(a->path, a[-1].path),
					 !strcmp(b->path, b[-1].path));
	}
	p.v[8] ^= 0xff; /* start address of the first mapping */
	u = reading(&p);
	p.v[15] = 0xff;
	assert_false(maps_unpack(&look.maps, &u));
}

/* The functions through which jemalloc's dumps and events pass. */
static void test_passes(void **state)
{
	const struct jemalloc_dump dump = { .prof_dump = 0x1000, .file_arg = 2, .n_names = 400 };
	const struct jemalloc_event event = { .te_event_trigger = 0x2000 };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct jemalloc_event got_event;
	struct jemalloc_dump got_dump;
	struct unpack u;

	(void)state;
	jemalloc_dump_pack(&dump, &p);
	jemalloc_event_pack(&event, &p);
	u = reading(&p);
	jemalloc_dump_unpack(&got_dump, &u);
	jemalloc_event_unpack(&got_event, &u);
	assert_true(unpack_done(&u));
	assert_true(got_dump.prof_dump == 0x1000 && got_dump.file_arg == 2);
	assert_int_equal(got_dump.n_names, 400);
	assert_int_equal(got_event.te_event_trigger, 0x2000);
}

static void test_rows(void **state)
{
	struct ops_check row = { .made = true, .ok = TRI_NO }, read;
	char command[] = "a --loud";
	struct ops_process process = { .linkage = LINKAGE_PRELOAD,
				       .prof_active = TRI_UNKNOWN,
				       .command = command },
			   got = { .pid = 7 };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	(void)state;
	row.name = "jemalloc";
	err_raise(&row.err, ERROR_TARGET_TRACED, .pid = 7, .other = 8);
	err_advise(&row.err, FIX_END_TRACER);
	strcpy(row.detail, "a \033[1mbold\033[m claim");
	strcpy(process.image, "/usr/bin/a");
	strcpy(process.service_name, "shop");
	process.opts[OPT_PROF].known = true;
	process.opts[OPT_PROF].value = 1;
	check_row_pack(&row, &p);
	list_row_pack(&process, &p);
	u = reading(&p);
	check_row_unpack(&read, &row, &u);
	list_row_unpack(&got, &u);
	assert_true(unpack_done(&u));
	assert_true(read.made && read.ok == TRI_NO);
	assert_int_equal(read.err.code, ERR_BUSY);
	assert_int_equal(read.err.ids[0], ERROR_TARGET_TRACED);
	assert_int_equal(read.err.fixes[0], FIX_END_TRACER);
	assert_int_equal(read.err.held.other, 8);
	assert_string_equal(read.detail, "a \\x1b[1mbold\\x1b[m claim");
	assert_string_equal(got.image, process.image);
	assert_string_equal(got.service_name, "shop");
	assert_string_equal(got.command, command);
	free(got.command);
	assert_int_equal(got.pid, 7);
	assert_true(got.linkage == LINKAGE_PRELOAD && got.prof_active == TRI_UNKNOWN);
	assert_true(got.opts[OPT_PROF].known && got.opts[OPT_PROF].value == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_images),	  cmocka_unit_test(test_disorder),
		cmocka_unit_test(test_jemallocs), cmocka_unit_test(test_conf_names),
		cmocka_unit_test(test_site),	  cmocka_unit_test(test_maps),
		cmocka_unit_test(test_passes),	  cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
