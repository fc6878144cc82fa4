// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/scan.h"

#include "elf/image_file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_MIN 6
#define ROOT_MAX 64
#define CHILDREN_MAX 256
#define DEPTH_MAX 7 /* CTL_MAX_DEPTH */
#define NODES_MAX 4096
#define CANDIDATES_MAX 65536 /* words that look like a node */
#define SERIOUS_MAX 16	     /* of these, the most that get a full check */

/* As in jemalloc's ctl.h, on a 64-bit machine. */
struct node {
	uint64_t named; /* a bool and its padding: 1; 0 for children indexed by a number */
	uint64_t name;
	uint64_t n_children; /* unsigned or size_t */
	uint64_t children;
	uint64_t handler;
};

struct search {
	struct ctl_tree *tree;
	unsigned int with; /* PF_X or 0: search segments with code, or the others */
	unsigned int found, candidates;
};

static bool read_node(const struct ctl_tree *t, uint64_t addr, struct node *node)
{
	return image_contains(t->image, addr) && peek(t->memory, addr, node, sizeof(*node)) &&
	       (node->named & 0xff) == 1;
}

static bool read_name(const struct ctl_tree *t, const struct node *node, char *buf, size_t size)
{
	return image_contains(t->image, node->name) &&
	       peek_string(t->memory, node->name, buf, size);
}

static bool is_called(const struct ctl_tree *t, const struct node *node, const char *name)
{
	char got[32];

	return read_name(t, node, got, sizeof(got)) && !strcmp(got, name);
}

/* Find the child of that name. */
static bool find_child(const struct ctl_tree *t, uint64_t children, uint32_t n, const char *name,
		       struct node *node)
{
	for (uint32_t i = 0; i < n; i++)
		if (!read_node(t, children + i * sizeof(*node), node))
			return false;
		else if (is_called(t, node, name))
			return true;
	return false;
}

/*
 * Is `node` the root? Its first child is "version", and it has the children that every jemalloc
 * has.
 */
static bool is_root(const struct ctl_tree *t, const struct node *node, unsigned int *candidates)
{
	static const char *const names[] = { "config", "opt", "stats", "arenas" };
	struct node child;

	if (!read_node(t, node->children, &child) || !is_called(t, &child, "version") ||
	    (uint32_t)child.n_children || !image_has_code(t->image, child.handler))
		return false;
	*candidates += CANDIDATES_MAX / SERIOUS_MAX;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!find_child(t, node->children, (uint32_t)node->n_children, names[i], &child) ||
		    child.handler)
			return false;
	return true;
}

static bool may_be_root(const struct node *node)
{
	return node->named == 1 && !node->handler && node->n_children >= ROOT_MIN &&
	       node->n_children <= ROOT_MAX;
}

/*
 * In the file the pointers are not relocated, but the number of children and the handler are there:
 * so the file is searched, and only possible nodes are read from memory.
 */
static int search_segment(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	struct search *s = ctx;
	struct node node;

	if ((pflags & PF_X) != s->with)
		return 0;
	for (size_t i = -addr % sizeof(uint64_t); i + sizeof(node) <= len; i += sizeof(uint64_t)) {
		struct ctl_tree *t = s->tree;

		if (bytes[i] != 1)
			continue;
		memcpy(&node, bytes + i, sizeof(node));
		if (!may_be_root(&node))
			continue;
		if (s->candidates++ >= CANDIDATES_MAX)
			return 1;
		if (!read_node(t, addr + i, &node) || !may_be_root(&node) ||
		    !is_root(t, &node, &s->candidates))
			continue;
		t->root = addr + i;
		t->children = node.children;
		t->n_children = (uint32_t)node.n_children;
		if (++s->found > 1)
			return 1;
	}
	return 0;
}

unsigned int ctl_tree_find(struct ctl_tree *t, struct image *img, struct peek *memory)
{
	struct ctl_tree got = { .image = img, .memory = memory };
	struct search s = { .tree = &got };

	if (img->elf_class != ELFCLASS64)
		return 0;
	image_each_segment(img, search_segment, &s);
	/* Some linkers put constants and code into one segment. */
	s.with = PF_X;
	if (!s.found)
		image_each_segment(img, search_segment, &s);
	if (s.found == 1)
		*t = got;
	return s.found;
}

uint64_t ctl_tree_handler(const struct ctl_tree *t, const char *name)
{
	uint64_t children = t->children;
	uint32_t n = t->n_children;
	char part[CTL_NAME_SIZE];

	for (unsigned int depth = 0; depth < DEPTH_MAX; depth++) {
		size_t len = strcspn(name, ".");
		struct node node;

		snprintf(part, sizeof(part), "%.*s", (int)len, name);
		if (!find_child(t, children, n, part, &node))
			return 0;
		if (!name[len])
			return image_has_code(t->image, node.handler) ? node.handler : 0;
		name += len + 1;
		children = node.children;
		n = (uint32_t)node.n_children;
		if (node.handler || !n || n > CHILDREN_MAX)
			return 0;
	}
	return 0;
}

struct each {
	const struct ctl_tree *tree;
	ctl_tree_fn *fn;
	void *ctx;
	unsigned int left;
};

static int each_child(struct each *e, uint64_t children, uint32_t n, const char *above,
		      unsigned int depth)
{
	char part[64], name[CTL_NAME_SIZE];
	struct node node;
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret && e->left; i++, e->left--) {
		if (!read_node(e->tree, children + i * sizeof(node), &node) ||
		    !read_name(e->tree, &node, part, sizeof(part)))
			return 0;
		snprintf(name, sizeof(name), "%.*s%s%s", CTL_NAME_SIZE / 2 - 1, above,
			 *above ? "." : "", part);
		n = n < CHILDREN_MAX ? n : CHILDREN_MAX;
		if (image_has_code(e->tree->image, node.handler))
			ret = e->fn(e->ctx, name, node.handler);
		else if (!node.handler && depth < DEPTH_MAX)
			ret = each_child(e, node.children, (uint32_t)node.n_children, name,
					 depth + 1);
	}
	return ret;
}

int ctl_tree_each(const struct ctl_tree *t, ctl_tree_fn *fn, void *ctx)
{
	struct each e = { t, fn, ctx, NODES_MAX };

	return each_child(&e, t->children, t->n_children, "", 1);
}
