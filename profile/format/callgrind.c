// SPDX-License-Identifier: Apache-2.0
/*
 * For KCachegrind and callgrind_annotate(1): what each source line allocated itself, and through
 * each call from it. As costs cannot be negative, what shrank in a difference is left out.
 */
#include "base/hashmap.h"
#include "base/vec.h"
#include "profile/format/private.h"
#include "profile/profile.h"

#include <math.h>
#include <string.h>

/* A source line; function PROFILE_NONE: stacks without any frame left. */
struct cost_line {
	uint32_t function, line;
	double value[PROFILE_TYPES];
};

struct cost_call {
	uint32_t from;	 /* index of `lines` */
	uint32_t callee; /* function */
	double value[PROFILE_TYPES];
};

struct callgrind {
	const struct profile *p;
	struct profile_names names;
	struct cost_line *lines;
	struct cost_call *calls;
	size_t n_lines, room_lines, n_calls, room_calls;
	struct hashmap line_at, call_at; /* by (function, line), and by (from, callee) */
	uint32_t *order;		 /* of lines: by function, then line */
	uint32_t *first_call;		 /* of each line: index of `calls` */
	struct hashmap files;		 /* by pointer: file number */
	bool *named;			 /* of each function: its name was written */
	uint32_t *seen;			 /* of each function: the last stack that calls it */
	enum profile_type types[PROFILE_TYPES];
	unsigned int n_types;
	FILE *out;
};

static void callgrind_fini(struct callgrind *c)
{
	profile_names_fini(&c->names);
	free(c->lines);
	free(c->calls);
	free(c->order);
	free(c->first_call);
	free(c->named);
	free(c->seen);
	hashmap_fini(&c->line_at);
	hashmap_fini(&c->call_at);
	hashmap_fini(&c->files);
}

static void add_values(double *to, const double *from)
{
	for (size_t i = 0; i < PROFILE_TYPES; i++)
		to[i] += isfinite(from[i]) ? from[i] : 0;
}

/* The index of a line's costs, HASHMAP_NONE without memory. */
static uint32_t line_costs(struct callgrind *c, uint32_t function, uint32_t line)
{
	uint64_t key = (uint64_t)function << 32 | line;
	uint32_t at = hashmap_get(&c->line_at, key);

	if (at != HASHMAP_NONE)
		return at;
	if (c->n_lines >= HASHMAP_NONE || !vec_grow(c->lines, c->room_lines, c->n_lines) ||
	    !hashmap_put(&c->line_at, key, (uint32_t)c->n_lines))
		return HASHMAP_NONE;
	c->lines[c->n_lines] = (struct cost_line){ .function = function, .line = line };
	return (uint32_t)c->n_lines++;
}

/* `value` NULL: add the call without a cost. */
static bool add_call(struct callgrind *c, uint32_t from, uint32_t callee, const double *value)
{
	uint64_t key = (uint64_t)from << 32 | callee;
	uint32_t at = hashmap_get(&c->call_at, key);

	if (at == HASHMAP_NONE) {
		at = (uint32_t)c->n_calls;
		if (c->n_calls >= HASHMAP_NONE || !vec_grow(c->calls, c->room_calls, c->n_calls) ||
		    !hashmap_put(&c->call_at, key, at))
			return false;
		c->calls[c->n_calls++] = (struct cost_call){ .from = from, .callee = callee };
	}
	if (value)
		add_values(c->calls[at].value, value);
	return true;
}

/*
 * Count stack number `n` with these lines, innermost first. Readers compute a function's inclusive
 * cost as the sum of the costs of calls to it. So with direct or indirect recursion, only the
 * outermost call has a cost.
 */
static bool add_stack(struct callgrind *c, uint32_t n, const struct profile_line *lines,
		      size_t n_lines)
{
	const double *value = c->p->stacks[n].value;
	uint32_t at = line_costs(c, n_lines ? lines[0].function : PROFILE_NONE,
				 n_lines ? lines[0].line : 0);

	if (at == HASHMAP_NONE)
		return false;
	add_values(c->lines[at].value, value);
	for (size_t i = n_lines; i-- > 1;) {
		uint32_t callee = lines[i - 1].function;

		at = line_costs(c, lines[i].function, lines[i].line);
		if (at == HASHMAP_NONE ||
		    !add_call(c, at, callee, c->seen[callee] != n ? value : NULL))
			return false;
		c->seen[callee] = n;
	}
	return true;
}

