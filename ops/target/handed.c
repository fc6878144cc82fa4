// SPDX-License-Identifier: Apache-2.0
#include "ops/target/handed.h"

#include <unistd.h>

/* In this order: a child that gets fewer asks for the others. */
static const char *const names[] = { "maps", "mem", "environ", "exe" };
#define NAMES (sizeof(names) / sizeof(*names))
_Static_assert(NAMES <= CONFINED_FDS_MAX, "they are handed at once");
enum { EXE = NAMES - 1 };

size_t handed_open(const struct proc *p, int fds[CONFINED_FDS_MAX])
{
	for (size_t i = 0; i < NAMES; i++) {
		fds[i] = i == EXE ? door_proc_handle(p->mm_pid, names[i])
				  : door_proc(p->mm_pid, 0, names[i]);
		if (fds[i] < 0)
			return i;
	}
	return NAMES;
}

void handed_close(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

void handed_use(const struct proc *p, const int *fds, size_t n)
{
	for (size_t i = 0; i < n && i < NAMES; i++)
		door_give(p->mm_pid, names[i], fds[i]);
}

void handed_forget(void)
{
	door_forget();
	proc_read_forget();
}
