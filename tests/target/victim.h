// SPDX-License-Identifier: Apache-2.0
/*
 * What the victims share, programs that the tests work on and that watch themselves. All their
 * findings go to a board, a shared mapping of a file that the tests read from outside
 * (tests/drivers/photo has the same layout).
 */
#ifndef TESTS_TARGET_VICTIM_H
#define TESTS_TARGET_VICTIM_H

#include <stddef.h>
#include <stdint.h>

#define VICTIM_BEATS 64
#define KEPT_ERRNO 77 /* victims set errno to this, to notice changes */

struct board {
	uint64_t ready;	   /* pid, once everything is set up */
	uint64_t threads;  /* how many of `beats` are in use */
	uint64_t eintr;	   /* calls that failed with EINTR though no signal was sent */
	uint64_t corrupt;  /* heap contents, errno or stack that changed */
	uint64_t altstack; /* alternate signal stacks that changed */
	uint64_t failed;   /* calls that failed otherwise */
	uint64_t where;	   /* line of the last of these findings */
	uint64_t reserved;
	uint64_t beats[VICTIM_BEATS]; /* increase as long as that thread works */
};

extern struct board *board;

/* Map the board: a path, or "fd:N" for an inherited descriptor. Exits on failure. */
void victim_open(const char *name);

/* Start `n` threads; `work` gets their numbers, from 1. Exits on failure. */
void victim_threads(unsigned int n, void *(*work)(void *number));

/* Report that everything is set up, with `threads` beats to watch. */
void victim_ready(unsigned int threads);

/* Count a finding in `counter`, and record its line. */
void victim_count(uint64_t *counter, unsigned int line);
#define FOUND(counter) victim_count(&board->counter, __LINE__)

void victim_beat(unsigned int i);

/* Sleep for less than a second; a shorter sleep, or a changed errno, is a finding. */
void victim_nap(unsigned int ms);

/* Nap and beat forever: for threads that are to be left alone. For victim_threads(). */
void *victim_rest(void *number);

/*
 * Start a thread that is never joined; return 0 or an error number. It is created detached: glibc's
 * pthread_detach(3) (2.36) looks at a thread that may have exited and be unmapped by then.
 */
int victim_detached(void *(*work)(void *), void *arg);

/* Give the calling thread an alternate signal stack; victim_altstack_check() compares. */
void victim_altstack_set(void);
void victim_altstack_check(void);

#endif
