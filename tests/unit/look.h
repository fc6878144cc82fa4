// SPDX-License-Identifier: Apache-2.0
/* Shared by the unit tests that look at the images of a process. Include after <cmocka.h>. */
#ifndef TESTS_UNIT_LOOK_H
#define TESTS_UNIT_LOOK_H

#include "elf/image.h"
#include "process/maps.h"

struct look {
	struct maps maps;
	struct images images;
};

static inline void look_end(struct look *look)
{
	images_fini(&look->images);
	maps_fini(&look->maps);
}

static inline void look_at(struct look *look, pid_t pid)
{
	struct err err;

	*look = (struct look){ 0 };
	assert_int_equal(maps_read(&look->maps, pid, &err), 0);
	assert_int_equal(images_read(&look->images, pid, &look->maps, &err), 0);
}

#endif
