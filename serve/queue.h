// SPDX-License-Identifier: Apache-2.0
/*
 * Private to serve/: schedules operations. The numbers of running and waiting jobs are limited, and
 * only one at a time acts on a process. One client gets at most three quarters of the waiting
 * slots, and likewise of the slots for long operations. A request for a profile shares one that is
 * being taken or was taken within the last second, unless a change of the process was requested
 * since. An overview of all processes is taken once for all that wait for it.
 */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "ops/apart/subprocess.h"
#include "serve/serve.h"

#define JOBS_MAX (SERVE_WORKERS_MAX + SERVE_WAITING_MAX + 16)
#define ASKERS_MAX 16
#define SHARED_MS 1000 /* how long an answer can be shared */

enum job_state { JOB_FREE, JOB_WAITING, JOB_RUNNING, JOB_DONE };

struct asker {
	uint64_t id;
	struct serve_peer peer;
};

struct job {
	enum job_state state;
	struct wire_to_broker ask; /* of the first asker */
	struct serve_peer peer;
	uint64_t number;   /* increasing: the order of arrival */
	uint64_t asked_ms; /* now_ms() */
	struct asker askers[ASKERS_MAX];
	size_t n; /* askers still to be answered */
	unsigned int shared;
	bool is_old;   /* a change of the process was requested since */
	int addresses; /* of WIRE_SYMBOLS, or -1 */

	struct subprocess process; /* JOB_RUNNING */
	int content;		   /* a memory file for the answer, once started; or -1 */
	uint64_t run;		   /* the number of the run; 0: not a run */
	int began_fd; /* a pipe: the comm of its process when the run has begun; -1: closed */
	bool began;   /* the run has begun: that was the answer, and it goes on */
	struct wire_to_front answer; /* JOB_DONE, or `began` */
	uint64_t done_ms;
};

struct queue {
	struct job v[JOBS_MAX];
	unsigned int workers, waiting; /* at most */
	uint64_t next;
};

/* Peers that count as one for limits; and the peer without limits. */
bool serve_peer_is_same(const struct serve_peer *a, const struct serve_peer *b);
bool serve_peer_is_owner(const struct serve_peer *peer);

void queue_init(struct queue *q, unsigned int workers, unsigned int waiting);

/*
 * The job that answers `ask`: a new one, or a shared one, which may be JOB_DONE. NULL: the queue is
 * full. Takes `addresses`.
 */
struct job *queue_add(struct queue *q, const struct wire_to_broker *ask,
		      const struct serve_peer *peer, int addresses, uint64_t now_ms);

/* The next job to start, or NULL. */
struct job *queue_next(struct queue *q);

size_t queue_count(const struct queue *q, enum job_state state);

/* An asker has disconnected. Returns its job if that is running and was its last asker's. */
struct job *queue_cancel(struct queue *q, uint64_t id);

/* The running job of this run, or NULL. */
struct job *queue_find_run(struct queue *q, uint64_t run);

/* The number of a run of this process that has begun and not ended; 0: none. */
uint64_t queue_run_of(const struct queue *q, pid_t pid);

/* The process was changed: share no older answers about it. */
void queue_age(struct queue *q, pid_t pid);

/* Release its resources; it becomes JOB_FREE. */
void job_free(struct job *job);

/* Free jobs that are answered and too old to be shared. */
void queue_forget(struct queue *q, uint64_t now_ms);

#endif
