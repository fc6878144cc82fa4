// SPDX-License-Identifier: Apache-2.0
/*
 * What a heap profile does not say of itself, and who reads it elsewhere or
 * later wants to know: lines after its mappings, which jeprof(1) passes over
 * (doc/heap-format.md).
 */
#ifndef OPS_TARGET_FACTS_H
#define OPS_TARGET_FACTS_H

#include "ops/target/session.h"

/* Write them to the end of the file. ERR_OUTPUT, with the file as it was; ERR_FAILED. */
int facts_append(int fd, const struct session *s, struct err *err) __must_check;

#endif
