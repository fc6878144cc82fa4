// SPDX-License-Identifier: Apache-2.0
/*
 * starter: what is started as jeprof-ctl where its libraries lie beside it, in whatever folder. It
 * is linked statically, and has the loader of that folder run the program of that folder. Built for
 * another program, it is what `serve` finds where its front is looked for (serve/front.c).
 *
 * The folder is the one that the kernel says this program lies in, not one that a caller names: who
 * cannot write there, nor rename what is above it, has no say in what is run. The folder's
 * libraries take the place of LD_LIBRARY_PATH.
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
#define FOLDERS 0 /* that this one lies deeper */
#endif

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "jeprof-ctl: %s: %s\n", what, why);
	exit(1);
}

/* The folder that this program lies in, which links to it do not change. */
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
	/* Its caller's environment would be trusted by one who may do more. */
	if (getauxval(AT_SECURE))
		fail("started with more rights than its caller's",
		     "that needs a package, or make install");
	own_folder(folder, sizeof(folder));
	/* The loader would split the name of the folder there, or put another one in. */
	if (strpbrk(folder, ":;$"))
		fail(folder, "a folder's name with one of :;$ cannot be used here");
	/* ps(1) has the name of what the kernel runs, which is the loader. */
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
