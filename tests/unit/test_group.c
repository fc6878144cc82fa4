// SPDX-License-Identifier: Apache-2.0
/* Control groups of guarded processes: folders of the test, with files like those of the kernel. */
#include "ops/guard/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "process/cgroup.h"
#include "tests/unit/said.h"
#include "tests/unit/scratch.h"

#define MIB (UINT64_C(1) << 20)
#define MACHINE_PRESSURE "/proc/pressure/memory"

/* The group of each process. Process 0 has none, and "outer" is the parent of the others. */
enum { NOWHERE, IN_A, IN_A_TOO, IN_B, IN_BARE, PIDS };
static const char *const in[PIDS] = { NULL, "outer/a", "outer/a", "outer/b", "outer/bare" };

bool __wrap_cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx);
bool __wrap_cgroup_each(pid_t pid, const char *controller, cgroup_fn *fn, void *ctx)
{
	char path[128];

	assert_string_equal(controller, "memory");
	if (!in[pid])
		return true;
	snprintf(path, sizeof(path), "%s/%s", folder, in[pid]);
	fn(ctx, path);
	*strrchr(path, '/') = '\0';
	fn(ctx, path);
	return true;
}

static struct limit machine = { .limit = 8000 * MIB, .used = 100 * MIB };

bool __wrap_limit_of_machine(struct limit *out);
bool __wrap_limit_of_machine(struct limit *out)
{
	*out = machine;
	return machine.limit;
}

/* The machine's pressure is a file in the test's folder. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	char here[128];

	if (!strcmp(path, MACHINE_PRESSURE)) {
		snprintf(here, sizeof(here), "%s/machine", folder);
		path = here;
	}
	return __real_open(path, flags, 0);
}

/* Some kernels only accept multiples of a window (Linux 6.5, without CAP_SYS_RESOURCE). */
static uint64_t window_us = 1;

ssize_t __real_write(int fd, const void *text, size_t len);
ssize_t __wrap_write(int fd, const void *text, size_t len);
ssize_t __wrap_write(int fd, const void *text, size_t len)
{
	uint64_t window;

	if (sscanf(text, "some %*u %" SCNu64, &window) == 1 && window % window_us) {
		errno = EINVAL;
		return -1;
	}
	return __real_write(fd, text, len);
}

/* --- rules and groups --- */

enum { LEVEL, PSI, LONG_PSI, HIGH, MAX, EVERY, RULES };
static const struct guard_rule rules[RULES] = {
	[LEVEL] = { .kind = GUARD_LEVEL },
	[PSI] = { .kind = GUARD_PSI, .stall_us = 150000, .window_us = 1000000 },
	[LONG_PSI] = { .kind = GUARD_PSI, .stall_us = 10000000, .window_us = 10000000 },
	[HIGH] = { .kind = GUARD_EVENT, .event = GUARD_HIGH },
	[MAX] = { .kind = GUARD_EVENT, .event = GUARD_MAX },
	[EVERY] = { .kind = GUARD_EVERY },
};

static struct groups groups;
static struct group *limit, *own;
static size_t open_before;

static size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void take(pid_t pid)
{
	struct err err = ERR_INIT;

	if (groups_take(&groups, pid, &limit, &own, &err))
		fail_msg("%s", said(&err));
}

static void is_folder(const struct group *group, const char *name)
{
	if (!name)
		assert_null(group->folder);
	else if (strcmp(group->folder + strlen(folder) + 1, name) != 0)
		fail_msg("%s is not %s", group->folder, name);
}

static int begin(void **state)
{
	(void)state;
	run("rm -rf outer machine; mkdir -p outer/a outer/b outer/bare; : >machine; "
	    "for g in a b; do cd outer/$g; echo 104857600 >memory.max; "
	    "echo max >memory.high; echo 1048576 >memory.current; : >memory.pressure; "
	    "printf 'anon 0\\ninactive_file 4096\\n' >memory.stat; "
	    "printf 'low 0\\nhigh 5\\nmax 7\\noom 0\\noom_kill 0\\n' >memory.events; cd ../..; "
	    "done");
	open_before = count_fds();
	groups = (struct groups){ .rules = rules, .n_rules = RULES };
	return 0;
}

