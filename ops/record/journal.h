// SPDX-License-Identifier: Apache-2.0
/*
 * What a recording changed in its target, kept in a file of its own so that it
 * can be put back after we were killed. The file stands in a folder that only
 * its owner can enter, /run/jeprof-ctl of root, $XDG_RUNTIME_DIR/jeprof-ctl of
 * others, and is named by the pid. Who records holds a lock on it: a file
 * without one is of a recording that died. The lock ends with its process: a
 * child does not inherit it (fcntl_locking(2), F_SETLK). It does not keep the
 * process from opening the same journal twice, and closing either one ends it.
 */
#ifndef OPS_RECORD_JOURNAL_H
#define OPS_RECORD_JOURNAL_H

#include "base/err.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JOURNAL_IMAGE_SIZE 512

/* Both switches are only ever changed from false to true, the rate to any other. */
struct journal_state {
	pid_t pid;
	uint64_t start_time; /* of the process, see struct proc */
	uint64_t program;    /* proc_program(): what it changed is gone after an execve(2) */
	pid_t recorder;
	char comm[PROC_COMM_SIZE];	       /* raw */
	char image[JOURNAL_IMAGE_SIZE];	       /* --image of the recording, "" without */
	bool active, thread_active_init, rate; /* changed */
	uint64_t lg_sample;		       /* `rate`: prof.lg_sample before */
};

struct journal {
	int dir, fd; /* the folder, the file with its lock */
	char name[16];
	pid_t holder; /* who has the lock, after ERR_BUSY; 0 if that is not known */
	bool written; /* the file has a content that makes sense: `state` */
	struct journal_state state;
};
#define JOURNAL_INIT                \
	{                           \
		.dir = -1, .fd = -1 \
	}

/*
 * Open and lock the file of `pid`; `create` makes it and its folder. What
 * stands in it is read. ERR_BUSY, naming its pid, while another recording is
 * at work; ERR_NOPROC when there is no file; ERR_PERM when it, or its folder,
 * is not ours; ERR_OUTPUT when it cannot be made. journal_close() is due also
 * when this fails.
 */
int journal_open(struct journal *j, pid_t pid, bool create, struct err *err) __must_check;

/*
 * Write the state in place of what is there, and have it on disk, before this
 * returns; the lock goes on. ERR_OUTPUT.
 */
int journal_write(struct journal *j, struct err *err) __must_check;

/* Everything was put back: the file goes. */
void journal_remove(struct journal *j);

/*
 * The user has decided about what is true in `what`: what a recording that died has changed there
 * is his now, and not to be put back. ERR_BUSY, as journal_open(), while one is at work.
 */
int journal_decided(const struct proc *p, const struct journal_state *what, struct err *err)
	__must_check;

/* Is there anything to be put back? */
bool journal_changed(const struct journal_state *state);

/* Ends the lock. A file that was not removed stays. */
void journal_close(struct journal *j);

/* The pids with a file, in a malloc()ed array that the caller frees. No folder is no pids. */
int journal_list(pid_t **pids, size_t *n, struct err *err) __must_check;

/* Is this the very process, and still the same program, that the state is about? */
bool journal_is_of(const struct journal_state *state, const struct proc *p);

/*
 * What recordings of ours have to do with `p` now: `what` says, as a warning does, that one is at
 * work (ERROR_WILL_TURN_IT_OFF), or that one was killed and left it changed (ERROR_RECORDING_LEFT,
 * with its fix); else it is left alone. Nothing is locked or changed, and nothing fails.
 */
void journal_look(const struct proc *p, struct err *what);

/* Private to ops/record/journal.c: the state of a journal as text, "KEY VALUE" in each line. */

#define JOURNAL_TEXT_MAX 4096 /* the NUL included */

/* False for a text that is not whole, or lacks what says which process it is of. */
bool journal_text_parse(const char *text, struct journal_state *state);

/* The length of the text, which always fits into JOURNAL_TEXT_MAX bytes. */
int journal_text_format(const struct journal_state *state, char *buf, size_t size);

#endif
