/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What the program in the kernel and the watch in user space share: records of
 * the ring buffer, and how probes are told apart. Every field is what the
 * kernel saw; names are the process's, raw.
 */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

#include "bpf/stack.h"

#include <linux/types.h>

#define WATCH_NAME_SIZE 4096
#define WATCH_CWD_SIZE 1024 /* of the innermost components that fit */
#define WATCH_LEAF_SIZE 256 /* a file name, and its NUL */
#define WATCH_COMM_SIZE 16
#define WATCH_FRAMES 64
#define WATCH_ARGS 4

/* Which argument of prof_dump names the file. The two low bits of a probe's cookie. */
enum watch_convention {
	WATCH_UNKNOWN, /* told by which of them is opened */
	WATCH_SECOND,  /* prof_dump(propagate, name, leak) */
	WATCH_THIRD,   /* prof_dump(tsd, propagate, name, leak) */
	WATCH_CONVENTION_MASK = 3,
};

/* Of every probe on a kernel without bpf_get_attach_cookie(), before Linux 5.15: unknown. */
#define WATCH_NO_COOKIE (WATCH_CONVENTION_MASK + 1)

enum watch_record_type {
	WATCH_RECORD_DUMP,
	WATCH_RECORD_BEGIN,   /* a dump has begun, and the process can still be looked at */
	WATCH_RECORD_PROCESS, /* a process runs code of a file that nobody has looked at */
};

enum watch_flags {
	WATCH_RETURNED = 1,   /* `ret` is what prof_dump returned */
	WATCH_DIED = 2,	      /* its thread ended in the middle */
	WATCH_PROFILE = 4,    /* its first bytes are those of a heap profile */
	WATCH_BY_CREAT = 8,   /* its file was to be made by creat(2) */
	WATCH_CWD_WHOLE = 16, /* `cwd` reaches up to the root of the process */
	WATCH_MEMORY = 32,    /* the file is a memfd, `leaf` its name */
};

/* What has become of the file. Above: a descriptor that is open. */
enum watch_fd { WATCH_FD_NONE = -1, WATCH_FD_OPENING = -2, WATCH_FD_CLOSED = -3 };

struct watch_process {
	__u32 type, pid;
	__u64 began_ns; /* CLOCK_BOOTTIME */
};

/* Who asked: the frames above prof_dump. */
struct watch_begin {
	struct watch_process process;
	__u64 tid;
	__u64 dump_began_ns;
	struct stack_copy stack; /* without bytes unless they were asked for */
};

struct watch_dump {
	__u32 type, flags;
	__u32 pid, tid; /* in the watch's own pid namespace */
	__u64 cookie;	/* of the probe, 0 for a dump seen by its system calls alone */
	__u64 began_ns; /* CLOCK_BOOTTIME */
	__u64 ended_ns;
	__u64 process_began_ns;
	__u64 cgroup; /* id in the cgroup2 hierarchy */
	__u64 sp;     /* of the thread at its entry */
	__u64 caller; /* the return address, 0 if unreadable */
	__u64 args[WATCH_ARGS];
	__u64 ret;
	__u64 opened;	      /* address of the name that was opened to write, 0: none */
	__u64 written_before; /* bytes this thread had written when the file was opened */
	__u64 bytes;	      /* written since, until it was closed */
	__s32 fd;	      /* enum watch_fd or a descriptor */
	__s32 open_error;     /* errno of a failed open, positive */
	__u32 n_frames;
	__u32 name_len;		    /* with its NUL; 0: it could not be read */
	__u64 frames[WATCH_FRAMES]; /* by frame pointers, innermost first */
	char comm[WATCH_COMM_SIZE];
	char leaf[WATCH_LEAF_SIZE];
	__u32 cwd_len, n_cwd; /* components of the working directory, innermost first, each
			       * with its NUL */
	char cwd[WATCH_CWD_SIZE];
	char name[WATCH_NAME_SIZE]; /* last: a record ends with its name */
};

/* Where the bytes of a file are: of its file system, as the kernel mounted it. */
struct watch_origin {
	__u64 type;	 /* as statfs(2) calls it */
	__u32 device;	 /* its block device, as the kernel numbers it; 0: it has none */
	__u32 is_nested; /* it was mounted in a user namespace other than the first */
};

#endif