/* Every descriptor that was opened is closed. */
static int end(void **state)
{
	(void)state;
	groups_fini(&groups);
	assert_int_equal(groups.n, 0);
	assert_int_equal(count_fds(), open_before);
	return 0;
}

/* --- the groups of a process --- */

static void test_the_same(void **state)
{
	struct group *first;

	(void)state;
	take(IN_A);
	first = limit;
	is_folder(limit, "outer/a");
	assert_ptr_equal(own, limit);
	assert_int_equal(first->users, 2);
	take(IN_A_TOO);
	assert_true(limit == first && own == first);
	assert_int_equal(first->users, 4);
	take(IN_B);
	assert_ptr_not_equal(limit, first);
	is_folder(limit, "outer/b");
	assert_int_equal(groups.n, 2);
	assert_int_equal(first->limit.limit, 0); /* not read yet */
}

/* The limit may be that of another group than the process's own. */
static void test_outer_limit(void **state)
{
	(void)state;
	run("cp outer/b/memory.* outer; echo 2097152 >outer/memory.max");
	take(IN_A);
	is_folder(limit, "outer");
	is_folder(own, "outer/a");
	assert_int_equal(groups.n, 2);
	/* The nearest group with pressure. */
	take(IN_BARE);
	is_folder(limit, "outer");
	assert_ptr_equal(own, limit);
	assert_int_equal(limit->users, 3);
	assert_int_equal(groups.n, 2);
}

/* Without a limit, or without groups, the machine is used. */
static void test_machine(void **state)
{
	struct group *of_machine;

	(void)state;
	take(NOWHERE);
	of_machine = limit;
	is_folder(limit, NULL);
	assert_ptr_equal(own, limit);
	take(IN_BARE);
	assert_true(limit == of_machine && own == of_machine);
	run("echo max >outer/a/memory.max");
	take(IN_A);
	assert_ptr_equal(limit, of_machine);
	is_folder(own, "outer/a");
	assert_true(group_read(of_machine));
	assert_int_equal(of_machine->limit.limit, 8000 * MIB);
	machine.limit = 0;
	assert_false(group_read(of_machine));
	machine.limit = 8000 * MIB;
	/* memory.high is a limit as well. */
	run("echo 52428800 >outer/a/memory.high");
	take(IN_A);
	is_folder(limit, "outer/a");
}

static void test_given_back(void **state)
{
	struct group *a[2], *b[2], *none[2];

	(void)state;
	take(IN_A);
	a[0] = limit, a[1] = own;
	take(NOWHERE);
	none[0] = limit, none[1] = own;
	take(IN_B);
	b[0] = limit, b[1] = own;
	assert_int_equal(groups.n, 3);
	groups_give(&groups, a[0]);
	assert_int_equal(groups.n, 3);
	assert_true(group_sees(a[1], PSI));
	groups_give(&groups, a[1]);
	assert_int_equal(groups.n, 2);
	groups_give(&groups, NULL);
	/* The others still exist, and are found. */
	take(IN_B);
	assert_true(limit == b[0] && own == b[1]);
	take(NOWHERE);
	assert_true(limit == none[0] && own == none[1]);
	for (int i = 0; i < 2; i++) {
		groups_give(&groups, b[0]);
		groups_give(&groups, b[1]);
		groups_give(&groups, none[0]);
		groups_give(&groups, none[1]);
	}
	assert_int_equal(groups.n, 0);
	assert_int_equal(count_fds(), open_before);
	/* A group that returns is a new one. */
	take(IN_A);
	assert_int_equal(limit->users, 2);
	assert_false(limit->memory[LEVEL].fired);
}

