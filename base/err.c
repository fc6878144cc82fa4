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
	err->fix[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *err, enum err_code code, int sys, const char *fmt, ...)
{
	va_list ap;
	size_t used;

	err->code = code;
	err->sys = sys;
	err->fix[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", strerror(sys));
	return -1;
}

int err_own(struct err *err)
{
	if (err->sys == EMFILE)
		return err_fix(err, "jeprof-ctl itself needs more descriptors: ulimit -n 1024");
	if (err->sys == ENFILE)
		return err_fix(err, "the whole system has no descriptors left: see fs.file-max");
	if (err->sys == ENOMEM || err->sys == EAGAIN)
		return err_fix(err, "jeprof-ctl itself needs memory, or another process: see the "
				    "limits it runs under (ulimit -a)");
	return -1;
}

bool err_is_own(const struct err *err)
{
	struct err own = *err;

	own.fix[0] = '\0';
	err_own(&own);
	return own.fix[0] && !strcmp(own.fix, err->fix);
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
