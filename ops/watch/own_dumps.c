// SPDX-License-Identifier: Apache-2.0
#include "ops/watch/own_dumps.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private.h"
#include "base/write.h"
#include "ops/watch/who.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "dumps"
#define SLOTS 64

/* Only for this program on this machine: as it does not outlast a boot, its format may change. */
struct slot {
	uint64_t began_ns, ended_ns; /* ended_ns 0: in progress, or its process was killed */
	uint64_t start_time, own_start_time;
	int32_t pid, own_pid;
	char file[OWN_DUMP_FILE_SIZE];
};

static int open_slots(bool create)
{
	_cleanup_(cleanup_close) int dir = private_open(create);
	_cleanup_(cleanup_close) int fd = -1;
	struct stat st;

	if (dir < 0)
		return -1;
	fd = openat(dir, NAME,
		    (create ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !private_is_ours(&st) ||
	    st.st_nlink > 1)
		return -1;
	return take_fd(fd);
}

static bool read_slot(int fd, int i, struct slot *s)
{
	if (pread(fd, s, sizeof(*s), (off_t)sizeof(*s) * i) != sizeof(*s))
		return false;
	s->file[sizeof(s->file) - 1] = '\0';
	return true;
}

static bool write_slot(int fd, int i, const struct slot *s)
{
	return lseek(fd, (off_t)sizeof(*s) * i, SEEK_SET) >= 0 && write_all(fd, s, sizeof(*s));
}

static bool is_running(const struct slot *s)
{
	_cleanup_(proc_close) struct proc p = { 0 };
	struct err ignored;

	return !proc_open(&p, s->own_pid, &ignored) && p.start_time == s->own_start_time;
}

/* One that was never used, else the oldest of those that have ended. */
static int free_slot(int fd)
{
	uint64_t oldest = UINT64_MAX;
	int found = -1;

	for (int i = 0; i < SLOTS; i++) {
		struct slot s;

		if (!read_slot(fd, i, &s))
			return i;
		if (s.began_ns < oldest && (s.ended_ns || !is_running(&s))) {
			oldest = s.began_ns;
			found = i;
		}
	}
	return found;
}

int own_dump_begin(const struct proc *p, const char *file)
{
	struct slot s = { .pid = p->pid, .start_time = p->start_time, .own_pid = getpid() };
	_cleanup_(proc_close) struct proc self = { 0 };
	_cleanup_(cleanup_close) int fd = open_slots(true);
	struct err ignored;
	int i;

	/* Held only for a moment: if we are killed here, the lock is released. */
	if (fd < 0 || flock(fd, LOCK_EX) || proc_open(&self, getpid(), &ignored))
		return -1;
	s.own_start_time = self.start_time;
	s.began_ns = now_boot_ns();
	snprintf(s.file, sizeof(s.file), "%s", file ? file : "");
	i = free_slot(fd);
	return i >= 0 && write_slot(fd, i, &s) ? i : -1;
}

void own_dump_end(int slot)
{
	_cleanup_(cleanup_close) int fd = slot >= 0 ? open_slots(true) : -1;
	struct slot s;

	if (fd < 0 || flock(fd, LOCK_EX) || !read_slot(fd, slot, &s) || s.own_pid != getpid())
		return;
	s.ended_ns = now_boot_ns();
	(void)!write_slot(fd, slot, &s);
}

bool own_dump_find(pid_t pid, uint64_t process_began_ns, uint64_t began_ns,
		   char file[OWN_DUMP_FILE_SIZE])
{
	_cleanup_(cleanup_close) int fd = open_slots(false);
	struct slot s;

	if (fd < 0 || flock(fd, LOCK_SH))
		return false;
	for (int i = 0; i < SLOTS && read_slot(fd, i, &s); i++) {
		const struct proc p = { .pid = s.pid, .start_time = s.start_time };

		if (s.pid != pid || s.began_ns > began_ns || !watch_is_same(&p, process_began_ns) ||
		    (s.ended_ns ? s.ended_ns < began_ns : !is_running(&s)))
			continue;
		memcpy(file, s.file, sizeof(s.file));
		return true;
	}
	return false;
}
