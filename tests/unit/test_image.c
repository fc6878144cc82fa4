// SPDX-License-Identifier: Apache-2.0
#include "elf/image.h"
#include "process/proc.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"

#include "tests/unit/look.h"

#define SELF_MAX (64u << 20)

static const char mark[] = "an unlikely text: 7f3c19aa";

static struct image *main_of(struct look *look)
{
	for (size_t i = 0; i < look->images.n; i++)
		if (look->images.v[i].is_main)
			return &look->images.v[i];
	return NULL;
}

static void test_self(void **state)
{
	_cleanup_(look_end) struct look look;
	const struct image *prog;

	(void)state;
	look_at(&look, getpid());
	prog = main_of(&look);
	assert_non_null(prog);
	assert_non_null(strstr(prog->path, "test_image"));
	assert_ptr_equal(images_find(&look.images, (uintptr_t)test_self), prog);
	assert_ptr_equal(images_find(&look.images, (uintptr_t)mark), prog);
	assert_int_equal(prog->elf_class, ELFCLASS64);
	assert_true(prog->has_interp);
	assert_false(prog->is_deleted);
	assert_true(prog->build_id_len == 20 || prog->build_id_len == 0);
	assert_true(prog->eh_frame_hdr > prog->start && prog->eh_frame_hdr < prog->end);
	assert_true(prog->n_exec >= 1);
	assert_true(prog->exec[0].start <= (uintptr_t)test_self);
	assert_null(images_find(&look.images, 0));
	assert_null(images_find(&look.images, UINT64_MAX));
	for (size_t i = 1; i < look.images.n; i++)
		assert_true(look.images.v[i - 1].end <= look.images.v[i].start);
}

static void test_symbols(void **state)
{
	_cleanup_(look_end) struct look look;
	struct image *libc, *vdso;
	struct symbol sym;

	(void)state;
	look_at(&look, getpid());
	assert_true(image_symbol(main_of(&look), "test_symbols", &sym));
	assert_int_equal(sym.addr, (uintptr_t)test_symbols);
	assert_int_equal(sym.type, STT_FUNC);
	assert_false(sym.dynamic);
	libc = images_by_name(&look.images, "libc.so");
	assert_non_null(libc);
	assert_true(image_symbol(libc, "getopt_long", &sym));
	assert_int_equal(sym.addr, (uintptr_t)dlsym(RTLD_NEXT, "getopt_long"));
	assert_true(sym.dynamic);
	assert_false(image_symbol(libc, "no_such_function_here", &sym));
	assert_true(image_may_name(libc, "getopt_long"));
	assert_true(image_may_name(libc, "opt_lon"));
	assert_false(image_may_name(libc, "no_such_function_here"));
	assert_null(images_by_name(&look.images, "libnonesuch"));
	vdso = images_by_name(&look.images, "[vdso]");
	assert_non_null(vdso);
	assert_true(image_symbol(vdso, "__vdso_clock_gettime", &sym));
}

/* Of several versions of a symbol, the default one is found. */
static void test_default_version(void **state)
{
	_cleanup_(look_end) struct look look;
	void *old = dlvsym(RTLD_DEFAULT, "pthread_cond_init", "GLIBC_2.2.5");
	void *new = dlvsym(RTLD_DEFAULT, "pthread_cond_init", "GLIBC_2.3.2");
	struct symbol sym;

	(void)state;
	if (!old || !new || old == new)
		skip();
	look_at(&look, getpid());
	assert_true(
		image_symbol(images_by_name(&look.images, "libc.so"), "pthread_cond_init", &sym));
	assert_int_equal(sym.addr, (uintptr_t) new);
}

static int count_any(void *ctx, const char *name, const struct symbol *sym)
{
	(void)name;
	(void)sym;
	return ++*(int *)ctx == 10 ? 42 : 0;
}

static int count(void *ctx, const char *name, const struct symbol *sym)
{
	assert_null(strchr(name, '@'));
	return count_any(ctx, name, sym);
}

static void test_each(void **state)
{
	_cleanup_(look_end) struct look look;
	int n = 0;

	(void)state;
	look_at(&look, getpid());
	assert_int_equal(image_each_symbol(main_of(&look), count, &n), 42);
	assert_int_equal(n, 10);
}

/* Checks the source file that the symbol table names for a local symbol. */
static int check_file(void *ctx, const char *name, const struct symbol *sym)
{
	(void)ctx;
	if (!strcmp(name, "main"))
		assert_null(sym->file);
	return !strcmp(name, "check_file") && !strcmp(sym->file, "test_image.c");
}

