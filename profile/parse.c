// SPDX-License-Identifier: Apache-2.0
/*
 * The text that jemalloc writes (doc/heap-format.md). It is read once, in one
 * direction, in time that grows with its length alone.
 */
#include "profile/parse.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <string.h>

/* A new stack of heap_v2, whose counts are on the lines that follow. */
struct open_stack {
	uint64_t first;
	uint32_t depth;
	bool open, counted; /* there is one; it has had a line of counts */
	size_t n_before;    /* stacks that were there before */
};

static int set_name(struct parse *ps, uint32_t thread, const struct span *s, struct err *err)
{
	size_t len = (size_t)(s->end - s->at);
	const char *kept;

	if (memchr(s->at, '\0', len))
		return reader_fail(&ps->file, "a thread's name that is no text", err);
	kept = intern_add(ps->text, s->at, len);
	if (!kept)
		return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
	ps->p->threads[thread].name = kept;
	return 0;
}

/* In the header: "tN: counts name", or the sum of all threads, which says nothing new. */
static int header_counts(struct parse *ps, bool all, uint64_t id, struct span *s, struct err *err)
{
	uint32_t thread;

	if (all)
		return 0;
	thread = parse_thread(ps, id);
	if (thread == PROFILE_NONE)
		return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
	reader_blank(s);
	return s->at < s->end ? set_name(ps, thread, s, err) : 0;
}

/* Is it a line of what the caller asked for? */
static bool is_wanted(const struct profile_options *o, bool all, uint64_t id)
{
	if (o->only_thread)
		return !all && id == o->thread;
	return all || o->by_thread;
}

static int stack_counts(struct parse *ps, struct open_stack *stack, bool all, uint64_t id,
			const struct parse_counts *c, struct err *err)
{
	uint32_t thread = PROFILE_NONE;

	stack->counted = true;
	if (!is_wanted(ps->options, all, id))
		return 0;
	if (!all) {
		thread = parse_thread(ps, id);
		if (thread == PROFILE_NONE)
			return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
	}
	return parse_stack(ps, stack->first, stack->depth, thread, c, err);
}

/* "t*: counts" or "tN: counts". */
static int counts_line(struct parse *ps, struct open_stack *stack, struct err *err)
{
	struct span s = ps->file.line;
	struct parse_counts c;
	uint64_t id = 0;
	bool all;

	reader_blank(&s);
	if (!reader_text(&s, "t"))
		return reader_fail(&ps->file, "not a line of a heap profile", err);
	all = reader_text(&s, "*");
	if ((!all && !reader_number(&s, &id)) || !reader_text(&s, ":") || !reader_blank(&s) ||
	    !parse_counts(&s, &c))
		return reader_fail(&ps->file, "not the counts of a thread", err);
	if (!stack->open)
		return header_counts(ps, all, id, &s, err);
	if (s.at < s.end)
		return reader_fail(&ps->file, "something after the counts of a thread", err);
	return stack_counts(ps, stack, all, id, &c, err);
}

/* All lines of the stack have been read. */
static int close_stack(struct parse *ps, const struct open_stack *stack, struct err *err)
{
	if (stack->open && !stack->counted)
		return reader_fail(&ps->file, "no counts follow the stack: it is cut short", err);
	if (stack->open && ps->options->by_thread && !ps->options->only_thread)
		parse_split(ps, stack->n_before);
	return 0;
}

static int stack_line(struct parse *ps, struct open_stack *stack, struct span s, struct err *err)
{
	if (close_stack(ps, stack, err))
		return -1;
	*stack = (struct open_stack){ .open = true, .n_before = ps->p->n_stacks };
	return parse_frames(ps, &s, &stack->first, &stack->depth, err);
}

/* The body of heap_v2, up to MAPPED_LIBRARIES or the end. */
static int parse_v2(struct parse *ps, struct err *err)
{
	struct open_stack stack = { 0 };

	while (reader_line(&ps->file)) {
		struct span s = ps->file.line;
		int failed = 0;

		if (reader_text(&s, "MAPPED_LIBRARIES:")) {
			if (close_stack(ps, &stack, err))
				return -1;
			return parse_mapped(ps, err);
		}
		if (reader_text(&s, "@"))
			failed = stack_line(ps, &stack, s, err);
		else if (s.at < s.end)
			failed = counts_line(ps, &stack, err);
		if (failed)
			return -1;
	}
	return close_stack(ps, &stack, err);
}

