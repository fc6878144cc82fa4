// SPDX-License-Identifier: Apache-2.0
/*
 * drowner DEVICE FOLDER: as any user may, mounts a file system of its own (FUSE, DEVICE is
 * /dev/fuse) on FOLDER, in namespaces of its own. A thread has its stack in a file of it. Most of
 * its pages are there; one in the middle is not, and whoever reads it gets no answer, for ever.
 * Says "PID ADDRESS" once it is ready, of itself and of that page.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SIZE (1u << 20)
#define PAGE 4096u
#define MISSING (SIZE - 64u * PAGE) /* where in the file */

static volatile int ready;

static void die(const char *what)
{
	perror(what);
	exit(2);
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
	static char message[sizeof(struct fuse_out_header) + PAGE];
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len),
				       .error = error,
				       .unique = in->unique };

	memcpy(message, &out, sizeof(out));
	memcpy(message + sizeof(out), body, len);
	if (write(fd, message, out.len) < 0)
		perror("answer");
}

static struct fuse_attr attributes(int is_folder)
{
	return (struct fuse_attr){ .ino = is_folder ? 1 : 2,
				   .size = SIZE,
				   .mode = is_folder ? 040755 : 0100644,
				   .nlink = 1,
				   .blksize = PAGE };
}

static void serve_one(int fd, const struct fuse_in_header *in, const void *body)
{
	static const char zeros[PAGE];
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = PAGE };
	const struct fuse_entry_out entry = {
		.nodeid = 2, .entry_valid = 9999, .attr_valid = 9999, .attr = attributes(0)
	};
	const struct fuse_attr_out attr = { .attr_valid = 9999,
					    .attr = attributes(in->nodeid == 1) };
	const struct fuse_open_out opened = { .fh = 1 };
	const struct fuse_read_in *r = body;

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
		answer(fd, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (MISSING < r->offset || MISSING >= r->offset + r->size)
			answer(fd, in, 0, zeros, r->size < PAGE ? r->size : PAGE);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(fd, in, -38, NULL, 0);
	}
}

static void serve(int fd)
{
	static char buf[1 << 18];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		serve_one(fd, (struct fuse_in_header *)buf, buf + sizeof(struct fuse_in_header));
	_exit(0);
}

static void mount_own(const char *device, const char *folder)
{
	char text[128];
	uid_t uid = getuid();
	gid_t gid = getgid();
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		die("unshare");
	put("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", uid);
	put("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", gid);
	put("/proc/self/gid_map", text);
	fd = open(device, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(device);
	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("drowner", folder, "fuse", MS_NOSUID | MS_NODEV, text))
		die("mount");
	if (fork() == 0)
		serve(fd);
	close(fd); /* the file system ends with its server */
}

/* Waits far below the page that is missing. */
static void *wait_below(void *unused)
{
	volatile char gap[128 * PAGE];

	gap[0] = unused != NULL;
	ready = 1;
	while (!gap[0])
		pause();
	return NULL;
}

/*
 * A child reads the page first, and has it locked from then on. (Who is not of these namespaces
 * would get an error from a request of its own, as the file system has no name for its user.)
 */
static void lock_page(const volatile char *page)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(*page);
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;
	char path[256];
	char *stack;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: drowner DEVICE FOLDER\n");
		return 2;
	}
	mount_own(argv[1], argv[2]);
	snprintf(path, sizeof(path), "%s/stack", argv[2]);
	fd = open(path, O_RDONLY);
	stack = fd < 0 ? MAP_FAILED : mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (stack == MAP_FAILED)
		die(path);
	for (size_t at = 0; at < SIZE; at += PAGE)
		if (at != MISSING)
			(void)*(volatile char *)(stack + at);
	lock_page(stack + MISSING);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, SIZE);
	if (pthread_create(&thread, &attr, wait_below, NULL))
		die("pthread_create");
	while (!ready)
		usleep(1000);
	printf("%d %p\n", getpid(), (void *)(stack + MISSING));
	fflush(stdout);
	for (;;)
		sleep(1);
}
