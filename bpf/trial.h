// SPDX-License-Identifier: Apache-2.0
/*
 * Private to bpf/: may a return be probed in a program that a seccomp filter
 * fences in? Since Linux 6.11 such a return is a system call on some processors, which
 * filters saw until 6.14 and 6.12.20 (uretprobe; kernel/seccomp.c), and ended
 * the program for. Distributions carry the one without the other, so it is tried.
 */
#ifndef BPF_TRIAL_H
#define BPF_TRIAL_H

enum trial {
	TRIAL_UNKNOWN, /* it could not be tried: for want of rights, or of the kernel's uprobes */
	TRIAL_LIVES,
	TRIAL_KILLED,
};

/* What is probed in the child. */
void trial_probed(void);

/*
 * Have a child of our own, which may read, write and end, call `probed`, a
 * function of our program, with a return probe on it. Takes milliseconds; the
 * kernel logs a child that is ended (seccomp(2)).
 */
enum trial trial_run(void (*probed)(void));

#endif
