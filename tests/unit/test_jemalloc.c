// SPDX-License-Identifier: Apache-2.0
/*
 * To a reader of its symbols, this program looks like jemalloc: it has functions with jemalloc's
 * names, in two places, and its texts.
 */
#include "jemalloc/jemalloc.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"

#define HASH "54eaed1d8b56b1aa528be3bdd1877e59c56fa90c"
#define PRELOADED "libjemalloc.so.2"

/* clang-format off */
__asm__(".macro fake_function name\n"
	"\t.type \\name, @function\n"
	"\\name: nop\n\tnop\n"
	"\t.size \\name, . - \\name\n"
	".endm\n"
	".pushsection .text.fake_hot, \"ax\", @progbits\n"
	"\tfake_function app_before\n"
	".irp a, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n"
	".irp b, 0, 1, 2, 3, 4, 5, 6\n"
	"\tfake_function je_hot_\\a\\b\n"
	".endr\n.endr\n"
	"\tfake_function app_between\n"
	"\t.globl arena_reached, arena_of_the_program, __arena_of_libc\n"
	"\t.type je_calls, @function\nje_calls: call arena_reached\n"
	"\tcall __arena_of_libc\n\tcall app_static\n\tret\n\t.size je_calls, . - je_calls\n"
	"\t.type arena_reached, @function\n"
	"arena_reached: jmp arena_next\n\t.size arena_reached, . - arena_reached\n"
	"\t.globl arena_next\n\tfake_function arena_next\n"
	"\tfake_function arena_of_the_program\n"
	"\tfake_function __arena_of_libc\n"
	"\tfake_function app_static\n"
	"\t.globl fake_mallctl, fake_malloc_stats_print\n"
	"\tfake_function fake_mallctl\n"
	"\tfake_function fake_malloc_stats_print\n"
	"\tfake_function je_hot_last\n"
	"\tfake_function app_1\n\tfake_function app_2\n\tfake_function app_3\n"
	"\tfake_function app_4\n\tfake_function app_5\n"
	".popsection\n"
	".pushsection .text.unlikely.fake_cold, \"ax\", @progbits\n"
	".irp a, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n"
	"\tfake_function je_cold_\\a\n"
	".endr\n"
	".popsection\n"
	/* A sanitizer's variable would be larger. */
	".pushsection .data\n"
	"\t.globl fake_je_opt_prof\n\t.type fake_je_opt_prof, @object\n"
	"fake_je_opt_prof: .byte 1\n\t.size fake_je_opt_prof, 1\n"
	".popsection\n");
/* clang-format on */

extern const char fake_mallctl[], fake_malloc_stats_print[];
extern const bool fake_je_opt_prof;
const char *fake_malloc_message = "%s: <jemalloc>: no message";
static const char *const texts[] = { ("5.3.0-0-g" HASH), "6.0.0-1-gnothex", "heap_v2/%lu",
				     "FAKE_MALLOC_CONF" };

struct look {
	struct proc proc;
	struct maps maps;
	struct images images;
	struct jemalloc *found;
	size_t n;
	struct err err;
	int ret;
};

static void look_end(struct look *look)
{
	free(look->found);
	images_fini(&look->images);
	maps_fini(&look->maps);
	proc_close(&look->proc);
}

static void look_at(struct look *look, pid_t pid)
{
	*look = (struct look){ 0 };
	assert_int_equal(proc_open(&look->proc, pid, &look->err), 0);
	assert_int_equal(maps_read(&look->maps, pid, &look->err), 0);
	assert_int_equal(images_read(&look->images, pid, &look->maps, &look->err), 0);
	look->ret = jemalloc_find(&look->proc, &look->images, &look->found, &look->n, &look->err);
}

static uint64_t address_of(struct look *look, const char *name)
{
	struct symbol sym = { 0 };

	assert_true(image_symbol(look->found[0].image, name, &sym));
	return sym.addr;
}

static bool covers(struct look *look, uint64_t addr)
{
	_cleanup_(jemalloc_text_fini) struct jemalloc_text text = { 0 };

	assert_int_equal(jemalloc_text(&text, look->found, look->proc.mm_pid, &look->err), 0);
	assert_true(text.whole);
	return jemalloc_text_has(&text, addr);
}

