// SPDX-License-Identifier: Apache-2.0
/*
 * The interface of `sample`: which sampled objects of a process are live, by its probes
 * otel_memory:alloc and otel_memory:free.
 *
 * Effect on the process: breakpoints in its private copies of the probes' pages, and 1 in each of
 * their semaphores, while the handle is open and we are alive; it costs a thread about a
 * microsecond per object. A mapping "[uprobes]" of one page remains.
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

/* The object is valid during the call. False: stop until the next heap_read(). */
typedef bool heap_fn(void *ctx, const struct heap_object *object);

struct heap_probe {
	uint64_t offset, semaphore; /* file offsets; a semaphore is a uint16_t */
};

/*
 * Load the program. ERR_PERM without the privileges; ERR_FAILED if this kernel does not support it.
 */
int heap_open(struct heap **out, heap_fn *fn, void *ctx, struct err *err) __must_check;

/*
 * Add a probe in the file behind `handle` (open(2), O_PATH), only in the process `pid`: at most
 * HEAP_PROBES_MAX for each event. ERR_FAILED if the file could block the kernel (bpf/origin.h), or
 * the kernel (before 5.15) cannot tell apart probes of one event with different arguments; else as
 * above.
 */
enum heap_event { HEAP_ALLOC, HEAP_FREE, HEAP_EVENTS };
struct heap_place {
	pid_t pid;
	int handle;
	struct heap_probe probe;
	struct heap_args args;
};
int heap_attach(struct heap *h, enum heap_event event, const struct heap_place *place,
		struct err *err) __must_check;
void heap_close(struct heap *h);

/* Remove the probes; what they reported can still be read. */
void heap_stop(struct heap *h);

/* Readable when there are so many objects that they should be read soon. */
int heap_fd(const struct heap *h);

/* Pass the available objects to the callback, like sites_read() (bpf/sites.h). */
int heap_read(struct heap *h, struct err *err) __must_check;

/* The IDs of live objects, `*n` of them; some may occur twice. */
void heap_living(const struct heap *h, uint64_t ids[HEAP_LIVE_MAX], size_t *n);

void heap_count(const struct heap *h, struct heap_counts *counts);

#endif