static void test_file(void **state)
{
	_cleanup_(look_end) struct look look;
	struct symbol sym;

	(void)state;
	look_at(&look, getpid());
	assert_int_equal(image_each_symbol(main_of(&look), check_file, NULL), 1);
	assert_true(image_symbol(main_of(&look), "check_file", &sym));
	assert_null(sym.file);
}

static void test_search(void **state)
{
	_cleanup_(look_end) struct look look;
	struct image *prog;
	char absent[sizeof(mark)];

	(void)state;
	look_at(&look, getpid());
	prog = main_of(&look);
	assert_int_equal(image_search(prog, PF_R, mark, sizeof(mark)), (uintptr_t)mark);
	for (size_t i = 0; i < sizeof(mark); i++)
		absent[i] = (char)(mark[i] ^ 0x55);
	assert_int_equal(image_search(prog, PF_R, absent, sizeof(absent)), 0);
}

/* Finds bytes anywhere, even across two of the windows in which a file is read. */
static void test_search_long(void **state)
{
	enum { LEN = 60000, STEP = 50000 };
	_cleanup_(look_end) struct look look;
	struct image *libc;

	(void)state;
	look_at(&look, getpid());
	libc = images_by_name(&look.images, "libc.so");
	assert_non_null(libc);
	for (uint64_t at = libc->exec[0].start; at + LEN + STEP < libc->exec[0].end; at += STEP)
		assert_int_equal(image_search(libc, PF_X, (const void *)(uintptr_t)at, LEN), at);
}

/* A loaded library is distinguished from a file mapped for reading, whatever follows it. */
static void test_loaded(void **state)
{
	const size_t room = 32 << 20;
	char *at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_cleanup_(look_end) struct look look;
	Dl_info info;
	size_t size;
	int fd;

	(void)state;
	assert_true(at != MAP_FAILED && dladdr(strlen, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	size = (size_t)lseek(fd, 0, SEEK_END);
	assert_ptr_equal(mmap(at, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0), at);
	look_at(&look, getpid());
	assert_non_null(images_find(&look.images, (uintptr_t)at));
	for (size_t i = 0; i < look.images.n; i++)
		assert_int_equal(look.images.v[i].is_loaded,
				 look.images.v[i].start != (uintptr_t)at);
	munmap(at, room);
	close(fd);
}

static void test_gone(void **state)
{
	struct maps none = { 0 };
	struct images images = { .n = 77 };
	struct err err;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(images_read(&images, pid, &none, &err), -1);
	assert_int_equal(err.code, ERR_LOST);
	assert_int_equal(images.n, 77);
}

/* A running program whose file was deleted is still read, through its mapping or exe. */
static void test_deleted(void **state)
{
	char path[] = "/tmp/test_image.XXXXXX", command[128];
	_cleanup_(look_end) struct look look;
	int fd = mkstemp(path);
	pid_t pid;

	(void)state;
	close(fd);
	snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 700 %s", path, path);
	assert_int_equal(system(command), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "100", NULL);
		_exit(1);
	}
	wait_until_asleep(pid);
	unlink(path);
	look_at(&look, pid);
	assert_non_null(main_of(&look));
	assert_true(main_of(&look)->is_deleted);
	assert_int_not_equal(image_search(main_of(&look), PF_R, "sleep", 5), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Maps the bytes as executable, from a file of their own. */
static void *map_bytes(const void *bytes, size_t len)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	void *addr;

	assert_int_equal(write(fd, bytes, len), len);
	addr = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(addr != MAP_FAILED);
	return addr;
}

/* Queries everything about an image, whatever its file contains. */
static void ask_everything(struct image *img)
{
	struct symbol sym;
	int n = -1000000;

	image_symbol(img, "nonesuch", &sym);
	image_each_symbol(img, count_any, &n);
	image_search(img, PF_R, "nonesuch", 8);
}

/* An image with 32-bit addresses, for i386 or the x32 ABI. */
static void ask_class32(unsigned int machine)
{
	struct {
		Elf32_Ehdr eh;
		Elf32_Phdr ph;
		char rest[4096];
	} file = { .eh = { .e_type = ET_EXEC,
			   .e_machine = (Elf32_Half)machine,
			   .e_version = EV_CURRENT,
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1 },
		   .ph = { .p_type = PT_LOAD,
			   .p_filesz = 4096,
			   .p_memsz = 4096,
			   .p_flags = PF_R | PF_X } };
	_cleanup_(look_end) struct look look;
	struct image *img;
	void *addr;

	memcpy(file.eh.e_ident, ELFMAG, SELFMAG);
	file.eh.e_ident[EI_CLASS] = ELFCLASS32;
	file.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	file.eh.e_ident[EI_VERSION] = EV_CURRENT;
	addr = map_bytes(&file, sizeof(file));
	look_at(&look, getpid());
	img = images_by_name(&look.images, "memfd:hostile");
	assert_non_null(img);
	assert_int_equal(img->elf_class, ELFCLASS32);
	assert_int_equal(img->machine, machine);
	assert_int_equal(img->start, (uintptr_t)addr);
	assert_true(img->is_deleted);
	ask_everything(img);
	munmap(addr, sizeof(file));
}

static void test_class32(void **state)
{
	(void)state;
	ask_class32(EM_386);
	ask_class32(EM_X86_64);
}

static size_t read_self(char **bytes)
{
	FILE *f = fopen("/proc/self/exe", "re");
	size_t len;

	*bytes = malloc(SELF_MAX);
	len = fread(*bytes, 1, SELF_MAX, f);
	fclose(f);
	return len;
}

static void ask_bytes(const char *bytes, size_t len)
{
	_cleanup_(look_end) struct look look;
	void *addr = map_bytes(bytes, len);
	struct image *img;

	look_at(&look, getpid());
	img = images_by_name(&look.images, "memfd:hostile");
	if (img)
		ask_everything(img);
	munmap(addr, len);
}

/* Truncated anywhere: in small steps within the headers, in larger ones behind them. */
static void test_truncated(void **state)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	size_t len = read_self(&bytes);

	(void)state;
	for (size_t cut = 1; cut < 256; cut += 3)
		ask_bytes(bytes, cut);
	for (size_t i = 1; i < 100; i++)
		ask_bytes(bytes, len / 100 * i);
}

static void test_absurd_sections(void **state)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	size_t len = read_self(&bytes);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)bytes, good = *eh;
	static const uint64_t values[] = { 0, 1, 0x7fffffff, UINT32_MAX, INT64_MAX, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		eh->e_shnum = (uint16_t)values[i];
		ask_bytes(bytes, len);
		*eh = good;
		eh->e_shoff = values[i];
		ask_bytes(bytes, len);
		*eh = good;
		eh->e_phnum = (uint16_t)values[i];
		ask_bytes(bytes, len);
		*eh = good;
		eh->e_phoff = values[i];
		ask_bytes(bytes, len);
		*eh = good;
	}
}

