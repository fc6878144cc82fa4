// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: which operation is done when. So many at once, and of those that act on the
 * same process one; so many wait, three quarters of them of one client at most, as of those that
 * take long. Who asks for a profile while the same is being taken, or was within the last second,
 * gets that one, unless the process was to be changed meanwhile. What is seen of all processes is
 * looked at once for all who wait for it.
 */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "ops/apart/subprocess.h"
#include "serve/serve.h"

#define JOBS_MAX (SERVE_WORKERS_MAX + SERVE_WAITING_MAX + 16)
#define ASKERS_MAX 16
#define SHARED_MS 1000 /* how long an answer is kept for others */

enum job_state { JOB_FREE, JOB_WAITING, JOB_RUNNING, JOB_DONE };

struct asker {
	uint64_t id;
	struct serve_peer peer;
};

struct job {
	enum job_state state;
	struct wire_to_broker ask; /* of who asked first */
	struct serve_peer peer;
	uint64_t number;   /* they count up */
	uint64_t asked_ms; /* now_ms() */
	struct asker askers[ASKERS_MAX];
	size_t n; /* who is still to be answered */
	unsigned int shared;
	bool is_old;   /* the process was to be changed since */
	int addresses; /* of WIRE_SYMBOLS, or -1 */

	struct subprocess process; /* JOB_RUNNING */
	int content;		   /* from then on, a memory file */
	uint64_t run;		   /* the number of the run that it is; 0: it is none */
	int began_fd; /* its process's name comes there when it has begun; -1: no more */
	bool began;   /* who asked was answered then; it goes on */
	struct wire_to_front answer; /* JOB_DONE, or `began` */
	uint64_t done_ms;
};

struct queue {
	struct job v[JOBS_MAX];
	unsigned int workers, waiting; /* at most */
	uint64_t next;
};

/* Who is treated as one, and who may take it all. */
bool serve_peer_is_same(const struct serve_peer *a, const struct serve_peer *b);
bool serve_peer_is_owner(const struct serve_peer *peer);

void queue_init(struct queue *q, unsigned int workers, unsigned int waiting);

/*
 * The job that answers `ask`: a new one, or one that somebody else asked for, and that may be
 * JOB_DONE. NULL: too many wait. `addresses` belongs to the job then, or is closed.
 */
struct job *queue_add(struct queue *q, const struct wire_to_broker *ask,
		      const struct serve_peer *peer, int addresses, uint64_t now_ms);

/* The next that may begin; NULL: none. */
struct job *queue_next(struct queue *q);

/* How many are in that state. */
size_t queue_count(const struct queue *q, enum job_state state);

/* Nobody waits for this answer any more. The job, where it is running and nobody else does. */
struct job *queue_cancel(struct queue *q, uint64_t id);

/* The one that is this run, and is running; NULL: none. */
struct job *queue_find_run(struct queue *q, uint64_t run);

/* The number of one of this process that has begun, and goes on; 0: none. */
uint64_t queue_run_of(const struct queue *q, pid_t pid);

/* Its process was changed by it: who asks from now on is to see that. */
void queue_age(struct queue *q, pid_t pid);

/* Let go of what it has. It is JOB_FREE. */
void job_free(struct job *job);

/* Those that are done, answered, and too old to be shared. */
void queue_forget(struct queue *q, uint64_t now_ms);

#endif
