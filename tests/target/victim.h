// SPDX-License-Identifier: Apache-2.0
/*
 * What the victims share: programs that the tests work on and that watch
 * themselves. Everything they see goes to a board, a shared mapping of a file
 * that the tests read from outside (tests/drivers/photo has the same layout).
 */
#ifndef TESTS_TARGET_VICTIM_H
#define TESTS_TARGET_VICTIM_H

#include <stddef.h>
#include <stdint.h>

#define VICTIM_BEATS 64
#define KEPT_ERRNO 77 /* what victims set errno to, to see that nobody else does */

struct board {
	uint64_t ready;	   /* pid, once everything is set up */
	uint64_t threads;  /* how many of `beats` are in use */
	uint64_t eintr;	   /* calls that failed with EINTR though no signal was sent */
	uint64_t corrupt;  /* heap contents, errno or stack found changed */
	uint64_t altstack; /* alternate signal stacks found changed */
	uint64_t failed;   /* calls that failed otherwise */
	uint64_t where;	   /* line of the last of these findings */
	uint64_t reserved;
	uint64_t beats[VICTIM_BEATS]; /* grow as long as that thread works */
};

extern struct board *board;

/* Map the board: a path, or "fd:N" for a descriptor that was inherited. Exits on failure. */
void victim_open(const char *name);

/* Start `n` threads; `work` gets their numbers, from 1. Exits on failure. */
void victim_threads(unsigned int n, void *(*work)(void *number));

/* Say that everything is set up, with `threads` beats to watch. */
void victim_ready(unsigned int threads);

/* Count a finding in `counter`, with its line. */
void victim_count(uint64_t *counter, unsigned int line);
#define FOUND(counter) victim_count(&board->counter, __LINE__)

void victim_beat(unsigned int i);

/* Sleep for less than a second; anything but a whole sleep that leaves errno alone is a finding. */
void victim_nap(unsigned int ms);

/* Nap and beat for ever: what a thread does that is to be left alone. For victim_threads(). */
void *victim_rest(void *number);

/*
 * A thread that nobody waits for, 0 or an error number. Made so: glibc's pthread_detach(3) (2.36)
 * looks at a thread that may have ended and be unmapped by then.
 */
int victim_detached(void *(*work)(void *), void *arg);

/* Give the calling thread an alternate signal stack; victim_altstack_check() compares. */
void victim_altstack_set(void);
void victim_altstack_check(void);

#endif
