// SPDX-License-Identifier: Apache-2.0

#include "profile/combine.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "base/vec.h"
#include "profile/fit.h"
#include "profile/mapping.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdio.h>
#include <string.h>

struct combine {
	struct profile *into;
	const struct profile *other;
	double sign;
	uint64_t *delta;   /* of each mapping of `other` */
	uint32_t *address; /* of `into`, for each of `other` */
	uint32_t *thread;
	struct hashmap stacks; /* of `into` */
	size_t addresses_room, frames_room, stacks_room, threads_room;
};

static void close_combine(struct combine *c)
{
	free(c->delta);
	free(c->address);
	free(c->thread);
	hashmap_fini(&c->stacks);
}

/* FNV-1a: the same in every run. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		hash = (hash ^ *c) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t profile_made_up_pc(const struct profile_symbols *s, size_t location)
{
	const struct profile_location *at = &s->locations[location];
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	char line[16];

	for (uint32_t i = 0; i < at->n; i++) {
		snprintf(line, sizeof(line), ":%u\n", s->lines[at->first + i].line);
		hash = hash_text(hash, s->functions[s->lines[at->first + i].function].name);
		hash = hash_text(hash, line);
	}
	return PROFILE_MADE_UP | hash;
}

static bool is_same_function(const struct profile_function *a, const struct profile_function *b)
{
	char x[PROFILE_NAME_MAX], y[PROFILE_NAME_MAX];

	/* The suffix that distinguishes functions of one name depends on the profile. */
	return !a->known || !b->known || !strcmp(a->name, b->name) ||
	       !strcmp(profile_name_bare(a->name, x, sizeof(x)),
		       profile_name_bare(b->name, y, sizeof(y)));
}

/*
 * Is one address two places? That happens with two builds of a program that no build id
 * distinguishes, as with Go. If only one profile knows what was inlined, compare the functions
 * that it was inlined into.
 */
static bool are_two(const struct combine *c, size_t ours, size_t theirs)
{
	const struct profile_symbols *s = c->into->symbols, *t = c->other->symbols;
	const struct profile_location *a, *b;
	uint32_t n;

	if (!s || !t || ours >= s->n_locations)
		return false;
	a = &s->locations[ours];
	b = &t->locations[theirs];
	n = a->n == b->n ? a->n : a->n && b->n;
	for (uint32_t i = 1; i <= n; i++)
		if (!is_same_function(&s->functions[s->lines[a->first + a->n - i].function],
				      &t->functions[t->lines[b->first + b->n - i].function]))
			return true;
	return false;
}

static int move_addresses(struct combine *c, struct err *err)
{
	_cleanup_(hashmap_fini) struct hashmap known = { 0 };
	struct profile *into = c->into;

	for (size_t i = 0; i < into->n_addresses; i++) {
		if (hashmap_get(&known, into->addresses[i].pc) == HASHMAP_NONE &&
		    !hashmap_put(&known, into->addresses[i].pc, (uint32_t)i))
			return err_no_memory(err);
	}
	for (size_t i = 0; i < c->other->n_addresses; i++) {
		const struct profile_address *a = &c->other->addresses[i];
		uint64_t pc = a->pc + (a->mapping == PROFILE_NONE ? 0 : c->delta[a->mapping]);

		c->address[i] = hashmap_get(&known, pc);
		if (c->address[i] != HASHMAP_NONE && are_two(c, c->address[i], i)) {
			pc = profile_made_up_pc(c->other->symbols, i);
			c->address[i] = hashmap_get(&known, pc);
		}
		if (c->address[i] != HASHMAP_NONE)
			continue;
		if (into->n_addresses == PROFILE_NONE ||
		    !vec_grow(into->addresses, c->addresses_room, into->n_addresses) ||
		    !hashmap_put(&known, pc, (uint32_t)into->n_addresses))
			return err_no_memory(err);
		c->address[i] = (uint32_t)into->n_addresses;
		into->addresses[into->n_addresses++] = (struct profile_address){ .pc = pc };
	}
	mapping_place(into);
	return 0;
}

