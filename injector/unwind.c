// SPDX-License-Identifier: Apache-2.0
/*
 * The exact walk through a stopped thread's frames, with libunwind's remote
 * interface over memory that was read already.
 *
 * libunwind guesses when a frame has no unwind information (it follows the
 * frame pointer). A guess decides nothing here: a frame without information
 * ends the walk, and the thread counts as unsafe.
 */
#include "injector/private.h"

#include <libunwind.h>
#include <string.h>

#define FRAMES_MAX 512
#define TABLE_ADDR \
	0xffff800000000000ull /* where libunwind believes our own table to be: no user address */
#define EH_FRAME_HDR_SIZE 12  /* version, three encodings, eh_frame_ptr, fde_count */

/* dwarf_search_unwind_table() is what libunwind-ptrace calls too; no public header declares it. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

struct walk {
	const struct tracer *t;
	const struct arch_regs *regs;
	const unsigned char *stack;
	uint64_t stack_addr;
	size_t stack_len;
	bool guessed;
};

static int read_word(const struct walk *w, uint64_t addr, unw_word_t *word)
{
	const struct unwind_table *table = &w->t->inj->cs.table;
	struct err ignored = ERR_INIT;
	uint64_t at = addr - w->stack_addr;

	if (addr >= TABLE_ADDR &&
	    addr - TABLE_ADDR + sizeof(*word) <= table->n * sizeof(*table->v)) {
		memcpy(word, (const char *)table->v + (addr - TABLE_ADDR), sizeof(*word));
		return 0;
	}

	if (addr >= w->stack_addr && at + sizeof(*word) <= w->stack_len) {
		memcpy(word, w->stack + at, sizeof(*word));
		return 0;
	}
	return mem_read(w->t, addr, word, sizeof(*word), &ignored) < 0 ? -UNW_EINVAL : 0;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *word, int write, void *arg)
{
	(void)as;
	return write ? -UNW_EREADONLYREG : read_word(arg, addr, word);
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct user_regs_struct *r = &((const struct walk *)arg)->regs->r;
	const unsigned long long values[] = {
		[UNW_X86_64_RAX] = r->rax, [UNW_X86_64_RDX] = r->rdx, [UNW_X86_64_RCX] = r->rcx,
		[UNW_X86_64_RBX] = r->rbx, [UNW_X86_64_RSI] = r->rsi, [UNW_X86_64_RDI] = r->rdi,
		[UNW_X86_64_RBP] = r->rbp, [UNW_X86_64_RSP] = r->rsp, [UNW_X86_64_R8] = r->r8,
		[UNW_X86_64_R9] = r->r9,   [UNW_X86_64_R10] = r->r10, [UNW_X86_64_R11] = r->r11,
		[UNW_X86_64_R12] = r->r12, [UNW_X86_64_R13] = r->r13, [UNW_X86_64_R14] = r->r14,
		[UNW_X86_64_R15] = r->r15, [UNW_X86_64_RIP] = r->rip,
	};

	(void)as;
	if (write)
		return -UNW_EREADONLYREG;
	if (reg < 0 || (size_t)reg >= sizeof(values) / sizeof(*values))
		return -UNW_EBADREG;
	*value = values[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)as, (void)reg, (void)value, (void)write, (void)arg;
	return -UNW_EBADREG;
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as, (void)addr, (void)arg;
	return -UNW_ENOINFO;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	(void)as, (void)c, (void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t addr, char *buf, size_t len, unw_word_t *off,
		   void *arg)
{
	(void)as, (void)addr, (void)buf, (void)len, (void)off, (void)arg;
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)pi, (void)arg; /* libunwind keeps it in a pool of its own */
}

static void own_table(const struct callsite *cs, unw_dyn_info_t *di)
{
	*di = (unw_dyn_info_t){ .start_ip = cs->program.start,
				.end_ip = cs->program.end,
				.format = UNW_INFO_FORMAT_REMOTE_TABLE };
	di->u.rti.segbase = cs->table.base;
	di->u.rti.table_data = TABLE_ADDR;
	di->u.rti.table_len = cs->table.n * sizeof(*cs->table.v) / sizeof(unw_word_t);
}

