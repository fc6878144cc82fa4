// SPDX-License-Identifier: Apache-2.0
/* Private to ops/: mallctl values as calls. */
#ifndef OPS_VALUES_H
#define OPS_VALUES_H

#include "injector/injector.h"
#include "ops/ops.h"

/* The call that reads `value->name` into `value`; `value->ctl` is set. */
struct call value_call(struct ops_value *value);

#endif
