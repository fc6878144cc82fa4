// SPDX-License-Identifier: Apache-2.0
/*
 * The one error type.
 *
 * A fallible function returns 0 or -1, takes its outputs and then `err` last,
 * and leaves its outputs untouched when it fails. The error lives on the
 * caller's stack, so reporting a failure never allocates.
 *
 * An error is an ID with arguments, which are numbers and strings. base/errors.def has the message
 * of each, and base/fixes.def what the user can do about it. Failing takes one line, as all
 * functions here that raise or advise return -1:
 *
 * 	return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid);
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define __must_check __attribute__((warn_unused_result))
#define __printf_like(f, a) __attribute__((format(printf, f, a)))

/* The category of an error, which determines the exit status. */
enum err_code {
	ERR_NONE = 0,
	ERR_FAILED,	/* anything without a more specific code */
	ERR_USAGE,	/* the command line is wrong */
	ERR_NOPROC,	/* no such process */
	ERR_PERM,	/* the caller may not do this */
	ERR_NOJEMALLOC, /* the process has no jemalloc that we can find */
	ERR_NOPROF,	/* config.prof or opt.prof is false */
	ERR_BUSY,	/* another tracer, or another profiling session */
	ERR_UNSAFE,	/* no safe moment or timed out; nothing changed */
	ERR_LOST,	/* the target ended, or its state is unknown */
	ERR_OUTPUT,	/* the output cannot be written */
	ERR_CODES
};

enum error {
#define ERROR(id, code, words) ERROR_##id,
#include "base/errors.def"
#undef ERROR
	ERRORS
};

enum fix {
#define FIX(id, action) FIX_##id,
#include "base/fixes.def"
#undef FIX
	FIXES
};

/* --- arguments --- */

enum err_kind { ERR_NUMBER, ERR_SIZE, ERR_SECONDS, ERR_ADDRESS, ERR_SIGNAL, ERR_TEXT };

/* X(name, kind): numbers; 0 if not given. */
#define ERR_NUMBERS(X)                                                    \
	X(pid, NUMBER)                                                    \
	X(tid, NUMBER)                                                    \
	X(other, NUMBER) /* another process, or the ID of another user */ \
	X(uid, NUMBER)                                                    \
	X(number, NUMBER)                                                 \
	X(limit, NUMBER)                                                  \
	X(count, NUMBER)                                                  \
	X(rate, NUMBER) /* per second */                                  \
	X(size, SIZE)	/* bytes */                                       \
	X(max, SIZE)	/* bytes */                                       \
	X(need, SIZE)	/* bytes */                                       \
	X(added, SIZE)	/* bytes */                                       \
	X(ms, SECONDS)	/* milliseconds, printed as seconds */            \
	X(address, ADDRESS)                                               \
	X(signal, SIGNAL)

/* X(name, size): strings, perhaps from the target; "" if not given, truncated to `size`. */
#define ERR_TEXTS(X)                                                      \
	X(path, 512)                                                      \
	X(file, 256)                                                      \
	X(last_file, 256)                                                 \
	X(comm, 64) /* the name of process `pid` */                       \
	X(other_comm, 64)                                                 \
	X(name, 128)   /* of a value, an option or a library */           \
	X(version, 64) /* of jemalloc */                                  \
	X(conf, 64)    /* the configuration variable of this jemalloc */  \
	X(command, 32)                                                    \
	X(what, 192) /* the failed action, as the words after "cannot" */ \
	X(text, 384)

/* Arguments of the functions below. */
struct err_args {
	enum err_code code; /* overrides the error's own code, if not ERR_NONE */
#define FIELD(name, kind) int64_t name;
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) const char *name;
	ERR_TEXTS(FIELD)
#undef FIELD
};

/*
 * The arguments as stored in an error: they can be copied, even to memory shared between processes.
 */
struct err_held {
#define FIELD(name, kind) int64_t name;
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) char name[size];
	ERR_TEXTS(FIELD)
#undef FIELD
};

/* --- the error --- */

#define ERR_DEPTH 4
#define ERR_FIXES 3

struct err {
	enum err_code code;
	enum error ids[ERR_DEPTH]; /* outermost first: see err_within(); terminated by ERROR_NONE */
	enum fix fixes[ERR_FIXES]; /* what to do about it; terminated by FIX_NONE */
	int sys;		   /* errno value of the cause, 0 if none */
	bool own;		   /* due to a limit of ours or of the machine, not to the target */
	struct err_held held;
};

#define ERR_INIT                 \
	{                        \
		.code = ERR_NONE \
	}

/* Called with a warning: an error that does not stop the operation. Its strings are unescaped. */
typedef void err_warn_fn(void *ctx, const struct err *warning);

