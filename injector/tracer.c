// SPDX-License-Identifier: Apache-2.0
#include "injector/tracer.h"

#include "base/clock.h"
#include "injector/check.h"
#include "injector/proof.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned int tracer_patience_ms(const struct tracer *t)
{
	return t->inj->opt.max_pause_ms * 3 / 4;
}

void tracer_phase(struct tracer *t, enum phase phase)
{
	atomic_store(&t->shared->since_us, now_us());
	atomic_store(&t->shared->phase, phase);
}

void tracer_beat(struct tracer *t)
{
	atomic_store(&t->shared->since_us, now_us());
}

void tracer_log(struct tracer *t, const char *fmt, ...)
{
	size_t used = strlen(t->shared->log), size = sizeof(t->shared->log);
	va_list ap;

	if (!t->inj->opt.log || used + 2 >= size)
		return;
	va_start(ap, fmt);
	vsnprintf(t->shared->log + used, size - used - 1, fmt, ap);
	va_end(ap);
	strcat(t->shared->log, "\n");
}

/* EIO means not mapped. */
static void note(ssize_t got)
{
	if (got < 0 && errno != EIO)
		err_remember(errno, ERROR_TRACER_CANNOT_REACH);
}

int mem_read(const struct tracer *t, uint64_t addr, void *buf, size_t len, struct err *err)
{
	ssize_t got = pread(t->mem, buf, len, (off_t)addr);

	if (got == (ssize_t)len)
		return 0;
	note(got);
	return err_raise(err, ERROR_TARGET_UNREADABLE, .address = (int64_t)addr,
			 .text = got < 0 ? strerror(errno) : "it ended, or is another program now");
}

#define POKED_AT_ONCE 4096

/* Write `want` over `is` at `addr`, which is aligned to a word. */
static bool poke_words(const struct tracer *t, uint64_t addr, const uint64_t *want,
		       const uint64_t *is, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (want[i] != is[i] &&
		    (!t->proven ||
		     ptrace(PTRACE_POKEDATA, t->proven, addr + i * sizeof(*want), want[i]) < 0))
			return false;
	return true;
}

/*
 * Write a word at a time through the verified stopped thread: for users who may trace the target
 * but not open its memory for writing. As PTRACE_POKEDATA takes a system call per word, words that
 * are already right are skipped: most of a frame is zero, or left from the last time.
 */
static bool poke(const struct tracer *t, uint64_t addr, const unsigned char *bytes, size_t len)
{
	uint64_t is[POKED_AT_ONCE / sizeof(uint64_t)], want[POKED_AT_ONCE / sizeof(uint64_t)];

	while (len) {
		size_t skip = addr % sizeof(*is);
		size_t n = sizeof(is) - skip < len ? sizeof(is) - skip : len;
		size_t words = (skip + n + sizeof(*is) - 1) / sizeof(*is);
		ssize_t size = (ssize_t)(words * sizeof(*is));

		if (pread(t->mem, is, (size_t)size, (off_t)(addr - skip)) != size)
			return false;
		memcpy(want, is, (size_t)size);
		memcpy((char *)want + skip, bytes, n);
		if (!poke_words(t, addr - skip, want, is, words))
			return false;
		addr += n;
		bytes += n;
		len -= n;
	}
	return true;
}

int mem_write(const struct tracer *t, uint64_t addr, const void *buf, size_t len, struct err *err)
{
	ssize_t put = -1;

	if (!t->pokes)
		put = pwrite(t->mem, buf, len, (off_t)addr);
	else if (poke(t, addr, buf, len))
		return 0;
	if (put == (ssize_t)len)
		return 0;
	note(put);
	return err_raise(err, ERROR_TARGET_UNWRITABLE, .address = (int64_t)addr,
			 .text = put < 0 ? strerror(errno) : "it ended, or is another program now");
}
