// SPDX-License-Identifier: Apache-2.0
/* The analysis of a function with arbitrary bytes; and the table of function starts. */
#include "jemalloc/arch/decode.h"

#include <stdlib.h>
#include <string.h>

#define BASE 0x400000
#define INSNS 5000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *data;
	size_t size;
	unsigned int seen;
};

static size_t read_bytes(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct bytes *b = ctx;

	if (addr < BASE || addr - BASE >= b->size)
		return 0;
	if (len > b->size - (addr - BASE))
		len = b->size - (addr - BASE);
	memcpy(buf, b->data + (addr - BASE), len);
	return len;
}

static int see(void *ctx, const struct insn *insn)
{
	struct bytes *b = ctx;

	if (insn->addr < BASE || insn->addr >= BASE + b->size || insn->next <= insn->addr ||
	    ++b->seen > INSNS)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { .data = data, .size = size };
	struct decode d = { .read = read_bytes, .ctx = &b, .left = 100000 };

	decode_function(&d, BASE, INSNS, see, &b);
	b.seen = 0;
	decode_line(&d, BASE, INSNS, see, &b);
	decode_stub(&d, BASE);
	decode_use_frames(&d, BASE, size);
	b.seen = 0;
	decode_function(&d, BASE + 64, INSNS, see, &b);
	return 0;
}