/* Each field of each section header that describes symbols or names, one at a time. */
static void test_absurd_tables(void **state)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	size_t len = read_self(&bytes);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)bytes;
	static const uint64_t values[] = { 0, 1, 7, UINT32_MAX, INT64_MAX, UINT64_MAX };

	(void)state;
	for (unsigned int i = 0; i < eh->e_shnum; i++) {
		Elf64_Shdr *sh = (Elf64_Shdr *)(bytes + eh->e_shoff) + i, good = *sh;

		if (sh->sh_type != SHT_SYMTAB && sh->sh_type != SHT_DYNSYM &&
		    sh->sh_type != SHT_STRTAB && sh->sh_type != SHT_GNU_versym)
			continue;
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			sh->sh_offset = values[k];
			ask_bytes(bytes, len);
			*sh = good;
			sh->sh_size = values[k];
			ask_bytes(bytes, len);
			*sh = good;
			sh->sh_entsize = values[k];
			ask_bytes(bytes, len);
			*sh = good;
			sh->sh_link = (uint32_t)values[k];
			ask_bytes(bytes, len);
			*sh = good;
			sh->sh_flags = values[k];
			ask_bytes(bytes, len);
			*sh = good;
		}
	}
}

/* Reproducible noise in the program and section headers. */
static void test_noise(void **state)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	size_t len = read_self(&bytes);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)bytes;
	size_t areas[2][2] = { { 16, sizeof(*eh) + 14 * sizeof(Elf64_Phdr) },
			       { eh->e_shoff, len } };
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		const size_t *area = areas[round % 2];
		size_t at = area[0] + (size_t)rand_r(&seed) % (area[1] - area[0]);
		char good = bytes[at];

		bytes[at] = (char)rand_r(&seed);
		ask_bytes(bytes, len);
		bytes[at] = good;
	}
}

/* A path that leads to something other than a regular file must not block. */
static void test_not_regular(void **state)
{
	_cleanup_(look_end) struct look look;
	char dir[] = "/tmp/test_image.XXXXXX", path[64];
	_cleanup_(cleanup_free) char *bytes = NULL;
	size_t len = read_self(&bytes);
	struct image *img;
	void *addr;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/turned", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	assert_int_equal(write(fd, bytes, len), len);
	addr = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	look_at(&look, getpid());
	munmap(addr, len); /* no map_files entry any more: only the name is left */
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	img = images_by_name(&look.images, "turned");
	assert_non_null(img);
	ask_everything(img);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_default_version),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_long),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_class32),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_absurd_sections),
		cmocka_unit_test(test_absurd_tables),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_not_regular),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
