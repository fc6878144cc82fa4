// SPDX-License-Identifier: Apache-2.0
/* Mallctl values as calls: shared by get, set and status. */
#ifndef OPS_VALUES_H
#define OPS_VALUES_H

#include "ops/ops.h"

/* The call that reads `value->name` into `value`; `value->ctl` is set. */
struct call value_call(struct ops_value *value);

#endif
