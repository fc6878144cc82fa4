// SPDX-License-Identifier: Apache-2.0
/*
 * Heap profiles in pprof's format (profile.proto): from Go, jemalloc in Rust programs, Parca and
 * Pyroscope, and our own. protobuf-c unpacks the message; its content is untrusted.
 */
#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/combine.h"
#include "profile/format/pprof.pb-c.h"
#include "profile/mapping.h"
#include "profile/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 4096
#define MAPPINGS_MAX (1u << 16)
#define MEMORY_MAX ((size_t)2 << 30) /* data may unpack to a hundred times its size */
#define NO_COLUMN SIZE_MAX

struct pprof {
	const Pprof__Profile *from;
	struct profile *p;
	struct symbols_build *symbols;
	size_t column[PROFILE_TYPES]; /* index in a sample's values; NO_COLUMN: none */
	bool sampled;
	struct hashmap mappings;  /* id: index of from->mapping */
	struct hashmap functions; /* id: index of from->function */
	struct hashmap locations; /* id: index of p->addresses, and of from->location */
	struct hashmap pcs, threads;
	size_t frames_room, stacks_room, threads_room;
};

static void close_pprof(struct pprof *r)
{
	symbols_build_free(r->symbols);
	hashmap_fini(&r->mappings);
	hashmap_fini(&r->functions);
	hashmap_fini(&r->locations);
	hashmap_fini(&r->pcs);
	hashmap_fini(&r->threads);
}

static int broken(const char *what, struct err *err)
{
	return err_raise(err, ERROR_PPROF_BROKEN, .text = what);
}

static const char *text_of(const struct pprof *r, int64_t at)
{
	return at > 0 && (uint64_t)at < r->from->n_string_table ? r->from->string_table[at] : "";
}

static const char *keep(const struct profile *p, const char *text)
{
	return intern_add(p->text, text, strlen(text));
}

/* --- types of values --- */

static bool is_type(const char *name, enum profile_type type)
{
	static const char *const names[PROFILE_TYPES][3] = {
		[PROFILE_INUSE_OBJECTS] = { "inuse_objects", "objects" },
		[PROFILE_INUSE_SPACE] = { "inuse_space", "space" },
		[PROFILE_ALLOC_OBJECTS] = { "alloc_objects" },
		[PROFILE_ALLOC_SPACE] = { "alloc_space" },
	};

	for (size_t i = 0; names[type][i]; i++) {
		if (!strcmp(name, names[type][i]))
			return true;
	}
	return false;
}

static int find_columns(struct pprof *r, struct err *err)
{
	const Pprof__Profile *from = r->from;
	bool any = false;

	for (int t = 0; t < PROFILE_TYPES; t++) {
		r->column[t] = NO_COLUMN;
		for (size_t i = 0; i < from->n_sample_type && r->column[t] == NO_COLUMN; i++) {
			if (is_type(text_of(r, from->sample_type[i]->type), (enum profile_type)t))
				r->column[t] = i;
		}
		any |= r->column[t] != NO_COLUMN;
	}
	if (!any)
		return err_raise(err, ERROR_PPROF_NOT_OF_MEMORY,
				 .text = from->n_sample_type
						 ? text_of(r, from->sample_type[0]->type)
						 : "nothing");
	r->p->facts.only_alloc_space = r->column[PROFILE_ALLOC_SPACE] != NO_COLUMN;
	for (int t = 0; t < PROFILE_ALLOC_SPACE; t++)
		r->p->facts.only_alloc_space &= r->column[t] == NO_COLUMN;
	r->p->period = from->period > 0 ? (uint64_t)from->period : 1;
	r->sampled = r->p->period > 1 && from->period_type &&
		     !strcmp(text_of(r, from->period_type->type), "space") &&
		     !strcmp(text_of(r, from->period_type->unit), "bytes");
	if (!r->sampled)
		r->p->period = 1;
	else if (r->p->facts.only_alloc_space)
		r->p->facts.sample_bytes = from->period;
	return 0;
}

/* --- mappings and locations --- */

static int compare_starts(const void *a, const void *b)
{
	const struct profile_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Go has build ids of its own, which differ from those of ELF files. */
static const char *keep_build_id(const struct pprof *r, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!isxdigit((unsigned char)*c))
			return NULL;
	}
	return *text ? keep(r->p, text) : NULL;
}

