// SPDX-License-Identifier: Apache-2.0
/* Symbolizes profiles of copies of this program, and checks the warnings. */
#include "symbols/symbolize.h"

#include "base/cleanup.h"
#include "profile/symbols.h"
#include "tests/unit/said.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/look.h"
#include "tests/unit/scratch.h"

static __attribute__((noinline)) int known(int n)
{
	__asm__ volatile("");
	return n + 1;
}

/* A return address in known(). The call that returns to AT + 1 is in known(), too. */
#define AT ((uintptr_t)known + 1)

static uint64_t start, end, offset; /* of this program's code */
static char build_id[2 * IMAGE_BUILD_ID_MAX + 1];

static int setup(void **state)
{
	_cleanup_(look_end) struct look look;
	const struct image *img;
	const struct map *map;

	(void)state;
	assert_int_equal(known(1), 2);
	look_at(&look, getpid());
	img = images_find(&look.images, AT);
	map = maps_find(&look.maps, AT);
	assert_non_null(map);
	start = map->start;
	end = map->end;
	offset = map->offset;
	for (size_t i = 0; i < img->build_id_len; i++)
		sprintf(build_id + 2 * i, "%02x", img->build_id[i]);
	return scratch_make("cp $SELF whole && strip -s -o bare $SELF");
}

/*
 * Two stacks, of 1000 and `bytes` bytes. Both begin in the copy `name`. The second one has a caller
 * at the next address, and two outside all images.
 */
static struct profile profile_of(const char *name, const char *facts, unsigned int bytes)
{
	char text[2048];
	struct profile p;
	struct err err = ERR_INIT;
	int len = snprintf(text, sizeof(text),
			   "heap_v2/1\n  t*: 2: 2000 [0: 0]\n"
			   "@ 0x%" PRIxPTR "\n  t*: 1: 1000 [0: 0]\n"
			   "@ 0x%" PRIxPTR " 0x%" PRIxPTR " 0x10 0x0\n  t*: 1: %u [0: 0]\n"
			   "\nMAPPED_LIBRARIES:\n"
			   "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " 00:00 0 %s/%s\n%s",
			   AT, AT, AT + 1, bytes, start, end, offset, folder, name, facts);

	if (profile_parse(&p, text, (size_t)len, NULL, &err))
		fail_msg("%s", said(&err));
	return p;
}

struct warned {
	enum error ids[8];
	struct err last;
	size_t n;
};

static void note(void *ctx, const struct err *warning)
{
	struct warned *w = ctx;

	assert_in_range(w->n, 0, 7);
	w->ids[w->n++] = warning->ids[0];
	w->last = *warning;
}

static struct warned symbolize(struct profile *p, struct ops_symbolize_options o)
{
	struct warned w = { .n = 0 };
	struct err err = ERR_INIT;

	o.on_warning = note;
	o.ctx = &w;
	o.no_cache = true;
	if (ops_symbolize(p, &o, &err))
		fail_msg("%s", said(&err));
	return w;
}

static const char *name_at(const struct profile *p, uint64_t pc)
{
	for (size_t i = 0; i < p->n_addresses; i++)
		if (p->addresses[i].pc == pc) {
			const struct profile_location *l = &p->symbols->locations[i];

			return p->symbols->functions[p->symbols->lines[l->first].function].name;
		}
	return "(none)";
}

static char *id_fact(char buf[128], const char *id)
{
	sprintf(buf, "# build-id %" PRIx64 "-%" PRIx64 " %s\n", start, end, id);
	return buf;
}

static void test_names(void **state)
{
	struct profile p = profile_of("whole", "", 1000);
	struct warned w = symbolize(&p, (struct ops_symbolize_options){ 0 });

	(void)state;
	assert_int_equal(w.n, 0);
	assert_string_equal(name_at(&p, AT), "known");
	assert_string_equal(name_at(&p, AT + 1), "known");
	assert_string_equal(name_at(&p, 0x10), "[0x10]");
	assert_string_equal(name_at(&p, 0), "[0x0]");
	profile_fini(&p);
}

