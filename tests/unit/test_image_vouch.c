// SPDX-License-Identifier: Apache-2.0
#include "elf/image_vouch.h"

#include "base/cleanup.h"
#include "elf/image_file.h"

#include <fcntl.h>
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

#include "tests/unit/look.h"

/* This program's file is ours, or root's, or on a file system of another user's. */
static void test_image(void **state)
{
	_cleanup_(look_end) struct look look;
	struct image *img;
	const struct map *m;

	(void)state;
	look_at(&look, getpid());
	img = images_by_name(&look.images, "libc.so");
	assert_non_null(img);
	m = maps_find(&look.maps, img->exec[0].start);
	assert_false(image_is_vouched(img, m->start, m->offset)); /* nothing was read of it */
	assert_non_null(image_elf(img));
	assert_true(image_is_vouched(img, m->start, m->offset));
	assert_false(image_is_vouched(img, m->start, m->offset + 4096));
	img->bias += 4096;
	assert_false(image_is_vouched(img, m->start, m->offset));
	img->bias -= 4096;
	img->build_id[0] ^= 1;
	assert_false(image_is_vouched(img, m->start, m->offset));
	img->build_id[0] ^= 1;
	img->file->is_foreign = true;
	assert_false(image_is_vouched(img, m->start, m->offset));
}

static void test_file(void **state)
{
	char path[] = "/tmp/jeprof-ctl-test.XXXXXX", other[sizeof(path) + 2];
	_cleanup_(cleanup_close) int fd = mkostemp(path, O_CLOEXEC);

	(void)state;
	snprintf(other, sizeof(other), "%s.2", path);
	assert_int_equal(write(fd, "\177ELF", 4), 4);
	assert_true(image_vouch_file(fd, path));
	assert_false(image_vouch_file(fd, other));
	assert_int_equal(link(path, other), 0);
	assert_true(image_vouch_file(fd, other));
	assert_int_equal(fchmod(fd, 0602), 0);
	assert_false(image_vouch_file(fd, path));
	assert_int_equal(fchmod(fd, 0600), 0);
	if (!geteuid() && !fchown(fd, 65534, 0))
		assert_false(image_vouch_file(fd, path));
	unlink(path);
	unlink(other);
	assert_false(image_vouch_file(fd, path));
	assert_false(image_vouch_file(-1, path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
