// SPDX-License-Identifier: Apache-2.0
#include "profile/parse.h"

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/vec.h"
#include "profile/mapping.h"
#include "profile/profile.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- what jeprof-ctl added --- */

/* What jeprof-ctl adds to a dump (doc/heap-format.md), in lines that jeprof(1) ignores. */

#define VALUE_MAX 4096
#define BUILD_ID_MAX 128 /* digits */

static const struct {
	const char *key;
	bool number; /* int64_t, else const char * */
	size_t offset;
} facts[] = {
	{ "pid", true, offsetof(struct profile_facts, pid) },
	{ "time_ns", true, offsetof(struct profile_facts, time_ns) },
	{ "duration_ns", true, offsetof(struct profile_facts, duration_ns) },
	{ "allocated", true, offsetof(struct profile_facts, allocated) },
	{ "sample_bytes", true, offsetof(struct profile_facts, sample_bytes) },
	{ "comm", false, offsetof(struct profile_facts, comm) },
	{ "host", false, offsetof(struct profile_facts, host) },
	{ "version", false, offsetof(struct profile_facts, version) },
	{ "opt.prof_active", false, offsetof(struct profile_facts, opt_active) },
};

/* The value of a lower-case hex digit; -1 for any other character. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes that are not text are written as \xNN. Returns the length. */
static size_t unescape(const struct span *s, char out[VALUE_MAX])
{
	size_t n = 0;

	for (const char *at = s->at; at < s->end && n < VALUE_MAX; at++) {
		bool escaped = s->end - at >= 4 && at[0] == '\\' && at[1] == 'x';
		int high = escaped ? hex_digit(at[2]) : -1, low = escaped ? hex_digit(at[3]) : -1;

		if (high < 0 || low < 0 || (!high && !low)) {
			out[n++] = *at;
			continue;
		}
		out[n++] = (char)(high << 4 | low);
		at += 3;
	}
	return n;
}

static int set_text(struct parse *ps, const struct span *s, const char **to, struct err *err)
{
	char value[VALUE_MAX];
	size_t n = unescape(s, value);

	if (memchr(value, '\0', n))
		return reader_fail(&ps->file, "not text", err);
	*to = intern_add(ps->text, value, n);
	return *to ? 0 : err_no_memory(err);
}

/* "START-END HEX", for an earlier mapping. */
static int set_build_id(struct parse *ps, struct span s, struct err *err)
{
	char digits[BUILD_ID_MAX];
	uint64_t start, end;
	uint32_t m;
	size_t n = 0;

	if (!reader_hex(&s, &start) || !reader_text(&s, "-") || !reader_hex(&s, &end) ||
	    !reader_text(&s, " "))
		return reader_fail(&ps->file, "not the build id of a mapping", err);
	for (; n < BUILD_ID_MAX && s.at + n < s.end && isxdigit((unsigned char)s.at[n]); n++)
		digits[n] = (char)tolower((unsigned char)s.at[n]);
	if (!n || s.at + n != s.end)
		return reader_fail(&ps->file, "not a build id", err);
	m = mapping_find(ps->p, start);
	if (m == PROFILE_NONE || ps->p->mappings[m].start != start)
		return 0;
	ps->p->mappings[m].build_id = intern_add(ps->text, digits, n);
	return ps->p->mappings[m].build_id ? 0 : err_no_memory(err);
}

/* "# KEY VALUE": added by jeprof-ctl after the mappings. */
static int parse_fact(struct parse *ps, struct err *err)
{
	char *base = (char *)&ps->p->facts;
	struct span line = ps->file.line;

	reader_text(&line, "# ");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct span s = line;
		uint64_t n;

		if (!reader_text(&s, facts[i].key) || !reader_text(&s, " "))
			continue;
		if (!facts[i].number)
			return set_text(ps, &s, (const char **)(base + facts[i].offset), err);
		if (!reader_number(&s, &n) || n > INT64_MAX || s.at != s.end)
			return reader_fail(&ps->file, "not a number", err);
		*(int64_t *)(base + facts[i].offset) = (int64_t)n;
		return 0;
	}
	if (reader_text(&line, "counts "))
		ps->p->facts.only_alloc_space |=
			reader_text(&line, "alloc_space") && line.at == line.end;
	return reader_text(&line, "build-id ") ? set_build_id(ps, line, err) : 0;
}

