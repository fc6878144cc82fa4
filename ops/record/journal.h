// SPDX-License-Identifier: Apache-2.0
/*
 * What a recording changed in its target, kept in a file of its own so that it can be restored if
 * we are killed. The file is in a folder that only its owner can enter, /run/jeprof-ctl for root,
 * $XDG_RUNTIME_DIR/jeprof-ctl for others, and is named by the pid. The recorder holds a lock on it:
 * a file without one is from a recording that was killed. The lock ends with its process: a child
 * does not inherit it (fcntl_locking(2), F_SETLK). It does not keep the process from opening the
 * same journal twice, and closing either one releases it.
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

/* Both switches are only ever changed from false to true, the rate to any value. */
struct journal_state {
	pid_t pid;
	uint64_t start_time; /* of the process, see struct proc */
	uint64_t program;    /* proc_program(): after an execve(2) its changes are gone */
	pid_t recorder;
	char comm[PROC_COMM_SIZE];	       /* raw */
	char image[JOURNAL_IMAGE_SIZE];	       /* --image of the recording, "" without */
	bool active, thread_active_init, rate; /* changed */
	uint64_t lg_sample;		       /* `rate`: the previous prof.lg_sample */
};

struct journal {
	int dir, fd; /* the folder, the locked file */
	char name[16];
	pid_t holder; /* of the lock, after ERR_BUSY; 0 if unknown */
	bool written; /* the file has a valid content: `state` */
	struct journal_state state;
};
#define JOURNAL_INIT                \
	{                           \
		.dir = -1, .fd = -1 \
	}

/*
 * Open and lock the file of `pid`, and read it; `create` makes it and its folder. ERR_BUSY, naming
 * its pid, while another recording is in progress; ERR_NOPROC when there is no file; ERR_PERM when
 * it, or its folder, is not ours; ERR_OUTPUT when it cannot be made. journal_close() is due even
 * after a failure.
 */
int journal_open(struct journal *j, pid_t pid, bool create, struct err *err) __must_check;

/*
 * Replace the content of the file with the state, and sync it to disk, before this returns; the
 * lock is kept. ERR_OUTPUT.
 */
int journal_write(struct journal *j, struct err *err) __must_check;

/* Everything was restored: remove the file. */
void journal_remove(struct journal *j);

/*
 * The user has set the values that are true in `what`: changes to them by a recording that was
 * killed are now the user's, and are not to be restored. ERR_BUSY, as in journal_open(), while one
 * is in progress.
 */
int journal_decided(const struct proc *p, const struct journal_state *what, struct err *err)
	__must_check;

/* Is there anything to restore? */
bool journal_changed(const struct journal_state *state);

/* Releases the lock. A file that was not removed stays. */
void journal_close(struct journal *j);

/* The pids with a file, in a malloc()ed array that the caller frees; none without a folder. */
int journal_list(pid_t **pids, size_t *n, struct err *err) __must_check;

/* Is the state about this very process, and does that still run the same program? */
bool journal_is_of(const struct journal_state *state, const struct proc *p);

/*
 * How our recordings affect `p` now: sets `what`, as a warning, if one is in progress
 * (ERROR_WILL_TURN_IT_OFF), or if one was killed and left changes (ERROR_RECORDING_LEFT, with its
 * fix); otherwise leaves it alone. Locks and changes nothing, and cannot fail.
 */
void journal_look(const struct proc *p, struct err *what);

/* Private to ops/record/journal.c: the state of a journal as text, one "KEY VALUE" per line. */

#define JOURNAL_TEXT_MAX 4096 /* including the NUL */

/* False for a text that is incomplete, or does not say which process it is about. */
bool journal_text_parse(const char *text, struct journal_state *state);

/* The length of the text, which always fits into JOURNAL_TEXT_MAX bytes. */
int journal_text_format(const struct journal_state *state, char *buf, size_t size);

#endif