static int by_function(const void *left, const void *right, void *lines)
{
	const struct cost_line *a = (struct cost_line *)lines + *(const uint32_t *)left;
	const struct cost_line *b = (struct cost_line *)lines + *(const uint32_t *)right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int by_from(const void *left, const void *right)
{
	const struct cost_call *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static bool sort(struct callgrind *c)
{
	c->order = calloc(c->n_lines + 1, sizeof(*c->order));
	c->first_call = calloc(c->n_lines + 1, sizeof(*c->first_call));
	c->named = calloc(c->names.n + 1, sizeof(*c->named));
	if (!c->order || !c->first_call || !c->named)
		return false;
	for (size_t i = 0; i < c->n_lines; i++)
		c->order[i] = (uint32_t)i;
	vec_sort_with(c->order, c->n_lines, by_function, c->lines);
	vec_sort(c->calls, c->n_calls, by_from);
	for (size_t i = c->n_calls; i--;)
		c->first_call[c->calls[i].from] = (uint32_t)i;
	return true;
}

/* The file and name of a function: "fl=(3) name" the first time, then "fl=(3)". */
static bool write_function(struct callgrind *c, bool callee, uint32_t function)
{
	bool none = function == PROFILE_NONE;
	uint32_t at = none ? (uint32_t)c->names.n : function;
	const char *path = none ? NULL : c->p->symbols->functions[function].file;
	uint32_t file = hashmap_get(&c->files, (uintptr_t)path);
	bool known = file != HASHMAP_NONE;

	if (!known) {
		file = (uint32_t)c->files.n + 1;
		if (!hashmap_put(&c->files, (uintptr_t)path, file))
			return false;
	}
	fprintf(c->out, "%s=(%u)%s", callee ? "cfi" : "fl", file, known ? "" : " ");
	if (!known)
		format_raw(format_plain, path ? path : "???", c->out);
	putc('\n', c->out);
	fprintf(c->out, "%s=(%u)", callee ? "cfn" : "fn", at + 1);
	if (!c->named[at])
		fprintf(c->out, " %s", none ? "???" : c->names.name[function]);
	c->named[at] = true;
	putc('\n', c->out);
	return true;
}

static void write_costs(struct callgrind *c, uint32_t line, const double *value,
			struct format_sum *sums)
{
	fprintf(c->out, "%u", line);
	for (unsigned int i = 0; i < c->n_types; i++) {
		struct format_sum alone = { 0 };
		double cost = fmax(value[c->types[i]], 0);

		fprintf(c->out, " %lld", (long long)format_round(sums ? &sums[i] : &alone, cost));
	}
	putc('\n', c->out);
}

static bool write_lines(struct callgrind *c)
{
	struct format_sum sums[PROFILE_TYPES] = { { 0 } };
	uint32_t function = 0;

	for (size_t i = 0; i < c->n_lines; i++) {
		uint32_t at = c->order[i];
		const struct cost_line *line = &c->lines[at];

		if (!i || line->function != function) {
			putc('\n', c->out);
			if (!write_function(c, false, line->function))
				return false;
		}
		function = line->function;
		write_costs(c, line->line, line->value, sums);
		for (size_t k = c->first_call[at]; k < c->n_calls && c->calls[k].from == at; k++) {
			const struct cost_call *call = &c->calls[k];
			double times = fmax(fmin(call->value[PROFILE_INUSE_OBJECTS], 1e18), 1);

			if (!write_function(c, true, call->callee))
				return false;
			fprintf(c->out, "calls=%lld 0\n", llround(times));
			write_costs(c, line->line, call->value, NULL);
		}
	}
	fputs("\ntotals:", c->out);
	for (unsigned int i = 0; i < c->n_types; i++)
		fprintf(c->out, " %lld", (long long)sums[i].written);
	putc('\n', c->out);
	return true;
}

int format_callgrind(const struct profile *profile, const struct profile_format_options *options,
		     FILE *out, struct err *err)
{
	_cleanup_(callgrind_fini) struct callgrind c = { .p = profile, .out = out };
	_cleanup_(cleanup_free) struct profile_line *lines = NULL;
	enum profile_type known[PROFILE_TYPES];
	unsigned int n_known = format_known(profile, known);

	if (profile_names_init(&c.names, profile->symbols, err))
		return -1;
	/* All types, starting with the requested one, by which readers sort. */
	c.types[c.n_types++] = options->type;
	for (unsigned int i = 0; i < n_known; i++)
		if (known[i] != options->type)
			c.types[c.n_types++] = known[i];
	lines = malloc(PROFILE_DEPTH_MAX * sizeof(*lines));
	c.seen = malloc((c.names.n + 1) * sizeof(*c.seen));
	if (!lines || !c.seen)
		return err_no_memory(err);
	for (size_t i = 0; i < c.names.n; i++)
		c.seen[i] = HASHMAP_NONE;
	for (size_t i = 0; i < profile->n_stacks; i++) {
		size_t n = profile_stack_lines(profile, &profile->stacks[i],
					       options->keep_allocator, lines, PROFILE_DEPTH_MAX);

		if (!add_stack(&c, (uint32_t)i, lines, n))
			return err_no_memory(err);
	}
	if (!sort(&c))
		return err_no_memory(err);
	fputs("# callgrind format\nversion: 1\ncreator: jeprof-ctl\n", out);
	if (profile->facts.pid > 0)
		fprintf(out, "pid: %lld\n", (long long)profile->facts.pid);
	fputs("cmd: ", out);
	format_raw(format_plain, format_title(profile, options), out);
	fputs("\npositions: line\nevents:", out);
	for (unsigned int i = 0; i < c.n_types; i++)
		fprintf(out, " %s", format_types[c.types[i]].name);
	putc('\n', out);
	if (!write_lines(&c))
		return err_no_memory(err);
	return 0;
}