/* --- mappings --- */

/*
 * "START-END perms offset major:minor inode   " before the path, which may be missing: a line of
 * proc_pid_maps(5).
 */
static bool read_place(struct span *s, struct profile_mapping *m, bool *code)
{
	uint64_t device;

	if (!reader_hex(s, &m->start) || !reader_text(s, "-") || !reader_hex(s, &m->end) ||
	    !reader_text(s, " ") || s->end - s->at < 5 || s->at[4] != ' ')
		return false;
	*code = s->at[2] == 'x';
	s->at += 5;
	if (!reader_hex(s, &m->offset) || !reader_text(s, " ") || m->start >= m->end ||
	    !reader_hex(s, &device) || !reader_text(s, ":") || !reader_hex(s, &device) ||
	    !reader_text(s, " ") || !reader_number(s, &m->inode))
		return false;
	reader_blank(s);
	return !memchr(s->at, '\0', (size_t)(s->end - s->at));
}

static const char *keep_path(struct parse *ps, const struct span *s, bool *deleted)
{
	static const char mark[] = " (deleted)";
	size_t len = (size_t)(s->end - s->at), mark_len = sizeof(mark) - 1;

	*deleted = len > mark_len && !memcmp(s->end - mark_len, mark, mark_len);
	return intern_add(ps->text, s->at, *deleted ? len - mark_len : len);
}

static int parse_mapping(struct parse *ps, size_t *room, struct err *err)
{
	struct profile *p = ps->p;
	struct profile_mapping m = { 0 };
	struct span s = ps->file.line;
	bool code = false;

	if (!read_place(&s, &m, &code))
		return reader_fail(&ps->file, "not a line of /proc/PID/maps", err);
	if (!code)
		return 0;
	if (p->n_mappings && m.start < p->mappings[p->n_mappings - 1].end)
		return reader_fail(&ps->file, "a mapping that is not above the last", err);
	/* vm.max_map_count is 65530 by default. */
	if (p->n_mappings == 1u << 16)
		return reader_fail(&ps->file, "more mappings than a process has", err);
	m.path = keep_path(ps, &s, &m.deleted);
	if (!m.path || !vec_grow(p->mappings, *room, p->n_mappings))
		return err_no_memory(err);
	p->mappings[p->n_mappings++] = m;
	return 0;
}

/*
 * Read the lines after "MAPPED_LIBRARIES:" up to the end of the file, and find the mapping of each
 * address.
 */
static int parse_mapped(struct parse *ps, struct err *err)
{
	size_t room = 0;

	while (reader_line(&ps->file)) {
		struct span s = ps->file.line, at = s;
		uint64_t start;

		/* Lines of mappings begin with "START-END"; there may be others in between. */
		if (reader_hex(&at, &start) && reader_text(&at, "-")) {
			if (parse_mapping(ps, &room, err))
				return -1;
		} else if (reader_text(&s, "# ") && parse_fact(ps, err)) {
			return -1;
		}
	}
	mapping_place(ps->p);
	return 0;
}

/* --- threads --- */

/* The shares of threads in a stack. */

/* The stack of all threads together, from index `from` on; NULL unless there is exactly one. */
static struct profile_stack *find_whole(struct profile *p, size_t from)
{
	struct profile_stack *whole = NULL;

	for (size_t i = from; i < p->n_stacks; i++) {
		if (p->stacks[i].thread != PROFILE_NONE)
			continue;
		if (whole)
			return NULL;
		whole = &p->stacks[i];
	}
	return whole;
}