/* Both are sorted by id; new threads are sorted in later. */
static int move_threads(struct combine *c, struct err *err)
{
	_cleanup_(hashmap_fini) struct hashmap known = { 0 };
	struct profile *into = c->into;

	for (size_t i = 0; i < into->n_threads; i++) {
		if (!hashmap_put(&known, into->threads[i].id, (uint32_t)i))
			return err_no_memory(err);
	}
	for (size_t i = 0; i < c->other->n_threads; i++) {
		const struct profile_thread *t = &c->other->threads[i];
		const char *name;

		c->thread[i] = hashmap_get(&known, t->id);
		if (c->thread[i] != HASHMAP_NONE)
			continue;
		name = intern_add(into->text, t->name, strlen(t->name));
		if (!name || !vec_grow(into->threads, c->threads_room, into->n_threads))
			return err_no_memory(err);
		c->thread[i] = (uint32_t)into->n_threads;
		into->threads[into->n_threads++] = (struct profile_thread){ t->id, name };
	}
	return 0;
}

/* --- stacks --- */

/* The stack to look up. */
struct stack_key {
	const struct profile *p;
	const uint32_t *frames;
	uint32_t depth, thread;
};

static bool is_stack(const void *ctx, uint32_t i)
{
	const struct stack_key *k = ctx;
	const struct profile_stack *s = &k->p->stacks[i];

	return s->depth == k->depth && s->thread == k->thread &&
	       !memcmp(k->p->frames + s->first, k->frames, k->depth * sizeof(*k->frames));
}

/* The index of that stack; if there is none, it is added as `next`. */
static uint32_t find(struct combine *c, const struct stack_key *k, uint32_t next)
{
	uint64_t hash =
		hashmap_hash(k->frames, k->depth * sizeof(*k->frames), hashmap_hash_u64(k->thread));
	uint32_t at = hashmap_find(&c->stacks, hash, is_stack, k);

	if (at != HASHMAP_NONE)
		return at;
	return hashmap_add(&c->stacks, hash, next) ? next : HASHMAP_NONE;
}

static int add_stack(struct combine *c, const struct profile_stack *from, struct err *err)
{
	struct profile *p = c->into;
	struct profile_stack s = { .first = p->n_frames, .depth = from->depth };
	struct stack_key k;
	uint32_t at;

	s.thread = from->thread == PROFILE_NONE ? PROFILE_NONE : c->thread[from->thread];
	for (uint32_t i = 0; i < s.depth; i++) {
		if (!vec_grow(p->frames, c->frames_room, p->n_frames + i))
			return err_no_memory(err);
		p->frames[s.first + i] = c->address[c->other->frames[from->first + i]];
	}
	k = (struct stack_key){ p, p->frames + s.first, s.depth, s.thread };
	if (p->n_stacks == HASHMAP_NONE || !vec_grow(p->stacks, c->stacks_room, p->n_stacks))
		return err_no_memory(err);
	at = find(c, &k, (uint32_t)p->n_stacks);
	if (at == HASHMAP_NONE)
		return err_no_memory(err);
	if (at == p->n_stacks) {
		p->stacks[p->n_stacks++] = s;
		p->n_frames += s.depth;
	}
	for (int i = 0; i < PROFILE_TYPES; i++) {
		p->stacks[at].value[i] += c->sign * from->value[i];
		p->stacks[at].sampled[i] += c->sign * from->sampled[i];
		p->stacks[at].variance[i] += from->variance[i];
	}
	return 0;
}

/* --- names --- */

static void copy_names(struct symbols_build *b, const struct profile_symbols *s, size_t from,
		       size_t to)
{
	const struct profile_location *at = &s->locations[from];
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	uint32_t n = at->n < SYMBOLS_INLINED_MAX ? at->n : SYMBOLS_INLINED_MAX;

	for (uint32_t i = 0; i < n; i++) {
		lines[i] = s->lines[at->first + i];
		lines[i].function = symbols_build_function(b, &s->functions[lines[i].function]);
	}
	symbols_build_location(b, to, lines, n);
}

static int merge_names(struct combine *c, struct err *err)
{
	_cleanup_(symbols_build_close) struct symbols_build *b = NULL;
	const struct profile_symbols *ours = c->into->symbols, *theirs = c->other->symbols;

	if (!ours && !theirs)
		return 0;
	b = symbols_build_new(c->into->n_addresses);
	if (!b)
		return err_no_memory(err);
	for (size_t i = 0; ours && i < ours->n_locations; i++)
		copy_names(b, ours, i, i);
	for (size_t i = 0; theirs && i < theirs->n_locations; i++)
		copy_names(b, theirs, i, c->address[i]);
	return symbols_build_finish(b, c->into, err);
}

