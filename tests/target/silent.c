// SPDX-License-Identifier: Apache-2.0
/*
 * silent DEVICE FOLDER: maps a file that never answers, as any user may.
 *
 * In a user and a mount namespace of its own it mounts a FUSE file system (fuse(4)), whose
 * device is DEVICE, on FOLDER. It is its server, too, and answers all requests but READ. A child
 * of it touches the mapping, and so the page stays locked while it waits to be read: whoever reads
 * it from outside sleeps in the kernel, where SIGKILL does not reach it, until the server ends.
 * Prints "mapped" when it is ready.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_SIZE (1u << 20)
#define ROOT_INODE 1
#define FILE_INODE 2

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void answer(int fd, const struct fuse_in_header *in, int error, const void *body, size_t len)
{
	struct fuse_out_header head = { .error = error, .unique = in->unique };
	char message[512];

	head.len = (uint32_t)(sizeof(head) + len);
	memcpy(message, &head, sizeof(head));
	if (len)
		memcpy(message + sizeof(head), body, len);
	if (write(fd, message, head.len) < 0 && errno != ENOENT)
		die("answer");
}

static struct fuse_attr attributes(uint64_t inode)
{
	return (struct fuse_attr){ .ino = inode,
				   .size = FILE_SIZE,
				   .blocks = FILE_SIZE / 512,
				   .mode = inode == ROOT_INODE ? S_IFDIR | 0755 : S_IFREG | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void serve_one(int fd, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = {
		.major = 7, .minor = 31, .max_write = 65536, .max_readahead = 131072
	};
	const struct fuse_entry_out entry = { .nodeid = FILE_INODE,
					      .attr_valid = 9999,
					      .entry_valid = 9999,
					      .attr = attributes(FILE_INODE) };
	const struct fuse_attr_out attr = { .attr_valid = 9999, .attr = attributes(in->nodeid) };
	const struct fuse_open_out opened = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(fd, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(fd, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(fd, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(fd, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ: /* never */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in, -ENOSYS, NULL, 0);
	}
}

/* It ends with the program, and the mount and all who wait for it with that. */
static void serve(int fd)
{
	static char buf[1 << 18];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, buf, sizeof(buf)) > 0)
		serve_one(fd, (const struct fuse_in_header *)buf);
	exit(0);
}

static int mount_it(const char *device, const char *folder)
{
	char options[128], map[64];
	int fd;

	snprintf(map, sizeof(map), "0 %u 1", getuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		die("unshare");
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", map);
	put("/proc/self/gid_map", map);
	fd = open(device, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(device);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("silent", folder, "fuse", 0, options))
		die("mount");
	return fd;
}

int main(int argc, char **argv)
{
	const struct timespec moment = { .tv_nsec = 200000000 };
	char path[4096], *page;
	int server, file;

	if (argc != 3) {
		fprintf(stderr, "usage: silent DEVICE FOLDER\n");
		return 2;
	}
	server = mount_it(argv[1], argv[2]);
	if (fork() == 0)
		serve(server);
	close(server);
	snprintf(path, sizeof(path), "%s/lib.so", argv[2]);
	file = open(path, O_RDONLY | O_CLOEXEC);
	page = file < 0 ? MAP_FAILED
			: mmap(NULL, FILE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	if (page == MAP_FAILED)
		die(path);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(*(volatile char *)page);
	}
	nanosleep(&moment, NULL);
	/* Not by stdio, which allocates: who reads the mapping keeps all mappings locked. */
	if (write(STDOUT_FILENO, "mapped\n", strlen("mapped\n")) < 0)
		die("write");
	for (;;)
		pause();
}
