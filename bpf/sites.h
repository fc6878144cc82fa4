// SPDX-License-Identifier: Apache-2.0
/*
 * The other door of bpf/: who allocates how much in one process, as the kernel sees it.
 *
 * Effect on the process: a breakpoint in its own copy of one page of its jemalloc's code, which
 * takes a thread about a microsecond for each 64 KiB that it has allocated or freed. It goes with
 * sites_close(), or when we end, however we end; a page called "[uprobes]" stays mapped.
 */
#ifndef BPF_SITES_H
#define BPF_SITES_H

#include "base/err.h"
#include "bpf/sample.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sites;

/* A sample lives as long as the call. False: no more of them, until they are read again. */
typedef bool sites_fn(void *ctx, const struct sites_sample *sample);

/* What a sample may stand for at least: no `sample_bytes` is larger. */
#define SITES_BYTES_MAX (UINT64_C(1) << 31)

/*
 * Probe te_event_trigger in the file behind `handle` (open(2), O_PATH), at `offset` in the file, in
 * the process `pid` alone. A sample is taken every `sample_bytes` bytes on average, chosen by
 * chance. ERR_PERM without the rights to; ERR_FAILED where this kernel or this build cannot, or it
 * could keep the kernel waiting (bpf/origin.h).
 */
struct sites_probe {
	pid_t pid;
	int handle;
	uint64_t offset, sample_bytes;
};
int sites_open(struct sites **out, const struct sites_probe *probe, sites_fn *fn, void *ctx,
	       struct err *err) __must_check;
void sites_close(struct sites *s);

/* Take the probe away; what was sampled is still to be read. */
void sites_stop(struct sites *s);

/*
 * Hand over the samples that are there, and those that come meanwhile: without end where they come
 * faster than they are taken, unless the caller's function says that it is enough.
 */
int sites_read(struct sites *s, struct err *err) __must_check;

void sites_count(const struct sites *s, struct sites_counts *counts);

#endif
