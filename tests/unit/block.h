// SPDX-License-Identifier: Apache-2.0
/*
 * The block that is mapped into targets, mapped into this process, with a trap where the kernel
 * would place a uprobe. Include after <cmocka.h>.
 */
#ifndef TESTS_UNIT_BLOCK_H
#define TESTS_UNIT_BLOCK_H

#include "base/cleanup.h"
#include "base/err.h"
#include "sampler/sampler.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define RATE 65536
#define TRAP 0xcc   /* int3, as inserted by a uprobe */
#define STEP 0x100u /* trap flag: a trap after each instruction */
#define SEED UINT64_C(88172645463325252)

static unsigned char *base;
static struct sampler_state *state;
static struct sampler_data *data;

/* What the probes reported. */
static struct {
	uint64_t allocs, frees, address, size, bytes, freed;
	double sum;
} told;

/* Instructions executed in the block so far, and the one at which its data is cleared. */
static uint64_t step, wipe_at;

/* Stands in for jemalloc's mallctl; each test defines it. */
static mallctl_fn fake_mallctl;

static inline void on_trap(int signal, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t at = (uint64_t)regs[REG_RIP] - (uint64_t)base;

	(void)signal;
	if (info->si_code == TRAP_TRACE) {
		if (at < SAMPLER_STATE && step++ == wipe_at)
			memset(data, 0, sizeof(*data));
	} else if (at == sampler_offsets.alloc_probe + 1) {
		__atomic_fetch_add(&told.allocs, 1, __ATOMIC_SEQ_CST);
		told.address = (uint64_t)regs[REG_RDI];
		told.size = (uint64_t)regs[REG_RSI];
		told.bytes = (uint64_t)regs[REG_RDX];
		told.sum += (double)regs[REG_RDX];
	} else if (at == sampler_offsets.free_probe + 1) {
		__atomic_fetch_add(&told.frees, 1, __ATOMIC_SEQ_CST);
		told.freed = (uint64_t)regs[REG_RDI];
	} else {
		abort();
	}
}

static inline int control(const struct sampler_order *order, size_t len)
{
	mallctl_fn *fn = (mallctl_fn *)(base + sampler_offsets.control);

	return fn("", NULL, NULL, (void *)order, len);
}

static inline int leave(void)
{
	const struct sampler_order order = { .what = SAMPLER_REMOVE,
					     .seed = SEED,
					     .mallctl = (uint64_t)fake_mallctl };

	return control(&order, sizeof(order));
}

static inline void probe(bool is_read)
{
	state->alloc_semaphore = state->free_semaphore = is_read;
}

static inline int map_block(void)
{
	const struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	struct err err = ERR_INIT;
	size_t len;

	memset(&told, 0, sizeof(told));
	base = mmap(NULL, SAMPLER_END, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED || sampler_image(&image, &len, &err) || len < SAMPLER_DATA)
		return -1;
	memcpy(base, image, SAMPLER_DATA);
	base[sampler_offsets.alloc_probe] = base[sampler_offsets.free_probe] = TRAP;
	state = (struct sampler_state *)(base + SAMPLER_STATE);
	data = (struct sampler_data *)(base + SAMPLER_DATA);
	return mprotect(base, SAMPLER_STATE, PROT_READ | PROT_EXEC) ||
	       sigaction(SIGTRAP, &trap, NULL);
}

static inline int tear_down(void **unused)
{
	(void)unused;
	return munmap(base, SAMPLER_END);
}

static inline void step_through(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | STEP : flags & ~(uint64_t)STEP);
}

/* Run `call` once for each instruction that it executes in the block, and clear the data there. */
static inline void wipe_at_each(int (*set_up)(void **), void (*begin)(void), void (*call)(void))
{
	tear_down(NULL);
	for (wipe_at = 0; !wipe_at || step >= wipe_at; wipe_at++) {
		assert_int_equal(set_up(NULL), 0);
		begin();
		step = 0;
		step_through(true);
		call();
		step_through(false);
		tear_down(NULL);
	}
	assert_true(wipe_at > 100); /* it stepped through the code */
	assert_int_equal(set_up(NULL), 0);
}

#endif
