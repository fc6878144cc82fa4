// SPDX-License-Identifier: Apache-2.0
/* May a process be traced, and would it stop? */
#ifndef PROCESS_RIGHTS_H
#define PROCESS_RIGHTS_H

#include "process/proc.h"

/* What determines whether ptrace(2) is allowed, besides uids; -1 is unknown. */
struct proc_rights {
	int yama_scope;	  /* kernel.yama.ptrace_scope; -1: there is no Yama */
	bool capable;	  /* do we hold CAP_SYS_PTRACE in our own user namespace? */
	int same_user_ns; /* is the target in it? */
	int sys;	  /* errno, if same_user_ns is unknown */
};
void proc_rights(const struct proc *p, struct proc_rights *rights);

/* ERR_PERM or ERR_BUSY with cause and fix if ptrace(2) would be denied; no effect on `p`. */
int proc_may_trace(const struct proc *p, struct err *err) __must_check;

/* Is its control group frozen? Its state does not show that, and it would never stop for us. */
bool proc_frozen(pid_t pid);

#endif