static int read_mappings(struct pprof *r, struct err *err)
{
	struct profile *p = r->p;
	size_t n = 0;

	if (r->from->n_mapping > MAPPINGS_MAX)
		return broken("more mappings than a process has", err);
	p->mappings = calloc(r->from->n_mapping + 1, sizeof(*p->mappings));
	if (!p->mappings)
		return err_no_memory(err);
	for (size_t i = 0; i < r->from->n_mapping; i++) {
		const Pprof__Mapping *m = r->from->mapping[i];

		if (hashmap_get(&r->mappings, m->id) == HASHMAP_NONE &&
		    !hashmap_put(&r->mappings, m->id, (uint32_t)i))
			return err_no_memory(err);
		if (m->memory_start >= m->memory_limit || m->memory_limit >= PROFILE_MADE_UP)
			continue;
		p->mappings[p->n_mappings++] = (struct profile_mapping){
			.start = m->memory_start,
			.end = m->memory_limit,
			.offset = m->file_offset,
			.path = keep(r->p, text_of(r, m->filename)),
			.build_id = keep_build_id(r, text_of(r, m->build_id)),
		};
		if (!p->mappings[p->n_mappings - 1].path)
			return err_no_memory(err);
	}
	vec_sort(p->mappings, p->n_mappings, compare_starts);
	/* With several processes in one profile, the first one determines what an address means. */
	for (size_t i = 0; i < p->n_mappings; i++) {
		if (!n || p->mappings[i].start >= p->mappings[n - 1].end)
			p->mappings[n++] = p->mappings[i];
	}
	p->n_mappings = n;
	return 0;
}

/* Do the profile's mappings agree about this location's address? */
static bool is_mapped(const struct pprof *r, const Pprof__Location *l)
{
	uint32_t own = hashmap_get(&r->mappings, l->mapping_id);
	uint32_t found = mapping_find(r->p, l->address);
	const Pprof__Mapping *m;

	if (own == HASHMAP_NONE || found == PROFILE_NONE)
		return false;
	m = r->from->mapping[own];
	return m->memory_start == r->p->mappings[found].start &&
	       m->memory_limit == r->p->mappings[found].end &&
	       !strcmp(text_of(r, m->filename), r->p->mappings[found].path);
}

/* Ours are return addresses; pprof's are within the call instruction. */
static uint64_t pc_of(const struct pprof *r, const Pprof__Location *l, size_t i)
{
	uint64_t pc = l->address + 1;

	if (!l->address || l->address >= PROFILE_MADE_UP - 1 ||
	    hashmap_get(&r->pcs, pc) != HASHMAP_NONE)
		return PROFILE_MADE_UP + i;
	return is_mapped(r, l) || mapping_find(r->p, l->address) == PROFILE_NONE
		       ? pc
		       : PROFILE_MADE_UP + i;
}

static int read_locations(struct pprof *r, struct err *err)
{
	struct profile *p = r->p;

	if (r->from->n_location >= PROFILE_NONE)
		return broken("more locations than can be counted", err);
	p->addresses = calloc(r->from->n_location + 1, sizeof(*p->addresses));
	if (!p->addresses)
		return err_no_memory(err);
	for (size_t i = 0; i < r->from->n_location; i++) {
		const Pprof__Location *l = r->from->location[i];
		uint64_t pc = pc_of(r, l, i);

		if (hashmap_get(&r->locations, l->id) != HASHMAP_NONE)
			return broken("two locations with one id", err);
		if (!hashmap_put(&r->locations, l->id, (uint32_t)i) ||
		    !hashmap_put(&r->pcs, pc, (uint32_t)i))
			return err_no_memory(err);
		p->addresses[p->n_addresses++] = (struct profile_address){ pc, PROFILE_NONE };
	}
	mapping_place(p);
	return 0;
}

/* --- names --- */

static bool read_line(struct pprof *r, const Pprof__Line *from, struct profile_line *line)
{
	uint32_t i = hashmap_get(&r->functions, from->function_id);
	struct profile_function f = { .known = true };
	const char *file;

	if (i == HASHMAP_NONE)
		return false;
	f.name = text_of(r, r->from->function[i]->name);
	f.linkage = text_of(r, r->from->function[i]->system_name);
	if (!*f.name)
		f.name = f.linkage;
	if (!symbols_is_mangled(f.linkage))
		f.linkage = NULL;
	file = text_of(r, r->from->function[i]->filename);
	f.file = *file ? file : NULL;
	if (!*f.name)
		return false;
	line->function = symbols_build_function(r->symbols, &f);
	line->line = from->line > 0 && from->line <= UINT32_MAX ? (uint32_t)from->line : 0;
	return true;
}

