// SPDX-License-Identifier: Apache-2.0
#include "elf/image_guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf out;
static volatile sig_atomic_t guarded;

static void cut_short(int sig)
{
	if (guarded)
		siglongjmp(out, 1);
	/* Not ours: let it do what it does. */
	signal(sig, SIG_DFL);
	raise(sig);
}

bool image_guard(void (*fn)(void *ctx), void *ctx)
{
	struct sigaction guard = { .sa_handler = cut_short, .sa_flags = SA_NODEFER }, before;
	volatile bool whole = false;

	if (guarded) {
		fn(ctx);
		return true;
	}
	sigaction(SIGBUS, &guard, &before);
	if (sigsetjmp(out, 1) == 0) {
		guarded = 1;
		fn(ctx);
		whole = true;
	}
	guarded = 0;
	sigaction(SIGBUS, &before, NULL);
	return whole;
}
