// SPDX-License-Identifier: Apache-2.0
#include "sandbox/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libdebuginfod.so.1"

/* From <elfutils/debuginfod.h>, which is not required for building. */
struct client {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int len, char **path);
	void (*end)(void *client);
};

/* Never unloaded: its HTTP client does not support that. */
static int load(struct client *c, struct err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		err_raise(err, ERROR_DEBUGINFOD_MISSING, .name = LIBRARY);
		return err_advise(err, FIX_INSTALL_DEBUGINFOD);
	}
	*(void **)&c->begin = dlsym(library, "debuginfod_begin");
	*(void **)&c->find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&c->end = dlsym(library, "debuginfod_end");
	if (!c->begin || !c->find || !c->end)
		return err_raise(err, ERROR_DEBUGINFOD_FOREIGN, .name = LIBRARY);
	return 0;
}

int debuginfod_open(const unsigned char *build_id, size_t len, int *fd, struct err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct client c = { 0 };
	void *client;
	int got;

	if (!urls || !*urls) {
		err_raise(err, ERROR_DEBUGINFOD_URLS_UNSET);
		return err_advise(err, FIX_SET_DEBUGINFOD_URLS);
	}
	if (load(&c, err))
		return -1;
	client = c.begin();
	if (!client)
		return err_no_memory(err);
	got = c.find(client, build_id, (int)len, NULL);
	c.end(client);
	if (got == -ENOENT)
		return err_raise(err, ERROR_DEBUGINFOD_HAS_NONE);
	if (got < 0)
		return err_raise_sys(err, ERROR_DEBUGINFOD_FAILED, -got);
	*fd = got;
	return 0;
}
