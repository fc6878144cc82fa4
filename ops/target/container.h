// SPDX-License-Identifier: Apache-2.0
/* Which container and which control group a process runs in: /proc/PID/cgroup, or an id, tells. */
#ifndef OPS_TARGET_CONTAINER_H
#define OPS_TARGET_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Does the text of /proc/PID/cgroup name the control group `wanted`, or one below it? A path
 * ("/system.slice/redis.service"), below /sys/fs/cgroup or not, or the name
 * of any group on the way ("redis.service").
 */
bool cgroup_holds(const char *cgroup, const char *wanted);

/*
 * The path of the control group that the kernel calls `id`, for a process that
 * has ended. False where there is no unified hierarchy, or no such group any
 * more. Needs CAP_DAC_READ_SEARCH.
 */
bool cgroup_by_id(uint64_t id, char *buf, size_t size);

/* The first 12 digits of a container's id, or an LXC or machine name; "" if there is none. */
void container_parse(const char *cgroup, char *buf, size_t size);

#endif