/* Each takes fields of struct err_args after the ID, such as .pid = pid, or none. */
#define ERR_ARGS(...) (&(const struct err_args){ __VA_ARGS__ })

/* Sets the error, without a fix. */
#define err_raise(err, id, ...) err_raise_with(err, id, ERR_ARGS(__VA_ARGS__))

/*
 * Is this errno of a system call of ours due to a limit of ours (EMFILE, ENFILE, ENOMEM, EAGAIN),
 * or to a failure of the machine or between our own processes (EIO, EPIPE)?
 */
bool err_is_own(int sys);

/*
 * A system call of ours failed: as err_raise(), with `sys` stored. If err_is_own(sys), the error is
 * `own`, gets the appropriate fix, and is remembered: see err_remember().
 */
#define err_raise_sys(err, id, sys, ...) err_raise_sys_with(err, id, sys, ERR_ARGS(__VA_ARGS__))

/* The same for a call made by the target: its limits are not ours. */
#define err_raise_target(err, id, sys, ...) \
	err_raise_target_with(err, id, sys, ERR_ARGS(__VA_ARGS__))

/* Raise an error for exhausted memory of our own. */
int err_no_memory(struct err *err);

/*
 * Wrap the error in another one, whose message has a {cause} and which becomes the first of `ids`.
 * Code and fixes are kept. No effect at a depth of ERR_DEPTH.
 */
#define err_within(err, id, ...) err_within_with(err, id, ERR_ARGS(__VA_ARGS__))

/*
 * Set or add a fix: what the user can do about it. The fix for a limit of our own is kept. Given
 * fields replace those of the error.
 */
#define err_advise(err, fix, ...) err_advise_with(err, fix, ERR_ARGS(__VA_ARGS__))
#define err_advise_too(err, fix, ...) err_advise_too_with(err, fix, ERR_ARGS(__VA_ARGS__))
void err_unadvise(struct err *err);

int err_raise_with(struct err *err, enum error id, const struct err_args *args);
int err_raise_sys_with(struct err *err, enum error id, int sys, const struct err_args *args);
int err_raise_target_with(struct err *err, enum error id, int sys, const struct err_args *args);
int err_within_with(struct err *err, enum error id, const struct err_args *args);
int err_advise_with(struct err *err, enum fix fix, const struct err_args *args);
int err_advise_too_with(struct err *err, enum fix fix, const struct err_args *args);

/*
 * Data that cannot be read because of a limit of ours might be mistaken for missing data. So each
 * thread remembers the first such error, even one that its caller ignored; a child inherits the
 * remembered error of its parent.
 *
 * err_remember() is for a failed call that raises no error; it does nothing unless `sys` is a limit
 * of ours, and preserves errno. After a failure, err_explain() replaces an error that is not `own`
 * by the remembered one. err_forget() is called at the start of an independent operation.
 */
#define err_remember(sys, id, ...) err_remember_with(sys, id, ERR_ARGS(__VA_ARGS__))
void err_remember_with(int sys, enum error id, const struct err_args *args);
int err_explain(struct err *err);
void err_forget(void);

/* Was anything remembered except an I/O error? Then the result may be incomplete. */
bool err_is_remembered(void);

/* --- for people and for programs --- */

/* The exit status for a code (jeprof-ctl(8), EXIT STATUS). */
int err_exit_status(enum err_code code);

/* The name of a code in JSON, such as "no_process". Static storage. */
const char *err_code_name(enum err_code code);

/* The name of an error or a fix, such as "process_ended". Returns `buf`. */
#define ERR_NAME_SIZE 48
const char *err_name(enum error id, char buf[ERR_NAME_SIZE]);
const char *fix_name(enum fix fix, char buf[ERR_NAME_SIZE]);

/* The action of a fix, such as "grant": see base/fixes.def. Static storage. */
const char *fix_action(enum fix fix);

/* The message of an error: one line, without a full stop, safe to print. Returns `buf`. */
#define ERR_TEXT_SIZE 1024
const char *err_text(const struct err *err, char *buf, size_t size);

/* Fill a template as in base/errors.def with the arguments of `err`. Returns `buf`. */
const char *err_fill(const struct err *err, const char *words, char *buf, size_t size);

/* The i-th field; false after the last. `text` points into `err`, and is unescaped. */
struct err_field {
	const char *name;
	enum err_kind kind;
	int64_t number;
	const char *text; /* "" for a number */
};
bool err_field(const struct err *err, size_t i, struct err_field *field);

/* Does its message name the process `pid`, which it is about? */
bool err_names(const struct err *err, pid_t pid);

#endif