/* Drop, from index `from` on, the stacks of threads, or else the empty ones of no thread. */
static void drop(struct profile *p, size_t from, bool threads)
{
	size_t kept = from;

	for (size_t i = from; i < p->n_stacks; i++) {
		bool of_thread = p->stacks[i].thread != PROFILE_NONE, empty = true;

		for (int t = 0; t < PROFILE_TYPES; t++)
			empty &= !(p->stacks[i].sampled[t] > 0);
		if (threads ? !of_thread : of_thread || !empty)
			p->stacks[kept++] = p->stacks[i];
	}
	p->n_stacks = kept;
}

/*
 * From index `from` on, the stacks are one stack, for all threads together and for single threads.
 * Give each thread its share of the estimate for all, so that they add up to it, and keep what no
 * thread has. If the threads add up to more than the whole, they are ignored.
 */
static void parse_split(struct parse *ps, size_t from)
{
	struct profile *p = ps->p;
	struct profile_stack *at = find_whole(p, from), whole;
	double rest[PROFILE_TYPES]; /* what no thread has: 0 in a valid profile */
	bool valid = at != NULL;

	for (int t = 0; valid && t < PROFILE_TYPES; t++) {
		rest[t] = 2 * at->sampled[t];
		for (size_t i = from; i < p->n_stacks; i++)
			rest[t] -= p->stacks[i].sampled[t];
		valid = rest[t] >= 0;
	}
	if (!valid) {
		drop(p, from, true);
		return;
	}
	whole = *at;
	for (size_t i = from; i < p->n_stacks; i++) {
		struct profile_stack *stack = &p->stacks[i];

		for (int t = 0; t < PROFILE_TYPES; t++) {
			double sampled = stack == at ? rest[t] : stack->sampled[t];
			double part = whole.sampled[t] > 0 ? sampled / whole.sampled[t] : 0;

			stack->sampled[t] = sampled;
			stack->value[t] = whole.value[t] * part;
			stack->variance[t] = whole.variance[t] * part;
		}
	}
	drop(p, from, false);
}

/* --- stacks --- */

/* jemalloc records 128 calls by default; a file must not make us hold millions for one stack. */
#define DEPTH_MAX 4096

/* "objects: bytes [objects: bytes]": in use, and since the start. */
struct parse_counts {
	uint64_t n[PROFILE_TYPES];
};

static bool parse_counts(struct span *s, struct parse_counts *c)
{
	struct span got = *s;

	if (!reader_number(&got, &c->n[PROFILE_INUSE_OBJECTS]) || !reader_text(&got, ":") ||
	    !reader_blank(&got) || !reader_number(&got, &c->n[PROFILE_INUSE_SPACE]) ||
	    !reader_blank(&got) || !reader_text(&got, "[") || !reader_blank(&got) ||
	    !reader_number(&got, &c->n[PROFILE_ALLOC_OBJECTS]) || !reader_text(&got, ":") ||
	    !reader_blank(&got) || !reader_number(&got, &c->n[PROFILE_ALLOC_SPACE]) ||
	    !reader_text(&got, "]"))
		return false;
	*s = got;
	return true;
}

/* The index of an address, added if it is new; PROFILE_NONE without memory. */
static uint32_t intern_address(struct parse *ps, uint64_t pc)
{
	struct profile *p = ps->p;
	uint32_t found = hashmap_get(&ps->addresses, pc);

	if (found != HASHMAP_NONE)
		return found;
	if (p->n_addresses == PROFILE_NONE ||
	    !vec_grow(p->addresses, ps->addresses_room, p->n_addresses) ||
	    !hashmap_put(&ps->addresses, pc, (uint32_t)p->n_addresses))
		return PROFILE_NONE;
	p->addresses[p->n_addresses] = (struct profile_address){ pc, PROFILE_NONE };
	return (uint32_t)p->n_addresses++;
}

/*
 * Add the addresses in the rest of the line as *depth new frames, from *first on. ERR_FAILED: they
 * are invalid, or memory ran out.
 */
