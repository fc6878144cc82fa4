// SPDX-License-Identifier: Apache-2.0
/* Private to injector/: what the tracer, or its reader of filters, gives up. */
#ifndef INJECTOR_CONFINE_H
#define INJECTOR_CONFINE_H

#include "base/err.h"

#include <stdbool.h>

/* Irrevocable, for this process alone. */
int confine_capabilities(bool reads_filters, struct err *err) __must_check;
int confine_syscalls(struct err *err) __must_check;
/* Only who has CAP_SYS_ADMIN, and no filter, may read filters. */
bool confine_rules_filters(void);

#endif
