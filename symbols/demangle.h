// SPDX-License-Identifier: Apache-2.0
/* Names of C++ and Rust as they stand in the source, as `c++filt` prints them. */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The name behind `linkage` in `buf`. False when it is not mangled, or when
 * the name is not to be had: it may come from a hostile file, and a short one
 * can stand for one without end.
 */
#define SYMBOLS_NAME_MAX 16384
bool symbols_demangle(const char *linkage, char buf[SYMBOLS_NAME_MAX]);

#endif