static void test_static(void **state)
{
	_cleanup_(look_end) struct look look;
	struct jemalloc *je;

	(void)state;
	look_at(&look, getpid());
	assert_int_equal(look.ret, 0);
	je = &look.found[0];
	assert_int_equal(je->linkage, LINKAGE_STATIC);
	assert_string_equal(je->prefix, "fake_");
	assert_int_equal(je->mallctl, (uintptr_t)fake_mallctl);
	assert_int_equal(je->malloc_stats_print, (uintptr_t)fake_malloc_stats_print);
	assert_int_equal(je->malloc_message, (uintptr_t)&fake_malloc_message);
	assert_int_equal(je->opt[OPT_PROF], 0);
	jemalloc_find_opts(&look.found[0], getpid());
	assert_int_equal(je->opt[OPT_PROF], (uintptr_t)&fake_je_opt_prof);
	assert_string_equal(je->version, texts[0]);
	assert_int_equal(je->config_prof, TRI_YES);
	assert_string_equal(jemalloc_conf_name(je), texts[3]);
}

/*
 * All functions of jemalloc, found by name and by what they call, wherever they are, but none of
 * the program's: its main() is on every stack.
 */
static void test_text(void **state)
{
	static const char *const inside[] = {
		"je_hot_00",	"je_hot_96",   "je_calls",  "arena_reached", "arena_next",
		"fake_mallctl", "je_hot_last", "je_cold_0", "je_cold_9",
	};
	static const char *const outside[] = {
		"app_before",	   "app_between", "app_static", "arena_of_the_program",
		"__arena_of_libc", "app_2",	  "app_5",	"main",
		"test_text",	   "_start",
	};
	_cleanup_(look_end) struct look look;

	(void)state;
	look_at(&look, getpid());
	assert_int_equal(look.ret, 0);
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		assert_true(covers(&look, address_of(&look, inside[i])));
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_false(covers(&look, address_of(&look, outside[i])));
}

/* Starts a program with or without LD_PRELOAD, and returns when it is asleep. */
static pid_t sleep_start(const char *preload)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unsetenv("LD_PRELOAD");
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	wait_until_asleep(pid);
	return pid;
}

static void sleep_end(const pid_t *pid)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
}

static void test_preload(void **state)
{
	_cleanup_(sleep_end) pid_t pid = sleep_start(PRELOADED);
	_cleanup_(look_end) struct look look;
	struct jemalloc *je;

	(void)state;
	look_at(&look, pid);
	if (look.ret && !images_by_name(&look.images, PRELOADED))
		skip();
	assert_int_equal(look.ret, 0);
	assert_int_equal(look.n, 1);
	je = &look.found[0];
	assert_int_equal(je->linkage, LINKAGE_PRELOAD);
	assert_string_equal(je->prefix, "");
	assert_true(je->mallctl > je->image->start && je->mallctl < je->image->end);
	assert_true(je->malloc_stats_print != 0);
	assert_true(jemalloc_version_cmp(je->version, 3, 6, 0) >= 0);
	assert_true(covers(&look, je->mallctl));
}

static void test_none(void **state)
{
	_cleanup_(sleep_end) pid_t pid = sleep_start(NULL);
	_cleanup_(look_end) struct look look;

	(void)state;
	look_at(&look, pid);
	assert_int_equal(look.ret, -1);
	assert_int_equal(look.err.code, ERR_NOJEMALLOC);
	assert_null(look.found);
	assert_int_equal(look.err.fixes[0], FIX_PRELOAD_JEMALLOC);
}

static void test_version_cmp(void **state)
{
	(void)state;
	assert_int_equal(jemalloc_version_cmp("5.3.0-0-g" HASH, 5, 3, 0), 0);
	assert_int_equal(jemalloc_version_cmp("5.2.1-0-g" HASH, 5, 3, 0), -1);
	assert_int_equal(jemalloc_version_cmp("5.3.1", 5, 3, 0), 1);
	assert_int_equal(jemalloc_version_cmp("4.5.0", 5, 0, 0), -1);
	assert_int_equal(jemalloc_version_cmp("", 5, 3, 1), 1);
	assert_int_equal(jemalloc_version_cmp("0.0.0-0-g0", 5, 3, 1), 1);
}

static void test_names(void **state)
{
	struct jemalloc je = { .prefix = "_rjem_" };

	(void)state;
	assert_string_equal(jemalloc_conf_name(&je), "_RJEM_MALLOC_CONF");
	je.prefix[0] = '\0';
	/* The name is kept once it is found. */
	assert_string_equal(jemalloc_conf_name(&je), "_RJEM_MALLOC_CONF");
	je.conf_name[0] = '\0';
	assert_string_equal(jemalloc_conf_name(&je), "MALLOC_CONF");
	assert_string_equal(jemalloc_linkage_name(LINKAGE_SHARED), "shared");
	assert_string_equal(jemalloc_linkage_name(LINKAGE_STATIC), "static");
	assert_string_equal(jemalloc_linkage_name(LINKAGE_PRELOAD), "preload");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static),	    cmocka_unit_test(test_text),
		cmocka_unit_test(test_preload),	    cmocka_unit_test(test_none),
		cmocka_unit_test(test_version_cmp), cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