/* The body of 3.x: "counts @ addresses". It knows nothing of threads. */
static int parse_v1(struct parse *ps, struct err *err)
{
	while (reader_line(&ps->file)) {
		struct span s = ps->file.line;
		struct parse_counts c;
		uint64_t first;
		uint32_t depth;

		if (reader_text(&s, "MAPPED_LIBRARIES:"))
			return parse_mapped(ps, err);
		if (s.at == s.end)
			continue;
		reader_blank(&s);
		if (!parse_counts(&s, &c) || !reader_blank(&s) || !reader_text(&s, "@"))
			return reader_fail(&ps->file, "not a line of a heap profile", err);
		if (parse_frames(ps, &s, &first, &depth, err))
			return -1;
		if (!ps->options->only_thread &&
		    parse_stack(ps, first, depth, PROFILE_NONE, &c, err))
			return -1;
	}
	return 0;
}

static bool is_v2(struct parse *ps, struct span s)
{
	ps->sampled = true;
	return reader_text(&s, "heap_v2/") && reader_number(&s, &ps->p->period) && ps->p->period &&
	       s.at == s.end;
}

/* "heap profile: counts @ heap_v2/PERIOD", or "@ heapprofile" when everything was recorded. */
static bool is_v1(struct parse *ps, struct span s)
{
	struct parse_counts c;

	if (!reader_text(&s, "heap profile:") || !reader_blank(&s) || !parse_counts(&s, &c) ||
	    !reader_blank(&s) || !reader_text(&s, "@") || !reader_blank(&s))
		return false;
	if (reader_text(&s, "heapprofile")) {
		ps->p->period = 1;
		ps->sampled = false;
		return s.at == s.end;
	}
	return is_v2(ps, s);
}

static int parse_heap(struct parse *ps, struct err *err)
{
	int failed;

	if (is_v2(ps, ps->file.line))
		failed = parse_v2(ps, err);
	else if (is_v1(ps, ps->file.line))
		failed = parse_v1(ps, err);
	else
		return reader_fail(&ps->file, "not a heap profile of jemalloc", err);
	if (failed)
		return -1;
	/* jemalloc ends each of its lines, and the last is one of them. */
	if (!ps->file.whole)
		return reader_fail(&ps->file, "the last line does not end", err);
	return threads_sort(ps->p, err);
}

/* A symbolized file: "--- symbol", names, "---", "--- heap", and then the profile. */
static int parse_symbolized(struct parse *ps, struct err *err)
{
	struct span s;

	if (parse_find_symbols(ps, err))
		return -1;
	s = ps->file.line;
	if (reader_text(&s, "---") && reader_blank(&s) && reader_text(&s, "heap") &&
	    !reader_line(&ps->file))
		return reader_fail(&ps->file, "it ends before the profile", err);
	return parse_heap(ps, err) ? -1 : parse_symbols(ps, err);
}

static int parse_file(struct parse *ps, struct err *err)
{
	struct span s;

	if (!reader_line(&ps->file))
		return err_set(err, ERR_FAILED, "it is empty");
	s = ps->file.line;
	if (reader_text(&s, "---") && reader_blank(&s) && reader_text(&s, "symbol"))
		return parse_symbolized(ps, err);
	return parse_heap(ps, err);
}

static void close_parse(struct parse *ps)
{
	index_fini(&ps->addresses);
	index_fini(&ps->threads);
	free(ps->symbols);
}

static int parse(struct profile *out, struct reader file, const struct profile_options *options,
		 struct err *err)
{
	static const struct profile_options none;
	_cleanup_(profile_fini) struct profile got = { .text = intern_new() };
	_cleanup_(close_parse) struct parse ps = {
		.p = &got,
		.options = options ? options : &none,
		.file = file,
		.text = got.text,
	};

	/* A profile of stacks without calls has frames as well: none of them, but somewhere. */
	if (!got.text || !vec_grow(got.frames, ps.frames_room, got.n_frames))
		return err_set(err, ERR_FAILED, PARSE_NO_MEMORY);
	if (parse_file(&ps, err))
		return -1;
	*out = got;
	got = (struct profile){ 0 };
	return 0;
}

int profile_parse(struct profile *out, const char *bytes, size_t len,
		  const struct profile_options *options, struct err *err)
{
	struct reader file = { .start = bytes, .next = bytes, .end = bytes + len };

	return parse(out, file, options, err);
}

int profile_parse_pieces(struct profile *out, profile_more_fn *more, void *ctx,
			 const struct profile_options *options, struct err *err)
{
	_cleanup_(reader_pieces_fini) struct reader_pieces pieces = { .more = more, .ctx = ctx };
	struct profile got = { 0 };
	int failed = parse(&got, (struct reader){ .pieces = &pieces }, options, err);

	/* What could not be read looks like the end of the file. */
	if (pieces.err.code != ERR_NONE) {
		profile_fini(&got);
		*err = pieces.err;
		return -1;
	}
	if (!failed)
		*out = got;
	return failed;
}
