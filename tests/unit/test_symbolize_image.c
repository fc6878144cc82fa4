// SPDX-License-Identifier: Apache-2.0
/*
 * Names from copies of this program: unstripped, stripped, and with separate debug data. An address
 * in known() must get its name and line.
 */
#include "symbols/symbolize_image.h"

#include "base/cleanup.h"
#include "symbols/cache.h"

#include <fcntl.h>
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

/* The linker puts it before the functions of other files: places must be in ascending order. */
static __attribute__((noinline)) int known(int n)
{
	__asm__ volatile("");
	return n + 1;
}
enum { KNOWN_LINE = __LINE__ - 4 };

#define PLACE ((uintptr_t)known + 1)

static struct profile_mapping self; /* the mapping of this program's code */
static struct symbolize_id self_id;

/* Copies have their code at the same file offset. */
static int setup(void **state)
{
	_cleanup_(look_end) struct look look;
	const struct image *img;
	const struct map *map;

	(void)state;
	assert_int_equal(known(1), 2);
	look_at(&look, getpid());
	img = images_find(&look.images, PLACE);
	map = maps_find(&look.maps, PLACE);
	assert_non_null(map);
	self = (struct profile_mapping){ .start = map->start,
					 .end = map->end,
					 .offset = map->offset };
	memcpy(self_id.bytes, img->build_id, img->build_id_len);
	self_id.len = img->build_id_len;
	assert_true(self.start && self_id.len == 20);
	return scratch_make(
		"cp $SELF whole && strip -s -o bare $SELF && mkdir -p root/bin && cp whole "
		"root/bin && "
		"objcopy --only-keep-debug $SELF self.debug && "
		"objcopy --add-gnu-debuglink=self.debug bare linked && "
		"objcopy --remove-section=.note.gnu.build-id whole no-id && "
		"echo text >text && : >empty && head -c 3000 whole >cut && mkfifo fifo");
}

/* The copy `name`, as if it were mapped like this program. */
static struct symbolize_image image_of(const char *name, struct profile_mapping *m, char *path)
{
	sprintf(path, "%s/%s", folder, name);
	*m = self;
	m->path = path;
	return (struct symbolize_image){ .mapping = m, .kept = -1 };
}

static struct profile_symbols *names(struct symbolize_image *image, uint64_t place)
{
	struct profile_symbols *found = NULL;
	struct err err;

	assert_int_equal(symbolize_image(image, &place, 1, &found, &err), 0);
	return found;
}

static const struct profile_function *only_function(const struct profile_symbols *s)
{
	assert_int_equal(s->n_locations, 1);
	assert_int_equal(s->locations[0].n, 1);
	return &s->functions[s->lines[s->locations[0].first].function];
}

static void assert_known(const struct profile_symbols *s, bool has_lines)
{
	const struct profile_function *f = only_function(s);

	assert_string_equal(f->name, "known");
	assert_true(f->known);
	assert_in_range(s->lines[s->locations[0].first].line, has_lines ? KNOWN_LINE : 0,
			has_lines ? KNOWN_LINE + 4 : 0);
	if (has_lines)
		assert_non_null(strstr(f->file, "tests/unit/test_symbolize_image.c"));
	else
		assert_null(f->file);
}

static void test_id(void **state)
{
	static const struct {
		const char *hex;
		size_t len;
	} ids[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "00ff", 2 },
		{ "0", 0 },
		{ "00f", 0 },
		{ "00fg", 0 },
		{ "00FF", 0 },
		{ "0x12", 0 },
		{ " 00", 0 },
		{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 32 },
		{ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		struct symbolize_id id = { .len = 7 };

		symbolize_id_of(ids[i].hex, &id);
		assert_int_equal(id.len, ids[i].len);
	}
}

static void test_id_bytes(void **state)
{
	struct symbolize_id id;

	(void)state;
	symbolize_id_of("01ef80", &id);
	assert_int_equal(id.len, 3);
	assert_memory_equal(id.bytes, "\x01\xef\x80", 3);
}

