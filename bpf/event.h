/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the eBPF program and user space: records of the ring buffer, and cookies of probes. All
 * fields are as seen by the kernel; names are unescaped text from the process.
 */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

#include "bpf/stack.h"

#include <linux/types.h>

#define WATCH_NAME_SIZE 4096
#define WATCH_CWD_SIZE 1024 /* for the innermost components that fit */
#define WATCH_LEAF_SIZE 256 /* a file name, and its NUL */
#define WATCH_COMM_SIZE 16
#define WATCH_FRAMES 64
#define WATCH_ARGS 4

/* Which argument of prof_dump is the file name: the two low bits of a probe's cookie. */
enum watch_convention {
	WATCH_UNKNOWN, /* found by which argument is opened */
	WATCH_SECOND,  /* prof_dump(propagate, name, leak) */
	WATCH_THIRD,   /* prof_dump(tsd, propagate, name, leak) */
	WATCH_CONVENTION_MASK = 3,
};

/*
 * The cookie of all probes on kernels without bpf_get_attach_cookie(), before Linux 5.15: unknown.
 */
#define WATCH_NO_COOKIE (WATCH_CONVENTION_MASK + 1)

enum watch_record_type {
	WATCH_RECORD_DUMP,
	WATCH_RECORD_BEGIN,   /* a dump has begun, and the process can still be examined */
	WATCH_RECORD_PROCESS, /* a process runs code of a file not examined yet */
};

enum watch_flags {
	WATCH_RETURNED = 1,   /* `ret` is the return value of prof_dump */
	WATCH_DIED = 2,	      /* its thread exited during the dump */
	WATCH_PROFILE = 4,    /* its first bytes are those of a heap profile */
	WATCH_BY_CREAT = 8,   /* its file was opened by creat(2) */
	WATCH_CWD_WHOLE = 16, /* `cwd` is complete up to the root of the process */
	WATCH_MEMORY = 32,    /* the file is a memfd, `leaf` its name */
};

/* State of the file. Other values: an open descriptor. */
enum watch_fd { WATCH_FD_NONE = -1, WATCH_FD_OPENING = -2, WATCH_FD_CLOSED = -3 };

struct watch_process {
	__u32 type, pid;
	__u64 began_ns; /* CLOCK_BOOTTIME */
};

/* The cause of a dump: the frames above prof_dump. */
struct watch_begin {
	struct watch_process process;
	__u64 tid;
	__u64 dump_began_ns;
	struct stack_copy stack; /* without bytes unless requested */
};

struct watch_dump {
	__u32 type, flags;
	__u32 pid, tid; /* in the watch's own pid namespace */
	__u64 cookie;	/* of the probe; 0 for a dump detected only by its system calls */
	__u64 began_ns; /* CLOCK_BOOTTIME */
	__u64 ended_ns;
	__u64 process_began_ns;
	__u64 cgroup; /* ID in the cgroup2 hierarchy */
	__u64 sp;     /* stack pointer at the entry */
	__u64 caller; /* return address, 0 if unreadable */
	__u64 args[WATCH_ARGS];
	__u64 ret;
	__u64 opened;	      /* address of the name opened for writing, 0: none */
	__u64 written_before; /* bytes written by this thread before the file was opened */
	__u64 bytes;	      /* bytes written from then until it was closed */
	__s32 fd;	      /* enum watch_fd, or a descriptor */
	__s32 open_error;     /* errno of a failed open, positive */
	__u32 n_frames;
	__u32 name_len;		    /* including the NUL; 0: it could not be read */
	__u64 frames[WATCH_FRAMES]; /* by frame pointers, innermost first */
	char comm[WATCH_COMM_SIZE];
	char leaf[WATCH_LEAF_SIZE];
	__u32 cwd_len, n_cwd; /* components of the working directory, innermost first, each with its
			       * NUL */
	char cwd[WATCH_CWD_SIZE];
	char name[WATCH_NAME_SIZE]; /* last, so that a record can end with its name */
};

/* Where the bytes of a file are: properties of its mounted file system. */
struct watch_origin {
	__u64 type;	 /* as f_type of statfs(2) */
	__u32 device;	 /* its block device, a dev_t of the kernel; 0: none */
	__u32 is_nested; /* it was mounted in a user namespace other than the initial one */
};

#endif
