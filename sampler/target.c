// SPDX-License-Identifier: Apache-2.0
/*
 * The code that runs in a target while it is sampled: jemalloc's hooks (hook.h of 5.2.0 to 5.3.1),
 * called in each thread at each allocation, and before each free. It is built as a standalone
 * image, without a C library, and mapped unmodified (layout.h). It makes no system calls, takes no
 * locks and allocates nothing. It calls mallctl(), to remove itself, and the function that threads
 * call anyway when they exit.
 *
 * A byte is sampled with the probability 1 / sample_bytes, independently of others: each thread
 * counts down exponential gaps. The address of an object with a sampled byte is kept until it is
 * freed, and both events are reported by probes with OpenTelemetry's names:
 * otel_memory:alloc(address, size, bytes that it represents) and otel_memory:free(address).
 *
 * Where jemalloc samples by itself (prof:true), 5.3.1 calls other hooks for these objects alone.
 */
#include "sampler/arch/probe.h"
#include "sampler/layout.h"

#include <errno.h>
#include <stdbool.h>

#define ODD UINT64_C(0x9e3779b97f4a7c15) /* golden ratio: spreads consecutive values */
#define likely(x) __builtin_expect(x, 1)
#define unlikely(x) __builtin_expect(x, 0)
#define RELAXED __ATOMIC_RELAXED
#define SPINS (1 << 20) /* about 40 ms: marking threads takes longer only if preempted */

/* tsd_state_nominal_slow and tsd_state_nominal_recompute (tsd.h of 5.2.0 to 5.3.1). */
#define TSD_SLOW 1
#define TSD_RECOMPUTE 2

/* hook_alloc_t, from 0 on. */
enum { ALLOC_MALLOC, ALLOC_POSIX_MEMALIGN, ALLOC_ALIGNED_ALLOC, ALLOC_CALLOC, ALLOC_MEMALIGN };

/* Names of the hooks of jemalloc's own samples; there is one of each. */
#define PROF_SAMPLE "experimental.hooks.prof_sample"
#define PROF_SAMPLE_FREE "experimental.hooks.prof_sample_free"

struct hooks {
	void (*alloc)(void *, unsigned int, uint64_t, uint64_t, const uint64_t *);
	void (*dalloc)(void *, unsigned int, uint64_t, const uint64_t *);
	void (*expand)(void *, unsigned int, uint64_t, size_t, size_t, uint64_t, const uint64_t *);
	void *extra;
};

__attribute__((section(".state"))) struct sampler_state sampler_state = { 0 };
__attribute__((section(".tables"))) const struct sampler_tables sampler_tables = { 0 };
/* At the address set in the linker script. */
extern __attribute__((visibility("hidden"))) struct sampler_data sampler_data;

/* --- the probes --- */

static __attribute__((noinline)) void report_alloc(uint64_t address, uint64_t size, uint64_t bytes)
{
	SAMPLER_PROBE("alloc", "sampler_state", SAMPLER_ALLOC_ARGUMENTS, address, size, bytes);
}

static __attribute__((noinline)) void report_free(uint64_t address)
{
	SAMPLER_PROBE("free", "sampler_state + 2", SAMPLER_FREE_ARGUMENTS, address, 0, 0);
}

/* Where the semaphores can be held while only others read the probes. */
SAMPLER_HOLD("alloc");
SAMPLER_HOLD("free");

static bool is_read(void)
{
	const struct sampler_state *s = &sampler_state;

	return __atomic_load_n(&s->alloc_semaphore, RELAXED) &&
	       __atomic_load_n(&s->free_semaphore, RELAXED);
}

/* --- installation and removal --- */

static bool may_move(enum sampler_phase from, enum sampler_phase to)
{
	uint32_t phase = from;

	return __atomic_compare_exchange_n(&sampler_state.phase, &phase, to, false,
					   __ATOMIC_ACQ_REL, RELAXED);
}

static void arrive(enum sampler_phase at)
{
	__atomic_store_n(&sampler_state.phase, at, __ATOMIC_RELEASE);
}

/*
 * When hooks are installed or removed, jemalloc marks each thread, which then recomputes its state
 * (tsd_force_recompute(), tsd.c). A thread that exits with the mark is not cleaned up, as
 * tsd_cleanup() of 5.2.0 to 5.3.1 does not handle that state: jemalloc's list of threads would
 * continue into the memory of its former stack. So exiting threads come here, through the C
 * library's table of thread-exit functions, and the mark is removed first. That puts them on
 * jemalloc's slow path until they have exited.
 */
