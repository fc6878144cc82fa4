// SPDX-License-Identifier: Apache-2.0
/* What decides whether a process may be traced, one by one; the verdict is the kernel's. */
#include "ops/check/parts.h"

#include "base/cleanup.h"
#include "process/rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void row_failed(struct ops_check *c, enum error id, int scope, enum fix fix)
{
	struct err err = ERR_INIT;

	err_raise(&err, id, .number = scope);
	err_advise(&err, fix);
	check_failed(c, &err);
}

/* The strictest mode of all threads: a filter may be set in only one of them. -1: unknown. */
static int strictest(const struct session *s)
{
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	int filtered = (int)s->proc.status.seccomp;
	struct proc_status st;
	struct err ignored;
	size_t n;

	if (proc_threads(s->proc.pid, &tids, &n, &ignored))
		return filtered ? filtered : -1;
	for (size_t i = 0; i < n; i++) {
		if (!proc_thread_status(s->proc.pid, tids[i], &st, &ignored) && st.seccomp)
			filtered = st.seccomp == 1 || filtered == 1 ? 1 : 2;
	}
	return filtered;
}

void check_rights(const struct session *s, bool may_trace, struct ops_check *rows)
{
	struct ops_check *yama = &rows[CHECK_YAMA], *capability = &rows[CHECK_CAPABILITY];
	struct ops_check *namespace = &rows[CHECK_NAMESPACE], *seccomp = &rows[CHECK_SECCOMP];
	struct proc_rights r;
	char scope[96];

	proc_rights(&s->proc, &r);
	snprintf(scope, sizeof(scope), "kernel.yama.ptrace_scope is %d", r.yama_scope);
	if (r.yama_scope < 0)
		check_passed(yama, "the kernel has no Yama");
	else if (r.yama_scope == 0)
		check_passed(yama, "%s: no restriction", scope);
	else if (may_trace)
		check_passed(yama, "%s, which does not prevent it here", scope);
	else if (r.yama_scope >= 3)
		row_failed(yama, ERROR_YAMA_FORBIDS, r.yama_scope, FIX_BOOT_WITH_PTRACE);
	else if (r.capable)
		check_passed(yama, "%s, which CAP_SYS_PTRACE overrides", scope);
	else
		row_failed(yama, ERROR_YAMA_FORBIDS, r.yama_scope, FIX_SUDO_OR_PTRACE_SCOPE);

	if (r.capable)
		check_passed(capability, "CAP_SYS_PTRACE is held");
	else if (may_trace || s->proc.status.euid == geteuid())
		check_passed(capability,
			     "CAP_SYS_PTRACE is not held: only processes of uid %u without extra "
			     "privileges can be traced",
			     geteuid());
	else
		row_failed(capability, ERROR_CAPABILITY_MISSING, 0, FIX_SUDO_OR_CAP_ADD);

	if (r.same_user_ns < 0)
		check_unknown(namespace, "the user namespace of the process cannot be read%s%s",
			      r.sys ? ": " : "", r.sys ? strerror(r.sys) : "");
	else if (r.same_user_ns)
		check_passed(namespace, "the same as ours");
	else if (may_trace)
		check_passed(namespace, "different from ours, but our privileges extend to it");
	else
		row_failed(namespace, ERROR_NAMESPACE_APART, 0, FIX_RUN_ABOVE_BOTH);

	switch (strictest(s)) {
	case -1:
		check_unread(seccomp, "the threads of the process could not be inspected");
		break;
	case 0:
		check_passed(seccomp, "no thread has a filter");
		break;
	case 1:
		check_unknown(seccomp, "a thread is in strict mode and cannot be borrowed");
		break;
	default:
		check_passed(seccomp, "filtered: calls are made where the filter allows them");
		break;
	}
}
