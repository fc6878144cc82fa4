// SPDX-License-Identifier: Apache-2.0
#include "io/received.h"

#include "base/cleanup.h"
#include "io/memory_file.h"
#include "io/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int received_check(int fd, const struct received_rules *rules, uint64_t *bytes, struct err *err)
{
	struct stat st;
	off_t hole;

	if (fstat(fd, &st))
		return err_raise_sys(err, ERROR_RECEIVED_LOST, errno, .what = rules->what);
	if (!S_ISREG(st.st_mode))
		return err_raise(err, ERROR_RECEIVED_NOT_A_FILE, .what = rules->what);
	if ((uint64_t)st.st_size > rules->max_bytes) {
		err_raise(err, ERROR_RECEIVED_TOO_LARGE, .what = rules->what, .size = st.st_size,
			  .max = (int64_t)rules->max_bytes);
		return err_advise(err, FIX_RAISE_MAX_SIZE);
	}
	/* st_blocks is no use: compressing file systems have fewer blocks without a hole. */
	hole = st.st_size ? lseek(fd, 0, SEEK_HOLE) : 0;
	if (hole >= 0 && hole < st.st_size)
		return err_raise(err, ERROR_RECEIVED_SPARSE, .what = rules->what,
				 .size = st.st_size, .max = st.st_blocks * 512);
	*bytes = (uint64_t)st.st_size;
	return 0;
}

int received_copy(int from, const struct received_rules *rules, int *to, uint64_t *bytes,
		  struct err *err)
{
	_cleanup_(cleanup_close) int copy = -1;
	uint64_t size;
	struct stat st;

	if (received_check(from, rules, &size, err) || memory_file_make(&copy, err) ||
	    output_copy(copy, "a memory file", from, size, rules->deadline_ms, err))
		return -1;
	if (fstat(from, &st))
		return err_raise_sys(err, ERROR_RECEIVED_LOST, errno, .what = rules->what);
	if ((uint64_t)st.st_size != size)
		return err_raise(err, ERROR_RECEIVED_CHANGED, .what = rules->what);
	*to = take_fd(copy);
	*bytes = size;
	return 0;
}
