// SPDX-License-Identifier: Apache-2.0
#include "ops/target/mapped.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/write.h"
#include "io/memory_file.h"
#include "process/maps.h"
#include "process/procfs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char title[] = "\nMAPPED_LIBRARIES:\n";
#define TITLE_LEN (sizeof(title) - 1)

/*
 * jemalloc does not notice short writes. It writes whole lines, so a truncated one shows at the
 * end.
 */
static int check_whole(int fd, uint64_t bytes, const struct proc *p, struct err *err)
{
	char last = '\0';

	if (bytes && pread(fd, &last, 1, (off_t)bytes - 1) < 0)
		return err_raise_sys(err, ERROR_PROFILE_UNREADABLE, errno);
	if (last == '\n')
		return 0;
	err_raise(err, ERROR_DUMP_TRUNCATED, .number = (int64_t)bytes);
	return err_advise(err, FIX_MAKE_ROOM_OR_LIFT_FSIZE, .pid = p->pid);
}

static int too_late(uint64_t deadline_ms, struct err *err)
{
	if (!deadline_ms || now_ms() < deadline_ms)
		return 0;
	err_raise(err, ERROR_NO_TIME_TO_COMPLETE);
	return err_advise(err, FIX_LONGER_TIMEOUT);
}

/* Where the part begins; `bytes` if there is none. */
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
			return err_raise_sys(err, ERROR_DUMP_UNREADABLE, n ? errno : EIO);
		hit = memmem(buf, (size_t)n, title, TITLE_LEN);
		if (hit) {
			*at = from + (uint64_t)(hit - buf);
			return 0;
		}
		if ((size_t)n < TITLE_LEN)
			break;
		/* The title may cross the end of what was read. */
		from += (uint64_t)n - (TITLE_LEN - 1);
	}
	*at = bytes;
	return 0;
}

int mapped_read(const struct proc *p, char **text, size_t *len, struct err *err)
{
	return procfs_read(p->mm_pid, 0, "maps", MAPS_TEXT_MAX, text, len, err);
}

int mapped_write(int fd, const char *text, size_t len, struct err *err)
{
	if (lseek(fd, 0, SEEK_END) < 0 || !write_all(fd, title, TITLE_LEN) ||
	    !write_all(fd, text, len))
		return err_raise_sys(err, ERROR_PROFILE_INCOMPLETE, errno);
	return 0;
}

static int write_part(int to, const struct proc *p, uint64_t deadline_ms, struct err *err)
{
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len;

	return mapped_read(p, &text, &len, err) || too_late(deadline_ms, err) ||
			       mapped_write(to, text, len, err)
		       ? -1
		       : 0;
}

int mapped_complete(int fd, const struct proc *p, uint64_t deadline_ms, struct err *err)
{
	uint64_t bytes, at;

	if (memory_file_size(fd, &bytes, err) || check_whole(fd, bytes, p, err) ||
	    find_title(fd, bytes, deadline_ms, &at, err))
		return -1;
	/*
	 * In another pid namespace jemalloc may have copied the mappings of another process; those
	 * of a process whose first thread has ended look empty to it.
	 */
	if (at < bytes && p->status.ns_pid == p->pid && p->mm_pid == p->pid)
		return 0;
	if (ftruncate(fd, (off_t)at))
		return err_raise_sys(err, ERROR_PROFILE_INCOMPLETE, errno, .code = ERR_FAILED);
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
