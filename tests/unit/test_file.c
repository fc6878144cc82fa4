// SPDX-License-Identifier: Apache-2.0
/* A library is examined through its file, even if this process maps something else. */
#include "jemalloc/file.h"

#include "base/cleanup.h"

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
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"

#define PRELOADED "libjemalloc.so.2"
#define NOP 0x90

static void close_file(struct jemalloc_file **file)
{
	jemalloc_file_free(*file);
}

static void end_child(const pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
}

/* A program with the library preloaded. */
static pid_t start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_PRELOAD", PRELOADED, 1);
		execlp("sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	return pid;
}

/* A mapping with code from the file of that name, or NULL. */
static const struct map *code_of(const struct maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->n; i++)
		if ((maps->v[i].prot & MAP_X) && strstr(maps->v[i].path, name))
			return &maps->v[i];
	return NULL;
}

/* The library's code, once all libraries are loaded. */
static const struct map *wait_for(struct maps *maps, pid_t pid)
{
	const struct map *m;
	struct err err;

	wait_until_asleep(pid);
	assert_int_equal(maps_read(maps, pid, &err), 0);
	m = code_of(maps, PRELOADED);
	assert_non_null(m);
	return m;
}

/* The mapping of this process that holds `addr`. */
static const struct map *map_of(struct maps *maps, uint64_t addr)
{
	const struct map *m;
	struct err err;

	assert_int_equal(maps_read(maps, getpid(), &err), 0);
	m = maps_find(maps, addr);
	assert_non_null(m);
	return m;
}

static enum jemalloc_file_holds look(pid_t pid, const struct map *m, bool probes,
				     struct jemalloc_file **file)
{
	const struct jemalloc_file_look l = {
		.pid = pid, .map = m, .dumps = probes, .events = probes
	};
	struct stat st;

	return jemalloc_file_read(file, &l, &st);
}

/* The file offset of the code at `addr` in the mapping `m`, after an endbr64. */
static uint64_t probe_of(pid_t pid, const struct map *m, uint64_t addr)
{
	uint32_t code;
	struct err err;

	assert_int_equal(proc_read(pid, addr, &code, sizeof(code), &err), 0);
	return addr - m->start + m->offset + (code == 0xfa1e0ff3 ? 4 : 0);
}

static struct jemalloc_file *as_message(const struct jemalloc_file *file)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct jemalloc_file *out = NULL;
	struct unpack u;

	jemalloc_file_pack(JEMALLOC_FILE_SOME, file, &p);
	u = (struct unpack){ p.v, p.v + p.len, false };
	assert_int_equal(jemalloc_file_unpack(&out, &u), JEMALLOC_FILE_SOME);
	return out;
}

/* The place to probe te_event_trigger, also in a message. It is unknown unless it was requested. */
static void check_event(pid_t pid, const struct map *m, const struct jemalloc_file *file,
			const struct jemalloc_event *shown)
{
	_cleanup_(close_file) struct jemalloc_file *told = as_message(file), *unasked = NULL;
	struct jemalloc_file_event event = jemalloc_file_event(file, 0);

	assert_true(event.known);
	assert_int_equal(event.offset, probe_of(pid, m, shown->te_event_trigger));
	assert_true(jemalloc_file_event(told, 0).known);
	assert_int_equal(jemalloc_file_event(told, 0).offset, event.offset);
	assert_int_equal(look(pid, m, false, &unasked), JEMALLOC_FILE_SOME);
	assert_false(jemalloc_file_event(unasked, 0).known);
	assert_false(jemalloc_file_dump(unasked, 0).known);
}

/* The file gives the same results as the process. */
static void test_library(void **state)
{
	_cleanup_(end_child) pid_t pid = start();
	_cleanup_(close_file) struct jemalloc_file *file = NULL;
	_cleanup_(maps_fini) struct maps maps = { 0 };
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(proc_close) struct proc proc = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *shown = NULL;
	const struct map *m = wait_for(&maps, pid);
	struct jemalloc_file_dump dump;
	struct jemalloc_dump shown_dump;
	struct jemalloc_event event;
	struct jemalloc je;
	struct err err;
	size_t n;

	(void)state;
	assert_int_equal(proc_open(&proc, pid, &err), 0);
	assert_int_equal(images_read(&images, pid, &maps, &err), 0);
	assert_int_equal(jemalloc_find(&proc, &images, &shown, &n, &err), 0);
	jemalloc_find_opts(&shown[0], pid);
	assert_int_equal(look(pid, m, true, &file), JEMALLOC_FILE_SOME);
	assert_int_equal(jemalloc_file_count(file), 1);
	assert_true(jemalloc_file_is_loaded(file, &maps, m));
	assert_true(jemalloc_file_only(file, m, &je));
	assert_int_equal(je.mallctl, shown[0].mallctl);
	assert_int_equal(je.malloc_stats_print, shown[0].malloc_stats_print);
	assert_int_equal(je.malloc_message, shown[0].malloc_message);
	assert_int_equal(je.prof_active, shown[0].prof_active);
	assert_memory_equal(je.opt, shown[0].opt, sizeof(je.opt));
	assert_int_not_equal(je.opt[OPT_PROF], 0);
	assert_string_equal(je.version, shown[0].version);
	assert_int_equal(je.config_prof, TRI_YES);
	dump = jemalloc_file_dump(file, 0);
	assert_true(dump.may_dump);
	assert_true(jemalloc_find_prof_dump(&shown[0], &proc, &shown_dump));
	assert_true(dump.known);
	assert_int_equal(dump.offset, probe_of(pid, m, shown_dump.prof_dump));
	assert_int_equal(dump.file_arg, shown_dump.file_arg);
	jemalloc_find_event(&shown[0], &proc, &event);
	if (jemalloc_version_cmp(je.version, 5, 3, 0) >= 0)
		check_event(pid, m, file, &event);
	assert_int_equal(jemalloc_linkage_in(pid, m->path, false), LINKAGE_PRELOAD);
	assert_int_equal(jemalloc_linkage_in(pid, m->path, true), LINKAGE_STATIC);
	assert_int_equal(jemalloc_linkage_in(getpid(), m->path, false), LINKAGE_SHARED);
}

