// SPDX-License-Identifier: Apache-2.0
/* The bytes of a call in the target, which is this program, and how the target may change them. */
#include "injector/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned char memory[ARGS_MAX];
static struct proc self;
static struct injector inj;
static struct tracer t = { .inj = &inj };

static uint64_t at(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int setup(void **state)
{
	(void)state;
	self.pid = self.mm_pid = getpid();
	inj.p = &self;
	inj.cs.mallctl = 0x1000;
	inj.cs.stats_print = 0x2000;
	inj.cs.has_errno = true;
	t.mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	return t.mem < 0;
}

/* Write the call to memory, as the tracer does. */
static void build(struct call_args *a, const struct call *call, const char *path)
{
	struct err err = ERR_INIT;

	assert_int_equal(call_args_build(a, &inj.cs, call, path, at(memory), &err), 0);
	assert_true(a->len <= sizeof(memory));
	memcpy(memory, a->bytes, a->len);
}

static void returns(const struct call_args *a, uint64_t value)
{
	memcpy(memory + (a->result - a->addr), &value, sizeof(value));
}

static void *place(const struct call_args *a, size_t arg)
{
	assert_in_range(a->args[arg], a->addr, a->addr + a->len - 1);
	return memory + (a->args[arg] - a->addr);
}

static int collect(const struct call_args *a, const struct call *call, struct shared_call *out,
		   bool *go_on, struct err *err)
{
	*err = (struct err)ERR_INIT;
	memset(out, 0, sizeof(*out));
	return call_args_collect(&t, a, call, at(&errno), out, go_on, err);
}

static void test_read(void **state)
{
	uint64_t old = 0, wanted = 42;
	const struct call call = { .name = "epoch", .old = &old, .old_len = sizeof(old) };
	struct shared_call out;
	struct call_args a;
	struct err err;
	bool go_on;

	(void)state;
	build(&a, &call, NULL);
	assert_int_equal(a.fn, 0x1000);
	assert_string_equal(place(&a, 0), "epoch");
	memcpy(place(&a, 1), &wanted, sizeof(wanted));
	/* No result yet: the function was not called. */
	assert_int_equal(collect(&a, &call, &out, &go_on, &err), -1);
	assert_int_equal(err.ids[0], ERROR_CALL_WITHOUT_RESULT);
	assert_false(out.made);
	returns(&a, 0);
	/* The target may claim any length; only the requested one counts. */
	memset(place(&a, 2), 0xff, sizeof(uint64_t));
	assert_int_equal(collect(&a, &call, &out, &go_on, &err), 0);
	assert_true(out.made && go_on);
	assert_int_equal(out.old_len, sizeof(wanted));
	assert_memory_equal(out.old, &wanted, sizeof(wanted));
}

static void test_bool(void **state)
{
	const bool expected = true;
	bool old;
	const struct call call = {
		.name = "opt.prof", .old = &old, .old_len = 1, .expect = &expected
	};
	struct shared_call out;
	struct call_args a;
	struct err err;
	bool go_on;

	(void)state;
	build(&a, &call, NULL);
	returns(&a, 0);
	memset(place(&a, 1), 0x80, 1);
	assert_int_equal(collect(&a, &call, &out, &go_on, &err), 0);
	assert_true(out.old[0] == 1 && go_on);
	memset(place(&a, 1), 0, 1);
	assert_int_equal(collect(&a, &call, &out, &go_on, &err), 0);
	assert_true(out.old[0] == 0 && !go_on);
}

static void test_failure(void **state)
{
	struct call call = { .name = "none" };
	struct shared_call out;
	struct call_args a;
	struct err err;
	bool go_on;

	(void)state;
	build(&a, &call, NULL);
	returns(&a, 0xffffffff00000000 | ENOENT);
	errno = EFAULT;
	inj.cs.errno_offset = 0;
	assert_int_equal(collect(&a, &call, &out, &go_on, &err), 0);
	assert_int_equal(out.ret, ENOENT); /* an int: the upper half is undefined */
	assert_true(out.made && !go_on);
	call.flags = CALL_KEEP_GOING;
	assert_int_equal(collect(&a, &call, &out, &go_on, &err), 0);
	assert_true(go_on);
}

/* The target supplies the address of a string. It may be null, unmapped, or lack a terminator. */
static void test_text(void **state)
{
	static char endless[2 * TEXT_MAX];
	const char *old;
	const struct call call = {
		.name = "version", .flags = CALL_OLD_STRING, .old = &old, .old_len = 100
	};
	const struct {
		uint64_t addr;
		int ret;
		size_t len;
	} cases[] = {
		{ at("5.3.0"), 0, 6 },
		{ 0, 0, 1 },
		{ at(endless), 0, TEXT_MAX },
		{ at(endless + sizeof(endless) - 1), 0, 1 },
		{ 8, -1, 0 },
		{ UINT64_MAX, -1, 0 },
		{ UINT64_C(1) << 63, -1, 0 },
	};
	struct shared_call out;
	struct call_args a;
	struct err err;
	bool go_on;

	(void)state;
	memset(endless, 'x', sizeof(endless) - 1);
	build(&a, &call, NULL);
	returns(&a, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memcpy(place(&a, 1), &cases[i].addr, sizeof(cases[i].addr));
		assert_int_equal(collect(&a, &call, &out, &go_on, &err), cases[i].ret);
		if (cases[i].ret)
			continue;
		assert_int_equal(out.old_len, cases[i].len);
		assert_int_equal(strlen(out.old), cases[i].len - 1);
	}
}

/* Writing a value, or a pointer to a string. Both have a maximum length. */
static void test_write(void **state)
{
	static char value[CALL_VALUE_MAX + 1], path[TEXT_MAX + 1];
	struct call call = { .name = "prof.active", .new = value, .new_len = CALL_VALUE_MAX };
	uint64_t text;
	struct err err = ERR_INIT;
	struct call_args a;

	(void)state;
	memset(value, 7, sizeof(value));
	memset(path, 'p', sizeof(path) - 1);
	build(&a, &call, NULL);
	assert_memory_equal(place(&a, 3), value, CALL_VALUE_MAX);
	assert_int_equal(a.args[4], CALL_VALUE_MAX);
	assert_int_equal(a.args[1], 0);
	call.new_len++;
	assert_int_equal(call_args_build(&a, &inj.cs, &call, NULL, at(memory), &err), -1);

	call = (struct call){ .name = "prof.dump", .flags = CALL_MEMFD, .fd = -1 };
	assert_int_equal(call_args_build(&a, &inj.cs, &call, path, at(memory), &err), -1);
	path[TEXT_MAX - 1] = '\0';
	build(&a, &call, path);
	memcpy(&text, place(&a, 3), sizeof(text));
	assert_in_range(text, a.addr, a.addr + a.len - TEXT_MAX);
	assert_string_equal((const char *)memory + (text - a.addr), path);
	assert_int_equal(a.args[4], sizeof(text));

	call = (struct call){ .name = "J", .flags = CALL_STATS, .fd = -1 };
	build(&a, &call, NULL);
	assert_int_equal(a.fn, 0x2000);
	assert_true(!a.args[0] && !a.args[1]);
	assert_string_equal(place(&a, 2), "J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),	cmocka_unit_test(test_bool),
		cmocka_unit_test(test_failure), cmocka_unit_test(test_text),
		cmocka_unit_test(test_write),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
