// SPDX-License-Identifier: Apache-2.0
/* The images of this process, read from their files and from memory only. */
#include "elf/image_file.h"

#include "base/cleanup.h"
#include "process/proc.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/look.h"

/* From now on, `img` is read from memory. */
static bool rebuild(struct image *img)
{
	img->file->fd = image_rebuild(img);
	img->file->tried = true;
	img->file->is_rebuilt = img->file->fd >= 0;
	if (img->file->is_rebuilt)
		img->file->elf = image_file_elf(img->file->fd);
	return img->file->elf;
}

struct sum {
	size_t n;
	uint64_t sum;
};

static int add(void *ctx, const char *name, const struct symbol *sym)
{
	struct sum *s = ctx;

	if (!sym->dynamic)
		return 0;
	s->n++;
	s->sum = s->sum * 31 + sym->addr * 7 + sym->size * 3 + sym->type + strlen(name) +
		 (unsigned char)name[0];
	return 0;
}

/* Each dynamic symbol with its address, size and name, in the same order. */
static void test_symbols(void **state)
{
	_cleanup_(look_end) struct look files;
	_cleanup_(look_end) struct look memory;
	size_t seen = 0;

	(void)state;
	look_at(&files, getpid());
	look_at(&memory, getpid());
	for (size_t i = 0; i < files.images.n; i++) {
		struct image *a = &files.images.v[i], *b = &memory.images.v[i];
		struct sum expected = { 0 }, got = { 0 };

		assert_string_equal(a->path, b->path);
		if (!strcmp(a->path, "[vdso]"))
			continue;
		image_each_symbol(a, add, &expected);
		assert_true(rebuild(b));
		image_each_symbol(b, add, &got);
		assert_int_equal(got.n, expected.n);
		assert_int_equal(got.sum, expected.sum);
		assert_true(image_is_stripped(b));
		assert_int_equal(image_may_call(a, "memcpy"), image_may_call(b, "memcpy"));
		seen += got.n;
	}
	assert_true(seen > 1000);
}

/* Where a name has several versions, the one that programs are linked with. */
static void test_version(void **state)
{
	_cleanup_(look_end) struct look files;
	_cleanup_(look_end) struct look memory;
	struct symbol expected, got;

	(void)state;
	look_at(&files, getpid());
	look_at(&memory, getpid());
	assert_true(rebuild(images_by_name(&memory.images, "libc.so")));
	for (const char **name = (const char *[]){ "memcpy", "pthread_cond_wait", "malloc", NULL };
	     *name; name++) {
		assert_true(
			image_symbol(images_by_name(&files.images, "libc.so"), *name, &expected));
		assert_true(image_symbol(images_by_name(&memory.images, "libc.so"), *name, &got));
		assert_int_equal(got.addr, expected.addr);
		assert_int_equal(got.size, expected.size);
	}
}

/* Code, constants and the build id are where the file has them. */
static void test_bytes(void **state)
{
	_cleanup_(look_end) struct look memory;
	unsigned char id[IMAGE_BUILD_ID_MAX];
	struct image *libc;
	uint64_t at;

	(void)state;
	look_at(&memory, getpid());
	libc = images_by_name(&memory.images, "libc.so");
	assert_true(rebuild(libc));
	at = image_search(libc, PF_R, "/bin/sh", 8);
	assert_int_not_equal(at, 0);
	assert_string_equal((const char *)(uintptr_t)at,
			    "/bin/sh"); // NOLINT(performance-no-int-to-ptr)
	assert_int_not_equal(libc->build_id_len, 0);
	assert_int_equal(image_file_build_id(libc->file->fd, id, sizeof(id)), libc->build_id_len);
	assert_memory_equal(id, libc->build_id, libc->build_id_len);
}

/* An image that is missing or invalid gives no file. */
static void test_nothing(void **state)
{
	_cleanup_(look_end) struct look look;
	struct image img;

	(void)state;
	look_at(&look, getpid());
	img = *images_by_name(&look.images, "libc.so");
	img.end = img.start;
	assert_int_equal(image_rebuild(&img), -1);
	img.start = (uintptr_t)state & ~(uintptr_t)4095; /* the stack */
	img.end = img.start + 4096;
	assert_int_equal(image_rebuild(&img), -1);
	img.start = 4096; /* nothing can be mapped here */
	img.end = 8192;
	assert_int_equal(image_rebuild(&img), -1);
}

struct page {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[4];
};

/* An image of one page, with `n` segments of a claimed length. */
static struct image make_page(struct page *page, size_t n, uint64_t filesz)
{
	const struct map map = { 0 };
	struct image img = { .start = (uintptr_t)page,
			     .end = (uintptr_t)page + 4096,
			     .bias = (uintptr_t)page,
			     .file = image_file_new(getpid(), &map) };

	assert_non_null(img.file);
	*page = (struct page){ .eh = { .e_type = ET_DYN,
				       .e_machine = EM_X86_64,
				       .e_version = EV_CURRENT,
				       .e_phoff = sizeof(page->eh),
				       .e_ehsize = sizeof(page->eh),
				       .e_phentsize = sizeof(page->ph[0]),
				       .e_phnum = (Elf64_Half)n } };
	memcpy(page->eh.e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	for (size_t i = 0; i < n; i++)
		page->ph[i] = (Elf64_Phdr){
			.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = filesz, .p_memsz = filesz
		};
	return img;
}

static bool is_rebuilt(size_t n, uint64_t filesz)
{
	struct page *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image img;
	bool ok;

	assert_true(page != MAP_FAILED);
	img = make_page(page, n, filesz);
	ok = rebuild(&img) && !image_search(&img, PF_R, "nonesuch", 8);
	image_close(&img);
	munmap(page, 4096);
	return ok;
}

/* Images of one page that claim to be as long as possible. */
static void test_giant(void **state)
{
	(void)state;
	assert_false(is_rebuilt(1, UINT64_C(1) << 55));
	assert_false(is_rebuilt(1, IMAGE_REBUILT_MAX));
	assert_true(is_rebuilt(1, IMAGE_REBUILT_MAX / 2));
	assert_false(is_rebuilt(4, IMAGE_REBUILT_MAX / 2));
}

/* All rebuilt images together are limited like a single one. */
static void test_many(void **state)
{
	struct page *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct image img;

	(void)state;
	assert_true(page != MAP_FAILED);
	img = make_page(page, 1, IMAGE_REBUILT_MAX / 2);
	assert_true(rebuild(&img));
	assert_false(is_rebuilt(1, IMAGE_REBUILT_MAX / 2));
	assert_true(is_rebuilt(1, IMAGE_REBUILT_MAX / 4));
	image_close(&img);
	assert_true(is_rebuilt(1, IMAGE_REBUILT_MAX / 2));
	munmap(page, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols), cmocka_unit_test(test_version),
		cmocka_unit_test(test_bytes),	cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_giant),	cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
