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
	bool own;      /* a limit of ours, or of the machine: it says nothing of a target */
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

/*
 * A system call of ours failed: as err_set(), with ": strerror(sys)" appended and `sys` remembered.
 * Where that is a limit of ours (EMFILE, ENFILE, ENOMEM, EAGAIN), or a failure of the machine or
 * between our own processes (EIO, EPIPE), it is `own`, with the fix that belongs to it, and
 * noted: see err_note().
 */
int err_sys(struct err *err, enum err_code code, int sys, const char *fmt, ...) __printf_like(4, 5);

/* The same for a call that the target made: its limits are not ours. */
int err_target(struct err *err, enum err_code code, int sys, const char *fmt, ...)
	__printf_like(4, 5);

/* Put "fmt: " before the message; code and fix stay. */
int err_wrap(struct err *err, const char *fmt, ...) __printf_like(2, 3);

/* Say what the user can do about it. The fix for a limit of our own stays. */
int err_fix(struct err *err, const char *fmt, ...) __printf_like(2, 3);

/*
 * What cannot be read because of a limit of ours is easily taken for what is not there. So each
 * process remembers the first such error, also one that its caller ignored.
 *
 * err_note() remembers a failed call where no error is made of it; it does nothing unless `sys` is
 * a limit of ours, and keeps errno. err_explain(), after a failure, puts the remembered error in
 * the place of one that is not `own`. err_forget() is called when work begins that is to be
 * judged by itself.
 */
void err_note(int sys, const char *fmt, ...) __printf_like(2, 3);
int err_explain(struct err *err);
void err_forget(void);

/* Was anything noted by err_note() but an I/O error? Then not all was seen, whatever the result. */
bool err_is_noted(void);

/* The process's exit status for a code (jeprof-ctl(8), EXIT STATUS). */
int err_exit_status(enum err_code code);

/* The name of a code in JSON, such as "no_process". Static storage. */
const char *err_code_name(enum err_code code);

#endif