/* A mapped copy of the library, with no-ops instead of `n` bytes of code at `offset`. */
static const struct map *without_code(struct maps *maps, const char *library, uint64_t offset,
				      size_t n)
{
	char path[] = "/tmp/jeprof-ctl-test.XXXXXX";
	_cleanup_(cleanup_close) int fd = mkostemp(path, O_CLOEXEC);
	_cleanup_(cleanup_close) int from = open(library, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	unlink(path);
	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(fd, from, NULL, (size_t)st.st_size), st.st_size);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	memset(bytes + offset, NOP, n);
	maps_fini(maps);
	return map_of(maps, (uintptr_t)bytes);
}

/*
 * te_event_trigger starts by reading its arguments. If the most frequently called function that
 * reads the variable does not, it is another function.
 */
static void test_other_code(void **state)
{
	static const size_t lost[] = { 0, 48 };
	_cleanup_(end_child) pid_t pid = start();
	_cleanup_(close_file) struct jemalloc_file *file = NULL;
	_cleanup_(maps_fini) struct maps maps = { 0 }, other = { 0 };
	const struct map *m = wait_for(&maps, pid);
	struct jemalloc_file_event event;

	(void)state;
	assert_int_equal(look(pid, m, true, &file), JEMALLOC_FILE_SOME);
	event = jemalloc_file_event(file, 0);
	if (!event.known)
		skip();
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		_cleanup_(close_file) struct jemalloc_file *copy = NULL;
		const struct map *c = without_code(&other, m->path, event.offset, lost[i]);

		assert_int_equal(look(getpid(), c, true, &copy), JEMALLOC_FILE_SOME);
		assert_int_equal(jemalloc_file_event(copy, 0).known, !lost[i]);
		assert_true(jemalloc_file_dump(copy, 0).known);
	}
}

/* Without its header, or with only one page: the file gives the same result, but is not loaded. */
static void test_shown_otherwise(void **state)
{
	_cleanup_(end_child) pid_t pid = start();
	_cleanup_(close_file) struct jemalloc_file *whole = NULL, *page = NULL;
	_cleanup_(maps_fini) struct maps maps = { 0 };
	const struct map *m = wait_for(&maps, pid);
	_cleanup_(cleanup_close) int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	const size_t room = 16 << 20; /* no data where the library's would be */
	char *free = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *bytes;

	(void)state;
	assert_ptr_not_equal(free, MAP_FAILED);
	bytes = mmap(free, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		     0);
	assert_ptr_equal(bytes, free);
	memset(bytes, 0, 64);
	maps_fini(&maps);
	m = map_of(&maps, (uintptr_t)bytes);
	assert_int_equal(look(getpid(), m, false, &whole), JEMALLOC_FILE_SOME);
	assert_false(jemalloc_file_is_loaded(whole, &maps, m));
	munmap(bytes + 4096, 65536 - 4096);
	maps_fini(&maps);
	m = map_of(&maps, (uintptr_t)bytes);
	assert_int_equal(look(getpid(), m, false, &page), JEMALLOC_FILE_SOME);
	munmap(free, room);
}

static void test_none(void **state)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct jemalloc_file *file = NULL;
	const struct map gone = { .start = 4096, .end = 8192, .path = "/no/such/file" };

	(void)state;
	assert_int_equal(look(getpid(), map_of(&maps, (uintptr_t)getpid), false, &file),
			 JEMALLOC_FILE_NONE);
	assert_int_equal(look(getpid(), &gone, false, &file), JEMALLOC_FILE_UNKNOWN);
	assert_null(file);
}

/* A malformed ELF file is inconclusive. Other files contain no jemalloc. */
static void test_made_up(void **state)
{
	static const unsigned char magic[16] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
	char path[] = "/tmp/jeprof-ctl-test.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	(void)state;
	for (int elf = 0; elf < 2; elf++) {
		_cleanup_(maps_fini) struct maps maps = { 0 };
		struct jemalloc_file *file = NULL;
		void *bytes;

		assert_int_equal(ftruncate(fd, 4096), 0);
		bytes = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(bytes, MAP_FAILED);
		assert_int_equal(look(getpid(), map_of(&maps, (uintptr_t)bytes), false, &file),
				 elf ? JEMALLOC_FILE_UNKNOWN : JEMALLOC_FILE_NONE);
		assert_int_equal(pwrite(fd, magic, sizeof(magic), 0), sizeof(magic));
		munmap(bytes, 4096);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library),		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_shown_otherwise), cmocka_unit_test(test_none),
		cmocka_unit_test(test_made_up),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
