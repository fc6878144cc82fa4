// SPDX-License-Identifier: Apache-2.0
/* Copies of this program with compressed debug data, which is decompressed again. */
#include "elf/image_debug.h"

#include "base/cleanup.h"
#include "elf/image_file.h"

#include <fcntl.h>
#include <gelf.h>
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

#include "tests/unit/scratch.h"

static int setup(void **state)
{
	(void)state;
	if (scratch_make("objcopy --decompress-debug-sections $SELF plain && "
			 "objcopy --compress-debug-sections=zlib plain packed && "
			 "objcopy --compress-debug-sections=zlib-gnu plain old"))
		return -1;
	return setenv("TMPDIR", folder, 1);
}

struct file {
	int fd, plain_fd;
	Elf *elf, *plain;
};

static struct file open_file(const char *name)
{
	char path[sizeof(folder) + 64];
	struct file f = { .plain_fd = -1 };

	elf_version(EV_CURRENT);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f.fd = open(path, O_RDWR | O_CLOEXEC);
	f.elf = image_file_elf(f.fd);
	assert_non_null(f.elf);
	return f;
}

static void close_file(struct file *f)
{
	elf_end(f->plain);
	elf_end(f->elf);
	cleanup_close(&f->plain_fd);
	close(f->fd);
}

static Elf_Scn *section(Elf *elf, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		assert_non_null(gelf_getshdr(scn, sh));
		if (!strcmp(elf_strptr(elf, names, sh->sh_name), name))
			return scn;
	}
	return NULL;
}

static void same_bytes(Elf *a, Elf *b, const char *name)
{
	GElf_Shdr sh;
	Elf_Data *x = elf_rawdata(section(a, name, &sh), NULL);
	Elf_Data *y = elf_rawdata(section(b, name, &sh), NULL);

	assert_non_null(x);
	assert_non_null(y);
	assert_int_equal(sh.sh_flags & SHF_COMPRESSED, 0);
	assert_true(x->d_size > 0);
	assert_int_equal(x->d_size, y->d_size);
	assert_memory_equal(x->d_buf, y->d_buf, x->d_size);
}

static size_t n_files(void)
{
	char line[sizeof(folder) + 64];
	size_t n = 0;
	FILE *ls;

	snprintf(line, sizeof(line), "ls -A %s | wc -l", folder);
	ls = popen(line, "r");
	assert_int_equal(fscanf(ls, "%zu", &n), 1);
	pclose(ls);
	return n;
}

static void test_unpacked(void **state)
{
	static const char *const names[] = { ".debug_info", ".debug_abbrev", ".debug_line",
					     ".debug_str", ".debug_line_str" };
	_cleanup_(close_file) struct file before = open_file("plain"), f = open_file("packed");
	size_t n = n_files();
	struct stat st;
	GElf_Shdr sh;

	(void)state;
	f.plain = image_plain(f.elf, f.fd, &f.plain_fd);
	assert_non_null(f.plain);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		/* .debug_line_str is new in DWARF 5. */
		if (strcmp(names[i], ".debug_line_str") != 0 || section(before.elf, names[i], &sh))
			same_bytes(f.plain, before.elf, names[i]);
	}
	/* Sections that are not needed exist by name only. */
	assert_non_null(section(f.plain, ".text", &sh));
	assert_int_equal(sh.sh_type, SHT_NOBITS);
	assert_int_equal(fstat(f.plain_fd, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(n_files(), n);
}

static void no_copy(struct file *f)
{
	assert_null(image_plain(f->elf, f->fd, &f->plain_fd));
	assert_int_equal(f->plain_fd, -1);
}

static void test_nothing_packed(void **state)
{
	_cleanup_(close_file) struct file plain = open_file("plain"), old = open_file("old");

	(void)state;
	no_copy(&plain);
	no_copy(&old);
}

static void test_no_folder(void **state)
{
	_cleanup_(close_file) struct file f = open_file("packed");

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	no_copy(&f);
	setenv("TMPDIR", folder, 1);
}

/* Writes a wrong value into the compressed .debug_info; the rest of the file is unchanged. */
static void lie(const char *name, size_t field, uint64_t value)
{
	_cleanup_(close_file) struct file f = { .fd = -1, .plain_fd = -1 };
	char line[64];
	GElf_Shdr sh;

	snprintf(line, sizeof(line), "cp packed %s", name);
	run(line);
	f = open_file(name);
	assert_non_null(section(f.elf, ".debug_info", &sh));
	assert_int_equal(pwrite(f.fd, &value, sizeof(value), (off_t)(sh.sh_offset + field)),
			 sizeof(value));
}

static void test_lies(void **state)
{
	static const struct {
		const char *name;
		size_t field;
		uint64_t value;
	} lies[] = {
		{ "shorter", offsetof(Elf64_Chdr, ch_size), 64 },
		{ "longer", offsetof(Elf64_Chdr, ch_size), 64u << 20 },
		{ "endless", offsetof(Elf64_Chdr, ch_size), UINT64_MAX },
		{ "giant", offsetof(Elf64_Chdr, ch_size), UINT64_C(1) << 40 },
		{ "noise", sizeof(Elf64_Chdr) + 200, UINT64_C(0x5a5a5a5a5a5a5a5a) },
		{ "headless", sizeof(Elf64_Chdr), 0 },
	};
	size_t n = n_files() + sizeof(lies) / sizeof(*lies);

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		_cleanup_(close_file) struct file f = { .fd = -1, .plain_fd = -1 };

		lie(lies[i].name, lies[i].field, lies[i].value);
		f = open_file(lies[i].name);
		no_copy(&f);
	}
	assert_int_equal(n_files(), n);
}

/* The file was truncated after its headers were read, so its sections are gone. */
static void test_cut_short(void **state)
{
	_cleanup_(close_file) struct file f = open_file("packed");

	(void)state;
	close(f.fd);
	f.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	no_copy(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unpacked),  cmocka_unit_test(test_nothing_packed),
		cmocka_unit_test(test_no_folder), cmocka_unit_test(test_lies),
		cmocka_unit_test(test_cut_short),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
