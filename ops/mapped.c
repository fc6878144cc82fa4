// SPDX-License-Identifier: Apache-2.0
#include "ops/mapped.h"

#include "base/cleanup.h"
#include "base/write.h"
#include "ops/memory_file.h"
#include "ops/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char title[] = "\nMAPPED_LIBRARIES:\n";
#define TITLE_LEN (sizeof(title) - 1)

/*
 * jemalloc takes no notice of a write that did not write all. What it writes is lines, and
 * in an address none ends.
 */
static int check_whole(int fd, uint64_t bytes, const struct proc *p, struct err *err)
{
	char last;

	if (bytes && pread(fd, &last, 1, (off_t)bytes - 1) == 1 && last == '\n')
		return 0;
	err_set(err, ERR_FAILED, "the profile was cut off after %llu bytes",
		(unsigned long long)bytes);
	return err_fix(err,
		       "make room on the disk, or lift the limit on the size of the target's "
		       "files: prlimit --pid %d --fsize=unlimited",
		       p->pid);
}

/* Where the part begins, `bytes` if there is none. */
static int find_title(int fd, uint64_t bytes, uint64_t *at, struct err *err)
{
	char buf[65536];
	uint64_t from = 0;

	while (from < bytes) {
		ssize_t n = pread(fd, buf, sizeof(buf), (off_t)from);
		const char *hit;

		if (n <= 0)
			return err_sys(err, ERR_LOST, n ? errno : EIO, "cannot read the profile");
		hit = memmem(buf, (size_t)n, title, TITLE_LEN);
		if (hit) {
			*at = from + (uint64_t)(hit - buf);
			return 0;
		}
		if ((size_t)n < TITLE_LEN)
			break;
		/* The title may lie across the end of what was read. */
		from += (uint64_t)n - (TITLE_LEN - 1);
	}
	*at = bytes;
	return 0;
}

static int write_part(int to, const struct proc *p, struct err *err)
{
	_cleanup_(cleanup_close) int from = -1;
	char path[64], buf[65536];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->mm_pid);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return err_sys(err, ERR_LOST, errno, "cannot open %s", path);
	if (!write_all(to, title, TITLE_LEN))
		return err_sys(err, ERR_OUTPUT, errno, "cannot complete the profile");
	while ((n = read(from, buf, sizeof(buf))) > 0) {
		if (!write_all(to, buf, (size_t)n))
			return err_sys(err, ERR_OUTPUT, errno, "cannot complete the profile");
	}
	return n ? err_sys(err, ERR_LOST, errno, "cannot read %s", path) : 0;
}

int mapped_complete(int *fd, uint64_t *bytes, const struct proc *p, struct err *err)
{
	_cleanup_(cleanup_close) int whole = -1;
	uint64_t at;

	if (check_whole(*fd, *bytes, p, err) || find_title(*fd, *bytes, &at, err))
		return -1;
	/*
	 * In another pid namespace jemalloc may have copied the mappings of somebody else; those
	 * of a process whose first thread has ended are empty to it.
	 */
	if (at < *bytes && p->status.ns_pid == p->pid && p->mm_pid == p->pid)
		return 0;
	if (memory_file_make(&whole, err) || output_copy(whole, "a memory file", *fd, at, err) ||
	    write_part(whole, p, err) || memory_file_size(whole, bytes, err))
		return -1;
	close(*fd);
	*fd = take_fd(whole);
	return 0;
}

int mapped_append(int dir, const char *name, const struct proc *p, int *fd, struct err *err)
{
	_cleanup_(cleanup_close) int to = -1;
	struct stat st;
	uint64_t at;

	to = openat(dir, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (to < 0 || fstat(to, &st))
		return err_sys(err, ERR_OUTPUT, errno, "cannot open the target's dump");
	/* Only a file that the target could write to by itself: it may have put another there. */
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != p->status.euid)
		return err_set(err, ERR_OUTPUT, "the target's dump is not a file of its own");
	if (check_whole(to, (uint64_t)st.st_size, p, err) ||
	    find_title(to, (uint64_t)st.st_size, &at, err))
		return -1;
	if ((at == (uint64_t)st.st_size || p->mm_pid != p->pid) && write_part(to, p, err))
		return -1;
	*fd = take_fd(to);
	return 0;
}
