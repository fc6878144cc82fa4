// SPDX-License-Identifier: Apache-2.0
/* Private to bpf/: diagnoses why the kernel refused, after a failure. */
#ifndef BPF_WHY_H
#define BPF_WHY_H

#include "base/err.h"

/* Silence libbpf; its last warning is kept for the messages below. */
void why_listen(void);

/* Check in advance for what cannot work: -1 with the cause and its fix. */
int why_impossible(struct err *err) __must_check;

/* `sys` is the errno value of the failure. Both return -1. */
int why_not_loaded(int sys, struct err *err);
int why_not_attached(int sys, const char *what, struct err *err);

#endif
