// SPDX-License-Identifier: Apache-2.0
/*
 * The one error type.
 *
 * A fallible function returns 0 or -1, takes its outputs and then `err` last,
 * and leaves its outputs untouched when it fails. The error lives on the
 * caller's stack, so reporting a failure never allocates.
 *
 * An error is an id and what it is about, as numbers and names. base/errors.def
 * has the words for each, and base/fixes.def what the user can do about it.
 * Failing is one line, as all functions here that raise or advise return -1:
 *
 *	return err_raise(err, ERROR_PROCESS_ENDED, .pid = pid);
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define __must_check __attribute__((warn_unused_result))
#define __printf_like(f, a) __attribute__((format(printf, f, a)))

/* What went wrong, in terms of what the user can do about it: the exit status. */
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

/* --- what an error is about --- */

enum err_kind { ERR_NUMBER, ERR_SIZE, ERR_SECONDS, ERR_ADDRESS, ERR_SIGNAL, ERR_TEXT };

/* X(name, kind): numbers; 0 where they are not given. */
#define ERR_NUMBERS(X)                                                    \
	X(pid, NUMBER)                                                    \
	X(tid, NUMBER)                                                    \
	X(other, NUMBER) /* another process, or the id of another user */ \
	X(uid, NUMBER)                                                    \
	X(number, NUMBER)                                                 \
	X(limit, NUMBER)                                                  \
	X(count, NUMBER)                                                  \
	X(rate, NUMBER) /* per second */                                  \
	X(size, SIZE)	/* bytes */                                       \
	X(max, SIZE)	/* bytes */                                       \
	X(need, SIZE)	/* bytes */                                       \
	X(added, SIZE)	/* bytes */                                       \
	X(ms, SECONDS)	/* milliseconds, which are printed as seconds */  \
	X(address, ADDRESS)                                               \
	X(signal, SIGNAL)

/* X(name, size): texts, which may be the target's; "" where they are not given, cut at `size`. */
#define ERR_TEXTS(X)                                                         \
	X(path, 512)                                                         \
	X(file, 256)                                                         \
	X(last_file, 256)                                                    \
	X(comm, 64) /* the name of process `pid` */                          \
	X(other_comm, 64)                                                    \
	X(name, 128)   /* of a value, an option, a library */                \
	X(version, 64) /* of jemalloc */                                     \
	X(conf, 64)    /* the variable that configures this jemalloc */      \
	X(command, 32)                                                       \
	X(what, 192) /* what was to be done, as the words behind "cannot" */ \
	X(text, 384)

/* What is given to the functions below. */
struct err_args {
	enum err_code code; /* in the place of the error's own, if not ERR_NONE */
#define FIELD(name, kind) int64_t name;
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) const char *name;
	ERR_TEXTS(FIELD)
#undef FIELD
};

/* What an error holds of it: it can be copied, also into memory shared with another process. */
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
	enum error ids[ERR_DEPTH]; /* the outermost first: see err_within(); ERROR_NONE behind */
	enum fix fixes[ERR_FIXES]; /* what to do about it; FIX_NONE behind the last */
	int sys;		   /* errno value that caused it, 0 if none */
	bool own; /* a limit of ours, or of the machine: it says nothing of a target */
	struct err_held held;
};

#define ERR_INIT                 \
	{                        \
		.code = ERR_NONE \
	}

/* Takes a warning: an error that stopped nothing. Its texts are as raw as they were given. */
typedef void err_warn_fn(void *ctx, const struct err *warning);

/* Each takes fields of struct err_args behind the id, such as .pid = pid, or none. */
#define ERR_ARGS(...) (&(const struct err_args){ __VA_ARGS__ })

/* Sets the error, without a fix. */
#define err_raise(err, id, ...) err_raise_with(err, id, ERR_ARGS(__VA_ARGS__))

/*
 * A system call of ours failed: as err_raise(), and `sys` is remembered. Where that is a limit of
 * ours (EMFILE, ENFILE, ENOMEM, EAGAIN), or a failure of the machine or between our own processes
 * (EIO, EPIPE), it is `own`, with the fix that belongs to it, and remembered: see err_remember().
 */
#define err_raise_sys(err, id, sys, ...) err_raise_sys_with(err, id, sys, ERR_ARGS(__VA_ARGS__))

/* The same for a call that the target made: its limits are not ours. */
#define err_raise_target(err, id, sys, ...) \
	err_raise_target_with(err, id, sys, ERR_ARGS(__VA_ARGS__))

/* Our own memory ran out. */
int err_no_memory(struct err *err);

/*
 * It happened within another one, whose words have a {cause}: that one is the first of `ids` now.
 * Code and fixes stay. Nothing is done where it is ERR_DEPTH deep.
 */
#define err_within(err, id, ...) err_within_with(err, id, ERR_ARGS(__VA_ARGS__))

/*
 * What the user can do about it: this alone, or this too. The fix for a limit of our own stays.
 * Its fields take the place of those that the error was raised with.
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
 * What cannot be read because of a limit of ours is easily taken for what is not there. So each
 * thread remembers the first such error, also one that its caller ignored; a child begins with
 * what its parent remembers.
 *
 * err_remember() is for a failed call that no error is made of; it does nothing unless `sys` is
 * a limit of ours, and keeps errno. err_explain(), after a failure, puts the remembered error in
 * the place of one that is not `own`. err_forget() is called when work begins that is to be
 * judged by itself.
 */
#define err_remember(sys, id, ...) err_remember_with(sys, id, ERR_ARGS(__VA_ARGS__))
void err_remember_with(int sys, enum error id, const struct err_args *args);
int err_explain(struct err *err);
void err_forget(void);

/* Was anything remembered but an I/O error? Then not all was seen, whatever the result. */
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

/* What kind of deed a fix is, such as "grant": see base/fixes.def. Static storage. */
const char *fix_action(enum fix fix);

/* The error in words: one line, no full stop, safe to print. Returns `buf`. */
#define ERR_TEXT_SIZE 1024
const char *err_text(const struct err *err, char *buf, size_t size);

/* `words` as those of base/errors.def are written, about `err`. Returns `buf`. */
const char *err_fill(const struct err *err, const char *words, char *buf, size_t size);

/* The i-th field; false behind the last. `text` is in `err`, and as raw as it was given. */
struct err_field {
	const char *name;
	enum err_kind kind;
	int64_t number;
	const char *text; /* "" for a number */
};
bool err_field(const struct err *err, size_t i, struct err_field *field);

/* Do its words name the process `pid`, which it is about? */
bool err_names(const struct err *err, pid_t pid);

#endif
