// SPDX-License-Identifier: Apache-2.0
/*
 * Opens files of a process for reading: all accesses to a target's files use this.
 *
 * In an ordinary process these functions open files directly. In a confined one
 * (sandbox/confined.h), which may open nothing, they ask the opener: a process with the privileges
 * of the user that checks each request against a policy, opens for reading, and passes the
 * descriptor (unix(7), SCM_RIGHTS). The opener reads at most the first four bytes of a file. It may
 * hang harmlessly in an open(2) on a hostile file system: it is abandoned together with the process
 * it serves.
 *
 * The caller owns returned descriptors; -1 is a failure, with errno.
 */
#ifndef SANDBOX_DOOR_H
#define SANDBOX_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * /proc/PID/`name`, or /proc/PID/task/TID/`name`, or the directory "task", as far as the policy
 * allows.
 */
int door_proc(pid_t pid, pid_t tid, const char *name);

/*
 * The target of the link /proc/PID/`name` ("exe", "map_files/START-END"), if it is a regular file
 * of at most `max` bytes. map_files needs CAP_CHECKPOINT_RESTORE (proc(5)).
 */
int door_proc_file(pid_t pid, const char *name, uint64_t max);

/*
 * Have the opener open it now, so that door_proc_file() with the same arguments need not wait:
 * useful for many files. Only in a confined process, and for at most DOOR_AHEAD_MAX files;
 * otherwise it does nothing. Unclaimed files stay open until door_forget().
 */
#define DOOR_AHEAD_MAX 32
void door_proc_file_ahead(pid_t pid, const char *name, uint64_t max);

/* The same as an O_PATH handle (open(2)). */
int door_proc_handle(pid_t pid, const char *name);

/* Read that link, truncated to size - 1 bytes; returns the length, or -1. Not terminated. */
ssize_t door_proc_link(pid_t pid, const char *name, char *buf, size_t size);

/*
 * The file `path` with `root` as the root directory, if it is a regular file of at most `max`
 * bytes. A device or a FIFO is not opened.
 */
int door_below(const char *root, const char *path, uint64_t max);

/* The target of the symbolic link `name` in the directory `dir` below `root`; not followed. */
ssize_t door_link_below(const char *root, const char *dir, const char *name, char *buf,
			size_t size);

/*
 * An unnamed temporary file for reading and writing. A confined process may have two at a time
 * (EBUSY), and only if at their maximum size they leave half of the free space (ENOSPC).
 */
int door_temporary(void);

/* The debug file for this build ID from debuginfod, if the policy allows it. */
struct err;
int door_debuginfod(const unsigned char *build_id, size_t len, struct err *err);

/* What the opener may open. */
struct door_policy {
	pid_t pid;	  /* files of this process and its threads; 0: any; -1: none */
	int pidfd;	  /* its pidfd, to detect that the pid was reused; 0, -1: none */
	const char *root; /* root directory besides those of processes and "/"; NULL: none */
	bool debuginfod;  /* debuginfod may be used, so the opener needs the network */
	/*
	 * The only file of a process that is opened, whatever is requested: an O_PATH descriptor
	 * owned by the caller. It is not opened (ENOTSUP) if its file system is served by another
	 * process or machine, where reading may block forever. An overlayfs hides what its layers
	 * are.
	 */
	bool has_handle;
	int handle;
	uint64_t temporary_max_bytes; /* of each temporary file; 0: none allowed */
	bool sources;		      /* by path, also source text, recognized by its name */
	bool no_memory;		      /* no memory of processes: not mem, environ, auxv, syscall */
	bool vouched;		      /* by path, only files accepted by vouch_file() */
	uid_t caller;		      /* for this user, which the opener itself has dropped */
};

/* From now on this process sends requests through `sock`, one end of a SOCK_SEQPACKET pair. */
void door_use(int sock);

/* Does this process use an opener? */
bool door_in_use(void);

/*
 * Provide a descriptor of /proc/PID/`name` ("maps", "mem", "exe") that is already open: the next
 * request for that file returns it. door_forget() closes unclaimed ones.
 */
#define DOOR_GIVEN_MAX 8
void door_give(pid_t pid, const char *name, int fd);
void door_forget(void);

/*
 * Must the opener run as the user? The debuginfod cache is writable only by the user, and $TMPDIR
 * may be a directory of the user.
 */
bool door_needs_user(const struct door_policy *policy);

/* Serve requests until the other end is closed. */
void door_serve(int sock, const struct door_policy *policy);

#endif
