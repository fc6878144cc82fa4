// SPDX-License-Identifier: Apache-2.0
/*
 * Finds te_event_trigger(tsd, ctx). A probe at a wrong address would corrupt the program, so the
 * function is found by one rule, its name or the variable that it reads, and confirmed by another:
 * what its code does with `ctx`. Code compiled without optimization fails that.
 */
#include "jemalloc/jemalloc.h"
#include "jemalloc/scan.h"

#include <elf.h>
#include <string.h>

/* --- by the variable --- */

#define ENTRIES_MAX 64
#define USES_MAX 256
#define TRIES_MAX (1u << 20) /* bytes that may be a call */
/* From its entry to the read of the variable; measured: 65 to 85 bytes. */
#define USE_WITHIN 256
#define USE_INSNS 128
/* Measured: 25 and 27 calls; the runner-up has 2. A linker may have dropped some callers. */
#define CALLS_MIN 4

struct search {
	struct scan *scan;
	uint64_t var;
	uint64_t uses[USES_MAX]; /* where code may refer to it */
	size_t n_uses;
	struct {
		uint64_t addr;
		unsigned int calls;
	} entries[ENTRIES_MAX]; /* of functions with such a use near their entry */
	size_t n_entries;
	uint64_t low, high; /* bounds of `uses`, and of entries that may lead to them */
	unsigned int tries; /* at most TRIES_MAX */
	bool too_many;
};

static void note_use(void *ctx, uint64_t at, uint64_t to)
{
	struct search *s = ctx;

	(void)to;
	if (s->n_uses == USES_MAX) {
		s->too_many = true;
		return;
	}
	s->uses[s->n_uses++] = at;
	if (at - USE_WITHIN < s->low)
		s->low = at - USE_WITHIN;
	if (at > s->high)
		s->high = at;
}

static void search_uses(void *ctx, const char *bytes, size_t len, uint64_t addr)
{
	struct search *s = ctx;

	decode_find_names(bytes, len, addr, s->scan->image->type == ET_EXEC, s->var, s->var,
			  note_use, s);
}

static bool leads_to_use(const struct search *s, uint64_t entry)
{
	for (size_t i = 0; i < s->n_uses; i++)
		if (s->uses[i] - entry < USE_WITHIN)
			return true;
	return false;
}

static void note_call(void *ctx, uint64_t at, uint64_t to)
{
	struct search *s = ctx;
	size_t i = 0;

	(void)at;
	while (i < s->n_entries && s->entries[i].addr != to)
		i++;
	if (i == s->n_entries) {
		s->too_many |= s->tries++ == TRIES_MAX;
		if (s->too_many || !leads_to_use(s, to) || !decode_may_start(&s->scan->code, to))
			return;
		s->too_many = i == ENTRIES_MAX;
		if (s->too_many)
			return;
		s->entries[s->n_entries++].addr = to;
	}
	s->entries[i].calls++;
}

static void search_calls(void *ctx, const char *bytes, size_t len, uint64_t addr)
{
	struct search *s = ctx;

	decode_find_calls(bytes, len, addr, s->low, s->high, note_call, s);
}

static int is_use(void *ctx, const struct insn *insn)
{
	const uint64_t *var = ctx;

	return insn->has_memory && insn->memory == *var && insn->size == 8 && insn->reads;
}

/* The function reading the variable that is called from by far the most places. */
static uint64_t most_called(struct search *s)
{
	unsigned int best = 0, second = 0;
	uint64_t found = 0;

	for (size_t i = 0; i < s->n_entries; i++) {
		unsigned int calls = s->entries[i].calls;

		if (calls <= second || !decode_function(&s->scan->code, s->entries[i].addr,
							USE_INSNS, is_use, &s->var))
			continue;
		second = calls < best ? calls : best;
		if (calls <= best)
			continue;
		best = calls;
		found = s->entries[i].addr;
	}
	return best >= CALLS_MIN && best >= 2 * second ? found : 0;
}

/* --- by what it does --- */

#define SHAPE_INSNS 100

/* A value that is no address, to represent the second argument. */
#define CTX (UINT64_C(1) << 63)

/* The fields of te_ctx_t that it reads before its first call. */
struct shape {
	bool is_alloc, current, last_event;
};

