// SPDX-License-Identifier: Apache-2.0
#include "ops/target/mapped.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/write.h"
#include "io/memory_file.h"
#include "process/maps.h"
#include "sandbox/door.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char title[] = "\nMAPPED_LIBRARIES:\n";
#define TITLE_LEN (sizeof(title) - 1)

/*
 * jemalloc takes no notice of a write that did not write all. What it writes is lines, and
 * in an address none ends.
 */
static int check_whole(int fd, uint64_t bytes, const struct proc *p, struct err *err)
{
	char last = '\0';

	if (bytes && pread(fd, &last, 1, (off_t)bytes - 1) < 0)
		return err_sys(err, ERR_FAILED, errno, "cannot read the profile");
	if (last == '\n')
		return 0;
	err_set(err, ERR_FAILED, "the profile was cut off after %llu bytes",
		(unsigned long long)bytes);
	return err_fix(err,
		       "make room on the disk, or lift the limit on the size of the target's "
		       "files: prlimit --pid %d --fsize=unlimited",
		       p->pid);
}

static int too_late(uint64_t deadline_ms, struct err *err)
{
	if (!deadline_ms || now_ms() < deadline_ms)
		return 0;
	err_set(err, ERR_UNSAFE, "there was no time to complete the profile");
	return err_fix(err, "a longer --timeout gives it more");
}

/* Where the part begins, `bytes` if there is none. */
static int find_title(int fd, uint64_t bytes, uint64_t deadline_ms, uint64_t *at, struct err *err)
{
	char buf[65536];
	uint64_t from = 0;

	while (from < bytes) {
		uint64_t left = bytes - from;
		ssize_t n = pread(fd, buf, left < sizeof(buf) ? left : sizeof(buf), (off_t)from);
		const char *hit;

		if (too_late(deadline_ms, err))
			return -1;
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

static int write_part(int to, const struct proc *p, uint64_t deadline_ms, struct err *err)
{
	_cleanup_(cleanup_close) int from = door_proc(p->mm_pid, 0, "maps");
	size_t left = MAPS_TEXT_MAX;
	char buf[65536];
	ssize_t n;

	if (from < 0)
		return err_sys(err, ERR_LOST, errno, "cannot open the mappings of %d", p->pid);
	if (lseek(to, 0, SEEK_END) < 0 || !write_all(to, title, TITLE_LEN))
		return err_sys(err, ERR_OUTPUT, errno, "cannot complete the profile");
	while ((n = read(from, buf, sizeof(buf))) > 0 && (size_t)n <= left) {
		if (too_late(deadline_ms, err))
			return -1;
		if (!write_all(to, buf, (size_t)n))
			return err_sys(err, ERR_OUTPUT, errno, "cannot complete the profile");
		left -= (size_t)n;
	}
	return n < 0 ? err_sys(err, ERR_LOST, errno, "cannot read the mappings of %d", p->pid) : 0;
}

int mapped_complete(int fd, const struct proc *p, uint64_t deadline_ms, struct err *err)
{
	uint64_t bytes, at;

	if (memory_file_size(fd, &bytes, err) || check_whole(fd, bytes, p, err) ||
	    find_title(fd, bytes, deadline_ms, &at, err))
		return -1;
	/*
	 * In another pid namespace jemalloc may have copied the mappings of somebody else; those
	 * of a process whose first thread has ended are empty to it.
	 */
	if (at < bytes && p->status.ns_pid == p->pid && p->mm_pid == p->pid)
		return 0;
	if (ftruncate(fd, (off_t)at))
		return err_sys(err, ERR_FAILED, errno, "cannot complete the profile");
	return write_part(fd, p, deadline_ms, err);
}

int mapped_append(int fd, uint64_t bytes, const struct proc *p, uint64_t deadline_ms,
		  struct err *err)
{
	uint64_t at;

	if (check_whole(fd, bytes, p, err) || find_title(fd, bytes, deadline_ms, &at, err))
		return -1;
	return at == bytes || p->mm_pid != p->pid ? write_part(fd, p, deadline_ms, err) : 0;
}
