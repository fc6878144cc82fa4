// SPDX-License-Identifier: Apache-2.0
#include "base/ink.h"

#include <string.h>

size_t ink_length(const char *text)
{
	static const char *const inks[] = { INK_OFF,	  INK_TEXT_BOLD,  INK_TEXT_DIM,
					    INK_TEXT_RED, INK_TEXT_GREEN, INK_TEXT_YELLOW };

	for (size_t i = 0; i < sizeof(inks) / sizeof(*inks); i++)
		if (!strncmp(text, inks[i], strlen(inks[i])))
			return strlen(inks[i]);
	return 0;
}
