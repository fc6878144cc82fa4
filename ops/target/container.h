// SPDX-License-Identifier: Apache-2.0
/* Which container and which control group a process runs in: /proc/PID/cgroup, or an id, tells. */
#ifndef OPS_TARGET_CONTAINER_H
#define OPS_TARGET_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Does the text of /proc/PID/cgroup name the control group `wanted`, or one below it? A path
 * ("/system.slice/redis.service"), below /sys/fs/cgroup or not, the name
 * of any group on the way ("redis.service"), what container_parse() says, or the first digits of
 * a container's id.
 */
bool cgroup_holds(const char *cgroup, const char *wanted);

/*
 * Of that text, the path of the group of the unified hierarchy; where that is not in use,
 * systemd's; "/" without either.
 */
void cgroup_pick(const char *cgroup, char *buf, size_t size);

/*
 * The path of the control group that the kernel calls `id`, for a process that
 * has ended. False where there is no unified hierarchy, or no such group any
 * more. Needs CAP_DAC_READ_SEARCH.
 */
bool cgroup_by_id(uint64_t id, char *buf, size_t size);

/*
 * Is it that of a container whose id begins with `wanted`, of 4 digits or more? `id` is the whole:
 * two containers may begin alike.
 */
#define CONTAINER_ID_LEN 64 /* hex digits, in Docker, containerd, CRI-O and Podman alike */
bool container_matches(const char *cgroup, const char *wanted, char id[CONTAINER_ID_LEN + 1]);

/* The systemd unit, the innermost one: a service, a scope, ...; "" if there is none. */
void unit_parse(const char *cgroup, char *buf, size_t size);

/*
 * The service that a process is part of: the innermost one, within its container if it is in one,
 * and with the escapes of its name undone (systemd.unit(5)); "" if there is none.
 */
void service_parse(const char *cgroup, char *buf, size_t size);

/* The first 12 digits of a container's id, or an LXC or machine name; "" if there is none. */
void container_parse(const char *cgroup, char *buf, size_t size);

/*
 * The whole id, of the innermost container: 64 hex digits, or "TASK-NUMBER" of Amazon's ECS; "" if
 * there is none. Who may make groups in a container can call one like another container.
 */
void container_id_parse(const char *cgroup, char id[CONTAINER_ID_LEN + 1]);

/*
 * Of Kubernetes: the uid of the pod, with dashes, and its QoS class as Kubernetes writes it, a
 * constant. False, "" and NULL if there is none.
 */
#define POD_UID_LEN 36
bool pod_parse(const char *cgroup, char uid[POD_UID_LEN + 1], const char **qos_class);

/* Who starts it, and so gives it its environment: as far as its control groups tell. */
enum starter {
	STARTER_UNKNOWN,
	STARTER_SERVICE,      /* a service of the system's systemd, `name` */
	STARTER_USER_SERVICE, /* the same of a user's */
	STARTER_POD,	      /* Kubernetes */
	STARTER_DOCKER,	      /* a container, `name` */
	STARTER_PODMAN,
	STARTER_CONTAINER, /* of another kind */
};
enum starter starter_parse(const char *cgroup, char *name, size_t size);

#endif
