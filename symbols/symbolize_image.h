// SPDX-License-Identifier: Apache-2.0
/* Finds names in a given image. */
#ifndef SYMBOLS_SYMBOLIZE_IMAGE_H
#define SYMBOLS_SYMBOLIZE_IMAGE_H

#include "elf/image.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <stdbool.h>
#include <sys/types.h>

struct symbolize_id {
	unsigned char bytes[IMAGE_BUILD_ID_MAX];
	size_t len; /* 0: not known */
};

/* Parse a build ID in hex; NULL, or an invalid one, counts as unknown. */
void symbolize_id_of(const char *hex, struct symbolize_id *id);

enum symbolize_result {
	SYMBOLIZE_FOUND,
	SYMBOLIZE_ABSENT, /* there is no such file */
	SYMBOLIZE_OTHER,  /* there is one, but not the mapped one */
	/* Without a build id in the profile: */
	SYMBOLIZE_REPLACED, /* it has another inode */
	SYMBOLIZE_CHANGED,  /* it was changed after the profile was written */
	SYMBOLIZE_DELETED,  /* it was deleted before the profile was written */
	SYMBOLIZE_MIXED,    /* the profiles are from two different files */
};

struct symbolize_image {
	const struct profile_mapping *mapping; /* its first mapping with code */
	struct symbolize_id id;		       /* from the profile */
	struct image *live;		       /* as mapped in the process; NULL: not mapped */
	pid_t pid;			       /* process in whose root its path may be; 0: none */
	const char *root;		       /* alternative root directory; NULL: none */
	bool debuginfod, use_cache;
	bool trusted;	    /* accept the file without proof that it is the mapped one */
	int64_t written_ns; /* time of the profile, since 1970; 0: not known */
	uint64_t inode;	    /* of the present file, with SYMBOLIZE_REPLACED */
	int64_t changed_s;  /* time of its last change, with SYMBOLIZE_CHANGED */
	enum symbolize_result result;
	bool split;		     /* its inlined calls are in separate files, which are not read
			    * (-gsplit-dwarf) */
	char lacks[256];	     /* a missing file that its debug data needs; unescaped text */
	bool bare;		     /* it was found, but without a symbol table or debug data */
	struct err server;	     /* why debuginfod failed; ERR_INIT if not asked */
	struct symbolize_id file_id; /* of the file, if the profile has none */

	bool keeper; /* called on behalf of the cache (ops/apart/symbol_keeper.h) */
	int kept;    /* if so: a file of the cache, closed by the caller; -1: none */
};

/*
 * Look up `n` places, ascending and distinct. The caller frees *found, which is NULL when nothing
 * was found. ERR_FAILED if out of memory.
 */
int symbolize_image(struct symbolize_image *image, const uint64_t *places, size_t n,
		    struct profile_symbols **found, struct err *err) __must_check;

#endif
