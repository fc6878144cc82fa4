// SPDX-License-Identifier: Apache-2.0
/*
 * Distributions strip jemalloc's private names, and opt.prof decides whether
 * anything else may be asked. jemalloc finds its mallctl handlers in a tree of
 * nodes whose form has not changed from 3.6 on: the node "opt" has a child
 * "prof", whose handler does little more than read the variable. That is
 * checked at every step; at the first doubt the answer is "unknown".
 */
#include "target/jemalloc_opt.h"

#include "base/cleanup.h"
#include "target/image_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (8u << 20)
#define CHILDREN_MIN 8
#define CHILDREN_MAX 256
#define CODE_LEN 96

/* As in jemalloc's ctl.h, on a 64-bit machine. */
struct node {
	uint64_t named; /* a bool and its padding: 1 */
	uint64_t name;
	uint64_t n_children; /* unsigned or size_t */
	uint64_t children;
	uint64_t handler;
};

struct tree {
	const struct jemalloc *je;
	pid_t pid;
	struct node opt;
};

static bool in_image(const struct image *img, uint64_t addr)
{
	return img->start <= addr && addr < img->end;
}

static bool in_code(const struct image *img, uint64_t addr)
{
	for (size_t i = 0; i < img->n_exec; i++)
		if (img->exec[i].start <= addr && addr < img->exec[i].end)
			return true;
	return false;
}

static bool is_called(const struct tree *t, const struct node *node, const char *name)
{
	char got[32];
	struct err ignored;

	return node->named == 1 && in_image(t->je->image, node->name) &&
	       !proc_read_string(t->pid, node->name, got, sizeof(got), &ignored) &&
	       !strcmp(got, name);
}

static bool is_opt(const struct tree *t, const struct node *node)
{
	uint32_t n = (uint32_t)node->n_children;

	return node->named == 1 && !node->handler && n >= CHILDREN_MIN && n <= CHILDREN_MAX &&
	       in_image(t->je->image, node->children) && is_called(t, node, "opt");
}

/* As the segment is now: in the file the pointers are not relocated yet. */
static int search_segment(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	_cleanup_(cleanup_free) char *data = NULL;
	uint64_t skip = -addr % sizeof(uint64_t);
	struct tree *t = ctx;
	struct err ignored;

	(void)bytes;
	if (!(pflags & PF_W) || len > DATA_MAX)
		return 0;
	data = malloc(len);
	if (!data || proc_read(t->pid, addr, data, len, &ignored))
		return 0;
	for (size_t i = skip; i + sizeof(t->opt) <= len; i += sizeof(uint64_t)) {
		memcpy(&t->opt, data + i, sizeof(t->opt));
		if (is_opt(t, &t->opt))
			return 1;
	}
	return 0;
}

/* The handler of opt.`name`, 0 if there is none. */
static uint64_t find_handler(const struct tree *t, const char *name)
{
	struct node children[CHILDREN_MAX];
	uint32_t n = (uint32_t)t->opt.n_children;
	struct err ignored;

	if (proc_read(t->pid, t->opt.children, children, n * sizeof(children[0]), &ignored))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (is_called(t, &children[i], name))
			return in_code(t->je->image, children[i].handler) ? children[i].handler : 0;
	return 0;
}

static uint64_t displaced(const unsigned char *at, uint64_t next)
{
	int32_t displacement;

	memcpy(&displacement, at, sizeof(displacement));
	return next + (uint64_t)(int64_t)displacement;
}

/* ModRM of an operand relative to the next instruction. */
static bool is_relative(unsigned char modrm)
{
	return (modrm & 0xc7) == 0x05;
}

/* "movzx r32, byte [reg]" without displacement: what follows lea or mov of an address. */
static bool reads_byte(const unsigned char *c)
{
	unsigned char modrm;

	if ((c[0] & 0xf0) == 0x40)
		c++;
	modrm = c[2];
	return c[0] == 0x0f && c[1] == 0xb6 && (modrm & 0xc0) == 0 && (modrm & 7) != 4 &&
	       (modrm & 7) != 5;
}

uint64_t jemalloc_opt_decode(const unsigned char *code, size_t len, uint64_t addr, bool *indirect)
{
	*indirect = false;
	for (size_t i = 0; i + 12 <= len; i++) {
		const unsigned char *c = code + i;

		/* movzx r32, byte [rip + n] */
		if (c[0] == 0x0f && c[1] == 0xb6 && is_relative(c[2]))
			return displaced(c + 3, addr + i + 7);
		/* lea r64, [rip + n] or mov r64, [rip + n], then a read through it */
		if ((c[0] & 0xfb) == 0x48 && (c[1] == 0x8d || c[1] == 0x8b) && is_relative(c[2])) {
			if (!reads_byte(c + 7))
				return 0;
			*indirect = c[1] == 0x8b;
			return displaced(c + 3, addr + i + 7);
		}
	}
	return 0;
}

static uint64_t variable_of(const struct tree *t, uint64_t handler)
{
	unsigned char code[CODE_LEN], value;
	struct err ignored;
	uint64_t addr;
	bool indirect;

	if (!handler || proc_read(t->pid, handler, code, sizeof(code), &ignored))
		return 0;
	addr = jemalloc_opt_decode(code, sizeof(code), handler, &indirect);
	if (indirect && (!in_image(t->je->image, addr) ||
			 proc_read(t->pid, addr, &addr, sizeof(addr), &ignored)))
		return 0;
	if (!in_image(t->je->image, addr) || in_code(t->je->image, addr) ||
	    proc_read(t->pid, addr, &value, sizeof(value), &ignored))
		return 0;
	return value <= 1 ? addr : 0;
}

/* Two handlers must give two variables: else what was decoded is none. */
uint64_t jemalloc_opt_prof(const struct jemalloc *je, pid_t pid)
{
	struct tree t = { .je = je, .pid = pid };
	uint64_t prof, other;

	if (je->image->machine != EM_X86_64 || je->image->elf_class != ELFCLASS64)
		return 0;
	if (!image_each_segment(je->image, search_segment, &t))
		return 0;
	prof = variable_of(&t, find_handler(&t, "prof"));
	other = variable_of(&t, find_handler(&t, "prof_accum"));
	return prof && other && prof != other ? prof : 0;
}
