// SPDX-License-Identifier: Apache-2.0
#include "ops/sample/collect.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "ops/stacks/table.h"
#include "sampler/layout.h"

#include <inttypes.h>
#include <math.h>

#define OBJECTS_MAX ((size_t)4 << 20) /* whether further ones are live is unknown */
#define IDS_MAX 2048		      /* per message */
#define SIZE_MAX_ADDRESS (UINT64_C(1) << 47)

enum question { ASK_BEGIN, ASK_COUNTS, ASK_LIVE, QUESTIONS };

struct object {
	uint32_t stack;
	bool is_live;
	uint64_t time_ns;
	double n, bytes; /* that it represents */
};

/* For one stack. */
struct sums {
	double n, bytes, live_n, live_bytes;
};

/* State of the child. */
struct objects {
	uint64_t base; /* of the block; 0: the program has probes of its own */
	double rate;   /* the smallest that its samples show; 0: unknown */
	struct stack_table stacks;
	struct sums *sums; /* for each stack, by its number */
	size_t room_sums;
	struct object *v;
	size_t n, room;
	struct hashmap by_id;
	uint64_t samples;
};

/* Four size classes per doubling, at least 16 bytes apart (size_classes.h of 5.x). */
uint64_t sample_usable_size(uint64_t size)
{
	uint64_t step = 16;

	if (size <= 8)
		return 8;
	if (size > 128)
		step = UINT64_C(1) << (61 - __builtin_clzll(size - 1));
	return (size + step - 1) & ~(step - 1);
}

static const struct stack_copy *stack_of(const void *sample)
{
	const struct heap_object *o = sample;

	return o->size && o->size < SIZE_MAX_ADDRESS && o->bytes >= o->size &&
			       o->bytes < SIZE_MAX_ADDRESS
		       ? &o->stack
		       : NULL;
}

/*
 * The mean interval R of an emitter's samples, from W = S / (1 - exp(-S / R)) for an object of S
 * bytes. Of an object larger than R, W is little more than S, and rounded, so that it says little.
 */
static void estimate_rate(struct objects *all, const struct heap_object *o)
{
	double rate;

	if (o->bytes - o->size < o->size / 2)
		return;
	rate = (double)o->size / -log1p(-(double)o->size / (double)o->bytes);
	if (!(rate >= all->rate && all->rate > 0))
		all->rate = rate;
}

static int add(void *state, const void *sample, const uint64_t *addrs, size_t depth,
	       struct err *err)
{
	const struct heap_object *o = sample;
	struct objects *all = state;
	struct object object = { .time_ns = o->time_ns };
	size_t n = all->stacks.n;
	uint32_t number;

	for (; all->base && depth > 1 && addrs[0] - all->base < SAMPLER_STATE; depth--)
		addrs++;
	if (!all->base)
		estimate_rate(all, o);
	if (stack_table_find(&all->stacks, addrs, depth, &number, err))
		return -1;
	if (number >= n) { /* it is new */
		if (!vec_grow(all->sums, all->room_sums, n))
			return err_no_memory(err);
		all->sums[n] = (struct sums){ 0 };
	}
	object.stack = number;
	object.n = (double)o->bytes / (double)o->size;
	object.bytes = object.n * (double)(all->base ? sample_usable_size(o->size) : o->size);
	all->sums[number].n += object.n;
	all->sums[number].bytes += object.bytes;
	all->samples++;
	if (all->n >= OBJECTS_MAX || hashmap_get(&all->by_id, o->id) != HASHMAP_NONE)
		return 0;
	if (!vec_grow(all->v, all->room, all->n) ||
	    !hashmap_put(&all->by_id, o->id, (uint32_t)all->n))
		return err_no_memory(err);
	all->v[all->n++] = object;
	return 0;
}

/* --- questions --- */

static int count(const struct objects *all, const struct session *s, struct pack *answer,
		 struct err *err)
{
	_cleanup_(cleanup_free) struct sampler_data *data = malloc(sizeof(*data));
	const size_t len = offsetof(struct sampler_data, counts);
	uint64_t allocations = 0;

	if (!data)
		return err_no_memory(err);
	if (proc_read(s->proc.mm_pid, all->base + SAMPLER_DATA, data, len, err))
		return -1;
	for (int i = 0; i < SAMPLER_THREADS; i++)
		allocations += data->threads[i].allocations;
	pack_u64(answer, allocations);
	pack_u64(answer, data->dropped);
	pack_u64(answer, data->is_on != 0);
	return 0;
}

static int reply(void *state, struct session *s, struct unpack *u, struct pack *answer,
		 struct err *err)
{
	struct objects *all = state;

	switch ((enum question)unpack_max(u, QUESTIONS - 1)) {
	case ASK_BEGIN:
		all->base = unpack_u64(u);
		return 0;
	case ASK_COUNTS:
		return count(all, s, answer, err);
	case ASK_LIVE:
		for (size_t n = unpack_count(u, sizeof(uint64_t)); n; n--) {
			uint32_t at = hashmap_get(&all->by_id, unpack_u64(u));

			if (at != HASHMAP_NONE)
				all->v[at].is_live = true;
		}
		return 0;
	case QUESTIONS:
		break;
	}
	return err_raise(err, ERROR_NO_SUCH_QUESTION);
}

/* --- the profile --- */

/*
 * As jemalloc writes it: counts of samples, which a reader of the profile scales by the mean object
 * size of the stack. They are chosen so that the result agrees with the sizes of the objects.
 */
struct counts {
	double n, bytes, live_n, live_bytes;
};

