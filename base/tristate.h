// SPDX-License-Identifier: Apache-2.0
/* A boolean that may be unknown. */
#ifndef BASE_TRISTATE_H
#define BASE_TRISTATE_H

enum tristate { TRI_UNKNOWN = -1, TRI_NO = 0, TRI_YES = 1 };

#endif
