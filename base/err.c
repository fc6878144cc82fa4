// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
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

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->sys = 0;
	err->own = false;
	err->fix[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -1;
}

static bool is_own(int sys)
{
	return sys == EMFILE || sys == ENFILE || sys == ENOMEM || sys == EAGAIN || sys == EIO ||
	       sys == EPIPE;
}

static const char *own_fix(int sys)
{
	switch (sys) {
	case EMFILE:
		return "jeprof-ctl itself needs more descriptors: ulimit -n 1024";
	case ENFILE:
		return "the whole system has no descriptors left: see fs.file-max";
	case ENOMEM:
	case EAGAIN:
		return "jeprof-ctl itself needs memory, or another process: see the limits it runs "
		       "under (ulimit -a)";
	default:
		return "";
	}
}

/* The first error of our own since err_forget(). */
static struct err noted;
static bool is_noted;

static void set_sys(struct err *err, enum err_code code, int sys, const char *fmt, va_list ap)
{
	size_t used;

	*err = (struct err){ .code = code, .sys = sys };
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", strerror(sys));
}

static void set_own(struct err *err, int sys, const char *fmt, va_list ap)
{
	set_sys(err, ERR_FAILED, sys, fmt, ap);
	err->own = is_own(sys);
	if (!err->own)
		return;
	snprintf(err->fix, sizeof(err->fix), "%s", own_fix(sys));
	if (!noted.own)
		noted = *err;
}

int err_sys(struct err *err, enum err_code code, int sys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_own(err, sys, fmt, ap);
	va_end(ap);
	err->code = code;
	return -1;
}

int err_target(struct err *err, enum err_code code, int sys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_sys(err, code, sys, fmt, ap);
	va_end(ap);
	return -1;
}

void err_note(int sys, const char *fmt, ...)
{
	struct err ignored;
	int kept = errno;
	va_list ap;

	va_start(ap, fmt);
	set_own(&ignored, sys, fmt, ap);
	va_end(ap);
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

bool err_is_noted(void)
{
	return is_noted;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->msg)];
	va_list ap;
	size_t used;

	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", inner);
	return -1;
}

int err_fix(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (err->own && err->fix[0])
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->fix, sizeof(err->fix), fmt, ap);
	va_end(ap);
	return -1;
}

int err_exit_status(enum err_code code)
{
	return codes[code].exit_status;
}

const char *err_code_name(enum err_code code)
{
	return codes[code].name;
}
