// SPDX-License-Identifier: Apache-2.0
/*
 * The third door of bpf/: which of the sampled objects of a process live, by its probes
 * otel_memory:alloc and otel_memory:free.
 *
 * Effect on the process: two breakpoints in its own copy of the probes' page, and 1 in each of
 * their semaphores, both for as long as the handle is open and we live; it takes a thread about a
 * microsecond for each object. A page called "[uprobes]" stays mapped.
 */
#ifndef BPF_HEAP_H
#define BPF_HEAP_H

#include "base/err.h"
#include "bpf/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct heap;

/* An object lives as long as the call. False: no more of them, until they are read again. */
typedef bool heap_fn(void *ctx, const struct heap_object *object);

struct heap_probe {
	uint64_t offset, semaphore; /* in the file; a semaphore is a uint16_t */
};

/* Can it be done at all? ERR_PERM without the rights to; ERR_FAILED where this kernel cannot. */
int heap_open(struct heap **out, heap_fn *fn, void *ctx, struct err *err) __must_check;

/*
 * Probe the file behind `handle` (open(2), O_PATH) in the process `pid` alone. Both probes have
 * their arguments in the registers of a function's first three. Errors as above.
 */
struct heap_probes {
	pid_t pid;
	int handle;
	struct heap_probe alloc, free;
};
int heap_attach(struct heap *h, const struct heap_probes *probes, struct err *err) __must_check;
void heap_close(struct heap *h);

/* Take the probes away; what they told is still to be read. */
void heap_stop(struct heap *h);

/* Readable when there are so many that they should be read soon. */
int heap_fd(const struct heap *h);

/* Hand over the objects that there are, as sites_read() does (bpf/sites.h). */
int heap_read(struct heap *h, struct err *err) __must_check;

/* The ids of those that live now, `*n` of them; some may come twice. */
void heap_living(const struct heap *h, uint64_t ids[HEAP_LIVE_MAX], size_t *n);

void heap_count(const struct heap *h, struct heap_counts *counts);

#endif