/* If no location has a name, names are looked up as for any other profile. */
static int read_names(struct pprof *r, struct err *err)
{
	struct profile_line lines[SYMBOLS_INLINED_MAX];
	struct profile *p = r->p;
	bool any = false;

	if (r->from->n_function >= HASHMAP_NONE)
		return broken("more functions than can be counted", err);
	for (size_t i = 0; i < r->from->n_function; i++) {
		uint64_t id = r->from->function[i]->id;

		if (hashmap_get(&r->functions, id) == HASHMAP_NONE &&
		    !hashmap_put(&r->functions, id, (uint32_t)i))
			return err_no_memory(err);
	}
	r->symbols = symbols_build_new(p->n_addresses);
	if (!r->symbols)
		return err_no_memory(err);
	for (size_t i = 0; i < r->from->n_location; i++) {
		const Pprof__Location *l = r->from->location[i];
		size_t n = 0;

		for (size_t j = 0; j < l->n_line && n < SYMBOLS_INLINED_MAX; j++)
			n += read_line(r, l->line[j], &lines[n]);
		symbols_build_location(r->symbols, i, lines, n);
		any |= n > 0;
	}
	if (!any)
		return 0;
	if (symbols_build_finish(r->symbols, p, err))
		return -1;
	/* Locations without an address are identified by their names. */
	for (size_t i = 0; i < p->n_addresses; i++) {
		const struct profile_location *at = &p->symbols->locations[i];
		uint32_t function = p->symbols->lines[at->first].function;

		if (p->addresses[i].pc >= PROFILE_MADE_UP && p->symbols->functions[function].known)
			p->addresses[i].pc = profile_made_up_pc(p->symbols, i);
	}
	return 0;
}

/* --- values --- */

/* Compute the sampled counts from the scaled ones. */
static void unscale(const struct pprof *r, struct profile_stack *s, enum profile_type objects,
		    enum profile_type space)
{
	double n = fabs(s->value[objects]), bytes = fabs(s->value[space]), period, rate = 1;

	if (r->sampled && n > 0 && bytes > 0) {
		period = (double)r->p->period;
		rate = -expm1(-(bytes / n / period));
		parse_variance(n * rate, bytes / n, 1 / rate, period, &s->variance[objects],
			       &s->variance[space]);
	}
	s->sampled[objects] = s->value[objects] * rate;
	s->sampled[space] = s->value[space] * rate;
}

/* The thread of a sample that we wrote; PROFILE_NONE: no particular one. ERR_FAILED. */
static int read_thread(struct pprof *r, const Pprof__Sample *sample, uint32_t *thread,
		       struct err *err)
{
	struct profile_thread t = { .name = "" };
	bool has_id = false;

	*thread = PROFILE_NONE;
	for (size_t i = 0; i < sample->n_label; i++) {
		const Pprof__Label *l = sample->label[i];
		const char *key = text_of(r, l->key);

		if (!strcmp(key, "thread_id") && l->num >= 0) {
			t.id = (uint64_t)l->num;
			has_id = true;
		} else if (!strcmp(key, "thread")) {
			t.name = text_of(r, l->str);
		}
	}
	if (!has_id)
		return 0;
	*thread = hashmap_get(&r->threads, t.id);
	if (*thread != HASHMAP_NONE)
		return 0;
	t.name = keep(r->p, t.name);
	if (!t.name || !vec_grow(r->p->threads, r->threads_room, r->p->n_threads) ||
	    !hashmap_put(&r->threads, t.id, (uint32_t)r->p->n_threads))
		return err_no_memory(err);
	*thread = (uint32_t)r->p->n_threads;
	r->p->threads[r->p->n_threads++] = t;
	return 0;
}

static int read_sample(struct pprof *r, const Pprof__Sample *sample,
		       const struct profile_options *options, struct err *err)
{
	struct profile_stack s = { 0 };
	struct profile *p = r->p;
	uint32_t thread;

	if (sample->n_value != r->from->n_sample_type)
		return broken("a sample with more or fewer values than there are types", err);
	if (read_thread(r, sample, &thread, err))
		return -1;
	if (options->only_thread &&
	    (thread == PROFILE_NONE || p->threads[thread].id != options->thread))
		return 0;
	for (int t = 0; t < PROFILE_TYPES; t++) {
		s.value[t] = r->column[t] == NO_COLUMN ? 0 : (double)sample->value[r->column[t]];
		p->difference |= s.value[t] < 0;
		p->has_alloc |= t >= PROFILE_ALLOC_OBJECTS && s.value[t] != 0;
	}
	unscale(r, &s, PROFILE_INUSE_OBJECTS, PROFILE_INUSE_SPACE);
	unscale(r, &s, PROFILE_ALLOC_OBJECTS, PROFILE_ALLOC_SPACE);
	s.thread = options->by_thread || options->only_thread ? thread : PROFILE_NONE;
	if (sample->n_location_id > DEPTH_MAX)
		return broken("more than 4096 calls in one stack", err);
	s.first = p->n_frames;
	for (size_t i = 0; i < sample->n_location_id; i++) {
		uint32_t at = hashmap_get(&r->locations, sample->location_id[i]);

		if (at == HASHMAP_NONE)
			return broken("a sample with a location that does not exist", err);
		if (!vec_grow(p->frames, r->frames_room, p->n_frames))
			return err_no_memory(err);
		p->frames[p->n_frames++] = at;
	}
	s.depth = (uint32_t)sample->n_location_id;
	if (!vec_grow(p->stacks, r->stacks_room, p->n_stacks))
		return err_no_memory(err);
	p->stacks[p->n_stacks++] = s;
	return 0;
}

