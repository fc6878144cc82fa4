// SPDX-License-Identifier: Apache-2.0
/*
 * Private to bpf/: may a return be probed in a program under a seccomp filter? Since Linux 6.11 a
 * uretprobe uses a system call on some processors, which filters saw before 6.14 and 6.12.20
 * (uretprobe; kernel/seccomp.c), so that they killed the program. Distributions may have one change
 * without the other, so it is tested.
 */
#ifndef BPF_TRIAL_H
#define BPF_TRIAL_H

enum trial {
	TRIAL_UNKNOWN, /* not testable, for lack of privileges or of uprobes */
	TRIAL_LIVES,
	TRIAL_KILLED,
};

/* The function probed in the child. */
void trial_probed(void);

/*
 * Have a child, which may only read, write and exit, call `probed`, a function of our program with
 * a return probe on it. Takes milliseconds; the kernel logs a child that is killed (seccomp(2)).
 */
enum trial trial_run(void (*probed)(void));

#endif
