// SPDX-License-Identifier: Apache-2.0
/*
 * The one error type.
 *
 * A fallible function returns 0 or -1, takes its outputs and then `err` last,
 * and leaves its outputs untouched when it fails. The error lives on the
 * caller's stack, so reporting a failure never allocates.
 *
 * err_set(), err_sys(), err_wrap() and err_fix() all return -1, so that
 * failing is one line:  return err_sys(err, ERR_PERM, errno, "cannot ...");
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

/* What went wrong, in terms of what the user can do about it. */
enum err_code {
	ERR_NONE = 0,
	ERR_FAILED,	/* anything that has no code of its own */
	ERR_USAGE,	/* the command line is wrong */
	ERR_NOPROC,	/* no such process */
	ERR_PERM,	/* the caller may not do this */
	ERR_NOJEMALLOC, /* the process has no jemalloc that we can find */
	ERR_NOPROF,	/* config.prof or opt.prof is false */
	ERR_BUSY,	/* another tracer, or somebody else's profiling */
	ERR_UNSAFE,	/* no safe moment or timed out; nothing changed */
	ERR_LOST,	/* the target ended, or its state is unknown */
	ERR_OUTPUT,	/* the output cannot be written */
	ERR_CODES
};

struct err {
	enum err_code code;
	int sys;       /* errno value that caused it, 0 if none */
	char msg[768]; /* one line, no full stop, no newline */
	char fix[512]; /* what to do about it; empty if nothing is known */
};

#define ERR_INIT                 \
	{                        \
		.code = ERR_NONE \
	}
#define __must_check __attribute__((warn_unused_result))
#define __printf_like(f, a) __attribute__((format(printf, f, a)))

/* Set the error anew; clears `fix`. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) __printf_like(3, 4);

/* As err_set(), with ": strerror(sys)" appended and `sys` remembered. */
int err_sys(struct err *err, enum err_code code, int sys, const char *fmt, ...) __printf_like(4, 5);

/* Put "fmt: " before the message; code and fix stay. */
int err_wrap(struct err *err, const char *fmt, ...) __printf_like(2, 3);

/* Say what the user can do about it. */
int err_fix(struct err *err, const char *fmt, ...) __printf_like(2, 3);

/* After err_sys(): a system call of ours failed, not one of the target's; name our own limit. */
int err_own(struct err *err);

/* Is its fix the one that err_own() set? */
bool err_is_own(const struct err *err);

/* The process's exit status for a code (jeprof-ctl(8), EXIT STATUS). */
int err_exit_status(enum err_code code);

/* The name of a code in JSON, such as "no_process". Static storage. */
const char *err_code_name(enum err_code code);

#endif
