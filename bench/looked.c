// SPDX-License-Identifier: Apache-2.0
/*
 * bench/refusals runs a jeprof-ctl that is linked with this: for each thread that it stops and
 * checks, it appends a record to the file that LOOKED names. A record is a struct looked
 * (bench/looked.h), which says why the thread was refused, and the used part of its stack.
 *
 * The controls of the judge: with LOOKED_LIE=refused, all threads are refused; with
 * LOOKED_LIE=safe, the records call all threads safe.
 */
#include "bench/looked.h"

#include "injector/tracee.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Their indexes in struct user_regs_struct. */
static const unsigned char order[LOOKED_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19, 9,
						  8,  7,  6,  3, 2,  1,	 0, 16 };

static void write_down(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
		       const char *reason)
{
	static unsigned char stack[LOOKED_STACK_MAX];
	const unsigned long long *words = (const void *)&regs->r;
	struct looked l = { .magic = LOOKED_MAGIC, .tid = tid, .nr = arch_syscall_nr(regs) };
	struct iovec parts[] = { { &l, sizeof(l) }, { stack, 0 } };
	const char *file = getenv("LOOKED");
	ssize_t got;
	int fd;

	if (!file)
		return;
	for (size_t i = 0; i < LOOKED_REGS; i++)
		l.regs[i] = words[order[i]];
	snprintf(l.reason, sizeof(l.reason), "%s", reason);
	l.stack = arch_sp(regs) - ARCH_RED_ZONE;
	got = pread(t->mem, stack, sizeof(stack), (off_t)l.stack);
	l.stack_len = got > 0 ? (uint64_t)got : 0;
	parts[1].iov_len = l.stack_len;
	fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || writev(fd, parts, 2) < 0)
		_exit(1);
	close(fd);
}

int __real_safepoint_check(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
			   struct err *err);
int __wrap_safepoint_check(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
			   struct err *err);

int __wrap_safepoint_check(const struct tracer *t, pid_t tid, const struct arch_regs *regs,
			   struct err *err)
{
	int ret = __real_safepoint_check(t, tid, regs, err);
	const char *lie = getenv("LOOKED_LIE");
	char text[ERR_TEXT_SIZE];

	if (ret == 0 && lie && !strcmp(lie, "refused"))
		ret = err_raise(err, ERROR_NO_TIME_FOR_THREADS);
	write_down(t, tid, regs,
		   ret < 0 && !(lie && !strcmp(lie, "safe")) ? err_text(err, text, sizeof(text))
							     : "");
	return ret;
}

/* The fence would not let it write. */
int __wrap_confine_syscalls(struct err *err);

int __wrap_confine_syscalls(struct err *err)
{
	(void)err;
	return 0;
}
