// SPDX-License-Identifier: Apache-2.0
/*
 * Private to format_pprof.c: a pprof profile on its way out, gzip'd. Messages
 * that follow each other in a file are one message to its reader, so a profile
 * is written in small pieces and never held whole.
 */
#ifndef PROFILE_FORMAT_PPROF_OUT_H
#define PROFILE_FORMAT_PPROF_OUT_H

#include "base/err.h"
#include "profile/format/pprof.pb-c.h"
#include "profile/index.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct pprof_out {
	ProtobufCBuffer base; /* what protobuf-c appends to */
	FILE *file;
	z_stream z;
	bool deflating;	      /* z is in use */
	bool failed;	      /* no memory */
	struct index strings; /* by pointer: the index in the string table */
	int64_t n_strings;
	char *safe; /* for one text */
	size_t safe_size;
	size_t n_plain;
	uint8_t plain[1 << 16];
	uint8_t packed[1 << 16];
};

/* ERR_FAILED: no memory. To be ended with pprof_out_fini(). */
int pprof_out_init(struct pprof_out *o, FILE *file, struct err *err) __must_check;
void pprof_out_fini(struct pprof_out *o);

/* Write a part of the profile. */
void pprof_out_part(struct pprof_out *o, const Pprof__Profile *part);

/*
 * The index of a text in the string table; it is written when it is new. Raw
 * text, made safe to show; NULL and "" are 0. The same pointer is the same
 * text as long as `o` lives.
 */
int64_t pprof_out_text(struct pprof_out *o, const char *raw);

/* As pprof_out_text(), of a text that does not stay; it is not looked up. */
int64_t pprof_out_copy(struct pprof_out *o, const char *raw);

/* Write what is left. ERR_FAILED: memory ran out on the way. */
int pprof_out_finish(struct pprof_out *o, struct err *err) __must_check;

#endif
