// SPDX-License-Identifier: Apache-2.0
/*
 * starter: started as jeprof-ctl if its libraries are in the same folder, wherever that is. It is
 * linked statically, and has the folder's loader run the folder's program. Another build of it is
 * what `serve` finds as its front (serve/front.c).
 *
 * The kernel says which folder this program is in, not the caller: users who can neither write
 * there nor rename a parent folder cannot influence what is run. The folder's libraries replace
 * LD_LIBRARY_PATH.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef PROGRAM
#define PROGRAM "libexec/program"
#define FOLDERS 0 /* how many levels deeper this program is */
#endif

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "jeprof-ctl: %s: %s\n", what, why);
	exit(1);
}

/* The folder of this program, even if it was started through a link. */
static void own_folder(char *folder, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", folder, size);

	if (len < 0)
		fail("/proc/self/exe", strerror(errno));
	if ((size_t)len >= size)
		fail("/proc/self/exe", strerror(ENAMETOOLONG));
	folder[len] = '\0';
	for (int i = 0; i <= FOLDERS && strrchr(folder, '/'); i++)
		*strrchr(folder, '/') = '\0';
}

static void path_in(char path[PATH_MAX], const char *folder, const char *name)
{
	if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		fail(folder, strerror(ENAMETOOLONG));
}

int main(int argc, char **argv)
{
	char folder[PATH_MAX], loader[PATH_MAX], libraries[PATH_MAX], program[PATH_MAX];
	const char **args = calloc((size_t)argc + 8, sizeof(*args));
	int n = 0;

	if (!args)
		fail("memory", strerror(errno));
	/* With more privileges than its caller, it must not trust the environment. */
	if (getauxval(AT_SECURE))
		fail("started with more rights than its caller's",
		     "that needs a package, or make install");
	own_folder(folder, sizeof(folder));
	/* The loader would split the folder's name at these characters, or replace a part of it. */
	if (strpbrk(folder, ":;$"))
		fail(folder, "a folder's name with one of :;$ cannot be used here");
	/* Otherwise, ps(1) would show the name of the loader, which the kernel runs. */
	path_in(loader, folder, "lib/jeprof-ctl");
	path_in(libraries, folder, "lib");
	path_in(program, folder, PROGRAM);
	args[n++] = argc ? argv[0] : loader;
	args[n++] = "--library-path";
	args[n++] = libraries;
	args[n++] = "--argv0";
	args[n++] = argc ? argv[0] : loader;
	args[n++] = program;
	if (argc > 1)
		memcpy(args + n, argv + 1, ((size_t)argc - 1) * sizeof(*args));
	execv(loader, (char **)args);
	fail(loader, strerror(errno));
}