static void test_limit_anew(void **state)
{
	(void)state;
	take(IN_A);
	assert_true(group_read(limit));
	assert_int_equal(limit->limit.limit, 100 * MIB);
	assert_int_equal(limit->limit.used, MIB);
	assert_int_equal(limit_working_set(&limit->limit), MIB - 4096);
	run("echo 2097152 >outer/a/memory.current; echo 3145728 >outer/a/memory.high");
	assert_true(group_read(limit));
	assert_int_equal(limit->limit.limit, 3 * MIB);
	assert_int_equal(limit->limit.used, 2 * MIB);
	run("echo max >outer/a/memory.max; echo max >outer/a/memory.high");
	assert_false(group_read(limit));
	run("rm -r outer/a");
	assert_false(group_read(limit));
	assert_int_equal(limit->limit.limit, 3 * MIB);
}

/* --- pressure and events --- */

static void test_seen(void **state)
{
	(void)state;
	take(IN_A);
	for (size_t i = 0; i < RULES; i++)
		assert_int_equal(group_sees(limit, i), i != LEVEL && i != EVERY);
	/* A group of version 1 reports nothing. */
	run("rm outer/b/memory.events outer/b/memory.pressure");
	take(IN_B);
	for (size_t i = 0; i < RULES; i++)
		assert_false(group_sees(limit, i));
	is_folder(limit, "outer/b");
	/* The machine reports pressure, but no events. */
	assert_null(own->folder);
	assert_true(group_sees(own, PSI) && !group_sees(own, HIGH));
	groups_give(&groups, own);
	run("rm machine");
	take(NOWHERE);
	assert_false(group_sees(own, PSI));
}

/* The trigger that is written for the kernel, including its '\0'. Each rule has its own. */
static void test_pressure(void **state)
{
	static const char *const asked[] = {
		[PSI] = "some 150000 1000000",
		[LONG_PSI] = "some 10000000 10000000",
	};
	char text[64];

	(void)state;
	for (size_t i = PSI; i <= LONG_PSI; i++) {
		groups = (struct groups){ .rules = &rules[i], .n_rules = 1 };
		take(IN_A);
		assert_int_equal(pread(own->fds[0], text, sizeof(text), 0), strlen(asked[i]) + 1);
		assert_string_equal(text, asked[i]);
		take(NOWHERE);
		assert_int_equal(pread(own->fds[0], text, sizeof(text), 0), strlen(asked[i]) + 1);
		assert_string_equal(text, asked[i]);
		groups_fini(&groups);
	}
	groups = (struct groups){ .rules = rules, .n_rules = RULES };
	take(IN_A);
	assert_true(own->fds[PSI] != own->fds[LONG_PSI]);
}

