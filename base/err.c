// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int exit_status;
} codes[ERR_CODES] = {
	/* clang-format off */
	[ERR_NONE] = { "none", 0 },
	[ERR_FAILED] = { "failed", 1 },
	[ERR_USAGE] = { "usage", 2 },
	[ERR_NOPROC] = { "no_process", 3 },
	[ERR_PERM] = { "permission", 4 },
	[ERR_NOJEMALLOC] = { "no_jemalloc", 5 },
	[ERR_NOPROF] = { "no_profiling", 6 },
	[ERR_BUSY] = { "busy", 7 },
	[ERR_UNSAFE] = { "unsafe", 8 },
	[ERR_LOST] = { "lost", 9 },
	[ERR_OUTPUT] = { "output", 10 },
	/* clang-format on */
};

static const enum err_code code_of[ERRORS] = {
#define ERROR(id, code, words) [ERROR_##id] = (code),
#include "base/errors.def"
#undef ERROR
};

/* The first error of our own since err_forget(). */
static _Thread_local struct err noted;
static _Thread_local bool is_noted;

/* Given fields replace the previous ones. */
static void hold(struct err_held *held, const struct err_args *args)
{
#define FIELD(name, kind) held->name = args->name ? args->name : held->name;
	ERR_NUMBERS(FIELD)
#undef FIELD
#define FIELD(name, size) \
	if (args->name)   \
		snprintf(held->name, sizeof(held->name), "%s", args->name);
	ERR_TEXTS(FIELD)
#undef FIELD
}

int err_raise_target_with(struct err *err, enum error id, int sys, const struct err_args *args)
{
	struct err made = { .code = args->code ? args->code : code_of[id],
			    .ids = { id },
			    .sys = sys };

	hold(&made.held, args); /* which may point into `err` */
	*err = made;
	return -1;
}

int err_raise_with(struct err *err, enum error id, const struct err_args *args)
{
	return err_raise_target_with(err, id, 0, args);
}

static enum fix own_fix(int sys)
{
	switch (sys) {
	case EMFILE:
		return FIX_OWN_DESCRIPTORS;
	case ENFILE:
		return FIX_SYSTEM_DESCRIPTORS;
	case ENOMEM:
	case EAGAIN:
		return FIX_OWN_MEMORY;
	default:
		return FIX_NONE;
	}
}

bool err_is_own(int sys)
{
	return own_fix(sys) || sys == EIO || sys == EPIPE;
}

int err_raise_sys_with(struct err *err, enum error id, int sys, const struct err_args *args)
{
	err_raise_target_with(err, id, sys, args);
	err->fixes[0] = own_fix(sys);
	err->own = err_is_own(sys);
	if (err->own && !noted.own)
		noted = *err;
	return -1;
}

int err_no_memory(struct err *err)
{
	return err_raise_sys(err, ERROR_NO_MEMORY, ENOMEM);
}

int err_within_with(struct err *err, enum error id, const struct err_args *args)
{
	if (err->ids[ERR_DEPTH - 1])
		return -1;
	memmove(err->ids + 1, err->ids, sizeof(err->ids) - sizeof(*err->ids));
	err->ids[0] = id;
	hold(&err->held, args);
	return -1;
}

int err_advise_with(struct err *err, enum fix fix, const struct err_args *args)
{
	if (!err->own || !err->fixes[0])
		err_unadvise(err);
	return err_advise_too_with(err, fix, args);
}

int err_advise_too_with(struct err *err, enum fix fix, const struct err_args *args)
{
	size_t n = 0;

	while (n < ERR_FIXES && err->fixes[n])
		n++;
	if (n == ERR_FIXES || (err->own && n))
		return -1;
	err->fixes[n] = fix;
	hold(&err->held, args);
	return -1;
}

void err_unadvise(struct err *err)
{
	memset(err->fixes, 0, sizeof(err->fixes));
}

void err_remember_with(int sys, enum error id, const struct err_args *args)
{
	struct err ignored;
	int kept = errno;

	err_raise_sys_with(&ignored, id, sys, args);
	is_noted |= ignored.own && sys != EIO;
	errno = kept;
}

int err_explain(struct err *err)
{
	if (noted.own && !err->own)
		*err = noted;
	return -1;
}

void err_forget(void)
{
	noted.own = is_noted = false;
}

bool err_is_remembered(void)
{
	return is_noted;
}

int err_exit_status(enum err_code code)
{
	return codes[code].exit_status;
}

const char *err_code_name(enum err_code code)
{
	return codes[code].name;
}