static int parse_frames(struct parse *ps, struct span *s, uint64_t *first, uint32_t *depth,
			struct err *err)
{
	struct profile *p = ps->p;
	uint32_t n = 0, address;
	uint64_t pc;

	*first = p->n_frames;
	for (; reader_blank(s) && s->at < s->end; n++) {
		if (!reader_hex(s, &pc) || (s->at < s->end && *s->at != ' '))
			return reader_fail(&ps->file, "not an address", err);
		if (n == DEPTH_MAX)
			return reader_fail(&ps->file, "more than 4096 calls in one stack", err);
		address = intern_address(ps, pc);
		if (address == PROFILE_NONE || !vec_grow(p->frames, ps->frames_room, p->n_frames))
			return err_no_memory(err);
		p->frames[p->n_frames++] = address;
	}
	*depth = n;
	return 0;
}

/*
 * The variance of the bytes that one object of X bytes adds to an estimate, in squares of the
 * period, is h(x) = x^2 / (exp(x) - 1) with x = X / period. For objects of several sizes only the
 * average is known. The least concave majorant of h at that average is an upper bound of the
 * average of their variances (Jensen's inequality). It equals h up to its maximum, and is constant
 * beyond.
 */
#define H_TOP_AT 1.593624260040040
#define H_TOP 0.647610237891915

static double spread(double objects, double x)
{
	if (x > H_TOP_AT && objects > 1)
		return H_TOP;
	return x * x / expm1(x);
}

void parse_variance(double n, double size, double factor, double period, double *objects,
		    double *space)
{
	*objects = n * factor * (factor - 1);
	*space = n * factor * period * period * spread(n, size / period);
}

/*
 * As in jeprof(1): an object of X bytes is sampled with the probability 1 - exp(-X / period), where
 * X is the average of the stack. The number of objects that n samples represent has the variance
 * n * (1 - probability) / probability^2.
 */
static bool scale(const struct parse *ps, struct profile_stack *stack, unsigned int objects,
		  unsigned int space)
{
	double n = stack->sampled[objects], bytes = stack->sampled[space], factor = 1;

	if (ps->sampled && n != 0) {
		factor = 1 / (1 - exp(-(bytes / n / (double)ps->p->period)));
		if (!isfinite(factor))
			return false;
		parse_variance(n, bytes / n, factor, (double)ps->p->period,
			       &stack->variance[objects], &stack->variance[space]);
	}
	stack->value[objects] = n * factor;
	stack->value[space] = bytes * factor;
	return isfinite(stack->value[objects]) && isfinite(stack->value[space]);
}

/* Add a stack; `thread` may be PROFILE_NONE. */
static int parse_stack(struct parse *ps, uint64_t first, uint32_t depth, uint32_t thread,
		       const struct parse_counts *c, struct err *err)
{
	struct profile *p = ps->p;
	struct profile_stack stack = { .first = first, .depth = depth, .thread = thread };

	for (int i = 0; i < PROFILE_TYPES; i++)
		stack.sampled[i] = (double)c->n[i];
	if (!scale(ps, &stack, PROFILE_INUSE_OBJECTS, PROFILE_INUSE_SPACE) ||
	    !scale(ps, &stack, PROFILE_ALLOC_OBJECTS, PROFILE_ALLOC_SPACE))
		return reader_fail(&ps->file, "objects without a size", err);
	if (!vec_grow(p->stacks, ps->stacks_room, p->n_stacks))
		return err_no_memory(err);
	p->stacks[p->n_stacks++] = stack;
	if (c->n[PROFILE_ALLOC_OBJECTS] || c->n[PROFILE_ALLOC_SPACE])
		p->has_alloc = true;
	return 0;
}

