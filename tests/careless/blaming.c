// SPDX-License-Identifier: Apache-2.0
/*
 * For the control of tests/long/errno.t: linked with --wrap into a separate build, which forgets
 * that a limit of our own was reached, and takes what it could not read for missing.
 */
#include "base/err.h"

int __wrap_err_explain(struct err *err);
int __wrap_err_explain(struct err *err)
{
	(void)err;
	return -1;
}

bool __wrap_err_is_remembered(void);
bool __wrap_err_is_remembered(void)
{
	return false;
}
