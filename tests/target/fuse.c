// SPDX-License-Identifier: Apache-2.0
#include "tests/target/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_INODE 1
#define FILE_INODE 2
#define READ_MAX 65536

void fuse_die(const char *what)
{
	perror(what);
	exit(1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fuse_die(path);
	close(fd);
}

static void become_own(void)
{
	char map[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		fuse_die("unshare");
	put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	put("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	put("/proc/self/gid_map", map);
}

int fuse_mount(const char *device, const char *folder, bool own)
{
	char options[128];
	int fd;

	if (own)
		become_own();
	fd = open(device, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fuse_die(device);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0%s", fd,
		 own ? "" : ",allow_other");
	if (mount("tests", folder, "fuse", MS_NOSUID | MS_NODEV, options))
		fuse_die("mount");
	return fd;
}

static void answer(int fd, const struct fuse_in_header *in, int error, const void *body, size_t len)
{
	static char message[sizeof(struct fuse_out_header) + READ_MAX];
	const struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len),
					      .error = error,
					      .unique = in->unique };

	memcpy(message, &head, sizeof(head));
	if (len)
		memcpy(message + sizeof(head), body, len);
	if (write(fd, message, head.len) < 0 && errno != ENOENT)
		fuse_die("answer");
}

static struct fuse_attr attributes(uint64_t inode, const struct fuse_file *file)
{
	return (struct fuse_attr){ .ino = inode,
				   .size = file->size,
				   .blocks = (file->size + 511) / 512,
				   .mode = inode == ROOT_INODE ? S_IFDIR | 0755 : S_IFREG | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void answer_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *r,
			const struct fuse_file *file)
{
	static const char zeros[READ_MAX], first[READ_MAX] = "\177ELF";
	const char *made = r->offset ? zeros : first;
	size_t left = r->offset < file->size ? file->size - r->offset : 0;
	size_t len = r->size < READ_MAX ? r->size : READ_MAX;

	answer(fd, in, 0, file->bytes ? file->bytes + r->offset : made, len < left ? len : left);
}

static void serve_one(int fd, const struct fuse_in_header *in, fuse_answers *answers,
		      const struct fuse_file *file)
{
	/* No read-ahead: only the requested page is read. */
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
	const struct fuse_entry_out entry = { .nodeid = FILE_INODE,
					      .attr_valid = 9999,
					      .entry_valid = 9999,
					      .attr = attributes(FILE_INODE, file) };
	const struct fuse_attr_out attr = { .attr_valid = 9999,
					    .attr = attributes(in->nodeid, file) };
	const struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_KEEP_CACHE };
	const struct fuse_statfs_out whole = {
		.st = { .bsize = 4096, .frsize = 4096, .namelen = 255 }
	};
	const struct fuse_read_in *r = in->opcode == FUSE_READ ? (const void *)(in + 1) : NULL;

	if (!answers(in, r))
		return;
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
	case FUSE_READ:
		answer_read(fd, in, r, file);
		break;
	case FUSE_STATFS:
		answer(fd, in, 0, &whole, sizeof(whole));
		break;
	case FUSE_FORGET: /* these expect no reply */
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in, -ENOSYS, NULL, 0);
	}
}

pid_t fuse_serve(int fd, fuse_answers *answers, const struct fuse_file *file)
{
	static const struct fuse_file zeros = { .size = FUSE_FILE_SIZE };
	static char buf[1 << 18];
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(fd, buf, sizeof(buf)) > 0)
			serve_one(fd, (const struct fuse_in_header *)buf, answers,
				  file ? file : &zeros);
		_exit(0);
	}
	close(fd);
	return pid;
}

void fuse_lock_page(const volatile char *page)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(*page);
}
