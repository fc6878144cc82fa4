// SPDX-License-Identifier: Apache-2.0
/* Events made from the kernel's records: kind, file, result. */
#include "base/clock.h"
#include "ops/watch/event.h"
#include "ops/watch/own_dumps.h"
#include "ops/watch/watch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME_ADDR 0x7f0000001000
#define OTHER_ADDR 0x7f0000002000

static struct watch_dump dump;
static struct watch_frames frames = WATCH_FRAMES_INIT;
static struct watch_texts texts;
static struct ops_watch_event event;

static void set_name(const char *name)
{
	strcpy(dump.name, name);
	dump.name_len = (__u32)strlen(name) + 1;
}

/* A successful manual dump by a current jemalloc: prof_dump(tsd, true, name, false). */
static int set_up(void **state)
{
	(void)state;
	memset(&dump, 0, sizeof(dump));
	dump = (struct watch_dump){ .flags = WATCH_RETURNED,
				    .pid = 42,
				    .tid = 43,
				    .cookie = 4 | WATCH_THIRD,
				    .began_ns = 5000000,
				    .ended_ns = 7500000,
				    .process_began_ns = 1000000,
				    .args = { 1, 1, NAME_ADDR, 0 },
				    .opened = NAME_ADDR,
				    .bytes = 1234,
				    .fd = WATCH_FD_CLOSED,
				    .comm = "redis-server" };
	set_name("/tmp/a.heap");
	return 0;
}