static void sampler_end(void *data)
{
	uint8_t *tsd_state = (uint8_t *)__builtin_thread_pointer() + sampler_state.tsd_state;
	uint8_t marked = TSD_RECOMPUTE;

	__atomic_fetch_add(&sampler_state.ending, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < SPINS && __atomic_load_n(&sampler_state.marking, __ATOMIC_SEQ_CST); i++)
		sampler_pause();
	__atomic_compare_exchange_n(tsd_state, &marked, TSD_SLOW, false, __ATOMIC_ACQ_REL, RELAXED);
	sampler_state.cleanup(data);
	__atomic_fetch_sub(&sampler_state.ending, 1, __ATOMIC_SEQ_CST);
}

/* Do not wait for exiting threads: they may hold locks that jemalloc needs, or be stopped. */
static bool may_mark(void)
{
	__atomic_store_n(&sampler_state.marking, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&sampler_state.ending, __ATOMIC_SEQ_CST))
		return true;
	__atomic_store_n(&sampler_state.marking, 0, __ATOMIC_SEQ_CST);
	return false;
}

static void has_marked(void)
{
	__atomic_store_n(&sampler_state.marking, 0, __ATOMIC_SEQ_CST);
}

static int set_hook(const char *name, uint64_t from, uint64_t to)
{
	uint64_t now;
	size_t len = sizeof(now);
	int failed = sampler_state.mallctl(name, &now, &len, NULL, 0);

	if (failed || now != from)
		return failed ? failed : EAGAIN;
	return sampler_state.mallctl(name, NULL, NULL, &to, sizeof(to));
}

static void on_sampled(uint64_t address, size_t size, void **stack, unsigned int depth,
		       size_t usable_size);
static void on_sampled_free(uint64_t address, size_t usable_size);

/* Frees first: an object of which only the allocation is seen looks live. */
static int add_prof_hooks(void)
{
	int failed = set_hook(PROF_SAMPLE_FREE, 0, (uint64_t)on_sampled_free);

	if (failed)
		return failed;
	failed = set_hook(PROF_SAMPLE, 0, (uint64_t)on_sampled);
	if (failed)
		set_hook(PROF_SAMPLE_FREE, (uint64_t)on_sampled_free, 0);
	return failed;
}

/* If the program has replaced one since (EAGAIN), that one stays. */
static int remove_prof_hooks(void)
{
	int alloc = set_hook(PROF_SAMPLE, (uint64_t)on_sampled, 0);
	int free = set_hook(PROF_SAMPLE_FREE, (uint64_t)on_sampled_free, 0);

	if (alloc && alloc != EAGAIN)
		return alloc;
	return free == EAGAIN ? 0 : free;
}

static int remove_hooks(void)
{
	uint64_t handle = sampler_state.handle;

	return sampler_state.mallctl("experimental.hooks.remove", NULL, NULL, &handle,
				     sizeof(handle));
}

/*
 * Remove the hooks, because the probes are no longer read, or this is a child process. Only one
 * thread may do so, once: jemalloc would not detect a second removal, and miscount. In a child
 * forked during installation or removal they are never removed: jemalloc's hook lock may be held
 * there forever.
 */
static __attribute__((noinline, cold)) int leave(void)
{
	const bool prof = sampler_state.prof; /* no thread is marked for those */
	int failed;

	if (!may_move(SAMPLER_IN, SAMPLER_LEAVING))
		return EAGAIN;
	if (!prof && !may_mark()) {
		arrive(SAMPLER_IN);
		return EINPROGRESS;
	}
	__atomic_store_n(&sampler_data.is_on, 0, RELAXED);
	failed = prof ? remove_prof_hooks() : remove_hooks();
	if (!prof)
		has_marked();
	arrive(failed ? SAMPLER_LEAVING : SAMPLER_OUT);
	return failed;
}

/* --- sampling --- */

static uint64_t pointer_hash(uint64_t address)
{
	return (address >> 3) * ODD >> 32;
}

static struct sampler_thread *this_thread(void)
{
	uint64_t pointer = (uint64_t)__builtin_thread_pointer();

	return &sampler_data.threads[((uint32_t)(pointer >> 6) * (uint32_t)ODD) >> 22];
}
_Static_assert(SAMPLER_THREADS == 1 << (32 - 22), "a thread's index is the rest of a hash");

/* xorshift64 (Marsaglia, 2003). */
static uint64_t draw(struct sampler_thread *t)
{
	uint64_t x = t->random;

	if (!x)
		x = (sampler_data.seed ^ (uint64_t)t) | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return t->random = x;
}

/* At most 2^40 times a mean of 2^16: no overflow. */
static int64_t next_gap(struct sampler_thread *t, uint64_t sample_bytes)
{
	uint32_t gap = sampler_tables.gaps[(draw(t) >> 20) % SAMPLER_GAPS];

	return (int64_t)((sample_bytes >> 4) * gap >> (SAMPLER_SHIFT - 4)) + 1;
}

