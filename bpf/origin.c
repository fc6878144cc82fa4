// SPDX-License-Identifier: Apache-2.0
#include "bpf/origin.h"

#include "base/cleanup.h"
#include "bpf/event.h"
#include "bpf/origin.skel.h"
#include "bpf/why.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not in every <linux/magic.h>. */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#define ZFS_SUPER_MAGIC 0x2fc12fc1 /* include/sys/fs/zfs.h of OpenZFS */

#define DEV_MINOR_BITS 20 /* of the kernel's dev_t */
#define DEVICES_DEPTH_MAX 8
#define PATIENCE_MS 5000

/* --- block devices --- */

static bool is_disk(const char *folder, int depth);

/* Check the components of a device: device-mapper, md. False if there are none. */
static bool are_disks(const char *folder, int depth)
{
	char path[PATH_MAX];
	_cleanup_(cleanup_closedir) DIR *dir = NULL;
	const struct dirent *entry;
	bool any = false;

	if (snprintf(path, sizeof(path), "%s/slaves", folder) >= (int)sizeof(path))
		return false;
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char slave[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(slave, sizeof(slave), "%s/%s", path, entry->d_name) >=
			    (int)sizeof(slave) ||
		    !is_disk(slave, depth + 1))
			return false;
		any = true;
	}
	return any;
}

/*
 * virtual/block has devices that may be served by another process, a file or a machine (loop, nbd,
 * ublk), memory, and devices composed of others.
 */
static bool is_disk(const char *folder, int depth)
{
	char path[PATH_MAX], real[PATH_MAX];
	const char *name;

	if (depth > DEVICES_DEPTH_MAX || !realpath(folder, real))
		return false;
	if (!strstr(real, "/virtual/block/"))
		return true;
	snprintf(path, sizeof(path), "%.4000s/partition", real);
	if (!access(path, F_OK))
		*strrchr(real, '/') = '\0';
	name = strrchr(real, '/') + 1;
	return !strncmp(name, "zram", 4) || !strncmp(name, "ram", 3) || are_disks(real, depth);
}

/* --- file systems --- */

static int check(const struct watch_origin *o, struct err *err)
{
	unsigned int major = o->device >> DEV_MINOR_BITS;
	unsigned int minor = o->device & ((1u << DEV_MINOR_BITS) - 1);
	char folder[64];

	switch (o->type) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case ZFS_SUPER_MAGIC:
		return 0;
	}
	if (!o->device || o->type == FUSE_SUPER_MAGIC)
		return err_raise(err, ERROR_FILE_NOT_ON_DISK, .address = (int64_t)o->type);
	snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u", major, minor);
	if (!is_disk(folder, 0))
		return err_raise(err, ERROR_FILE_ON_UNKNOWN_DEVICE, .number = major,
				 .count = minor);
	return 0;
}

/* False when the program did not find the file. */
static bool run(int prog, uint64_t arg, struct watch_origin *o)
{
	uint64_t args[] = { arg };
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.ctx_in = args,
		.ctx_size_in = sizeof(args),
	};

	memset(o, 0, sizeof(*o));
	return !bpf_prog_test_run_opts(prog, &opts) && opts.retval == 1;
}

/* --- layers --- */

/*
 * Runs in a child, as opening a file of a layer may block forever. It keeps nothing else open: a
 * probe lasts as long as its last descriptor.
 */
static _Noreturn void ask_of_layer(int prog, int handle, struct watch_origin *o)
{
	int fd, saved = dup(prog);
	void *page;

	if (saved < 0 || dup2(handle, 0) < 0 || dup2(saved, 1) < 0)
		_exit(1);
	syscall(SYS_close_range, 2, ~0u, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
	page = fd < 0 ? MAP_FAILED
		      : mmap(NULL, (size_t)getpagesize(), PROT_READ, MAP_PRIVATE, fd, 0);
	_exit(page == MAP_FAILED || !run(1, (uintptr_t)page, o));
}

/* True when the child has exited successfully in time. It may be impossible to wait for. */
static bool ends_well(pid_t pid)
{
	_cleanup_(cleanup_close) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int status;

	if (pidfd < 0 || poll(&p, 1, PATIENCE_MS) != 1)
		kill(pid, SIGKILL);
	return waitpid(pid, &status, pidfd < 0 ? 0 : WNOHANG) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* The child shares the program's memory with us. */
static int check_layer(struct origin_bpf *skel, int handle, struct err *err)
{
	int prog = bpf_program__fd(skel->progs.mapped_is_of);
	pid_t pid;

	if (prog < 0)
		return err_raise(err, ERROR_OVERLAY_UNKNOWN_BEFORE_5_17);
	pid = fork();
	if (!pid)
		ask_of_layer(prog, handle, &skel->bss->origin);
	if (pid < 0 || !ends_well(pid))
		return err_raise(err, ERROR_OVERLAY_UNKNOWN);
	return check(&skel->bss->origin, err);
}

static void close_programs(struct origin_bpf **skel)
{
	origin_bpf__destroy(*skel);
}

int origin_check(int handle, struct err *err)
{
	_cleanup_(close_programs) struct origin_bpf *skel = origin_bpf__open();
	const struct watch_origin *o;

	if (!skel)
		return why_not_loaded(errno, err);
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_find_vma, NULL) != 1)
		bpf_program__set_autoload(skel->progs.mapped_is_of, false);
	if (origin_bpf__load(skel))
		return why_not_loaded(errno, err);
	o = &skel->bss->origin;
	if (!run(bpf_program__fd(skel->progs.opened_is_of), (uint64_t)handle, &skel->bss->origin))
		return err_raise(err, ERROR_FILE_ORIGIN_UNKNOWN);
	if (o->type != OVERLAYFS_SUPER_MAGIC)
		return check(o, err);
	if (o->is_nested)
		return err_raise(err, ERROR_OVERLAY_OF_A_USER);
	return check_layer(skel, handle, err);
}
