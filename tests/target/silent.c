// SPDX-License-Identifier: Apache-2.0
/*
 * silent DEVICE FOLDER [whole|flush]: maps a file that never answers, as any user may. With
 * `whole`, as root, no request in FOLDER is ever answered; with `flush`, all but FLUSH are, which
 * close(2) waits for. Nothing is mapped then.
 *
 * In its own user and mount namespace, it mounts a FUSE file system (fuse(4)), whose device is
 * DEVICE, on FOLDER. It also serves it, and answers all requests except READ. A child of it touches
 * the mapping, so the page stays locked while it waits to be read: a process that reads it from
 * outside sleeps in the kernel, where SIGKILL does not reach it, until the server exits. Prints
 * "mapped" when it is ready.
 */
#include "tests/target/fuse.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static bool all_but_read(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	(void)in;
	return !read;
}

static bool all_but_flush(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	(void)read;
	return in->opcode != FUSE_FLUSH;
}

static bool only_init(const struct fuse_in_header *in, const struct fuse_read_in *read)
{
	(void)read;
	return in->opcode == FUSE_INIT;
}

/* Without stdio, which allocates: a reader of the mapping keeps all mappings locked. */
static _Noreturn void wait_for_ever(void)
{
	if (write(STDOUT_FILENO, "mapped\n", strlen("mapped\n")) < 0)
		fuse_die("write");
	for (;;)
		pause();
}

static void map_file(const char *folder)
{
	const struct timespec moment = { .tv_nsec = 200000000 };
	char path[4096];
	void *page;
	int file;

	snprintf(path, sizeof(path), "%s/lib.so", folder);
	file = open(path, O_RDONLY | O_CLOEXEC);
	page = file < 0 ? MAP_FAILED
			: mmap(NULL, FUSE_FILE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	if (page == MAP_FAILED)
		fuse_die(path);
	fuse_lock_page(page);
	nanosleep(&moment, NULL);
}

int main(int argc, char **argv)
{
	bool whole = argc == 4 && !strcmp(argv[3], "whole");
	bool flush = argc == 4 && !strcmp(argv[3], "flush");

	if (argc < 3) {
		fprintf(stderr, "usage: silent DEVICE FOLDER [whole|flush]\n");
		return 2;
	}
	fuse_serve(fuse_mount(argv[1], argv[2], argc == 3),
		   whole   ? only_init
		   : flush ? all_but_flush
			   : all_but_read,
		   NULL);
	if (argc == 3)
		map_file(argv[2]);
	wait_for_ever();
}