/* size / (1 - exp(-size / sample_bytes)): sampled objects also represent unsampled ones. */
static uint64_t weight(uint64_t size, uint64_t sample_bytes)
{
	const uint32_t *w = sampler_tables.weights;
	uint64_t at, part;

	if (size / sample_bytes >= SAMPLER_WEIGHTS / SAMPLER_WEIGHT_STEPS)
		return size;
	/* size is less than 2^44 here */
	at = size * SAMPLER_WEIGHT_STEPS / sample_bytes;
	part = size * SAMPLER_WEIGHT_STEPS % sample_bytes;
	return (w[at] * sample_bytes + (w[at + 1] - w[at]) * part) >> SAMPLER_SHIFT;
}

static bool keep(uint64_t address)
{
	struct sampler_data *d = &sampler_data;
	uint64_t set = pointer_hash(address) % SAMPLER_SETS;

	for (int i = 0; i < SAMPLER_WAYS; i++) {
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&d->objects[set][i], &none, address, false,
						 RELAXED, RELAXED))
			continue;
		__atomic_fetch_add(&d->counts[set], 1, RELAXED);
		return true;
	}
	__atomic_fetch_add(&d->dropped, 1, RELAXED);
	return false;
}

/* The counter may have been reset since the object was stored. */
static void uncount(uint8_t *n)
{
	uint8_t now = __atomic_load_n(n, RELAXED);

	while (now && !__atomic_compare_exchange_n(n, &now, now - 1, false, RELAXED, RELAXED))
		;
}

static bool is_kept(uint64_t address)
{
	const uint64_t *set = sampler_data.objects[pointer_hash(address) % SAMPLER_SETS];

	for (int i = 0; i < SAMPLER_WAYS; i++)
		if (__atomic_load_n(&set[i], RELAXED) == address)
			return true;
	return false;
}

/* Called before the free, so the address cannot have been reused. False if it was not kept. */
static bool drop(uint64_t address)
{
	struct sampler_data *d = &sampler_data;
	uint64_t set = pointer_hash(address) % SAMPLER_SETS;

	for (int i = 0; address && i < SAMPLER_WAYS; i++) {
		uint64_t kept = address;

		if (!__atomic_compare_exchange_n(&d->objects[set][i], &kept, 0, false, RELAXED,
						 RELAXED))
			continue;
		uncount(&d->counts[set]);
		return true;
	}
	return false;
}

static __attribute__((noinline)) void forget(uint64_t address)
{
	if (drop(address))
		report_free(address);
}

/*
 * One of its bytes is the next one to be sampled; for a new thread's first object that is not
 * decided yet. The data may be zeroed at any moment, so the divisor is read only once.
 */
static __attribute__((noinline)) void sample(struct sampler_thread *t, uint64_t address,
					     uint64_t size)
{
	uint64_t sample_bytes = __atomic_load_n(&sampler_data.sample_bytes, RELAXED);

	if (!sample_bytes)
		return;
	if (!t->random) {
		t->left = next_gap(t, sample_bytes) - (int64_t)size;
		if (t->left >= 0)
			return;
	}
	t->left = next_gap(t, sample_bytes);
	if (keep(address))
		report_alloc(address, size, weight(size, sample_bytes));
}

static void count(uint64_t address, uint64_t size)
{
	struct sampler_thread *t = this_thread();

	t->allocations++;
	t->left -= (int64_t)size;
	if (unlikely(t->left < 0))
		sample(t, address, size);
}

static uint64_t size_asked(unsigned int type, const uint64_t *args)
{
	switch (type) {
	case ALLOC_POSIX_MEMALIGN:
		return args[2];
	case ALLOC_ALIGNED_ALLOC:
	case ALLOC_MEMALIGN:
		return args[1];
	case ALLOC_CALLOC:
		return args[0] * args[1];
	default: /* realloc and rallocx are last */
		return args[type >= sampler_data.realloc_type];
	}
}

static bool is_on(void)
{
	return likely(__atomic_load_n(&sampler_data.is_on, RELAXED)) && likely(is_read());
}

/* --- the hooks --- */

static void on_alloc(void *extra, unsigned int type, uint64_t address, uint64_t raw,
		     const uint64_t *args)
{
	(void)extra;
	if (unlikely(!is_on()))
		leave();
	/* A failed one may have requested any size. */
	else if (likely(address) && likely(type != ALLOC_POSIX_MEMALIGN || !raw))
		count(address, likely(type == ALLOC_MALLOC) ? args[0] : size_asked(type, args));
}

static void on_free(void *extra, unsigned int type, uint64_t address, const uint64_t *args)
{
	(void)extra;
	(void)type;
	(void)args;
	if (unlikely(sampler_data.counts[pointer_hash(address) % SAMPLER_SETS]))
		forget(address);
}

