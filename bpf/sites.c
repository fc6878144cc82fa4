// SPDX-License-Identifier: Apache-2.0
#include "bpf/sites.h"

#include "base/cleanup.h"
#include "bpf/origin.h"
#include "bpf/sites.skel.h"
#include "bpf/why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct sites {
	struct sites_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_link *link;
	sites_fn *fn;
	void *ctx;
};

static int hand_over(void *ctx, void *data, size_t size)
{
	const struct sites *s = ctx;

	if (size < sizeof(struct sites_sample))
		return 0;
	return s->fn(s->ctx, data) ? 0 : -ECANCELED;
}

static int load(struct sites *s, uint64_t sample_bytes, struct err *err)
{
	s->skel = sites_bpf__open();
	if (!s->skel)
		return why_not_loaded(errno, err);
	s->skel->rodata->sample_bytes = sample_bytes;
	if (sites_bpf__load(s->skel))
		return why_not_loaded(errno, err);
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.samples), hand_over, s, NULL);
	return s->ring ? 0 : why_not_loaded(errno, err);
}

static void close_sites(struct sites **s)
{
	sites_close(*s);
}

int sites_open(struct sites **out, const struct sites_probe *probe, sites_fn *fn, void *ctx,
	       struct err *err)
{
	_cleanup_(close_sites) struct sites *s = calloc(1, sizeof(*s));
	char path[64];

	if (!s)
		return err_no_memory(err);
	s->fn = fn;
	s->ctx = ctx;
	why_listen();
	if (why_impossible(err) || origin_check(probe->handle, err) ||
	    load(s, probe->sample_bytes, err))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", probe->handle);
	s->link = bpf_program__attach_uprobe(s->skel->progs.event_is_due, false, probe->pid, path,
					     probe->offset);
	if (!s->link)
		return why_not_attached(errno, path, err);
	*out = take_ptr(s);
	return 0;
}

void sites_stop(struct sites *s)
{
	bpf_link__destroy(take_ptr(s->link));
}

void sites_close(struct sites *s)
{
	if (!s)
		return;
	sites_stop(s);
	ring_buffer__free(s->ring);
	sites_bpf__destroy(s->skel);
	free(s);
}

int sites_read(struct sites *s, struct err *err)
{
	int n = ring_buffer__consume(s->ring);

	return n < 0 && n != -ECANCELED ? err_raise_sys(err, ERROR_KERNEL_EVENTS_UNREADABLE, -n)
					: 0;
}

/* Each number is read atomically, but they may be from different moments. */
void sites_count(const struct sites *s, struct sites_counts *counts)
{
	const struct sites_counts *c = &s->skel->bss->counts;

	counts->hits = __atomic_load_n(&c->hits, __ATOMIC_RELAXED);
	counts->ns = __atomic_load_n(&c->ns, __ATOMIC_RELAXED);
	for (int i = 0; i < SITES_SIZES; i++) {
		counts->events[i] = __atomic_load_n(&c->events[i], __ATOMIC_RELAXED);
		counts->allocated[i] = __atomic_load_n(&c->allocated[i], __ATOMIC_RELAXED);
	}
	counts->before = __atomic_load_n(&c->before, __ATOMIC_RELAXED);
	counts->senseless = __atomic_load_n(&c->senseless, __ATOMIC_RELAXED);
	counts->lost = __atomic_load_n(&c->lost, __ATOMIC_RELAXED);
}
