// SPDX-License-Identifier: Apache-2.0
/* The memory and the environment of a process. */
#include "process/proc.h"

#include "base/cleanup.h"
#include "process/procfs.h"
#include "sandbox/door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define STRING_CHUNK 256 /* divides the page: a chunk never straddles two */
#define ENVIRON_MAX (8u << 20)
#define AUXV_MAX (64u << 10)

static int read_failed(pid_t pid, uint64_t addr, int sys, struct err *err)
{
	if (sys == ESRCH || sys == ENOENT)
		return err_set(err, ERR_LOST, "process %d has ended", pid);
	if (sys == EPERM || sys == EACCES)
		return err_sys(err, ERR_PERM, sys, "cannot read the memory of process %d", pid);
	if (sys == EIO)
		return err_target(err, ERR_FAILED, sys,
				  "cannot read the memory of process %d at %#llx", pid,
				  (unsigned long long)addr);
	return err_sys(err, ERR_FAILED, sys, "cannot read the memory of process %d at %#llx", pid,
		       (unsigned long long)addr);
}

/* Of the process that a confined one reads; kept, because most is read of one process in a row. */
static int memory_fd = -1;
static pid_t memory_pid;

void proc_read_forget(void)
{
	cleanup_close(&memory_fd);
	memory_fd = -1;
}

static bool open_memory(pid_t pid)
{
	proc_read_forget();
	memory_fd = door_proc(pid, 0, "mem");
	memory_pid = pid;
	return memory_fd >= 0;
}

/* EIO is what is not mapped. */
static ssize_t read_memory(int fd, void *buf, size_t len, off_t at)
{
	ssize_t got = pread(fd, buf, len, at);

	if (got < 0 && errno != EIO)
		err_note(errno, "cannot read the memory of process %d", memory_pid);
	return got;
}

/* Through /proc/PID/mem, which needs no right but the descriptor: at its end 0 is read. */
static ssize_t read_through(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	ssize_t got;

	if (memory_fd < 0 || memory_pid != pid)
		return open_memory(pid) ? read_memory(memory_fd, buf, len, (off_t)addr) : -1;
	got = read_memory(memory_fd, buf, len, (off_t)addr);
	/* It belongs to the program that ran when it was opened. */
	return got || !open_memory(pid) ? got : read_memory(memory_fd, buf, len, (off_t)addr);
}

static ssize_t read_some(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };

	return door_in_use() ? read_through(pid, addr, buf, len)
			     : process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

int proc_read(pid_t pid, uint64_t addr, void *buf, size_t len, struct err *err)
{
	char *out = buf;

	while (len) {
		ssize_t got = read_some(pid, addr, out, len);

		if (got <= 0)
			return read_failed(pid, addr, got ? errno : EFAULT, err);
		out += got;
		addr += (uint64_t)got;
		len -= (size_t)got;
	}
	return 0;
}

/* Up to the end of each aligned chunk, so that nothing behind the string need be mapped. */
int proc_read_string(pid_t pid, uint64_t addr, char *buf, size_t size, struct err *err)
{
	_cleanup_(cleanup_free) char *got = malloc(size);
	size_t used = 0;

	if (!got)
		return err_sys(err, ERR_FAILED, ENOMEM, "no memory for a string of %zu bytes",
			       size);
	while (used < size - 1) {
		size_t want = STRING_CHUNK - (addr + used) % STRING_CHUNK;

		if (want > size - 1 - used)
			want = size - 1 - used;
		if (proc_read(pid, addr + used, got + used, want, err))
			return -1;
		if (memchr(got + used, '\0', want)) {
			strcpy(buf, got);
			return 0;
		}
		used += want;
	}
	memcpy(buf, got, used);
	buf[used] = '\0';
	return 0;
}

int proc_getenv(pid_t pid, const char *name, char *buf, size_t size, struct err *err)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len, name_len = strlen(name);

	if (procfs_read(pid, 0, "environ", ENVIRON_MAX, &text, &len, err)) {
		err->code = ERR_FAILED;
		return -1;
	}
	for (const char *s = text; s < text + len; s += strlen(s) + 1) {
		if (strncmp(s, name, name_len) != 0 || s[name_len] != '=')
			continue;
		snprintf(buf, size, "%s", s + name_len + 1);
		return 0;
	}
	return err_set(err, ERR_FAILED, "process %d was started without %s", pid, name);
}

bool proc_auxval(pid_t pid, uint64_t type, uint64_t *value)
{
	_cleanup_(cleanup_free) char *text = NULL;
	struct err ignored;
	uint64_t pair[2];
	size_t len;

	if (procfs_read(pid, 0, "auxv", AUXV_MAX, &text, &len, &ignored))
		return false;
	for (size_t at = 0; at + sizeof(pair) <= len; at += sizeof(pair)) {
		memcpy(pair, text + at, sizeof(pair));
		if (pair[0] == type) {
			*value = pair[1];
			return true;
		}
	}
	return false;
}

/* The auxiliary vector has addresses of the stack, the vDSO and the program, all random. */
uint64_t proc_program(pid_t pid)
{
	_cleanup_(cleanup_free) char *text = NULL;
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
	struct err ignored;
	size_t len;

	if (procfs_read(pid, 0, "auxv", AUXV_MAX, &text, &len, &ignored))
		return 0;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash;
}
