// SPDX-License-Identifier: Apache-2.0
/* What a seccomp filter says to a system call: seccomp(2)'s classic BPF, run here on paper. */
#ifndef INJECTOR_SECCOMP_FILTER_H
#define INJECTOR_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The action (SECCOMP_RET_*) with its data. The program is untrusted: whatever
 * the kernel would not have accepted counts as SECCOMP_RET_KILL_PROCESS.
 */
uint32_t seccomp_filter_run(const struct sock_filter *prog, size_t n,
			    const struct seccomp_data *data);

#endif
