// SPDX-License-Identifier: Apache-2.0
#include "io/libarchive.h"

#include <dlfcn.h>
#include <stddef.h>

#define LIBRARY "libarchive.so.13"

int libarchive_load(const struct libarchive **out, struct err *err)
{
	static struct libarchive functions;
	static const struct {
		const char *name;
		size_t offset;
	} wanted[] = {
#define WANTED(name) { "archive_" #name, offsetof(struct libarchive, name) },
		LIBARCHIVE_FUNCTIONS(WANTED)
#undef WANTED
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		err_set(err, ERR_FAILED, "there are no bundles without " LIBRARY);
		return err_fix(err, "apt-get install libarchive13");
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *function = dlsym(library, wanted[i].name);

		if (!function)
			return err_set(err, ERR_FAILED, LIBRARY " has no %s", wanted[i].name);
		*(void **)((char *)&functions + wanted[i].offset) = function;
	}
	*out = &functions;
	return 0;
}
