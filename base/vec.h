// SPDX-License-Identifier: Apache-2.0
/* Arrays that grow by one element at a time, in room that doubles. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC_ROOM_MIN 64

/*
 * Make sure that `v`, with room for `room` elements, has room for one after
 * the first `n`. Both may be 0 and NULL. False without memory: `v` is as it was.
 */
#define vec_grow(v, room, n)                                                            \
	({                                                                              \
		bool grown_ = true;                                                     \
		if ((n) == (room)) {                                                    \
			size_t more_ = (room) ? 2 * (room) : VEC_ROOM_MIN;              \
			__typeof__(v) bigger_ = reallocarray((v), more_, sizeof(*(v))); \
			grown_ = bigger_;                                               \
			if (grown_) {                                                   \
				(v) = bigger_;                                          \
				(room) = more_;                                         \
			}                                                               \
		}                                                                       \
		grown_;                                                                 \
	})

#endif
