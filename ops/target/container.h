// SPDX-License-Identifier: Apache-2.0
/* The container and the control group of a process, from /proc/PID/cgroup or a control group id. */
#ifndef OPS_TARGET_CONTAINER_H
#define OPS_TARGET_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Does the text of /proc/PID/cgroup name the control group `wanted`, or one below it? `wanted` is a
 * path ("/system.slice/redis.service"), with or without /sys/fs/cgroup, the name of any group on
 * the way ("redis.service"), what container_parse() returns, or the first digits of a container's
 * id.
 */
bool cgroup_holds(const char *cgroup, const char *wanted);

/*
 * The path, in that text, of the group in the unified hierarchy; if that is not in use, in
 * systemd's; "/" without either.
 */
void cgroup_pick(const char *cgroup, char *buf, size_t size);

/*
 * The path of the control group with this kernel id, for a process that has ended. False without a
 * unified hierarchy, or if the group no longer exists. Needs CAP_DAC_READ_SEARCH.
 */
bool cgroup_by_id(uint64_t id, char *buf, size_t size);

/*
 * Is it the group of a container whose id begins with `wanted`, of 4 digits or more? `id` is set to
 * the whole id: two containers may share a prefix.
 */
#define CONTAINER_ID_LEN 64 /* hex digits, in Docker, containerd, CRI-O and Podman alike */
bool container_matches(const char *cgroup, const char *wanted, char id[CONTAINER_ID_LEN + 1]);

/* The innermost systemd unit: a service, a scope, ...; "" if there is none. */
void unit_parse(const char *cgroup, char *buf, size_t size);

/*
 * The service that a process is part of: the innermost one, within its container if it is in one,
 * with the escapes in its name decoded (systemd.unit(5)); "" if there is none.
 */
void service_parse(const char *cgroup, char *buf, size_t size);

/* The first 12 digits of a container's id, or an LXC or machine name; "" if there is none. */
void container_parse(const char *cgroup, char *buf, size_t size);

/*
 * The whole id of the innermost container: 64 hex digits, or "TASK-NUMBER" on Amazon's ECS; "" if
 * there is none. A process that may create groups in a container can use the id of another one.
 */
void container_id_parse(const char *cgroup, char id[CONTAINER_ID_LEN + 1]);

/*
 * For Kubernetes: the uid of the pod, with dashes, and its QoS class as Kubernetes spells it, a
 * constant. False, "" and NULL if there is none.
 */
#define POD_UID_LEN 36
bool pod_parse(const char *cgroup, char uid[POD_UID_LEN + 1], const char **qos_class);

/* What starts the process, and so sets its environment, as far as its control groups show. */
enum starter {
	STARTER_UNKNOWN,
	STARTER_SERVICE,      /* a service of the system instance of systemd, `name` */
	STARTER_USER_SERVICE, /* a service of a user instance */
	STARTER_POD,	      /* Kubernetes */
	STARTER_DOCKER,	      /* a container, `name` */
	STARTER_PODMAN,
	STARTER_CONTAINER, /* of another kind */
};
enum starter starter_parse(const char *cgroup, char *name, size_t size);

#endif