static void make(void)
{
	watch_event_make(&dump, NULL, &frames, &texts, &event);
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(watch_kind_by_name("jeprof.42.0.m0.heap"), WATCH_MANUAL);
	assert_int_equal(watch_kind_by_name("/a.b/jeprof.42.17.i3.heap"), WATCH_INTERVAL);
	assert_int_equal(watch_kind_by_name("x.1.2.u12.heap"), WATCH_GDUMP);
	assert_int_equal(watch_kind_by_name("x.1.2.f.heap"), WATCH_FINAL);
	assert_int_equal(watch_kind_by_name("/tmp/.1.2.f.heap"), WATCH_FINAL);
	assert_int_equal(watch_kind_by_name("x.1.2.f3.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name("x.1.2.i.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name("x.1.i3.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name("x.1.b.i3.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name("x.1.2.k3.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name("x.1.2.i3.hea"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name(".heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name("f.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name(""), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_by_name(NULL), WATCH_KIND_UNKNOWN);
}

/* Users may choose any name. If errors are propagated to the caller, the dump is manual. */
static void test_arguments(void **state)
{
	(void)state;
	set_name("/tmp/x.1.2.i3.heap");
	assert_int_equal(watch_kind_of(&dump, dump.name), WATCH_MANUAL);
	dump.args[1] = 0xabcd00; /* false, with garbage in the rest of the register */
	assert_int_equal(watch_kind_of(&dump, dump.name), WATCH_INTERVAL);
	dump.args[3] = 1;
	assert_int_equal(watch_kind_of(&dump, dump.name), WATCH_FINAL);
	dump.args[3] = 0;
	assert_int_equal(watch_kind_of(&dump, "/tmp/a.heap"), WATCH_KIND_UNKNOWN);
	assert_int_equal(watch_kind_of(&dump, "x.1.2.m3.heap"), WATCH_KIND_UNKNOWN);
}

static void test_second_argument(void **state)
{
	(void)state;
	dump.cookie = 4 | WATCH_SECOND;
	dump.args[0] = 1;
	dump.args[1] = NAME_ADDR;
	dump.args[2] = 0;
	assert_int_equal(watch_kind_of(&dump, dump.name), WATCH_MANUAL);
	assert_true(watch_is_confirmed(&dump));
	dump.args[0] = 0;
	dump.args[2] = 1;
	assert_int_equal(watch_kind_of(&dump, dump.name), WATCH_FINAL);
}

/* The compiler may have dropped an argument: the name is the one whose address is opened. */
static void test_unknown_convention(void **state)
{
	(void)state;
	dump.cookie = 4;
	assert_int_equal(watch_convention_of(&dump), WATCH_THIRD);
	assert_true(watch_is_confirmed(&dump));
	dump.args[1] = NAME_ADDR;
	dump.args[2] = 0;
	assert_int_equal(watch_convention_of(&dump), WATCH_SECOND);
	dump.args[1] = OTHER_ADDR;
	assert_int_equal(watch_convention_of(&dump), WATCH_UNKNOWN);
	assert_false(watch_is_confirmed(&dump));
	assert_int_equal(watch_kind_of(&dump, "x.1.2.i3.heap"), WATCH_INTERVAL);
}

static void test_good(void **state)
{
	(void)state;
	make();
	assert_int_equal(event.kind, WATCH_MANUAL);
	assert_string_equal(event.file, "/tmp/a.heap");
	assert_true(event.file_confirmed && event.ok && event.has_bytes && event.probed);
	assert_false(event.by_us);
	assert_null(event.error);
	assert_null(event.host_file);
	assert_int_equal(event.bytes, 1234);
	assert_int_equal(event.duration_us, 2500);
	assert_int_equal(event.since_start_us, 4000);
	assert_int_equal(event.pid, 42);
	assert_int_equal(event.tid, 43);
	assert_string_equal(event.comm, "redis-server");
}

static void test_failed(void **state)
{
	(void)state;
	dump.ret = 0xff01; /* a bool in the lowest byte */
	make();
	assert_false(event.ok);
	assert_non_null(event.error);
	dump.open_error = ENOENT;
	make();
	assert_string_equal(event.error, strerror(ENOENT));
	assert_false(event.has_bytes);
	dump.open_error = 0;
	dump.ret = 0xff00;
	make();
	assert_true(event.ok);
	dump.flags = WATCH_DIED;
	make();
	assert_false(event.ok);
}

static void test_unconfirmed(void **state)
{
	(void)state;
	dump.opened = OTHER_ADDR;
	make();
	assert_false(event.file_confirmed);
	dump.name_len = 0;
	make();
	assert_null(event.file);
}

/* Begin a dump of this process, requested by us. */
static int begin_own(const char *file)
{
	struct proc self;
	struct err err;
	int slot;

	assert_int_equal(proc_open(&self, getpid(), &err), 0);
	slot = own_dump_begin(&self, file);
	assert_true(slot >= 0);
	dump.pid = (__u32)self.pid;
	dump.process_began_ns = self.start_time * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	dump.began_ns = now_boot_ns();
	proc_close(&self);
	return slot;
}

static void test_own(void **state)
{
	int slot;

	(void)state;
	set_name("/proc/thread-self/fd/3");
	dump.flags |= WATCH_MEMORY;
	strcpy(dump.leaf, "memfd:jeprof-ctl:/root/a b.heap");
	make();
	assert_false(event.by_us); /* any process can use this name */
	assert_string_equal(event.file, "/proc/thread-self/fd/3");
	slot = begin_own("/root/a b.heap");
	dump.leaf[sizeof("memfd:jeprof-ctl:/") - 1] = 'x';
	make();
	assert_true(event.by_us);
	assert_string_equal(event.file, "/root/a b.heap"); /* as in our own note */
	dump.pid++;
	make();
	assert_false(event.by_us); /* another process */
	dump.pid--;
	dump.process_began_ns += UINT64_C(60000000000);
	make();
	assert_false(event.by_us); /* another process with the same PID */
	dump.process_began_ns -= UINT64_C(60000000000);
	own_dump_end(slot);
	make();
	assert_true(event.by_us); /* it began during our dump */
	dump.began_ns = now_boot_ns();
	make();
	assert_false(event.by_us); /* it began later */
	slot = begin_own(NULL);
	strcpy(dump.leaf, "memfd:jeprof-ctl");
	make();
	assert_true(event.by_us);
	assert_null(event.file);
	strcpy(dump.leaf, "memfd:jeprof-ctlx:/a");
	make();
	assert_false(event.by_us);
	/* A file with that name in a folder is not ours. */
	strcpy(dump.leaf, "memfd:jeprof-ctl:/a");
	dump.flags &= ~(__u32)WATCH_MEMORY;
	make();
	assert_false(event.by_us);
	assert_string_equal(event.file, "/proc/thread-self/fd/3");
	own_dump_end(slot);
}

static void set_cwd(const char *components, size_t len, unsigned int n)
{
	memcpy(dump.cwd, components, len);
	dump.cwd_len = (__u32)len;
	dump.n_cwd = n;
	dump.flags |= WATCH_CWD_WHOLE;
}

static void test_relative(void **state)
{
	static const char inner_first[] = "data\0redis\0var";
	char buf[256], tiny[8];

	(void)state;
	set_name("a.heap");
	assert_string_equal(watch_event_file(&dump, buf, sizeof(buf)), "a.heap");
	set_cwd("", 0, 0);
	assert_string_equal(watch_event_file(&dump, buf, sizeof(buf)), "/a.heap");
	set_cwd(inner_first, sizeof(inner_first), 3);
	assert_string_equal(watch_event_file(&dump, buf, sizeof(buf)), "/var/redis/data/a.heap");
	assert_string_equal(watch_event_file(&dump, tiny, sizeof(tiny)), "a.heap");
	dump.flags &= ~(__u32)WATCH_CWD_WHOLE;
	assert_string_equal(watch_event_file(&dump, buf, sizeof(buf)), "a.heap");
	/* A count that exceeds the actual components is harmless. */
	set_cwd(inner_first, sizeof(inner_first), 1000);
	assert_string_equal(watch_event_file(&dump, buf, sizeof(buf)), "/var/redis/data/a.heap");
}

static void test_candidates(void **state)
{
	(void)state;
	dump.cookie = 0;
	assert_true(watch_event_is_dump(&dump));
	dump.open_error = EACCES;
	assert_true(watch_event_is_dump(&dump)); /* recognized by its name */
	set_name("/var/run/daemon.pid");
	assert_false(watch_event_is_dump(&dump));
	set_name(".heap");
	assert_true(watch_event_is_dump(&dump));
	set_name("x");
	assert_false(watch_event_is_dump(&dump));
	dump.name_len = 0;
	assert_false(watch_event_is_dump(&dump));
	dump.flags |= WATCH_BY_CREAT;
	assert_true(watch_event_is_dump(&dump));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_names, set_up),
		cmocka_unit_test_setup(test_arguments, set_up),
		cmocka_unit_test_setup(test_second_argument, set_up),
		cmocka_unit_test_setup(test_unknown_convention, set_up),
		cmocka_unit_test_setup(test_good, set_up),
		cmocka_unit_test_setup(test_failed, set_up),
		cmocka_unit_test_setup(test_unconfirmed, set_up),
		cmocka_unit_test_setup(test_own, set_up),
		cmocka_unit_test_setup(test_relative, set_up),
		cmocka_unit_test_setup(test_candidates, set_up),
	};

	char folder[] = "/tmp/test_watch.XXXXXX", path[64];
	int failed;

	if (!mkdtemp(folder))
		return 2;
	setenv("XDG_RUNTIME_DIR", folder, 1); /* root uses /run instead */
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/jeprof-ctl/dumps", folder);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(folder);
	return failed;
}
