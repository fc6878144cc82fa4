// SPDX-License-Identifier: Apache-2.0
/* Which container a process runs in, as its cgroup tells. */
#ifndef OPS_CONTAINER_H
#define OPS_CONTAINER_H

#include <stddef.h>
#include <sys/types.h>

/* The first 12 digits of a container's id, or an LXC or machine name; "" if there is none. */
void container_of_process(pid_t pid, char *buf, size_t size);

/* The same from the text of /proc/PID/cgroup. */
void container_parse(const char *cgroup, char *buf, size_t size);

#endif
