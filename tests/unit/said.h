// SPDX-License-Identifier: Apache-2.0
/* The text of an error, valid until the next call. */
#ifndef TESTS_UNIT_SAID_H
#define TESTS_UNIT_SAID_H

#include "base/err.h"

static inline const char *said(const struct err *err)
{
	static char text[ERR_TEXT_SIZE];

	return err_text(err, text, sizeof(text));
}

#endif