/* --- facts about the process --- */

/* We write comments "KEY: VALUE"; other programs write other things there. */
static int read_comment(struct profile *p, const char *text, struct err *err)
{
	struct profile_facts *facts = &p->facts;
	const struct {
		const char *begins;
		const char **text;
		int64_t *number;
	} keys[] = {
		{ "process: ", &facts->comm, NULL },
		{ "host: ", &facts->host, NULL },
		{ "jemalloc: ", &facts->version, NULL },
		{ "opt.prof_active: ", &facts->opt_active, NULL },
		{ "pid: ", NULL, &facts->pid },
		{ "allocated: ", NULL, &facts->allocated },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = text + strlen(keys[i].begins);
		struct err ignored;

		if (!text_begins(text, keys[i].begins))
			continue;
		if (keys[i].number)
			(void)!text_int_parse(value, 0, INT64_MAX, keys[i].number, &ignored);
		else if (!(*keys[i].text = keep(p, value)))
			return err_no_memory(err);
	}
	return 0;
}

static int read_all(struct pprof *r, const struct profile_options *options, struct profile *out,
		    struct err *err)
{
	_cleanup_(profile_fini) struct profile sum = { 0 };
	const Pprof__Profile *from = r->from;

	if (find_columns(r, err) || read_mappings(r, err) || read_locations(r, err) ||
	    read_names(r, err))
		return -1;
	for (size_t i = 0; i < from->n_sample; i++) {
		if (read_sample(r, from->sample[i], options, err))
			return -1;
	}
	profile_apply_facts(r->p);
	if (threads_sort(r->p, err))
		return -1;
	/* Join the samples of one stack, such as for objects of several sizes. */
	sum.text = intern_new();
	sum.frames = calloc(1, sizeof(*sum.frames));
	if (!sum.text || !sum.frames)
		return err_no_memory(err);
	if (profile_merge(&sum, r->p, err))
		return -1;
	sum.difference = r->p->difference;
	sum.facts.time_ns = from->time_nanos > 0 ? from->time_nanos : 0;
	sum.facts.duration_ns = from->duration_nanos > 0 ? from->duration_nanos : 0;
	for (size_t i = 0; i < from->n_comment; i++) {
		if (read_comment(&sum, text_of(r, from->comment[i]), err))
			return -1;
	}
	*out = sum;
	sum = (struct profile){ 0 };
	return 0;
}

/* --- the message --- */

struct budget {
	size_t left;
};

/* Each block is preceded by its size, for when it is freed. */
static void *spend(void *ctx, size_t size)
{
	struct budget *b = ctx;
	size_t *block;

	if (size > b->left || b->left - size < sizeof(max_align_t))
		return NULL;
	block = malloc(size + sizeof(max_align_t));
	if (!block)
		return NULL;
	*block = size + sizeof(max_align_t);
	b->left -= *block;
	return (char *)block + sizeof(max_align_t);
}

static void give_back(void *ctx, void *pointer)
{
	struct budget *b = ctx;
	size_t *block;

	if (!pointer)
		return;
	block = (size_t *)((char *)pointer - sizeof(max_align_t));
	b->left += *block;
	free(block);
}

int profile_parse_pprof(struct profile *out, const void *bytes, size_t len,
			const struct profile_options *options, struct err *err)
{
	static const struct profile_options none;
	struct budget budget = { MEMORY_MAX };
	ProtobufCAllocator allocator = { spend, give_back, &budget };
	Pprof__Profile *from = pprof__profile__unpack(&allocator, len, bytes);
	_cleanup_(profile_fini) struct profile got = { .text = intern_new() };
	_cleanup_(close_pprof) struct pprof r = { .from = from, .p = &got };
	size_t room = 0;
	int failed;

	if (!from)
		return broken("it does not unpack", err);
	if (!got.text || !vec_grow(got.frames, room, got.n_frames))
		failed = err_no_memory(err);
	else
		failed = read_all(&r, options ? options : &none, out, err);
	pprof__profile__free_unpacked(from, &allocator);
	return failed;
}