/* The thread with that id, added if it is new. PROFILE_NONE without memory. */
static uint32_t parse_thread(struct parse *ps, uint64_t id)
{
	struct profile *p = ps->p;
	uint32_t found = hashmap_get(&ps->threads, id);

	if (found != HASHMAP_NONE)
		return found;
	if (p->n_threads == PROFILE_NONE || !vec_grow(p->threads, ps->threads_room, p->n_threads) ||
	    !hashmap_put(&ps->threads, id, (uint32_t)p->n_threads))
		return PROFILE_NONE;
	p->threads[p->n_threads] = (struct profile_thread){ .id = id, .name = "" };
	return (uint32_t)p->n_threads++;
}

/* --- files --- */

/*
 * The text that jemalloc writes (doc/heap-format.md). It is read in one forward pass, in linear
 * time.
 */

/* A stack of heap_v2 whose counts are on the following lines. */
struct open_stack {
	uint64_t first;
	uint32_t depth;
	bool open, counted; /* there is such a stack; a line of counts was read */
	size_t n_before;    /* number of stacks before it */
};

/* In the header: "tN: counts name", or the sum of all threads, which is redundant. */
static int header_counts(struct parse *ps, bool all, uint64_t id, struct span *s, struct err *err)
{
	uint32_t thread;
	const char *kept;
	size_t len;

	if (all)
		return 0;
	thread = parse_thread(ps, id);
	if (thread == PROFILE_NONE)
		return err_no_memory(err);
	reader_blank(s);
	len = (size_t)(s->end - s->at);
	if (!len)
		return 0;
	if (memchr(s->at, '\0', len))
		return reader_fail(&ps->file, "a thread name that is not text", err);
	kept = intern_add(ps->text, s->at, len);
	if (!kept)
		return err_no_memory(err);
	ps->p->threads[thread].name = kept;
	return 0;
}

/* Is the line of a thread that was asked for? Thread names precede the stacks. */
static bool is_wanted(const struct parse *ps, bool all, uint64_t id)
{
	const struct profile_options *o = ps->options;
	uint32_t thread;

	if (o->only_thread && o->thread_name && !all) {
		thread = hashmap_get(&ps->threads, id);
		return thread != HASHMAP_NONE &&
		       !strcmp(ps->p->threads[thread].name, o->thread_name);
	}
	if (o->only_thread)
		return !all && id == o->thread;
	return all || o->by_thread;
}

/* "t*: counts" or "tN: counts". */
static int counts_line(struct parse *ps, struct open_stack *stack, struct err *err)
{
	struct span s = ps->file.line;
	struct parse_counts c;
	uint32_t thread = PROFILE_NONE;
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
		return reader_fail(&ps->file, "unexpected text after the counts of a thread", err);
	stack->counted = true;
	if (!is_wanted(ps, all, id))
		return 0;
	if (!all) {
		thread = parse_thread(ps, id);
		if (thread == PROFILE_NONE)
			return err_no_memory(err);
	}
	return parse_stack(ps, stack->first, stack->depth, thread, &c, err);
}

/* The end of a stack's lines. */
static int close_stack(struct parse *ps, const struct open_stack *stack, struct err *err)
{
	if (stack->open && !stack->counted)
		return reader_fail(&ps->file, "no counts follow the stack: the file is truncated",
				   err);
	if (stack->open && ps->options->by_thread && !ps->options->only_thread)
		parse_split(ps, stack->n_before);
	return 0;
}

/* The body of heap_v2, up to MAPPED_LIBRARIES or the end. */
static int parse_v2(struct parse *ps, struct err *err)
{
	struct open_stack stack = { 0 };

	while (reader_line(&ps->file)) {
		struct span s = ps->file.line;

		if (reader_text(&s, "MAPPED_LIBRARIES:")) {
			if (close_stack(ps, &stack, err))
				return -1;
			return parse_mapped(ps, err);
		}
		if (reader_text(&s, "@")) {
			if (close_stack(ps, &stack, err))
				return -1;
			stack = (struct open_stack){ .open = true, .n_before = ps->p->n_stacks };
			if (parse_frames(ps, &s, &stack.first, &stack.depth, err))
				return -1;
		} else if (s.at < s.end && counts_line(ps, &stack, err)) {
			return -1;
		}
	}
	return close_stack(ps, &stack, err);
}