/* Where the kernel requires it, windows are longer, with stalls in proportion. */
static void test_windows(void **state)
{
	static const struct {
		struct guard_rule rule;
		const char *asked;
	} rows[] = {
		{ { .kind = GUARD_PSI, .stall_us = 150000, .window_us = 1000000 },
		  "some 300000 2000000" },
		{ { .kind = GUARD_PSI, .stall_us = 1000, .window_us = 500000 },
		  "some 4000 2000000" },
		{ { .kind = GUARD_PSI, .stall_us = 5000, .window_us = 4000000 },
		  "some 5000 4000000" },
		{ { .kind = GUARD_PSI, .stall_us = 9000000, .window_us = 9000000 },
		  "some 10000000 10000000" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		run(": >outer/a/memory.pressure");
		groups = (struct groups){ .rules = &rows[i].rule, .n_rules = 1 };
		window_us = 2000000;
		take(IN_A);
		window_us = 1;
		assert_int_equal(pread(own->fds[0], text, sizeof(text), 0),
				 strlen(rows[i].asked) + 1);
		assert_string_equal(text, rows[i].asked);
		groups_fini(&groups);
	}
	/* The kernel accepts none of the windows. */
	groups = (struct groups){ .rules = &rows[0].rule, .n_rules = 1 };
	window_us = 7000000;
	take(IN_A);
	window_us = 1;
	assert_false(group_sees(own, 0));
}

static void test_pressure_told(void **state)
{
	(void)state;
	take(IN_A);
	assert_true(group_told(own, &rules[PSI], PSI, POLLPRI));
	assert_true(group_sees(own, PSI));
	/* The group is gone, or pressure was turned off: nothing more is reported. */
	assert_false(group_told(own, &rules[PSI], PSI, POLLPRI | POLLERR));
	assert_false(group_sees(own, PSI));
	assert_true(group_sees(own, LONG_PSI));
}

/* Every change of the file is reported, but only the count of the rule's own event matters. */
static void test_events_told(void **state)
{
	const short came = POLLPRI | POLLERR;

	(void)state;
	take(IN_A);
	assert_int_equal(limit->counts[HIGH], 5);
	assert_int_equal(limit->counts[MAX], 7);
	assert_false(group_told(limit, &rules[HIGH], HIGH, came));
	run("printf 'low 0\\nhigh 6\\nmax 7\\n' >outer/a/memory.events");
	assert_true(group_told(limit, &rules[HIGH], HIGH, came));
	assert_false(group_told(limit, &rules[HIGH], HIGH, came));
	assert_false(group_told(limit, &rules[MAX], MAX, came));
	run("printf 'high 18446744073709551615\\nmax 8\\n' >outer/a/memory.events");
	assert_true(group_told(limit, &rules[MAX], MAX, came));
	assert_true(group_told(limit, &rules[HIGH], HIGH, came));
	assert_false(group_told(limit, &rules[HIGH], HIGH, came));
	/* A lower count, or a missing one, is not an event. */
	run("printf 'high 3\\nmax 8\\n' >outer/a/memory.events");
	assert_false(group_told(limit, &rules[HIGH], HIGH, came));
	run("printf 'low 9\\nhigher 9\\n' >outer/a/memory.events");
	assert_false(group_told(limit, &rules[HIGH], HIGH, came));
	assert_true(group_sees(limit, HIGH));
}

/* The files of a removed group read as empty. */
static void test_gone(void **state)
{
	(void)state;
	take(IN_A);
	run("cd outer/b && : >memory.events");
	take(IN_B);
	assert_false(group_sees(limit, HIGH));
	take(IN_A);
	run("printf '' >outer/a/memory.events; rm -r outer/a");
	assert_false(group_told(limit, &rules[HIGH], HIGH, POLLPRI | POLLERR));
	assert_false(group_sees(limit, HIGH));
	assert_true(group_sees(limit, MAX));
	assert_false(group_told(limit, &rules[MAX], MAX, POLLPRI | POLLERR));
	assert_false(group_sees(limit, MAX));
	assert_false(group_read(limit));
	/* A new group has the same name, and is watched. */
	run("cp -r outer/b outer/a; printf 'high 1\\nmax 1\\n' >outer/a/memory.events");
	take(IN_A_TOO);
	assert_true(group_sees(limit, HIGH) && group_sees(limit, MAX));
	assert_int_equal(limit->counts[HIGH], 1);
	run("printf 'high 2\\nmax 1\\n' >outer/a/memory.events");
	assert_true(group_told(limit, &rules[HIGH], HIGH, POLLPRI | POLLERR));
}

static int setup(void **state)
{
	(void)state;
	return scratch_make(":");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_same),	TEST(test_outer_limit), TEST(test_machine),
		TEST(test_given_back),	TEST(test_limit_anew),	TEST(test_seen),
		TEST(test_pressure),	TEST(test_windows),	TEST(test_pressure_told),
		TEST(test_events_told), TEST(test_gone),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