/* Is the file the one that was mapped? */
static const struct {
	const char *name;
	enum { NO_ID, OWN_ID, OTHER_ID } id;
	uint64_t inode; /* added to that of the file; 0: not known */
	int64_t written_ns;
	bool deleted, mixed, trusted;
	enum symbolize_result want;
} proofs[] = {
	{ "whole", OWN_ID, 0, 0, false, false, false, SYMBOLIZE_FOUND },
	{ "whole", OTHER_ID, 0, 0, false, false, false, SYMBOLIZE_OTHER },
	{ "whole", OTHER_ID, 0, 0, false, false, true, SYMBOLIZE_OTHER },
	{ "no-id", OWN_ID, 0, 0, false, false, false, SYMBOLIZE_OTHER },
	{ "whole", NO_ID, 0, 0, false, false, false, SYMBOLIZE_FOUND },
	{ "nonesuch", OWN_ID, 0, 0, false, false, false, SYMBOLIZE_ABSENT },
	{ "text", NO_ID, 0, 0, false, false, false, SYMBOLIZE_ABSENT },
	{ "empty", NO_ID, 0, 0, false, false, false, SYMBOLIZE_ABSENT },
	{ "fifo", NO_ID, 0, 0, false, false, false, SYMBOLIZE_ABSENT },
	/* A matching build ID overrides inodes, times and deletion. */
	{ "whole", OWN_ID, 7, 1, true, true, false, SYMBOLIZE_FOUND },
	{ "whole", NO_ID, 7, 0, false, false, false, SYMBOLIZE_REPLACED },
	{ "whole", NO_ID, UINT64_C(1) << 55, 0, false, false, false, SYMBOLIZE_REPLACED },
	{ "whole", NO_ID, UINT64_C(1) << 56, 0, false, false, false, SYMBOLIZE_FOUND },
	{ "whole", NO_ID, 7, 0, false, false, true, SYMBOLIZE_FOUND },
	{ "whole", NO_ID, 0, 1, false, false, false, SYMBOLIZE_CHANGED },
	{ "whole", NO_ID, 0, INT64_MAX, false, false, false, SYMBOLIZE_FOUND },
	{ "whole", NO_ID, 0, 1, false, false, true, SYMBOLIZE_FOUND },
	{ "whole", NO_ID, 0, 0, true, false, false, SYMBOLIZE_DELETED },
	{ "whole", NO_ID, 0, 0, true, false, true, SYMBOLIZE_FOUND },
	{ "whole", NO_ID, 0, 0, false, true, false, SYMBOLIZE_MIXED },
};

static void test_proof(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(proofs) / sizeof(*proofs); i++) {
		struct profile_mapping m;
		char path[sizeof(folder) + 64];
		struct symbolize_image image = image_of(proofs[i].name, &m, path);
		struct profile_symbols *s;
		struct stat st = { 0 };

		stat(path, &st);
		if (proofs[i].id)
			image.id = self_id;
		image.id.bytes[5] ^= proofs[i].id == OTHER_ID;
		m.inode = proofs[i].inode ? st.st_ino + proofs[i].inode : 0;
		m.other_inode = proofs[i].mixed ? 1 : 0;
		m.deleted = proofs[i].deleted;
		image.trusted = proofs[i].trusted;
		image.written_ns = proofs[i].written_ns;
		s = names(&image, PLACE);
		if (image.result != proofs[i].want)
			fail_msg("case %zu: %d, not %d", i, image.result, proofs[i].want);
		if (image.result == SYMBOLIZE_FOUND)
			assert_known(s, true);
		else
			assert_int_equal(s->locations[0].n, 0);
		if (image.result == SYMBOLIZE_REPLACED)
			assert_int_equal(image.inode, st.st_ino);
		if (image.result == SYMBOLIZE_CHANGED)
			assert_int_equal(image.changed_s, st.st_ctim.tv_sec);
		profile_symbols_free(s);
	}
}

