// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocation sites, by an event of jemalloc: each thread counts the bytes that it allocates, and
 * when the count passes a threshold (64 KiB, opt.tcache_gc_incr_bytes) it calls te_event_trigger()
 * (thread_event.c, jemalloc 5.3.0 and 5.3.1).
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RING_BYTES (16 << 20)
#define NEAR 8192	       /* size limit of a thread's data */
#define BYTES_MAX (1ull << 46) /* plausible bytes allocated by a thread since the last event */

const volatile __u64 sample_bytes = 1; /* at most 2^31 */
struct sites_counts counts = {};

/* te_ctx_t (thread_event.h). */
struct te_ctx {
	__u8 is_alloc;
	const __u64 *current, *last_event, *next_event, *next_event_fast;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} samples SEC(".maps");

static __always_inline bool read_count(__u64 *to, const __u64 *at, const __u64 *near)
{
	__u64 distance = (__u64)at - (__u64)near;

	return distance + NEAR <= 2 * NEAR && !bpf_probe_read_user(to, sizeof(*to), at);
}

/* The bytes allocated since the last event, and the number after which this one was due. */
static __always_inline bool read_event(const struct te_ctx *te, __u64 *elapsed, __u64 *wait)
{
	__u64 current, last, next;

	if (!read_count(&current, te->current, te->current) ||
	    !read_count(&last, te->last_event, te->current) ||
	    !read_count(&next, te->next_event, te->current))
		return false;
	*elapsed = current - last;
	*wait = next - last;
	return *wait && *elapsed >= *wait && *elapsed < BYTES_MAX;
}

/* Sample with a probability proportional to the bytes that the event represents. */
static __always_inline void sample(struct pt_regs *ctx, enum sites_size size, __u64 bytes)
{
	__u64 chance = ((__u64)bpf_get_prandom_u32() * sample_bytes) >> 32;
	struct sites_sample *s;

	if (chance >= bytes)
		return;
	s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
	if (!s) {
		__sync_fetch_and_add(&counts.lost, 1);
		return;
	}
	s->size = size;
	s->bytes = bytes > sample_bytes ? bytes : sample_bytes;
	stack_copy(ctx, &s->stack);
	bpf_ringbuf_submit(s, 0);
}

static __always_inline void count(struct pt_regs *ctx, __u64 elapsed, __u64 wait)
{
	__u64 large = sites_large(elapsed, wait);

	__sync_fetch_and_add(&counts.events[large ? SITES_LARGE : SITES_SMALL], 1);
	__sync_fetch_and_add(&counts.allocated[SITES_SMALL], elapsed - large);
	__sync_fetch_and_add(&counts.allocated[SITES_LARGE], large);
	__sync_fetch_and_add(&counts.before, large ? elapsed - large : 0);
	sample(ctx, large ? SITES_LARGE : SITES_SMALL, large ? large : wait);
}

static __always_inline void look(struct pt_regs *ctx)
{
	__u64 elapsed, wait;
	struct te_ctx te;

	if (bpf_probe_read_user(&te, sizeof(te), (const void *)PT_REGS_PARM2(ctx)) ||
	    te.is_alloc > 1 || (te.is_alloc && !read_event(&te, &elapsed, &wait)))
		__sync_fetch_and_add(&counts.senseless, 1);
	else if (te.is_alloc)
		count(ctx, elapsed, wait);
}

SEC("uprobe")
int event_is_due(struct pt_regs *ctx)
{
	__u64 began = bpf_ktime_get_ns();

	look(ctx);
	__sync_fetch_and_add(&counts.hits, 1);
	__sync_fetch_and_add(&counts.ns, bpf_ktime_get_ns() - began);
	return 0;
}
