// SPDX-License-Identifier: Apache-2.0
/* Private to bpf/: why the kernel does not let us, found out by looking, after it failed. */
#ifndef BPF_WHY_H
#define BPF_WHY_H

#include "base/err.h"

/* From now on libbpf prints nothing; its last warning is kept for the messages below. */
void why_listen(void);

/* What surely cannot work, before anything is tried: -1 with the cause and its fix. */
int why_impossible(struct err *err) __must_check;

/* `sys` is the errno value of what failed. Both return -1. */
int why_not_loaded(int sys, struct err *err);
int why_not_attached(int sys, const char *what, struct err *err);

#endif
