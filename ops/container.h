// SPDX-License-Identifier: Apache-2.0
/* Which container and which control group a process runs in, as /proc/PID/cgroup tells. */
#ifndef OPS_CONTAINER_H
#define OPS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does the text of /proc/PID/cgroup name the control group `wanted`, or one below it? A path
 * ("/system.slice/redis.service"), below /sys/fs/cgroup or not, or the name
 * of any group on the way ("redis.service").
 */
bool cgroup_holds(const char *cgroup, const char *wanted);

/* The first 12 digits of a container's id, or an LXC or machine name; "" if there is none. */
void container_parse(const char *cgroup, char *buf, size_t size);

#endif