/* Files are only looked up below the given root, or in the root of the process. */
static void test_roots(void **state)
{
	char path[sizeof(folder) + 64], root[sizeof(folder) + 64];
	struct profile_mapping m;
	struct symbolize_image image = image_of("root", &m, path);
	struct profile_symbols *s;

	(void)state;
	snprintf(root, sizeof(root), "%s/root", folder);
	image.root = root;
	m.path = "/bin/whole";
	s = names(&image, PLACE);
	assert_int_equal(image.result, SYMBOLIZE_FOUND);
	assert_known(s, true);
	profile_symbols_free(s);
	snprintf(path, sizeof(path), "%s/whole", folder);
	m.path = path;
	s = names(&image, PLACE);
	assert_int_equal(image.result, SYMBOLIZE_ABSENT);
	profile_symbols_free(s);
	image.pid = getpid();
	s = names(&image, PLACE);
	assert_int_equal(image.result, SYMBOLIZE_FOUND);
	profile_symbols_free(s);
}

/* Without symbols, the start of the function is still known. */
static void test_bare(void **state)
{
	char path[sizeof(folder) + 64];
	struct profile_mapping m;
	struct symbolize_image image = image_of("bare", &m, path);
	struct profile_symbols *s = names(&image, PLACE);

	(void)state;
	assert_int_equal(image.result, SYMBOLIZE_FOUND);
	assert_true(image.bare);
	assert_memory_equal(&image.file_id, &self_id, sizeof(self_id));
	assert_int_equal(s->locations[0].n, 0);
	assert_int_equal(s->locations[0].into, 1);
	profile_symbols_free(s);
}

static void test_linked(void **state)
{
	char path[sizeof(folder) + 64];
	struct profile_mapping m;
	struct symbolize_image image = image_of("linked", &m, path);
	struct profile_symbols *s = names(&image, PLACE);

	(void)state;
	assert_false(image.bare);
	assert_known(s, true);
	profile_symbols_free(s);
}

/* A mapped image is read as mapped, whatever its path is. */
static void test_live(void **state)
{
	_cleanup_(look_end) struct look look;
	char path[sizeof(folder) + 64];
	struct profile_mapping m;
	struct symbolize_image image = image_of("nonesuch", &m, path);
	struct profile_symbols *s;

	(void)state;
	look_at(&look, getpid());
	image.live = &look.images.v[images_find(&look.images, PLACE) - look.images.v];
	s = names(&image, PLACE);
	assert_int_equal(image.result, SYMBOLIZE_FOUND);
	assert_known(s, true);
	profile_symbols_free(s);
}

/* Shared debug data (dwz) is only read from the file with the right build ID. */
static void test_shared(void **state)
{
	static const struct {
		const char *damage;
		bool has_lines;
	} cases[] = {
		{ ":", true },
		{ "mv common hidden", false },
		{ "cp whole common", false },
		{ "echo text >common", false },
		{ "mv hidden common", true },
	};

	(void)state;
	run("cp whole one && cp whole two && dwz -m common -M $PWD/common one two");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char path[sizeof(folder) + 64];
		struct profile_mapping m;
		struct symbolize_image image = image_of("one", &m, path);
		struct profile_symbols *s;

		run(cases[i].damage);
		s = names(&image, PLACE);
		assert_known(s, cases[i].has_lines);
		assert_int_equal(!*image.lacks, cases[i].has_lines);
		assert_false(image.bare);
		profile_symbols_free(s);
	}
}

/* The cache contains names by file offset, in ascending order. */
static void test_kept(void **state)
{
	char path[sizeof(folder) + 64];
	struct profile_mapping m;
	struct symbolize_image image = image_of("whole", &m, path);
	const uint64_t offset = PLACE - self.start + self.offset;
	const uint64_t places[] = { 0, offset, UINT64_MAX - 1 };
	struct profile_symbols *found = NULL;
	struct symbol_cache kept;
	struct err err;

	(void)state;
	m = (struct profile_mapping){ .path = path };
	image.id = self_id;
	image.keeper = true;
	assert_int_equal(symbolize_image(&image, places, 3, &found, &err), 0);
	profile_symbols_free(found);
	assert_int_equal(image.result, SYMBOLIZE_FOUND);
	assert_true(image.kept >= 0);
	assert_true(symbol_cache_read(image.kept, &kept));
	assert_int_equal(kept.n, 1);
	assert_int_equal(kept.offsets[0], offset);
	assert_known(kept.symbols, true);
	symbol_cache_fini(&kept);
	close(image.kept);
	/* Nothing is cached for a file that can be read again just as quickly. */
	image = image_of("bare", &m, path);
	m = (struct profile_mapping){ .path = path };
	image.id = self_id;
	image.keeper = true;
	assert_int_equal(symbolize_image(&image, &offset, 1, &found, &err), 0);
	profile_symbols_free(found);
	assert_int_equal(image.kept, -1);
}

