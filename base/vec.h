// SPDX-License-Identifier: Apache-2.0
/* Growing arrays with doubling capacity; sorting, and searching what is sorted. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Remove element `i` of the `n`. */
#define vec_remove(v, n, i)                                                    \
	({                                                                     \
		(n)--;                                                         \
		memmove(&(v)[(i)], &(v)[(i) + 1], ((n) - (i)) * sizeof(*(v))); \
	})

/* As qsort(3), qsort_r(3) and bsearch(3), except that `v` may be NULL if `n` is 0. */
#define vec_sort(v, n, compare) ((n) ? qsort((v), (n), sizeof(*(v)), (compare)) : (void)0)
#define vec_sort_with(v, n, compare, ctx) \
	((n) ? qsort_r((v), (n), sizeof(*(v)), (compare), (ctx)) : (void)0)
#define vec_find(key, v, n, compare) \
	((n) ? bsearch((key), (v), (n), sizeof(*(v)), (compare)) : NULL)

#endif