/* Why a file was not used. */
static void test_warnings(void **state)
{
	char own[128], other[128];
	const struct {
		const char *name, *facts;
		int64_t written_ns;
		bool trusted, bare;
		enum error want; /* ERROR_NONE: names are found, without a warning */
	} cases[] = {
		{ "whole", id_fact(own, build_id), 0, false, false, ERROR_NONE },
		{ "nonesuch", own, 0, false, true, ERROR_IMAGE_NOT_FOUND },
		{ "whole", id_fact(other, "0102030405"), 0, false, true,
		  ERROR_IMAGE_OF_OTHER_BUILD },
		{ "whole", "", 1, false, false, ERROR_IMAGE_CHANGED },
		{ "whole", "", 1, true, false, ERROR_NONE },
		{ "whole (deleted)", "", 0, false, false, ERROR_IMAGE_DELETED },
		{ "whole (deleted)", "", 0, true, false, ERROR_NONE },
		{ "whole (deleted)", own, 0, false, false, ERROR_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile p = profile_of(cases[i].name, cases[i].facts, 1000);
		struct warned w;

		p.written_ns = cases[i].written_ns;
		w = symbolize(&p,
			      (struct ops_symbolize_options){ .trust_images = cases[i].trusted });

		if (w.ids[0] != cases[i].want)
			fail_msg("case %zu: %d, not %d", i, w.ids[0], cases[i].want);
		/* A missing file may have debug data elsewhere, by its build ID. */
		if (w.n > 1)
			assert_int_equal(w.ids[1], ERROR_NO_DEBUG_SYMBOLS);
		assert_int_equal(w.n, (cases[i].want != ERROR_NONE) + cases[i].bare);
		if (w.n)
			assert_string_not_equal(name_at(&p, AT), "known");
		else
			assert_string_equal(name_at(&p, AT), "known");
		if (cases[i].want == ERROR_IMAGE_CHANGED)
			assert_int_equal(w.last.fixes[0], FIX_TRUST_IMAGES);
		profile_fini(&p);
	}
}

static void test_replaced(void **state)
{
	struct profile p = profile_of("whole", "", 1000);
	struct warned w;

	(void)state;
	p.mappings[0].inode = 1;
	w = symbolize(&p, (struct ops_symbolize_options){ 0 });
	assert_int_equal(w.n, 1);
	assert_int_equal(w.ids[0], ERROR_IMAGE_REPLACED);
	p.mappings[0].other_inode = 2;
	w = symbolize(&p, (struct ops_symbolize_options){ 0 });
	assert_int_equal(w.ids[0], ERROR_IMAGE_OF_TWO_FILES);
	profile_fini(&p);
}

/* The warning shows the build ID. Stacks that begin in the image must have 5 % of the bytes. */
static void test_bare(void **state)
{
	struct profile p = profile_of("bare", "", 1000);
	char name[64], own[128];
	struct warned w = symbolize(&p, (struct ops_symbolize_options){ 0 });

	(void)state;
	assert_int_equal(w.n, 1);
	assert_int_equal(w.ids[0], ERROR_NO_DEBUG_SYMBOLS);
	assert_int_equal(w.last.fixes[0], FIX_INSTALL_DBGSYM_OR_DEBUGINFOD);
	assert_non_null(strstr(said(&w.last), build_id));
	assert_non_null(strstr(said(&w.last), "100"));
	/* A call is named by the start of its function or, with by_address, by its own address. */
	snprintf(name, sizeof(name), "[bare+0x%" PRIx64 "]", (uintptr_t)known - start + offset);
	assert_string_equal(name_at(&p, AT + 1), name);
	w = symbolize(&p, (struct ops_symbolize_options){ .by_address = true });
	snprintf(name, sizeof(name), "[bare+0x%" PRIx64 "]", AT + 1 - start + offset);
	assert_string_equal(name_at(&p, AT + 1), name);
	p.stacks[0].value[PROFILE_INUSE_SPACE] = 49;
	p.stacks[1].value[PROFILE_INUSE_SPACE] = 951;
	p.stacks[1].first += 2; /* outside all images */
	p.stacks[1].depth = 1;
	w = symbolize(&p, (struct ops_symbolize_options){ 0 });
	assert_int_equal(w.n, 0);
	p.stacks[0].value[PROFILE_INUSE_SPACE] = 51;
	p.stacks[1].value[PROFILE_INUSE_SPACE] = 949;
	w = symbolize(&p, (struct ops_symbolize_options){ 0 });
	assert_int_equal(w.n, 1);
	profile_fini(&p);
	p = profile_of("bare", id_fact(own, build_id), 1000);
	w = symbolize(&p, (struct ops_symbolize_options){ 0 });
	assert_non_null(strstr(said(&w.last), build_id));
	profile_fini(&p);
}

/* A profile without mappings can have no names. */
static void test_no_mappings(void **state)
{
	static const char text[] = "heap_v2/1\n@ 0x1234\n  t*: 1: 8 [0: 0]\n";
	struct profile p;
	struct warned w;
	struct err err;

	(void)state;
	assert_int_equal(profile_parse(&p, text, strlen(text), NULL, &err), 0);
	w = symbolize(&p, (struct ops_symbolize_options){ 0 });
	assert_int_equal(w.n, 1);
	assert_int_equal(w.ids[0], ERROR_NO_MAPPED_LIBRARIES);
	assert_string_equal(name_at(&p, 0x1234), "[0x1234]");
	profile_fini(&p);
}

/* The file is found through the process, regardless of `root`, but only on the same host. */
static void test_process(void **state)
{
	static const char *const hosts[] = { "elsewhere", NULL };
	char facts[512], own[128], path[4096], host[256];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)state;
	assert_true(len > 0);
	path[len] = '\0';
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	id_fact(own, build_id);
	for (size_t i = 0; i < 2; i++) {
		const char *name = hosts[i] ? hosts[i] : host;
		struct profile p;
		struct warned w;

		snprintf(facts, sizeof(facts), "# pid %d\n# host %s\n%s", getpid(), name, own);
		p = profile_of("nonesuch", facts, 1000);
		p.mappings[0].path = path;
		w = symbolize(&p, (struct ops_symbolize_options){ .root = "/nowhere" });
		assert_int_equal(w.ids[0], hosts[i] ? ERROR_IMAGE_NOT_FOUND : ERROR_NONE);
		assert_int_equal(!strcmp(name_at(&p, AT), "known"), !hosts[i]);
		profile_fini(&p);
	}
}

/* If only one profile of a pair has names, the other one is symbolized, too. */
static void test_pair(void **state)
{
	struct profile a = profile_of("whole", "", 1000), b = profile_of("whole", "", 1000);
	const struct ops_symbolize_options o = { .no_cache = true };
	struct err err;

	(void)state;
	assert_int_equal(ops_symbolize_pair(&a, &b, &o, &err), 0);
	assert_null(a.symbols);
	assert_null(b.symbols);
	assert_int_equal(ops_symbolize(&b, &o, &err), 0);
	assert_int_equal(ops_symbolize_pair(&a, &b, &o, &err), 0);
	assert_string_equal(name_at(&a, AT), "known");
	profile_fini(&b);
	b = profile_of("whole", "", 1000);
	assert_int_equal(ops_symbolize_pair(&a, &b, &o, &err), 0);
	assert_string_equal(name_at(&b, AT), "known");
	profile_fini(&a);
	profile_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_replaced), cmocka_unit_test(test_bare),
		cmocka_unit_test(test_process),	 cmocka_unit_test(test_no_mappings),
		cmocka_unit_test(test_pair),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
