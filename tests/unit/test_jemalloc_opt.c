// SPDX-License-Identifier: Apache-2.0
#include "target/jemalloc_opt.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ADDR 0x1000
#define LEN 64

static uint64_t decode(const char *bytes, size_t n, bool *indirect)
{
	unsigned char code[LEN];

	memset(code, 0x90, sizeof(code));
	memcpy(code, bytes, n);
	return jemalloc_opt_decode(code, sizeof(code), ADDR, indirect);
}

static void test_decode(void **state)
{
	bool indirect;

	(void)state;
	/* sub rsp, 24; movzx esi, byte [rip + 0x100] */
	assert_int_equal(decode("\x48\x83\xec\x18\x0f\xb6\x35\x00\x01\x00\x00", 11, &indirect),
			 ADDR + 11 + 0x100);
	assert_false(indirect);
	/* lea rax, [rip - 0x10]; movzx esi, byte [rax] */
	assert_int_equal(decode("\x48\x8d\x05\xf0\xff\xff\xff\x0f\xb6\x30", 10, &indirect),
			 ADDR + 7 - 0x10);
	assert_false(indirect);
	/* mov r8, [rip + 0x20]; movzx r9d, byte [r8] */
	assert_int_equal(decode("\x4c\x8b\x05\x20\x00\x00\x00\x45\x0f\xb6\x08", 11, &indirect),
			 ADDR + 7 + 0x20);
	assert_true(indirect);
}

static void test_undecodable(void **state)
{
	static const unsigned char none[4];
	bool indirect;

	(void)state;
	assert_int_equal(decode("", 0, &indirect), 0);
	assert_int_equal(jemalloc_opt_decode(none, 0, ADDR, &indirect), 0);
	/* lea rax, [rip + 1]; mov [rax], esi */
	assert_int_equal(decode("\x48\x8d\x05\x01\x00\x00\x00\x89\x30", 9, &indirect), 0);
	/* lea rax, [rip + 1]; movzx esi, byte [rax + 8] */
	assert_int_equal(decode("\x48\x8d\x05\x01\x00\x00\x00\x0f\xb6\x70\x08", 11, &indirect), 0);
}

static pid_t sleep_start(const char *conf)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
		setenv("MALLOC_CONF", conf, 1);
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	for (int tries = 0; tries < 2000; tries++) {
		struct proc_syscall sc = { .running = true };
		char exe[256] = "";
		struct err err;

		if (!proc_exe(pid, exe, sizeof(exe), &err) && strstr(exe, "sleep") &&
		    !proc_thread_syscall(pid, pid, &sc, &err) && !sc.running && sc.nr == 230)
			break;
		usleep(1000);
	}
	return pid;
}

/* What opt.prof is in a process started with `conf`; -1 when there is nothing to find it in. */
static int opt_prof_with(const char *conf)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(maps_fini) struct maps maps = { 0 };
	pid_t pid = sleep_start(conf);
	unsigned char value = 77;
	struct err err;
	size_t n = 0;

	if (!proc_open(&p, pid, &err) && !maps_read(&maps, pid, &err) &&
	    !images_read(&images, pid, &maps, &err))
		(void)!jemalloc_find(&p, &images, &found, &n, &err);
	if (n == 1 && found->config_prof == TRI_YES)
		assert_int_equal(proc_read(pid, jemalloc_opt_prof(found, pid), &value,
					   sizeof(value), &err),
				 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return n == 1 && found->config_prof == TRI_YES ? value : -1;
}

/* On a library without private symbols, as distributions ship it. */
static void test_live(void **state)
{
	(void)state;
#if defined(__x86_64__)
	int on = opt_prof_with("prof:true,prof_active:false");

	if (on < 0)
		skip();
	assert_int_equal(on, 1);
	assert_int_equal(opt_prof_with("prof:false"), 0);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_undecodable),
		cmocka_unit_test(test_live),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
