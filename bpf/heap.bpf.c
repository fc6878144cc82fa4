// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Live memory: sampled objects from their allocation to their free, by the probes otel_memory:alloc
 * and otel_memory:free.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/object.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RING_BYTES (16 << 20)

struct heap_counts counts = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} objects SEC(".maps");

/* The IDs of live objects, by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HEAP_LIVE_MAX);
	__type(key, __u64);
	__type(value, __u64);
} live SEC(".maps");

/* The reader polls, which suffices unless many records come at once. */
static __always_inline __u64 wake_up(void)
{
	return bpf_ringbuf_query(&objects, BPF_RB_AVAIL_DATA) < RING_BYTES / 4
		       ? BPF_RB_NO_WAKEUP
		       : BPF_RB_FORCE_WAKEUP;
}

static __always_inline void add(struct pt_regs *ctx)
{
	struct heap_object *o = bpf_ringbuf_reserve(&objects, sizeof(*o), 0);
	__u64 address = PT_REGS_PARM1(ctx), now = bpf_ktime_get_ns(), id;

	if (!o) {
		__sync_fetch_and_add(&counts.lost, 1);
		return;
	}
	id = now << 20 ^ address >> 3; /* a shared counter would need Linux 5.12 */
	o->id = id;
	o->size = PT_REGS_PARM2(ctx);
	o->bytes = PT_REGS_PARM3(ctx);
	o->time_ns = now;
	stack_copy(ctx, &o->stack);
	bpf_ringbuf_submit(o, wake_up());
	if (bpf_map_update_elem(&live, &address, &id, BPF_ANY))
		__sync_fetch_and_add(&counts.untracked, 1);
}

SEC("uprobe")
int was_allocated(struct pt_regs *ctx)
{
	__u64 began = bpf_ktime_get_ns();

	add(ctx);
	__sync_fetch_and_add(&counts.objects, 1);
	__sync_fetch_and_add(&counts.ns, bpf_ktime_get_ns() - began);
	return 0;
}

SEC("uprobe")
int is_freed(struct pt_regs *ctx)
{
	__u64 began = bpf_ktime_get_ns(), address = PT_REGS_PARM1(ctx);

	bpf_map_delete_elem(&live, &address);
	__sync_fetch_and_add(&counts.frees, 1);
	__sync_fetch_and_add(&counts.ns, bpf_ktime_get_ns() - began);
	return 0;
}
