// SPDX-License-Identifier: Apache-2.0
/*
 * Opening what is to be read of a process: the one way for all that looks at a target.
 *
 * In an ordinary process these functions open for themselves. In a confined one
 * (sandbox/confined.h), which may open nothing, they ask the opener: a process
 * that has the rights of the user, checks each request against a policy, opens
 * for reading, and passes the descriptor (unix(7), SCM_RIGHTS). The opener reads
 * no byte of what it opens but the first four of a file, and may hang in an open(2) of
 * a hostile file system without harm: it is given up with the one it serves.
 *
 * A descriptor is the caller's; -1 is a failure, with errno.
 */
#ifndef SANDBOX_DOOR_H
#define SANDBOX_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/`name`, or /proc/PID/task/TID/`name`; the folder "task" too. Of those in the policy. */
int door_proc(pid_t pid, pid_t tid, const char *name);

/*
 * What the link /proc/PID/`name` stands for ("exe", "map_files/START-END"), if it is a
 * regular file of at most `max` bytes. map_files needs CAP_CHECKPOINT_RESTORE (proc(5)).
 */
int door_proc_file(pid_t pid, const char *name, uint64_t max);

/*
 * Have the opener open it now: door_proc_file() with the same arguments finds it done, which saves
 * the wait for each of many files. For a confined process, for as many as there is room for;
 * elsewhere, and beyond that, it does nothing. What is not asked for stays open until
 * door_forget().
 */
#define DOOR_AHEAD_MAX 32
void door_proc_file_ahead(pid_t pid, const char *name, uint64_t max);

/* The same, as a handle to be looked at alone (open(2), O_PATH). */
int door_proc_handle(pid_t pid, const char *name);

/* Where that link leads, cut to size - 1 bytes; the length, or -1. Not terminated. */
ssize_t door_proc_link(pid_t pid, const char *name, char *buf, size_t size);

/*
 * The file `path` below the folder `root` as if that were the root directory, if it is
 * a regular one of at most `max` bytes. A device or a FIFO is not opened.
 */
int door_below(const char *root, const char *path, uint64_t max);

/* The text of the symbolic link `name` in the folder `dir` below `root`; not followed. */
ssize_t door_link_below(const char *root, const char *dir, const char *name, char *buf,
			size_t size);

/*
 * A file without a name for what is too large for memory; read and write. A confined process has
 * two at a time (EBUSY), and only where they leave half of what is free, however large they get
 * (ENOSPC).
 */
int door_temporary(void);

/* The debug data of this build id from debuginfod; for policies that allow it. */
struct err;
int door_debuginfod(const unsigned char *build_id, size_t len, struct err *err);

/* For whom, and what. */
struct door_policy {
	pid_t pid;	  /* this process and its threads; 0: any; -1: none */
	int pidfd;	  /* of it: another one that is given its id is not opened; 0, -1: none */
	const char *root; /* a folder besides the roots of processes and "/"; NULL: none */
	bool debuginfod;  /* debuginfod may be asked: the opener needs the network then */
	/*
	 * The only file of a process that is opened, whatever is asked for: an O_PATH descriptor of
	 * the caller's. One of a file system that another process or machine serves is not opened
	 * (ENOTSUP): reading it may block forever. An overlayfs hides what its layers are.
	 */
	bool has_handle;
	int handle;
	uint64_t temporary_max_bytes; /* of each temporary file; 0: there is none */
	bool sources;	/* by a path, source text as well: files that are called as such */
	bool no_memory; /* nothing of a process's memory: no mem, environ, auxv, syscall */
	bool vouched;	/* by a path, only files that vouch_file() vouches for, */
	uid_t caller;	/* to this user: the opener itself has become another one */
};

/* From now on this process asks through `sock`, a SOCK_SEQPACKET pair's other end. */
void door_use(int sock);

/* True in a process that asks. */
bool door_in_use(void);

/*
 * Hand over a descriptor of /proc/PID/`name` ("maps", "mem", "exe") that was opened already:
 * the next request for it is answered with it. door_forget() closes those that are left.
 */
#define DOOR_GIVEN_MAX 8
void door_give(pid_t pid, const char *name, int fd);
void door_forget(void);

/*
 * Must who answers be the user that asked? debuginfod keeps what it gets where that user may write,
 * and $TMPDIR may be a folder of that user's.
 */
bool door_needs_user(const struct door_policy *policy);

/* Answer requests until the other end is closed. */
void door_serve(int sock, const struct door_policy *policy);

#endif