/* Treated as a free and a new allocation, so that it is sampled like any object of its new size. */
static void on_expand(void *extra, unsigned int type, uint64_t address, size_t old_size,
		      size_t new_size, uint64_t raw, const uint64_t *args)
{
	(void)raw;
	if (old_size == new_size)
		return;
	on_free(extra, type, address, args);
	if (is_on())
		count(address, new_size);
}

/*
 * Of jemalloc's own samples. When one is resized in place, it is reported first with its new size,
 * and then its old size as freed (prof_realloc(), prof_inlines.h): it is kept twice in between.
 */
static void on_sampled(uint64_t address, size_t size, void **stack, unsigned int depth,
		       size_t usable_size)
{
	uint64_t sample_bytes = __atomic_load_n(&sampler_data.sample_bytes, RELAXED);

	(void)size;
	(void)stack;
	(void)depth;
	if (unlikely(!is_on())) {
		leave();
		return;
	}
	if (!sample_bytes)
		return;
	if (is_kept(address))
		report_free(address);
	if (keep(address))
		report_alloc(address, usable_size, weight(usable_size, sample_bytes));
}

static void on_sampled_free(uint64_t address, size_t usable_size)
{
	(void)usable_size;
	if (drop(address) && !is_kept(address))
		report_free(address);
}

/*
 * Installed permanently: if another block has been put in front of this one since, it calls this
 * one, and calling it back would recurse endlessly.
 */
static int guard(const struct sampler_order *order)
{
	uint64_t *slot = (uint64_t *)order->slot, was = order->cleanup;

	if (sampler_state.cleanup)
		return 0;
	sampler_state.tsd_state = order->tsd_state;
	sampler_state.cleanup = (void (*)(void *))order->cleanup;
	if (__atomic_compare_exchange_n(slot, &was, (uint64_t)sampler_end, false, __ATOMIC_ACQ_REL,
					RELAXED))
		return 0;
	sampler_state.cleanup = NULL;
	return EAGAIN;
}

/*
 * Clear data left by a previous run if it was not zeroed: that run was killed, or the memory is
 * locked (mlock(2)). Pages that were never written remain untouched.
 */
static void clean(void)
{
	uint64_t *words = (uint64_t *)&sampler_data;

	for (unsigned int i = 0; i < sizeof(sampler_data) / sizeof(*words); i++)
		if (__atomic_load_n(&words[i], RELAXED))
			__atomic_store_n(&words[i], 0, RELAXED);
}

static int add_hooks(void)
{
	struct hooks hooks = { on_alloc, on_free, on_expand, NULL };
	size_t len = sizeof(sampler_state.handle);

	return sampler_state.mallctl("experimental.hooks.install", &sampler_state.handle, &len,
				     &hooks, sizeof(hooks));
}

static int come(const struct sampler_order *order)
{
	const bool prof = order->what == SAMPLER_INSTALL_PROF;
	int failed;

	if (!is_read() || (!prof && !sampler_state.cleanup))
		return ESRCH;
	if (!may_move(SAMPLER_OUT, SAMPLER_COMING))
		return EBUSY;
	if (!prof && !may_mark()) {
		arrive(SAMPLER_OUT);
		return EINPROGRESS;
	}
	clean();
	sampler_data.realloc_type = order->realloc_type;
	sampler_data.sample_bytes = order->sample_bytes;
	sampler_data.seed = order->seed;
	sampler_state.mallctl = (mallctl_fn *)order->mallctl;
	sampler_state.prof = prof;
	__atomic_store_n(&sampler_data.is_on, 1, __ATOMIC_RELEASE);
	failed = prof ? add_prof_hooks() : add_hooks();
	if (!prof)
		has_marked();
	arrive(failed ? SAMPLER_OUT : SAMPLER_IN);
	return failed;
}

static int take_away(const struct sampler_order *order)
{
	/* It may have been replaced or unloaded (dlclose(3)). */
	if ((mallctl_fn *)order->mallctl != sampler_state.mallctl)
		return EINVAL;
	if (order->what == SAMPLER_REMOVE ? order->seed != sampler_data.seed : is_read())
		return EBUSY;
	return leave();
}

/* `new` is a struct sampler_order. */
mallctl_fn sampler_control;
__attribute__((used)) int sampler_control(const char *name, void *old, size_t *old_len, void *new,
					  size_t new_len)
{
	const struct sampler_order *order = new;

	(void)name;
	(void)old;
	(void)old_len;
	if (new_len != sizeof(*order))
		return EINVAL;
	switch (order->what) {
	case SAMPLER_GUARD:
		return guard(order);
	case SAMPLER_INSTALL:
	case SAMPLER_INSTALL_PROF:
		return come(order);
	default:
		return take_away(order);
	}
}
