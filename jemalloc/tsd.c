// SPDX-License-Identifier: Apache-2.0
/* Finds where the state of a thread's data is kept (tsd_t.state). */
#include "jemalloc/jemalloc.h"

#include "arch/machine.h"
#include "jemalloc/scan.h"

#include <gelf.h>

#define MALLCTL_MAX 64 /* instructions of mallctl up to the access to its thread's data */
/* tsd_state_uninitialized in jemalloc 5.0 and 5.1, and since 5.2 (tsd.h). */
#define UNINITIALIZED_5_0 5
#define UNINITIALIZED_5_2 6

static int first_test(void *ctx, const struct insn *insn)
{
	struct insn *found = ctx;

	if (!insn->tests_tls)
		return 0;
	*found = *insn;
	return 1;
}

struct template
{
	bool is_program;
	int64_t tls, offset; /* as in struct insn */
	uint8_t byte;
	bool has_byte;
};

/*
 * Read the initial value of the byte. A program's TLS block is at a fixed distance from the thread
 * pointer, so `tls` gives the position in it. The loader places a library's block, but jemalloc has
 * only one variable there, and `offset` is the position in that.
 */
static void read_template(void *ctx, struct Elf *elf)
{
	struct template *t = ctx;
	GElf_Phdr ph = { 0 };
	uint64_t at, align;
	Elf_Data *data;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && ph.p_type != PT_TLS; i++)
		if (!gelf_getphdr(elf, (int)i, &ph))
			return;
	if (ph.p_type != PT_TLS)
		return;
	align = ph.p_align ? ph.p_align : 1;
	at = t->is_program ? arch_tls_place(t->tls, ph.p_memsz, align) : (uint64_t)t->offset;
	if (at >= ph.p_filesz)
		return;
	data = elf_getdata_rawchunk(elf, (int64_t)(ph.p_offset + at), sizeof(t->byte), ELF_T_BYTE);
	if (!data || !data->d_buf)
		return;
	t->byte = *(const uint8_t *)data->d_buf;
	t->has_byte = true;
}

void jemalloc_find_tsd(struct jemalloc_tsd *out, const struct jemalloc *je, pid_t pid)
{
	struct template t = { .is_program = je->image->is_main };
	struct insn test;
	struct scan scan;

	*out = (struct jemalloc_tsd){ 0 };
	scan_open_code(&scan, je->image, pid);
	if (!decode_function(&scan.code, je->mallctl, MALLCTL_MAX, first_test, &test))
		return;
	t.tls = test.tls;
	t.offset = test.offset;
	if (!image_with_elf(je->image, false, read_template, &t) || !t.has_byte ||
	    (t.byte != UNINITIALIZED_5_0 && t.byte != UNINITIALIZED_5_2))
		return;
	*out = (struct jemalloc_tsd){ .is_known = true, .state = test.tls, .fresh = t.byte };
}

bool jemalloc_tsd_in_use(const struct jemalloc_tsd *tsd, uint8_t state)
{
	return state <=
	       (tsd->fresh == UNINITIALIZED_5_0 ? JEMALLOC_TSD_SLOW : JEMALLOC_TSD_RECOMPUTE);
}
