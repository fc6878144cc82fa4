// SPDX-License-Identifier: Apache-2.0
/* Private to ops/errand*.c: the messages. */
#ifndef OPS_ERRAND_PRIVATE_H
#define OPS_ERRAND_PRIVATE_H

#include "ops/errand.h"

#include <limits.h>

/* What a message from the child begins with. */
enum errand {
	ERRAND_DONE,
	ERRAND_OPEN,
	ERRAND_WRITE,
	ERRAND_DRAW,
	ERRAND_NAMES,
	ERRAND_LOOK_UP,
	ERRAND_TELL,
	ERRAND_LIMIT,
	ERRANDS
};

#define ERRAND_LINE_SIZE 1536
#define ERRAND_ID_MAX 64

/* Places that came by a message; errand_asked_fini() frees what they point to. */
struct errand_asked {
	struct errand_places p;
	char path[PATH_MAX];
	unsigned char build_id[ERRAND_ID_MAX];
	uint64_t *places;
};

void errand_pack_places(struct pack *p, const struct errand_places *places);
/* False when it makes no sense. */
bool errand_unpack_places(struct unpack *u, struct errand_asked *a);
void errand_asked_fini(struct errand_asked *a);

/* All but the descriptor, which travels beside it. */
void errand_pack_found(struct pack *p, const struct errand_found *found);
bool errand_unpack_found(struct unpack *u, struct errand_found *found);

#endif
