// SPDX-License-Identifier: Apache-2.0
/*
 * The interface of `sites`: where a process allocates how much, as seen by the kernel.
 *
 * Effect on the process: a breakpoint in its private copy of one page of jemalloc's code, which
 * costs a thread about a microsecond per 64 KiB allocated or freed. It is removed by sites_close(),
 * or when we exit in any way; a mapping "[uprobes]" of one page remains.
 */
#ifndef BPF_SITES_H
#define BPF_SITES_H

#include "base/err.h"
#include "bpf/sample.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sites;

/* The sample is valid during the call. False: stop until the next sites_read(). */
typedef bool sites_fn(void *ctx, const struct sites_sample *sample);

/* Maximum of `sample_bytes`. */
#define SITES_BYTES_MAX (UINT64_C(1) << 31)

/*
 * Probe te_event_trigger in the file behind `handle` (open(2), O_PATH), at `offset` in the file,
 * only in the process `pid`. Random samples are taken every `sample_bytes` bytes on average.
 * ERR_PERM without the privileges; ERR_FAILED if this kernel or build does not support it, or the
 * file could block the kernel (bpf/origin.h).
 */
struct sites_probe {
	pid_t pid;
	int handle;
	uint64_t offset, sample_bytes;
};
int sites_open(struct sites **out, const struct sites_probe *probe, sites_fn *fn, void *ctx,
	       struct err *err) __must_check;
void sites_close(struct sites *s);

/* Remove the probe; samples can still be read. */
void sites_stop(struct sites *s);

/*
 * Pass the available samples to the callback, including those that arrive meanwhile: if they arrive
 * faster than they are processed, only the callback's return value ends it.
 */
int sites_read(struct sites *s, struct err *err) __must_check;

void sites_count(const struct sites *s, struct sites_counts *counts);

#endif
