// SPDX-License-Identifier: Apache-2.0
/*
 * For the control of tests/long/errno.t: linked into a build of its own, with --wrap, so that a
 * limit of our own is forgotten, and what could not be read passes for what is not there.
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