/* The body of 3.x, tcmalloc and Go, which has no threads: "counts @ addresses". */
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
		if (ps->go && *s.at == '#') {
			if (parse_go_call(ps, err))
				return -1;
			continue;
		}
		reader_blank(&s);
		if (!parse_counts(&s, &c) || !reader_blank(&s) || !reader_text(&s, "@"))
			return reader_fail(&ps->file, "not a line of a heap profile", err);
		if (parse_frames(ps, &s, &first, &depth, err))
			return -1;
		ps->go_first = first;
		ps->go_depth = depth;
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

/*
 * "heap profile: counts @ heap_v2/PERIOD", or "@ heapprofile" if everything was recorded; tcmalloc
 * writes these, too. "@ heap/N" is Go's.
 */
static bool is_v1(struct parse *ps, struct span s)
{
	struct parse_counts c;
	uint64_t twice;

	if (!reader_text(&s, "heap profile:") || !reader_blank(&s) || !parse_counts(&s, &c) ||
	    !reader_blank(&s) || !reader_text(&s, "@") || !reader_blank(&s))
		return false;
	if (reader_text(&s, "heapprofile")) {
		ps->p->period = 1;
		ps->sampled = false;
		return s.at == s.end;
	}
	if (is_v2(ps, s))
		return true;
	/* Go writes twice its runtime.MemProfileRate; with a rate of 1, everything is recorded. */
	if (!reader_text(&s, "heap/") || !reader_number(&s, &twice) || s.at != s.end)
		return false;
	ps->go = true;
	ps->sampled = twice / 2 > 1;
	ps->p->period = ps->sampled ? twice / 2 : 1;
	return true;
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
	/* jemalloc ends every line with a newline, including the last one. */
	if (!ps->file.whole)
		return reader_fail(&ps->file, "the last line has no newline", err);
	profile_apply_facts(ps->p);
	return threads_sort(ps->p, err);
}

/* A symbolized file: "--- symbol", names, "---", "--- heap", and then the profile. */
static int parse_symbolized(struct parse *ps, struct err *err)
{
	struct span s;

	ps->symbolized = true;
	if (parse_find_symbols(ps, err))
		return -1;
	s = ps->file.line;
	if (reader_text(&s, "---") && reader_blank(&s) && reader_text(&s, "heap") &&
	    !reader_line(&ps->file))
		return reader_fail(&ps->file, "the file ends before the profile", err);
	return parse_heap(ps, err) ? -1 : parse_symbols(ps, err);
}

static int parse_file(struct parse *ps, struct err *err)
{
	struct span s;

	if (!reader_line(&ps->file))
		return err_raise(err, ERROR_PROFILE_EMPTY);
	s = ps->file.line;
	if (reader_text(&s, "---") && reader_blank(&s) && reader_text(&s, "symbol"))
		return parse_symbolized(ps, err);
	if (parse_heap(ps, err))
		return -1;
	if (!ps->n_symbols)
		return 0;
	/* There were names between the stacks. */
	ps->section = (struct reader){ .start = ps->symbols,
				       .next = ps->symbols,
				       .end = ps->symbols + ps->n_symbols };
	return parse_symbols(ps, err);
}

static void close_parse(struct parse *ps)
{
	hashmap_fini(&ps->addresses);
	hashmap_fini(&ps->threads);
	hashmap_fini(&ps->called);
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

	/* The array of frames must exist even if no stack has calls. */
	if (!got.text || !vec_grow(got.frames, ps.frames_room, got.n_frames))
		return err_no_memory(err);
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

	/* A read error looks like the end of the file. */
	if (pieces.err.code != ERR_NONE) {
		profile_fini(&got);
		*err = pieces.err;
		return -1;
	}
	if (!failed)
		*out = got;
	return failed;
}