static int note_shape(void *ctx, const struct insn *insn)
{
	struct shape *s = ctx;
	uint64_t at = insn->memory - CTX;

	if (insn->kind != INSN_OTHER)
		return 1;
	if (!insn->has_memory || !insn->reads)
		return 0;
	s->is_alloc |= at == 0 && insn->size == 1;
	s->current |= at == 8 && insn->size == 8;
	s->last_event |= at == 16 && insn->size == 8;
	return 0;
}

static bool is_event_trigger(struct scan *s, uint64_t entry)
{
	struct shape shape = { 0 };

	if (!image_has_code(s->image, entry) || !decode_may_start(&s->code, entry))
		return false;
	decode_function_given(&s->code, entry, CTX, SHAPE_INSNS, note_shape, &shape);
	return shape.is_alloc && shape.current && shape.last_event;
}

uint64_t scan_event_trigger(struct scan *s, uint64_t mallctl, uint64_t var)
{
	struct search search = { .scan = s, .var = var, .low = UINT64_MAX };
	uint64_t found;

	if (!var)
		return 0;
	scan_code_near(s, mallctl, search_uses, &search);
	if (!search.n_uses || search.too_many)
		return 0;
	scan_code_near(s, mallctl, search_calls, &search);
	found = search.too_many ? 0 : most_called(&search);
	return found && is_event_trigger(s, found) ? found : 0;
}

/* --- by its name --- */

static const char plain_name[] = "te_event_trigger";

/* Perhaps with the build's namespace as a prefix; not a clone by the compiler. */
static bool is_name(const char *name)
{
	size_t len = strlen(name), tail = sizeof(plain_name) - 1;

	return len >= tail && !strcmp(name + len - tail, plain_name) &&
	       (len == tail || name[len - tail - 1] == '_');
}

struct named {
	uint64_t by_code; /* what was found by code */
	size_t n;
	bool agrees; /* one of the `n` names has that address */
	const char *prefix;
	struct jemalloc_text text;
	uint64_t in_text; /* the one in what may be this jemalloc's code */
	bool ambiguous;	  /* there are several */
	bool prefixed;	  /* it has this jemalloc's prefix, which takes precedence */
};

static int note_name(void *ctx, const char *name, const struct symbol *sym)
{
	struct named *n = ctx;
	bool prefixed = *n->prefix && !strncmp(name, n->prefix, strlen(n->prefix));

	if (sym->type != STT_FUNC || !is_name(name))
		return 0;
	n->n++;
	n->agrees |= sym->addr == n->by_code;
	if (!jemalloc_text_has(&n->text, sym->addr) || (n->prefixed && !prefixed))
		return 0;
	if (prefixed && !n->prefixed) {
		n->prefixed = true;
		n->ambiguous = false;
		n->in_text = sym->addr;
	}
	n->ambiguous |= n->in_text && n->in_text != sym->addr;
	n->in_text = sym->addr;
	return 0;
}

/* Reconcile the result of the code with the symbols. */
static uint64_t with_names(const struct jemalloc *je, pid_t pid, struct scan *s, uint64_t by_code)
{
	struct named n = { .by_code = by_code, .prefix = je->prefix };
	struct err ignored = ERR_INIT;

	if (!image_may_name(je->image, plain_name))
		return by_code;
	/*
	 * Takes longer than all the rest; needed to distinguish several jemallocs in one program.
	 */
	if (!by_code)
		(void)!jemalloc_text(&n.text, je, pid, &ignored);
	image_each_symbol(je->image, note_name, &n);
	jemalloc_text_fini(&n.text);
	if (by_code)
		return n.n && !n.agrees ? 0 : by_code;
	return n.in_text && !n.ambiguous && is_event_trigger(s, n.in_text) ? n.in_text : 0;
}

void jemalloc_find_event(const struct jemalloc *je, const struct proc *p,
			 struct jemalloc_event *out)
{
	struct scan scan;
	uint64_t found = 0;

	*out = (struct jemalloc_event){ 0 };
	if (jemalloc_version_cmp(je->version, 5, 3, 0) < 0)
		return;
	scan_open(&scan, je->image, p->mm_pid);
	if (je->is_alone)
		found = scan_event_trigger(&scan, je->mallctl,
					   options_find_word(&scan, "tcache_gc_incr_bytes"));
	out->te_event_trigger = with_names(je, p->mm_pid, &scan, found);
}