static int combine(struct profile *into, const struct profile *other, double sign, struct err *err)
{
	_cleanup_(close_combine) struct combine c = {
		.into = into,
		.other = other,
		.sign = sign,
		.delta = calloc(other->n_mappings + 1, sizeof(*c.delta)),
		.address = calloc(other->n_addresses + 1, sizeof(*c.address)),
		.thread = calloc(other->n_threads + 1, sizeof(*c.thread)),
		.addresses_room = into->n_addresses,
		.frames_room = into->n_frames,
		.stacks_room = into->n_stacks,
		.threads_room = into->n_threads,
	};

	if (into->period && into->facts.only_alloc_space != other->facts.only_alloc_space) {
		err_raise(err, ERROR_COUNTS_DIFFER);
		return err_advise(err, FIX_COMBINE_ALIKE);
	}
	if (!c.delta || !c.address || !c.thread)
		return err_no_memory(err);
	for (size_t i = 0; i < into->n_stacks; i++) {
		const struct profile_stack *s = &into->stacks[i];
		const struct stack_key k = { into, into->frames + s->first, s->depth, s->thread };

		if (find(&c, &k, (uint32_t)i) == HASHMAP_NONE)
			return err_no_memory(err);
	}
	if (mapping_move(into, other, c.delta, err) || move_addresses(&c, err) ||
	    move_threads(&c, err))
		return -1;
	for (size_t i = 0; i < other->n_stacks; i++) {
		if (add_stack(&c, &other->stacks[i], err))
			return -1;
	}
	into->has_alloc |= other->has_alloc;
	if (!into->period) { /* the empty profile that a series starts with */
		into->period = other->period;
		into->facts.only_alloc_space = other->facts.only_alloc_space;
		into->facts.sample_bytes = other->facts.sample_bytes;
	}
	if (!into->written_ns || (other->written_ns && other->written_ns < into->written_ns))
		into->written_ns = other->written_ns;
	into->rates_differ |= other->rates_differ || other->period != into->period;
	return threads_sort(into, err) ? -1 : merge_names(&c, err);
}

void profile_drop_negative(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_stacks; i++) {
		struct profile_stack *s = &profile->stacks[i];

		for (int t = 0; t < PROFILE_TYPES; t++)
			s->value[t] = s->value[t] < 0 ? 0 : s->value[t];
		/* A sample is an object and its bytes: drop counts of only one of them. */
		for (int t = 0; t < PROFILE_TYPES; t += 2) {
			if (s->sampled[t + 1] <= 0 ||
			    (s->sampled[t] <= 0 && !profile->facts.only_alloc_space))
				s->sampled[t] = s->sampled[t + 1] = 0;
			s->sampled[t] = s->sampled[t] < 0 ? 0 : s->sampled[t];
		}
	}
}

int profile_merge(struct profile *into, const struct profile *other, struct err *err)
{
	return combine(into, other, 1, err);
}

int profile_subtract(struct profile *into, const struct profile *other, struct err *err)
{
	if (combine(into, other, -1, err))
		return -1;
	into->difference = true;
	return 0;
}

void profile_fact_texts(struct profile_facts *f, const char **texts[PROFILE_FACT_TEXTS])
{
	const char **const all[PROFILE_FACT_TEXTS] = { &f->comm, &f->host, &f->version,
						       &f->opt_active, &f->explain };

	memcpy(texts, all, sizeof(all));
}

int profile_keep_facts(struct profile *into, const struct profile_facts *facts, struct err *err)
{
	const char **texts[PROFILE_FACT_TEXTS];

	into->facts = *facts;
	profile_fact_texts(&into->facts, texts);
	for (size_t i = 0; i < PROFILE_FACT_TEXTS; i++) {
		if (!*texts[i])
			continue;
		*texts[i] = intern_add(into->text, *texts[i], strlen(*texts[i]));
		if (!*texts[i])
			return err_no_memory(err);
	}
	return 0;
}
