// SPDX-License-Identifier: Apache-2.0
/* Growing arrays with doubling capacity. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC_ROOM_MIN 64

/*
 * Make sure that `v`, with a capacity of `room` elements, has space for `more` after the first `n`.
 * All may be 0 and NULL. False if out of memory, with `v` unchanged.
 */
#define vec_room(v, room, n, more)                                                        \
	({                                                                                \
		size_t wanted_ = (room);                                                  \
		bool enough_ = true;                                                      \
		while (wanted_ - (n) < (more))                                            \
			wanted_ = wanted_ ? 2 * wanted_ : VEC_ROOM_MIN;                   \
		if (wanted_ != (room)) {                                                  \
			__typeof__(v) bigger_ = reallocarray((v), wanted_, sizeof(*(v))); \
			enough_ = bigger_;                                                \
			if (enough_) {                                                    \
				(v) = bigger_;                                            \
				(room) = wanted_;                                         \
			}                                                                 \
		}                                                                         \
		enough_;                                                                  \
	})

/* The same for one more. */
#define vec_grow(v, room, n) vec_room(v, room, n, 1)

#endif
