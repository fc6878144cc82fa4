// SPDX-License-Identifier: Apache-2.0
/* Names in one image, once it is known which. */
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

/* The bytes of a build id in hex; NULL, or what is none, is one that is not known. */
void symbolize_id_of(const char *hex, struct symbolize_id *id);

enum symbolize_result {
	SYMBOLIZE_FOUND,
	SYMBOLIZE_ABSENT, /* there is no such file */
	SYMBOLIZE_OTHER,  /* there is one, but it is another one than was mapped */
	/* Without a build id in the profile: */
	SYMBOLIZE_REPLACED, /* there is one, of another inode */
	SYMBOLIZE_CHANGED,  /* it was changed since */
	SYMBOLIZE_DELETED,  /* it was deleted before the profile was written */
	SYMBOLIZE_MIXED,    /* the profiles are of two such files */
};

struct symbolize_image {
	const struct profile_mapping *mapping; /* its first one with code */
	struct symbolize_id id;		       /* as the profile has it */
	struct image *live;		       /* as the process has it mapped; NULL: it has not */
	pid_t pid;			       /* in whose root its path may lie, 0: none */
	const char *root;		       /* another folder for that, NULL: none */
	bool debuginfod, use_cache;
	bool trusted;	    /* no proof is needed that the file is the one that was mapped */
	int64_t written_ns; /* when the profile was, since 1970; 0: not known */
	uint64_t inode;	    /* of the file that is there, with SYMBOLIZE_REPLACED */
	int64_t changed_s;  /* when that was changed, with SYMBOLIZE_CHANGED */
	enum symbolize_result result;
	bool split;	   /* its inlined calls are in files that are not read (-gsplit-dwarf) */
	char lacks[256];   /* the file that its debug data needs and that is not there; raw text */
	bool bare;	   /* it is there, and has no table of symbols and no debug data anywhere */
	struct err server; /* why debuginfod gave nothing; ERR_INIT where it was not asked */
	struct symbolize_id file_id; /* of the file, where the profile has none */

	bool keeper; /* it is for the cache (ops/apart/symbol_keeper.h) */
	int kept;    /* then: a file of the cache, which the caller closes; -1: none */
};

/*
 * What is known of `n` places, ascending and distinct. *found, which the caller
 * frees, is NULL when nothing is. ERR_FAILED without memory.
 */
int symbolize_image(struct symbolize_image *image, const uint64_t *places, size_t n,
		    struct profile_symbols **found, struct err *err) __must_check;

#endif
