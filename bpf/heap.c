// SPDX-License-Identifier: Apache-2.0
#include "bpf/heap.h"

#include "base/cleanup.h"
#include "bpf/heap.skel.h"
#include "bpf/origin.h"
#include "bpf/why.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heap {
	struct heap_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_link *links[HEAP_EVENTS][HEAP_PROBES_MAX];
	size_t n[HEAP_EVENTS];
	int checked; /* the last handle whose origin is known; -1: none */
	heap_fn *fn;
	void *ctx;
};

static int hand_over(void *ctx, void *data, size_t size)
{
	const struct heap *h = ctx;

	if (size < sizeof(struct heap_object))
		return 0;
	return h->fn(h->ctx, data) ? 0 : -ECANCELED;
}

static int load(struct heap *h, struct err *err)
{
	h->skel = heap_bpf__open_and_load();
	if (!h->skel)
		return why_not_loaded(errno, err);
	h->ring = ring_buffer__new(bpf_map__fd(h->skel->maps.objects), hand_over, h, NULL);
	return h->ring ? 0 : why_not_loaded(errno, err);
}

static void close_heap(struct heap **h)
{
	heap_close(*h);
}

int heap_open(struct heap **out, heap_fn *fn, void *ctx, struct err *err)
{
	_cleanup_(close_heap) struct heap *h = calloc(1, sizeof(*h));

	if (!h)
		return err_no_memory(err);
	h->fn = fn;
	h->ctx = ctx;
	h->checked = -1;
	why_listen();
	if (why_impossible(err) || load(h, err))
		return -1;
	*out = take_ptr(h);
	return 0;
}

/*
 * The number of these arguments, which is the probe's cookie: that of the first probe with the same
 * ones. Without cookies, all are taken for number 0.
 */
static uint64_t number_args(struct heap_args *known, size_t n, const struct heap_args *args)
{
	size_t i = 0;

	while (i < n && memcmp(&known[i], args, sizeof(*args)) != 0)
		i++;
	known[i] = *args;
	return i;
}

int heap_attach(struct heap *h, enum heap_event event, const struct heap_place *place,
		struct err *err)
{
	struct bpf_program *program =
		event == HEAP_ALLOC ? h->skel->progs.was_allocated : h->skel->progs.is_freed;
	struct heap_args *known =
		event == HEAP_ALLOC ? h->skel->bss->alloc_args : h->skel->bss->free_args;
	const size_t n = h->n[event];
	struct bpf_uprobe_opts options = { .sz = sizeof(options),
					   .ref_ctr_offset = place->probe.semaphore };
	char path[64];

	if (n >= HEAP_PROBES_MAX)
		return err_raise(err, ERROR_TOO_MANY_PROBES, .limit = HEAP_PROBES_MAX);
	if (place->handle != h->checked && origin_check(place->handle, err))
		return -1;
	h->checked = place->handle;
	options.bpf_cookie = number_args(known, n, &place->args);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->handle);
	h->links[event][n] = bpf_program__attach_uprobe_opts(program, place->pid, path,
							     place->probe.offset, &options);
	if (!h->links[event][n])
		return options.bpf_cookie && errno == EOPNOTSUPP
			       ? err_raise(err, ERROR_PROBES_DIFFER_BEFORE_5_15)
			       : why_not_attached(errno, path, err);
	h->n[event]++;
	return 0;
}

void heap_stop(struct heap *h)
{
	for (int i = 0; i < HEAP_EVENTS; i++) {
		while (h->n[i])
			bpf_link__destroy(h->links[i][--h->n[i]]);
	}
}

void heap_close(struct heap *h)
{
	if (!h)
		return;
	heap_stop(h);
	ring_buffer__free(h->ring);
	heap_bpf__destroy(h->skel);
	free(h);
}

int heap_fd(const struct heap *h)
{
	return ring_buffer__epoll_fd(h->ring);
}

int heap_read(struct heap *h, struct err *err)
{
	int n = ring_buffer__consume(h->ring);

	return n < 0 && n != -ECANCELED ? err_raise_sys(err, ERROR_KERNEL_EVENTS_UNREADABLE, -n)
					: 0;
}

void heap_living(const struct heap *h, uint64_t ids[HEAP_LIVE_MAX], size_t *n)
{
	int fd = bpf_map__fd(h->skel->maps.live);
	uint64_t address, *last = NULL;

	/*
	 * If the last address was deleted meanwhile, the iteration starts over: so it is bounded.
	 */
	*n = 0;
	for (int i = 0; i < 2 * HEAP_LIVE_MAX && *n < HEAP_LIVE_MAX &&
			!bpf_map_get_next_key(fd, last, &address);
	     i++, last = &address)
		if (!bpf_map_lookup_elem(fd, &address, &ids[*n]))
			++*n;
}

/* Each number is read atomically, but they may be from different moments. */
void heap_count(const struct heap *h, struct heap_counts *counts)
{
	const struct heap_counts *c = &h->skel->bss->counts;

	counts->objects = __atomic_load_n(&c->objects, __ATOMIC_RELAXED);
	counts->frees = __atomic_load_n(&c->frees, __ATOMIC_RELAXED);
	counts->ns = __atomic_load_n(&c->ns, __ATOMIC_RELAXED);
	counts->lost = __atomic_load_n(&c->lost, __ATOMIC_RELAXED);
	counts->untracked = __atomic_load_n(&c->untracked, __ATOMIC_RELAXED);
}
