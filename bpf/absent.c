// SPDX-License-Identifier: Apache-2.0
/* Stubs for a build without eBPF (HAVE_BPF=0), which always fail. */
#include "bpf/heap.h"
#include "bpf/sites.h"
#include "bpf/watch.h"

int watch_open(struct watch **out, const struct watch_options *options,
	       const struct watch_handlers *handlers, struct err *err)
{
	(void)out, (void)options, (void)handlers;
	err_raise(err, ERROR_BUILT_WITHOUT_BPF);
	return err_advise(err, FIX_BUILD_WITH_BPF);
}

void watch_close(struct watch *w)
{
	(void)w;
}

int watch_add_process(struct watch *w, pid_t pid, struct err *err)
{
	(void)w, (void)pid;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

int watch_add_file(struct watch *w, int handle, uint64_t offset, enum watch_convention c,
		   struct err *err)
{
	(void)w, (void)handle, (void)offset, (void)c;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

int watch_add_unprobed(struct watch *w, pid_t pid, struct err *err)
{
	(void)w, (void)pid;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

void watch_know_file(struct watch *w, uint32_t dev_major, uint32_t dev_minor, uint64_t inode)
{
	(void)w, (void)dev_major, (void)dev_minor, (void)inode;
}

bool watch_may_probe(void)
{
	return false;
}

int watch_fd(const struct watch *w)
{
	(void)w;
	return -1;
}

int watch_begins_fd(const struct watch *w)
{
	(void)w;
	return -1;
}

int watch_read(struct watch *w, struct err *err)
{
	(void)w;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

uint64_t watch_lost(const struct watch *w)
{
	(void)w;
	return 0;
}

int sites_open(struct sites **out, const struct sites_probe *probe, sites_fn *fn, void *ctx,
	       struct err *err)
{
	(void)out, (void)probe, (void)fn, (void)ctx;
	err_raise(err, ERROR_BUILT_WITHOUT_BPF);
	return err_advise(err, FIX_BUILD_WITH_BPF);
}

void sites_close(struct sites *s)
{
	(void)s;
}

void sites_stop(struct sites *s)
{
	(void)s;
}

int sites_read(struct sites *s, struct err *err)
{
	(void)s;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

void sites_count(const struct sites *s, struct sites_counts *counts)
{
	(void)s;
	*counts = (struct sites_counts){ 0 };
}

int heap_open(struct heap **out, heap_fn *fn, void *ctx, struct err *err)
{
	(void)out, (void)fn, (void)ctx;
	err_raise(err, ERROR_BUILT_WITHOUT_BPF);
	return err_advise(err, FIX_BUILD_WITH_BPF);
}

int heap_attach(struct heap *h, enum heap_event event, const struct heap_place *place,
		struct err *err)
{
	(void)h, (void)event, (void)place;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

void heap_close(struct heap *h)
{
	(void)h;
}

void heap_stop(struct heap *h)
{
	(void)h;
}

int heap_fd(const struct heap *h)
{
	(void)h;
	return -1;
}

int heap_read(struct heap *h, struct err *err)
{
	(void)h;
	return err_raise(err, ERROR_BUILT_WITHOUT_BPF);
}

void heap_living(const struct heap *h, uint64_t ids[HEAP_LIVE_MAX], size_t *n)
{
	(void)h, (void)ids;
	*n = 0;
}

void heap_count(const struct heap *h, struct heap_counts *counts)
{
	(void)h;
	*counts = (struct heap_counts){ 0 };
}
