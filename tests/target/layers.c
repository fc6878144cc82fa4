// SPDX-License-Identifier: Apache-2.0
/*
 * layers DEVICE FOLDER LIBRARY PROGRAM [ARGUMENTS...]: as any user may, serves LIBRARY from its own
 * file system (FUSE, DEVICE is /dev/fuse), in its own namespaces, hides that below an overlayfs,
 * and becomes PROGRAM with the library preloaded from there. FOLDER contains the folders
 * served, empty and seen. Root needs no namespaces for this, and creates none.
 */
#include "tests/target/fuse.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool all(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	(void)in, (void)read;
	return true;
}

static struct fuse_file read_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st))
		fuse_die(path);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		fuse_die(path);
	return (struct fuse_file){ bytes, (size_t)st.st_size };
}

/*
 * Outside of its namespaces, only what the kernel has cached of the file can be read. A child keeps
 * all of it in memory, as a memory cgroup may reclaim any page that is not locked.
 */
static void keep_cached(const char *path)
{
	struct fuse_file file = read_library(path);
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		fuse_die("pipe");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mlock(file.bytes, file.size) || write(ready[1], "", 1) != 1)
			fuse_die("mlock");
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		exit(1);
	close(ready[0]);
	munmap((void *)file.bytes, file.size);
}

int main(int argc, char **argv)
{
	char path[4096], options[8192];
	struct fuse_file library;

	if (argc < 5) {
		fprintf(stderr, "usage: layers DEVICE FOLDER LIBRARY PROGRAM [ARGUMENTS...]\n");
		return 2;
	}
	library = read_library(argv[3]);
	snprintf(path, sizeof(path), "%s/served", argv[2]);
	fuse_serve(fuse_mount(argv[1], path, getuid() != 0), all, &library);
	snprintf(options, sizeof(options), "lowerdir=%s/served:%s/empty", argv[2], argv[2]);
	snprintf(path, sizeof(path), "%s/seen", argv[2]);
	if (mount("tests", path, "overlay", MS_RDONLY, options))
		fuse_die("overlay");
	snprintf(path, sizeof(path), "%s/seen/lib.so", argv[2]);
	keep_cached(path);
	setenv("LD_PRELOAD", path, 1);
	execvp(argv[4], argv + 4);
	fuse_die(argv[4]);
}
