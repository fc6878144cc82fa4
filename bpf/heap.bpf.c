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

#include "bpf/kernel.h"
#include "bpf/object.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RING_BYTES (16 << 20)

struct heap_counts counts = {};

/* Of each probe, by its cookie. */
struct heap_args alloc_args[HEAP_PROBES_MAX] = {}, free_args[HEAP_PROBES_MAX] = {};

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

static __always_inline const struct heap_arg *args_of(struct pt_regs *ctx,
						      const struct heap_args *args)
{
	return args[probe_cookie(ctx, 0) & (HEAP_PROBES_MAX - 1)].v;
}

static __always_inline __u64 argument(struct pt_regs *ctx, const struct heap_arg *arg)
{
	__u64 v = arg->value;

	if (arg->kind == HEAP_REGISTER)
		v = probe_read_reg(ctx, arg->reg);
	else if (arg->kind == HEAP_MEMORY &&
		 bpf_probe_read_user(&v, sizeof(v),
				     (const void *)(probe_read_reg(ctx, arg->reg) + arg->value)))
		v = 0;
	v <<= arg->shift & 63;
	return arg->is_signed ? (__u64)((__s64)v >> (arg->shift & 63)) : v >> (arg->shift & 63);
}

static __always_inline void add(struct pt_regs *ctx)
{
	struct heap_object *o = bpf_ringbuf_reserve(&objects, sizeof(*o), 0);
	const struct heap_arg *args = args_of(ctx, alloc_args);
	__u64 address = argument(ctx, &args[0]), now = bpf_ktime_get_ns(), id;

	if (!o) {
		__sync_fetch_and_add(&counts.lost, 1);
		return;
	}
	id = now << 20 ^ address >> 3; /* a shared counter would need Linux 5.12 */
	o->id = id;
	o->size = argument(ctx, &args[1]);
	o->bytes = argument(ctx, &args[2]);
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
	__u64 began = bpf_ktime_get_ns(), address = argument(ctx, args_of(ctx, free_args));

	bpf_map_delete_elem(&live, &address);
	__sync_fetch_and_add(&counts.frees, 1);
	__sync_fetch_and_add(&counts.ns, bpf_ktime_get_ns() - began);
	return 0;
}