static void find_counts(double n, double bytes, double sample_bytes, double up, double *samples,
			double *sampled_bytes)
{
	double mean = n > 0 ? bytes / n : 0;

	*samples = mean > 0 ? floor(n * -expm1(-mean / sample_bytes) + up) : 0;
	if (n > 0 && *samples < 1)
		*samples = 1;
	*sampled_bytes = round(*samples * mean);
}

/*
 * Objects of 33 bytes use 48, so one sample of them counts as 1.45. Rounding that to the nearest
 * would make all stacks with few samples too small: it is rounded up in the right share of cases,
 * chosen by evenly spread numbers. Live counts are rounded the same way, so that they do not exceed
 * the total.
 */
#define GOLDEN 0.6180339887498949
static struct counts counts_of(const struct objects *all, size_t stack, double sample_bytes)
{
	const struct sums *s = &all->sums[stack];
	double up = fmod(0.5 + (double)stack * GOLDEN, 1);
	struct counts c;

	find_counts(s->n, s->bytes, sample_bytes, up, &c.n, &c.bytes);
	find_counts(s->live_n, s->live_bytes, sample_bytes, up, &c.live_n, &c.live_bytes);
	return c;
}

static void print(FILE *out, const struct counts *c)
{
	fprintf(out, "  t*: %.0f: %.0f [%.0f: %.0f]\n", c->live_n, c->live_bytes, c->n, c->bytes);
}

static int write_stacks(void *state, struct unpack *u, FILE *out, struct pack *answer,
			struct err *err)
{
	struct objects *all = state;
	struct sample_write how;
	struct sampled got = { .samples = all->samples, .stacks = all->stacks.n };
	struct counts total = { 0 }, c;

	unpack_bytes(u, &how, sizeof(how));
	if (!unpack_done(u))
		return err_raise(err, ERROR_NO_SUCH_QUESTION);
	if (!how.sample_bytes)
		how.sample_bytes = all->rate > 1 ? (uint64_t)llround(all->rate) : 1;
	for (size_t i = 0; i < all->n; i++) {
		const struct object *o = &all->v[i];
		uint64_t age = how.end_ns > o->time_ns ? how.end_ns - o->time_ns : 0;

		if (!o->is_live)
			continue;
		got.live_samples++;
		got.live_bytes += (uint64_t)o->bytes;
		if (age >= how.old_ns) {
			got.old_samples++;
			got.old_bytes += (uint64_t)o->bytes;
		}
		if (age >= how.min_age_ns) {
			all->sums[o->stack].live_n += o->n;
			all->sums[o->stack].live_bytes += o->bytes;
		}
	}
	for (size_t i = 0; i < all->stacks.n; i++)
		got.allocated_bytes += (uint64_t)all->sums[i].bytes;
	got.cut = all->stacks.shortened;
	for (size_t i = 0; i < all->stacks.n; i++) {
		c = counts_of(all, i, (double)how.sample_bytes);
		total.n += c.n;
		total.bytes += c.bytes;
		total.live_n += c.live_n;
		total.live_bytes += c.live_bytes;
	}
	fprintf(out, "heap_v2/%" PRIu64 "\n", how.sample_bytes);
	print(out, &total);
	for (uint32_t i = 0; i < all->stacks.n; i++) {
		c = counts_of(all, i, (double)how.sample_bytes);
		stack_table_print(&all->stacks, i, out);
		print(out, &c);
	}
	pack_bytes(answer, &got, sizeof(got));
	return 0;
}

static void fini(void *state)
{
	struct objects *all = state;

	stack_table_fini(&all->stacks);
	hashmap_fini(&all->by_id);
	free(all->sums);
	free(all->v);
}

const struct collector_kind sample_collector_kind = {
	.what = "add up sampled objects",
	.size = sizeof(struct heap_object),
	.state_size = sizeof(struct objects),
	.stack = stack_of,
	.add = add,
	.answer = reply,
	.write = write_stacks,
	.fini = fini,
};

/* --- in the controller --- */

static int malformed(const struct session *s, struct err *err)
{
	return err_raise(err, ERROR_FOUND_MALFORMED, .pid = s->proc.pid);
}

int sample_began(struct collector *c, const struct session *s, uint64_t base, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	pack_u64(&p, ASK_BEGIN);
	pack_u64(&p, base);
	return collector_ask(c, s, &p, &u, err);
}

int sample_counts(struct collector *c, const struct session *s, struct block_counts *out,
		  struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;

	pack_u64(&p, ASK_COUNTS);
	if (collector_ask(c, s, &p, &u, err))
		return -1;
	out->allocations = unpack_u64(&u);
	out->dropped = unpack_u64(&u);
	out->is_on = unpack_bool(&u);
	return unpack_done(&u) ? 0 : malformed(s, err);
}

int sample_live(struct collector *c, const struct session *s, const uint64_t *ids, size_t n,
		struct err *err)
{
	for (size_t i = 0; i < n; i += IDS_MAX) {
		_cleanup_(pack_fini) struct pack p = { 0 };
		size_t k = n - i < IDS_MAX ? n - i : IDS_MAX;
		struct unpack u;

		pack_u64(&p, ASK_LIVE);
		pack_u64(&p, k);
		pack_bytes(&p, ids + i, k * sizeof(*ids));
		if (collector_ask(c, s, &p, &u, err))
			return -1;
	}
	return 0;
}

int sample_write(struct collector *c, const struct session *s, const struct sample_write *how,
		 struct sampled *out, struct err *err)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct unpack u;
	uint64_t cut;

	pack_bytes(&p, how, sizeof(*how));
	if (collector_write(c, s, &p, &cut, &u, err))
		return -1;
	unpack_bytes(&u, out, sizeof(*out));
	out->cut += cut;
	return unpack_done(&u) ? 0 : malformed(s, err);
}