/* .eh_frame_hdr with its sorted table, as the linkers make it (LSB, "Exception Frame Header"). */
static int table_of(const struct walk *w, const struct image *img, unw_dyn_info_t *di)
{
	const struct callsite *cs = &w->t->inj->cs;
	unsigned char hdr[EH_FRAME_HDR_SIZE];
	struct err ignored = ERR_INIT;
	uint32_t count;

	if (!img->eh_frame_hdr && cs->table.n && img->start == cs->program.start) {
		own_table(cs, di);
		return 0;
	}
	if (!img->eh_frame_hdr || mem_read(w->t, img->eh_frame_hdr, hdr, sizeof(hdr), &ignored) < 0)
		return -1;
	/* version 1; eh_frame_ptr pcrel sdata4; count udata4; table datarel sdata4 */
	if (memcmp(hdr, "\x01\x1b\x03\x3b", 4) != 0)
		return -1;
	memcpy(&count, hdr + 8, sizeof(count));
	if (img->eh_frame_hdr_size &&
	    (uint64_t)count * 8 + EH_FRAME_HDR_SIZE > img->eh_frame_hdr_size)
		return -1;
	*di = (unw_dyn_info_t){ .start_ip = img->start,
				.end_ip = img->end,
				.format = UNW_INFO_FORMAT_REMOTE_TABLE };
	di->u.rti.segbase = img->eh_frame_hdr;
	di->u.rti.table_data = img->eh_frame_hdr + EH_FRAME_HDR_SIZE;
	di->u.rti.table_len = (uint64_t)count * 8 / sizeof(unw_word_t);
	return 0;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct walk *w = arg;
	const struct image *img = images_find(w->t->inj->images, ip);
	unw_dyn_info_t di;

	if (img && table_of(w, img, &di) == 0 &&
	    UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, arg) == 0)
		return 0;
	w->guessed = true;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dyn_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = no_resume,
	.get_proc_name = no_name,
};

static int walk_frames(struct walk *w, unw_cursor_t *cursor, struct err *err)
{
	unw_word_t ip = 0, inner;

	for (unsigned int n = 0; n < FRAMES_MAX; n++) {
		int more;

		inner = ip;
		if (unw_get_reg(cursor, UNW_REG_IP, &ip) < 0)
			return err_set(err, ERR_UNSAFE, "its stack cannot be walked");
		if (n && callsite_is_root(&w->t->inj->cs, ip - 1, inner - 1))
			return 0;
		/* A return address may lie just behind the function that called last of all. */
		if (callsite_is_dangerous(&w->t->inj->cs, ip) ||
		    (n && callsite_is_dangerous(&w->t->inj->cs, ip - 1)))
			return err_set(err, ERR_UNSAFE,
				       "it was called from the allocator or the loader");
		more = unw_step(cursor);
		if (w->guessed || more < 0)
			return err_set(err, ERR_UNSAFE,
				       "a frame on its stack has no unwind information");
		if (more == 0)
			return 0;
	}
	return err_set(err, ERR_UNSAFE, "its stack is more than %d frames deep", FRAMES_MAX);
}

int unwind_check(const struct tracer *t, const struct arch_regs *regs, const unsigned char *stack,
		 uint64_t stack_addr, size_t stack_len, struct err *err)
{
	struct walk w = { t, regs, stack, stack_addr, stack_len, false };
	static unw_addr_space_t as;
	unw_cursor_t cursor;

	if (!as) {
		as = unw_create_addr_space(&accessors, 0);
		if (!as)
			return err_set(err, ERR_UNSAFE, "its stack cannot be walked");
		unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	}
	if (unw_init_remote(&cursor, as, &w) < 0)
		return err_set(err, ERR_UNSAFE, "its stack cannot be walked");
	return walk_frames(&w, &cursor, err);
}
