// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fixes.h"
#include "cli/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SIZE_TEXT 24
#define BOUND_TEXT 96

static const char *const part_words[OPS_PARTS] = {
	[OPS_PART_ALLOCATED] = "allocated by the program",
	[OPS_PART_SAMPLING] = "for heap sampling",
	[OPS_PART_TCACHE] = "freed, in thread caches",
	[OPS_PART_FRAGMENTED] = "unused space between allocations",
	[OPS_PART_DIRTY] = "free pages, not purged yet",
	[OPS_PART_MUZZY] = "free pages that the kernel may take",
	[OPS_PART_METADATA] = "jemalloc's bookkeeping",
	[OPS_PART_UNCOUNTED] = "of jemalloc's pages, not resident (-) or more than counted",
	[OPS_PART_ANONYMOUS] = "other private memory",
	[OPS_PART_HEAP] = "heap of another malloc (brk)",
	[OPS_PART_STACKS] = "thread stacks",
	[OPS_PART_DATA] = "variables of the program and its libraries",
	[OPS_PART_FILES] = "files: code, and unmodified data",
	[OPS_PART_SHARED] = "shared memory",
};

static const char *signed_size(int64_t bytes, char *buf, size_t size)
{
	char text[16];

	text_size((uint64_t)llabs(bytes), text, sizeof(text));
	snprintf(buf, size, "%s%s", bytes < 0 ? "-" : "", text);
	return buf;
}

/* The upper bound, if it differs much. */
static const char *at_most(const struct ops_explain *e, char buf[BOUND_TEXT])
{
	uint64_t most = ops_explain_up_to(e);
	char size[16];

	buf[0] = '\0';
	if (most)
		snprintf(buf, BOUND_TEXT, ", up to %s: jemalloc may count pages never used",
			 text_size(most, size, sizeof(size)));
	return buf;
}

static int print_parts(const struct args *args, const struct ops_explain *e, struct err *err)
{
	char text[SIZE_TEXT], most[BOUND_TEXT];

	if (out_line(err, "%s%9s %5s  PART%s", out_ink(args, STDOUT_FILENO, INK_BOLD), "RSS", "%",
		     out_ink(args, STDOUT_FILENO, INK_NONE)))
		return -1;
	for (enum ops_part i = 0; i < OPS_PARTS; i++) {
		double share =
			e->memory.rss ? 100.0 * (double)e->parts[i] / (double)e->memory.rss : 0;

		if (e->parts[i] &&
		    out_line(err, "%9s %4.0f%%  %s%s", signed_size(e->parts[i], text, sizeof(text)),
			     share, part_words[i], i == OPS_PART_ANONYMOUS ? at_most(e, most) : ""))
			return -1;
	}
	return 0;
}

/* Large enough to list; mappings without a name include jemalloc's, of which there are many. */
static bool tells(const struct ops_explain *e, const struct memory_item *item)
{
	return item->sum.rss >= e->memory.rss / (item->path[0] ? 100 : 10);
}

static int print_mappings(const struct ops_explain *e, struct err *err)
{
	char rss[16], size[16], path[MEMORY_PATH_SIZE * 4], where[32];

	if (e->memory.n_items && tells(e, &e->memory.items[0]) &&
	    out_line(err, "\n%9s %7s  LARGEST MAPPINGS", "RSS", "SIZE"))
		return -1;
	for (size_t i = 0; i < e->memory.n_items; i++) {
		const struct memory_item *item = &e->memory.items[i];

		if (!tells(e, item))
			continue;
		snprintf(where, sizeof(where), "%#" PRIx64, item->start);
		if (out_line(err, "%9s %7s  %s%s", text_size(item->sum.rss, rss, sizeof(rss)),
			     text_size(item->sum.size, size, sizeof(size)),
			     item->path[0] ? output_safe(item->path, path, sizeof(path))
			     : item->kind == MEMORY_STACK ? "a stack at "
							  : "private memory at ",
			     item->path[0] ? "" : where))
			return -1;
	}
	return 0;
}

/* What is neither in RSS nor in the parts, if any. */
static int print_besides(const struct ops_explain *e, struct err *err)
{
	const struct {
		uint64_t bytes;
		const char *what;
	} lines[] = {
		{ e->memory.swap, "are in swap" },
		{ e->retained, "of address space are retained by jemalloc, and are not resident" },
	};
	char text[16];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (lines[i].bytes &&
		    out_line(err, "%9s %s", text_size(lines[i].bytes, text, sizeof(text)),
			     lines[i].what))
			return -1;
	return 0;
}

static int print_advice(const struct ops_explain *e, struct err *err)
{
	char text[ERR_TEXT_SIZE];

	for (size_t i = 0; i < e->n_advice; i++) {
		if (out_line(err, "%s%s", i ? "" : "\n",
			     err_text(&e->advice[i], text, sizeof(text))))
			return -1;
		if (e->advice[i].fixes[0] &&
		    out_line(err, "  fix: %s", fix_text(&e->advice[i], text, sizeof(text))))
			return -1;
	}
	return 0;
}

static int print_head(const struct ops_explain *e, struct err *err)
{
	char who[OUT_WHO_SIZE], rss[16], used[16], limit[16], group[80] = "";

	if (e->limited)
		snprintf(group, sizeof(group), "; its control group uses %s of %s",
			 text_size(e->used, used, sizeof(used)),
			 text_size(e->limit, limit, sizeof(limit)));
	return out_line(err, "%s: %s resident%s", out_who(&e->cost, who, sizeof(who)),
			text_size(e->memory.rss, rss, sizeof(rss)), group);
}

static int run(const struct args *args, struct err *err)
{
	struct ops_options options;
	struct ops_explain explain;
	pid_t pid;

	args_options(args, &options);
	if (args_pid(args, &options, &pid, err) || ops_explain(pid, &options, &explain, err))
		return -1;
	out_warning(args, &explain.why_not);
	out_cost(args, &explain.cost);
	if (args->json)
		return out_json(api_explain(&explain), err);
	if (print_head(&explain, err) || print_parts(args, &explain, err) ||
	    print_besides(&explain, err) || print_mappings(&explain, err))
		return -1;
	return print_advice(&explain, err);
}

const struct command cmd_explain = {
	.name = "explain",
	.words = "PID",
	.help = "show where the memory is, in jemalloc and outside of it",
	.needs_pid = true,
	.run = run,
};
