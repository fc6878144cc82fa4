// SPDX-License-Identifier: Apache-2.0
#include "io/received.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "io/memory_file.h"
#include "io/output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int too_large(const struct received_rules *r, uint64_t bytes, struct err *err)
{
	char size[16], max[16];

	err_set(err, ERR_FAILED, "%s is too large: %s, and at most %s are read", r->what,
		text_size(bytes, size, sizeof(size)), text_size(r->max_bytes, max, sizeof(max)));
	return err_fix(err, "raise the limit with --max-size SIZE");
}

static int has_holes(const struct received_rules *r, const struct stat *st, struct err *err)
{
	char size[16], there[16];

	return err_set(err, ERR_FAILED, "%s is sparse: %s long, with %s of data", r->what,
		       text_size((uint64_t)st->st_size, size, sizeof(size)),
		       text_size((uint64_t)st->st_blocks * 512, there, sizeof(there)));
}

int received_check(int fd, const struct received_rules *rules, uint64_t *bytes, struct err *err)
{
	struct stat st;
	off_t hole;

	if (fstat(fd, &st))
		return err_sys(err, ERR_LOST, errno, "cannot look at %s", rules->what);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_FAILED, "%s is no regular file", rules->what);
	if ((uint64_t)st.st_size > rules->max_bytes)
		return too_large(rules, (uint64_t)st.st_size, err);
	/* Not by st_blocks: file systems that compress have fewer without a hole. */
	hole = st.st_size ? lseek(fd, 0, SEEK_HOLE) : 0;
	if (hole >= 0 && hole < st.st_size)
		return has_holes(rules, &st, err);
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
		return err_sys(err, ERR_LOST, errno, "cannot look at %s", rules->what);
	if ((uint64_t)st.st_size != size)
		return err_set(err, ERR_FAILED, "%s was changed while it was read", rules->what);
	*to = take_fd(copy);
	*bytes = size;
	return 0;
}
