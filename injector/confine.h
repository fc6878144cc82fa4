// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: privileges that the tracer and its filter reader drop. */
#ifndef INJECTOR_CONFINE_H
#define INJECTOR_CONFINE_H

#include "base/err.h"

#include <stdbool.h>

/* Irrevocable, for the calling process only. */
int confine_capabilities(bool reads_filters, struct err *err) __must_check;
int confine_syscalls(struct err *err) __must_check;
/* Can we read filters? That needs CAP_SYS_ADMIN, and no filter on the reader itself. */
bool confine_rules_filters(void);

#endif