/* Each user has a cache; tests run as root must not use root's. */
static void as_user(bool user)
{
	char cache[sizeof(folder) + 64];

	snprintf(cache, sizeof(cache), "%s/cache", folder);
	setenv("XDG_CACHE_HOME", cache, 1);
	if (!getuid())
		assert_int_equal(seteuid(user ? 65534 : 0), 0);
}

/* Cached names do not require the file; others are looked up in it. */
static void test_cached(void **state)
{
	char path[sizeof(folder) + 64];
	struct profile_mapping m;
	struct symbolize_image image = image_of("whole", &m, path);
	const uint64_t places[] = { PLACE - 1, PLACE, (uintptr_t)symbolize_image + 1 };
	const uint64_t offset = PLACE - self.start + self.offset;
	struct profile_symbols *found = NULL;
	struct err err;
	struct stat st;

	(void)state;
	m = (struct profile_mapping){ .path = path };
	image.id = self_id;
	image.keeper = true;
	assert_int_equal(symbolize_image(&image, &offset, 1, &found, &err), 0);
	profile_symbols_free(found);
	assert_int_equal(fstat(image.kept, &st), 0);
	run("mkdir -m 777 cache && chmod 711 .");
	as_user(true);
	symbol_cache_store(self_id.bytes, self_id.len, image.kept, (uint64_t)st.st_size);
	close(image.kept);
	image = image_of("nonesuch", &m, path);
	image.id = self_id;
	image.use_cache = true;
	assert_int_equal(symbolize_image(&image, places, 3, &found, &err), 0);
	as_user(false);
	assert_int_equal(image.result, SYMBOLIZE_ABSENT);
	assert_int_equal(found->locations[0].n, 0);
	assert_int_equal(found->locations[1].n, 1);
	assert_int_equal(found->locations[2].n, 0);
	assert_int_equal(found->n_functions, 1);
	assert_string_equal(found->functions[0].name, "known");
	profile_symbols_free(found);
	image = image_of("whole", &m, path);
	image.use_cache = true;
	as_user(true);
	assert_int_equal(symbolize_image(&image, places, 3, &found, &err), 0);
	as_user(false);
	assert_int_equal(image.result, SYMBOLIZE_FOUND);
	assert_int_equal(found->locations[1].n, 1);
	assert_int_equal(found->locations[2].n, 1);
	assert_string_equal(found->functions[found->lines[found->locations[2].first].function].name,
			    "symbolize_image");
	profile_symbols_free(found);
}

/* A file that is truncated anywhere yields correct names or none. */
static void test_cut(void **state)
{
	(void)state;
	for (int percent = 0; percent < 100; percent += 3) {
		char path[sizeof(folder) + 64], command[128];
		struct profile_mapping m;
		struct symbolize_image image = image_of("cut", &m, path);
		struct profile_symbols *s;

		snprintf(command, sizeof(command),
			 "head -c $(($(stat -c %%s whole) * %d / 100)) whole >cut", percent);
		run(command);
		s = names(&image, PLACE);
		if (s->locations[0].n)
			assert_string_equal(only_function(s)->name, "known");
		profile_symbols_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_id),    cmocka_unit_test(test_id_bytes),
		cmocka_unit_test(test_proof), cmocka_unit_test(test_roots),
		cmocka_unit_test(test_bare),  cmocka_unit_test(test_linked),
		cmocka_unit_test(test_live),  cmocka_unit_test(test_shared),
		cmocka_unit_test(test_kept),  cmocka_unit_test(test_cached),
		cmocka_unit_test(test_cut),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
