// SPDX-License-Identifier: Apache-2.0
/* May a process be traced, and would it stop? */
#ifndef PROCESS_RIGHTS_H
#define PROCESS_RIGHTS_H

#include "process/proc.h"

/* What decides about ptrace(2) beside the uids; -1 is unknown. */
struct proc_rights {
	int yama_scope;	  /* kernel.yama.ptrace_scope; -1: there is no Yama */
	bool capable;	  /* do we hold CAP_SYS_PTRACE in our own user namespace? */
	int same_user_ns; /* is the target in it? */
	int sys;	  /* errno of what left same_user_ns unknown */
};
void proc_rights(const struct proc *p, struct proc_rights *rights);

/* ERR_PERM/ERR_BUSY with cause and fix when ptrace(2) would refuse `p`; touches nothing. */
int proc_may_trace(const struct proc *p, struct err *err) __must_check;

/* Is its control group frozen? Its state does not show that, and no stop of ours would come. */
bool proc_frozen(pid_t pid);

#endif
