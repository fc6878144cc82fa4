// SPDX-License-Identifier: Apache-2.0
/*
 * Stripped copies of this program, with their symbols elsewhere. Each is mapped into this process,
 * which then inspects itself.
 */
#include "elf/image_debug.h"

#include "base/cleanup.h"
#include "elf/image.h"
#include "sandbox/debuginfod.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/scratch.h"

struct look {
	struct maps maps;
	struct images images;
	struct image *img; /* the copy */
	void *addr;
	size_t len;
};

static void look_end(struct look *look)
{
	images_fini(&look->images);
	maps_fini(&look->maps);
	munmap(look->addr, look->len);
}

static void look_at(struct look *look, const char *name)
{
	char path[sizeof(folder) + 64];
	struct stat st;
	struct err err;
	int fd;

	*look = (struct look){ 0 };
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	look->len = (size_t)st.st_size;
	look->addr = mmap(NULL, look->len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(look->addr != MAP_FAILED);
	close(fd);
	assert_int_equal(maps_read(&look->maps, getpid(), &err), 0);
	assert_int_equal(images_read(&look->images, getpid(), &look->maps, &err), 0);
	look->img = images_by_name(&look->images, name);
	assert_non_null(look->img);
}

static int setup(void **state)
{
	(void)state;
	return scratch_make(
		"strip -s -o bare $SELF && objcopy --only-keep-debug $SELF whole.debug &&"
		"objcopy -S --keep-symbol=test_debugdata whole.debug mini && xz -k mini &&"
		"objcopy --add-section .gnu_debugdata=mini.xz bare mini-inside");
}

/* The copy has the function at the same offset from the start of the image as this program. */
static void has_symbol(struct look *look, const char *name, const void *address)
{
	const struct image *self = images_find(&look->images, (uintptr_t)address);
	struct symbol sym;

	assert_non_null(self);
	assert_true(image_symbol(look->img, name, &sym));
	assert_int_equal(sym.addr - look->img->bias, (uintptr_t)address - self->bias);
	assert_true(sym.size > 0);
	assert_false(sym.dynamic);
}

static void test_debugdata(void **state)
{
	_cleanup_(look_end) struct look look;
	struct symbol sym;

	(void)state;
	look_at(&look, "mini-inside");
	assert_true(image_is_stripped(look.img));
	assert_false(image_symbol(look.img, "test_debugdata", &sym));
	assert_null(image_debug_source(look.img));
	assert_true(image_debug_next(look.img, NULL));
	assert_string_equal(image_debug_source(look.img), ".gnu_debugdata");
	has_symbol(&look, "test_debugdata", (const void *)test_debugdata);
	assert_false(image_symbol(look.img, "setup", &sym));
	/* No other place has symbols. */
	assert_false(image_debug_next(look.img, NULL));
	assert_null(image_debug_source(look.img));
	assert_false(image_symbol(look.img, "test_debugdata", &sym));
}

/* Symbol tables that are truncated, damaged, too large or not ELF are ignored. */
static void test_bad_debugdata(void **state)
{
	static const char *const bad[] = {
		"head -c 300 mini.xz",
		"head -c -4 mini.xz",
		"(head -c 400 mini.xz; head -c 100 /dev/zero; tail -c +501 mini.xz)",
		"head -c 65M /dev/zero | xz -1",
		"echo no ELF file | xz",
		"head -c 500 mini | xz",
		"xz --lzma2=dict=256M -k -c mini",
		": ",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		_cleanup_(look_end) struct look look;
		char command[256];

		snprintf(command, sizeof(command),
			 "%s >bad && objcopy --add-section .gnu_debugdata=bad bare bad-inside",
			 bad[i]);
		run(command);
		look_at(&look, "bad-inside");
		assert_false(image_debug_next(look.img, NULL));
	}
}

static void test_link(void **state)
{
	_cleanup_(look_end) struct look look;
	char path[sizeof(folder) + 64];

	(void)state;
	run("objcopy --add-gnu-debuglink=whole.debug bare linked");
	look_at(&look, "linked");
	assert_true(image_debug_next(look.img, NULL));
	snprintf(path, sizeof(path), "%s/whole.debug", folder);
	assert_string_equal(image_debug_source(look.img), path);
	has_symbol(&look, "test_link", (const void *)test_link);
	has_symbol(&look, "setup", (const void *)setup);
}

/* A wrong CRC, a wrong build id, a name that is a path, and a file that is not regular. */
static void test_bad_link(void **state)
{
	static const char *const bad[] = {
		"(cat whole.debug; echo) >new && objcopy --add-gnu-debuglink=whole.debug bare "
		"bad-link && cp -p whole.debug old && mv new whole.debug",
		"mv old whole.debug && (head -c 20 /dev/urandom >id; objcopy --dump-section "
		".note.gnu.build-id=note bare && (head -c 16 note; cat id) >other && objcopy "
		"--update-section .note.gnu.build-id=other whole.debug alien.debug) && "
		"objcopy --add-gnu-debuglink=alien.debug bare bad-link",
		"mkdir d && cp whole.debug d/abc && objcopy --add-gnu-debuglink=whole.debug bare l "
		"&&"
		"objcopy --dump-section .gnu_debuglink=link l && (printf 'd/abc\\0\\0\\0'; tail -c "
		"4 "
		"link) >other && objcopy --remove-section .gnu_debuglink --add-section "
		".gnu_debuglink=other bare bad-link",
		"objcopy --add-gnu-debuglink=whole.debug bare bad-link && mv whole.debug w && "
		"mkfifo "
		"whole.debug",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		_cleanup_(look_end) struct look look;

		run(bad[i]);
		look_at(&look, "bad-link");
		assert_false(image_debug_next(look.img, NULL));
	}
}

static void test_imports(void **state)
{
	_cleanup_(look_end) struct look look;
	struct image *libc;

	(void)state;
	look_at(&look, "bare");
	assert_true(image_may_call(look.img, "system"));
	assert_false(image_may_call(look.img, "nonesuch"));
	libc = images_by_name(&look.images, "libc.so");
	assert_non_null(libc);
	assert_false(image_may_call(libc, "madvise"));
	assert_false(image_is_stripped(images_by_name(&look.images, "test_image_debug")));
}

static void test_no_server(void **state)
{
	static const unsigned char id[20] = { 1 };
	struct err err = ERR_INIT;
	int fd = -7;

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(debuginfod_open(id, sizeof(id), &fd, &err), -1);
	assert_int_equal(fd, -7);
	assert_int_equal(err.ids[0], ERROR_DEBUGINFOD_URLS_UNSET);
	assert_int_equal(err.fixes[0], FIX_SET_DEBUGINFOD_URLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debugdata), cmocka_unit_test(test_bad_debugdata),
		cmocka_unit_test(test_link),	  cmocka_unit_test(test_bad_link),
		cmocka_unit_test(test_imports),	  cmocka_unit_test(test_no_server),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
