// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/describe.h"

#include "base/text.h"
#include "elf/image_file.h"
#include "jemalloc/scan.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

static const char message_mark[] = "<jemalloc>"; /* opens every message of every version */

static bool find_prefixed(const struct jemalloc *je, const char *prefix, const char *infix,
			  const char *name, unsigned char type, struct symbol *sym)
{
	char full[160];

	snprintf(full, sizeof(full), "%s%s%s", prefix, infix, name);
	return image_symbol(je->image, full, sym) && sym->type == type;
}

/*
 * Private names carry the public prefix and "je_", or one of the two, as the
 * build liked it. Names without the prefix may be another jemalloc's: they
 * count only when it is the image's only one.
 */
static bool find_private(const struct jemalloc *je, bool alone, const char *name,
			 unsigned char type, struct symbol *sym)
{
	return find_prefixed(je, je->prefix, "je_", name, type, sym) ||
	       find_prefixed(je, je->prefix, "", name, type, sym) ||
	       (alone && (find_prefixed(je, "", "je_", name, type, sym) ||
			  find_prefixed(je, "", "", name, type, sym)));
}

/* Length of "5.3.0-0-g" and 40 hex digits that end at a NUL, 0 if `s` is no such string. */
static size_t version_len(const char *s, const char *end)
{
	const char *c = s;
	size_t hex;

	for (int part = 0; part < 4; part++, c++) {
		const char *digits = c;

		while (c < end && isdigit((unsigned char)*c))
			c++;
		if (c == digits || c == end || *c != (part < 2 ? '.' : '-'))
			return 0;
	}
	if (c == end || *c++ != 'g')
		return 0;
	for (hex = 0; c + hex < end && isxdigit((unsigned char)c[hex]);)
		hex++;
	return hex == 40 && c + hex < end && !c[hex] ? (size_t)(c + hex - s) : 0;
}

/* Every occurrence of "-g" is looked at from the start of its string. */
static int search_version(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			  uint64_t addr)
{
	struct jemalloc *je = ctx;
	const char *end = bytes + len;
	const char *at = bytes;

	(void)addr;
	if (pflags & PF_W)
		return 0;
	while ((at = text_search(at, (size_t)(end - at), "-g", 2))) {
		const char *start = at;
		size_t n;

		while (start > bytes && at - start < 24 && start[-1])
			start--;
		n = version_len(start, end);
		if (n && n < sizeof(je->version)) {
			memcpy(je->version, start, n);
			je->version[n] = '\0';
			return 1;
		}
		at += 2;
	}
	return 0;
}

static void find_opts(struct jemalloc *je)
{
	char name[64];
	struct symbol sym;

	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		snprintf(name, sizeof(name), "opt_%s", jemalloc_opt_name(i));
		if (find_private(je, je->is_alone, name, STT_OBJECT, &sym) &&
		    sym.size == jemalloc_opt_size(i))
			je->opt[i] = sym.addr;
	}
}

void jemalloc_find_opts(struct jemalloc *je, pid_t pid)
{
	struct scan scan;

	if (je->opts_sought)
		return;
	je->opts_sought = true;
	find_opts(je);
	if (!je->is_alone || je->config_prof != TRI_YES)
		return;
	scan_open(&scan, je->image, pid);
	je->prof_active = scan_prof_active(&scan);
	if (!je->opt[OPT_PROF])
		je->opt[OPT_PROF] = scan_opt_prof(&scan);
	scan_opts(&scan, je->mallctl, je->opt);
}

bool jemalloc_confirm_active(struct jemalloc *je, pid_t pid)
{
	static const char *const names[] = { "prof_active_state", "prof_active" };
	struct symbol sym;
	struct scan scan;

	jemalloc_find_opts(je, pid);
	if (!je->prof_active)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (find_private(je, je->is_alone, names[i], STT_OBJECT, &sym) && sym.size == 1)
			return sym.addr == je->prof_active;
	/* Its functions that allocate may have no prefix though those that control it have one. */
	if (!find_prefixed(je, je->prefix, "", "malloc", STT_FUNC, &sym) &&
	    !find_prefixed(je, "", "", "malloc", STT_FUNC, &sym))
		return false;
	scan_open(&scan, je->image, pid);
	return scan_allocation_reads(&scan, sym.addr, je->prof_active);
}

void jemalloc_describe(struct jemalloc *je, bool is_alone)
{
	static const char heap[] = "heap_v2/"; /* opens every dump: only with --enable-prof */
	struct symbol sym;

	je->is_alone = is_alone;
	if (find_prefixed(je, je->prefix, "", "malloc_stats_print", STT_FUNC, &sym))
		je->malloc_stats_print = sym.addr;
	if (find_prefixed(je, je->prefix, "", "malloc_message", STT_OBJECT, &sym))
		je->malloc_message = sym.addr;
	je->config_prof = image_search(je->image, PF_R, heap, strlen(heap)) ? TRI_YES : TRI_NO;
	image_each_segment(je->image, search_version, je);
}

bool jemalloc_has_mark(struct image *img)
{
	return image_search(img, PF_R, message_mark, strlen(message_mark)) != 0;
}

/*
 * Something may be called like mallctl and not be jemalloc's. jemalloc itself
 * refers to one of these two variables, so that no linker drops them, and has
 * the mark in its messages. .gnu_debugdata names functions alone: there it is
 * the one that mallctl calls, or, where LTO left neither, both of its fellows.
 */
bool jemalloc_is_genuine(const struct jemalloc *je)
{
	static const char *const names[] = { "malloc_conf", "malloc_message" };
	struct symbol sym;
	bool found = false;

	/* Without the prefix too: a build may give it to the functions alone. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		found = find_prefixed(je, je->prefix, "", names[i], STT_OBJECT, &sym) ||
			find_prefixed(je, "", "", names[i], STT_OBJECT, &sym);
	found = found || find_private(je, true, "ctl_byname", STT_FUNC, &sym) ||
		(find_prefixed(je, je->prefix, "", "mallctlbymib", STT_FUNC, &sym) &&
		 find_prefixed(je, je->prefix, "", "mallctlnametomib", STT_FUNC, &sym));
	return found && jemalloc_has_mark(je->image);
}

bool jemalloc_has_fellows(const struct jemalloc *je)
{
	static const char *const names[] = { "mallctlbymib", "mallctlnametomib",
					     "malloc_stats_print" };
	struct symbol sym;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (find_prefixed(je, je->prefix, "", names[i], STT_FUNC, &sym))
			return true;
	return false;
}

/* The build tells its prefix in the name of its variable, if it has one of its own. */
static int search_conf_name(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			    uint64_t addr)
{
	static const char name[] = "MALLOC_CONF";
	const char *end = bytes + len, *at = bytes;
	struct jemalloc *je = ctx;

	(void)addr;
	if (pflags & PF_W)
		return 0;
	while ((at = text_search(at, (size_t)(end - at), name, sizeof(name)))) {
		const char *start = at;

		while (start > bytes && (isupper((unsigned char)start[-1]) || start[-1] == '_'))
			start--;
		if (start > bytes && !start[-1] && (size_t)(at - start) < sizeof(je->prefix)) {
			for (size_t i = 0; start + i < at; i++)
				je->prefix[i] = (char)tolower((unsigned char)start[i]);
			return 1;
		}
		at++;
	}
	return 0;
}

void jemalloc_find_prefix(struct jemalloc *je)
{
	image_each_segment(je->image, search_conf_name, je);
}
