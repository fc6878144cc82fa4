// SPDX-License-Identifier: Apache-2.0
#include "elf/unwind.h"

#include <libunwind.h>
#include <string.h>

#define FRAMES_MAX 512
#define FUNCTION_WORDS_MAX 4096 /* a few hundred suffice, but a LEB128 number may not end */
#define EH_FRAME_HDR_SIZE 12	/* version, three encodings, eh_frame_ptr, fde_count */

/* libunwind-ptrace calls dwarf_search_unwind_table() too, but no public header declares it. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *word, int write, void *arg)
{
	struct unwind_source *s = arg;
	uint64_t value;

	(void)as;
	if (write)
		return -UNW_EREADONLYREG;
	if (!s->left || !s->read(s->ctx, addr, &value))
		return -UNW_EINVAL;
	s->left--;
	*word = value;
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct unwind_source *s = arg;

	(void)as;
	if (write)
		return -UNW_EREADONLYREG;
	if (reg < 0 || reg >= ARCH_DWARF_REGS)
		return -UNW_EBADREG;
	*value = s->regs[reg];
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
	(void)as, (void)pi, (void)arg; /* libunwind has its own pool */
}

bool unwind_table_of(const struct image *img,
		     bool (*read)(void *ctx, uint64_t addr, uint64_t *word), void *ctx,
		     struct unwind_table_place *place)
{
	unsigned char hdr[16];
	uint64_t words[2];
	uint32_t count;

	if (!img->eh_frame_hdr || !read(ctx, img->eh_frame_hdr, &words[0]) ||
	    !read(ctx, img->eh_frame_hdr + 8, &words[1]))
		return false;
	memcpy(hdr, words, sizeof(hdr));
	/* version 1; eh_frame_ptr pcrel sdata4; count udata4; table datarel sdata4 */
	if (memcmp(hdr, "\x01\x1b\x03\x3b", 4) != 0)
		return false;
	memcpy(&count, hdr + 8, sizeof(count));
	if (img->eh_frame_hdr_size &&
	    (uint64_t)count * 8 + EH_FRAME_HDR_SIZE > img->eh_frame_hdr_size)
		return false;
	*place = (struct unwind_table_place){ .start = img->start,
					      .end = img->end,
					      .base = img->eh_frame_hdr,
					      .table = img->eh_frame_hdr + EH_FRAME_HDR_SIZE,
					      .n_entries = count };
	return true;
}

/* False when there is none. */
static bool search_table(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			 struct unwind_source *s)
{
	struct unwind_table_place place;
	unw_dyn_info_t di;

	if (!s->table(s->ctx, ip, &place))
		return false;
	di = (unw_dyn_info_t){ .start_ip = place.start,
			       .end_ip = place.end,
			       .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	di.u.rti.segbase = place.base;
	di.u.rti.table_data = place.table;
	di.u.rti.table_len = place.n_entries * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, s) == 0;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	struct unwind_source *s = arg;

	if (search_table(as, ip, pi, need, s))
		return 0;
	s->guessed = true;
	return -UNW_ENOINFO;
}

static unw_addr_space_t spaces[2];

static unw_addr_space_t address_space(bool keep)
{
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

	if (!spaces[keep]) {
		spaces[keep] = unw_create_addr_space(&accessors, 0);
		if (spaces[keep])
			unw_set_caching_policy(spaces[keep],
					       keep ? UNW_CACHE_GLOBAL : UNW_CACHE_NONE);
	}
	return spaces[keep];
}

bool unwind_function(struct unwind_source *source, uint64_t ip, uint64_t *start, uint64_t *end)
{
	unw_addr_space_t as = address_space(source->keep);
	unw_proc_info_t found;

	source->left = FUNCTION_WORDS_MAX;
	if (!as || !search_table(as, ip, &found, 0, source) || ip < found.start_ip ||
	    ip >= found.end_ip)
		return false;
	*start = found.start_ip;
	*end = found.end_ip;
	return true;
}

void unwind_forget(void)
{
	if (spaces[true])
		unw_flush_cache(spaces[true], 0, 0);
}

int unwind_walk(struct unwind_source *source, unwind_fn *fn, void *ctx)
{
	unw_addr_space_t as = address_space(source->keep);
	unw_cursor_t cursor;
	unw_word_t ip;

	source->guessed = false;
	source->left = UINT64_MAX;
	if (!as || unw_init_remote(&cursor, as, source) < 0)
		return -1;
	for (unsigned int n = 0; n < FRAMES_MAX; n++) {
		int ret;

		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0)
			return -1;
		ret = fn(ctx, ip);
		if (ret)
			return ret;
		ret = unw_step(&cursor);
		if (source->guessed || ret < 0)
			return -1;
		if (!ret)
			return 0;
	}
	return -1;
}
