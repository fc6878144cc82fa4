// SPDX-License-Identifier: Apache-2.0
/* Container and control groups, as parsed from the text of /proc/PID/cgroup. */
#include "ops/target/container.h"

#include "process/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ID2 "cdef0b12bc7495264c3eaa021855e580f5ef0b12bc7495264c3eaa021855e5"
#define ID "80f5ef0b12bc7495264c3eaa021855e580f5ef0b12bc7495264c3eaa021855e5"

static void test_parse(void **state)
{
	char buf[64];

	(void)state;
	container_parse("0::/system.slice/docker-" ID ".scope\n", buf, sizeof(buf));
	assert_string_equal(buf, "80f5ef0b12bc");
	container_parse("4:memory:/docker/" ID "\n0::/\n", buf, sizeof(buf));
	assert_string_equal(buf, "80f5ef0b12bc");
	container_parse("0::/lxc.payload.web/init.scope\n", buf, sizeof(buf));
	assert_string_equal(buf, "web");
	container_parse("0::/user.slice\n", buf, sizeof(buf));
	assert_string_equal(buf, "");
	container_parse("", buf, sizeof(buf));
	assert_string_equal(buf, "");
}

static void test_holds(void **state)
{
	static const char v2[] = "0::/system.slice/redis.service/worker\n";
	static const char v1[] = "9:name=systemd:/\n4:memory:/shop/db\n0::/\n";

	(void)state;
	assert_true(cgroup_holds(v2, "/system.slice/redis.service/worker"));
	assert_true(cgroup_holds(v2, "/system.slice/redis.service"));
	assert_true(cgroup_holds(v2, "/system.slice/"));
	assert_true(cgroup_holds(v2, "/sys/fs/cgroup/system.slice"));
	assert_true(cgroup_holds(v2, "/sys/fs/cgroup/unified/system.slice"));
	assert_true(cgroup_holds(v2, "/"));
	assert_true(cgroup_holds(v2, "redis.service"));
	assert_true(cgroup_holds(v2, "worker"));
	assert_true(cgroup_holds(v2, "redis.service/worker"));
	assert_true(cgroup_holds(v1, "/shop"));
	assert_true(cgroup_holds(v1, "db"));
	assert_false(cgroup_holds(v2, "/redis.service"));
	assert_false(cgroup_holds(v2, "/system.slice/redis"));
	assert_false(cgroup_holds(v2, "redis"));
	assert_false(cgroup_holds(v2, "/system.slice/redis.service/worker/more"));
	assert_false(cgroup_holds(v1, "/db"));
	assert_false(cgroup_holds(v1, "memory"));
}

static void test_container(void **state)
{
	static const char nested[] = "0::/docker/" ID "/kubepods/crio-ab" ID2 ".scope\n";
	char id[CONTAINER_ID_LEN + 1] = "";

	(void)state;
	assert_true(container_matches(nested, "80f5", id));
	assert_string_equal(id, ID);
	assert_true(container_matches(nested, "abcd", id));
	assert_string_equal(id, "ab" ID2);
	assert_true(container_matches(nested, ID, id));
	assert_false(container_matches(nested, "80f", id));	       /* too short */
	assert_false(container_matches(nested, "0f5e", id));	       /* inside an id */
	assert_false(container_matches(nested, "80f5x", id));	       /* not hexadecimal */
	assert_false(container_matches(nested, ID "0", id));	       /* longer than an id */
	assert_false(container_matches("0::/80f5ef0b\n", "80f5", id)); /* a group of that name */
	assert_true(cgroup_holds(nested, "80f5"));
	assert_true(cgroup_holds("0::/lxc.payload.web/init.scope\n", "web"));
	assert_false(cgroup_holds("0::/lxc.payload.web/init.scope\n", "we"));
}

static void test_unit(void **state)
{
	char buf[16];

	(void)state;
	unit_parse("0::/system.slice/redis.service/worker\n", buf, sizeof(buf));
	assert_string_equal(buf, "redis.service");
	unit_parse("0::/user.slice/user@1.service/app.slice/a.scope\n", buf, sizeof(buf));
	assert_string_equal(buf, "a.scope");
	unit_parse("9:name=systemd:/\n0::/.service/user.slice\n", buf, sizeof(buf));
	assert_string_equal(buf, "");
	unit_parse("0::/a-very-long-name-of.service\n", buf, sizeof(buf));
	assert_string_equal(buf, "a-very-long-nam");
	unit_parse("", buf, sizeof(buf));
	assert_string_equal(buf, "");
}

#define UID "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
#define UID_ "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0"
#define HASH "d2e1f00f1e2d3c4b5a69788796a5b4c3"
#define SLICES "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/"

/* The names of groups made by runtimes, each with its container, pod, unit and service. */
static const struct {
	const char *cgroup, *id, *container, *pod, *qos, *unit, *service;
} rows[] = {
	/* Kubernetes, systemd driver */
	{ "0::" SLICES "cri-containerd-" ID ".scope\n", ID, "80f5ef0b12bc", UID, "Burstable",
	  "cri-containerd-" ID ".scope", "" },
	{ "0::" SLICES "crio-" ID ".scope/container\n", ID, "80f5ef0b12bc", UID, "Burstable",
	  "crio-" ID ".scope", "" },
	{ "1:name=systemd:" SLICES "docker-" ID ".scope\n0::/\n", ID, "80f5ef0b12bc", UID,
	  "Burstable", "docker-" ID ".scope", "" },
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope\n", ID, "80f5ef0b12bc",
	  UID, "Guaranteed", "crio-" ID ".scope", "" },
	/* the monitor of a container: in the pod, but in no container */
	{ "0::" SLICES "crio-conmon-" ID ".scope\n", "", "", UID, "Burstable",
	  "crio-conmon-" ID ".scope", "" },
	/* cgroupfs driver */
	{ "0::/kubepods/besteffort/pod" UID "/" ID "\n", ID, "80f5ef0b12bc", UID, "BestEffort", "",
	  "" },
	{ "4:memory:/kubepods/pod" UID "/" ID "\n1:name=systemd:/kubepods/pod" UID "/" ID
	  "\n0::/system.slice/containerd.service\n",
	  ID, "80f5ef0b12bc", UID, "Guaranteed", "containerd.service", "" },
	{ "0::/kubepods/burstable/pod" HASH "/" ID "\n", ID, "80f5ef0b12bc", HASH, "Burstable", "",
	  "" },
	/* containerd configured for the other driver */
	{ "0::/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID "\n",
	  ID, "80f5ef0b12bc", UID, "Burstable", "containerd.service", "" },
	/* kind: its nodes are containers */
	{ "0::/docker/ab" ID2
	  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope\n",
	  ID, "80f5ef0b12bc", UID, "BestEffort", "cri-containerd-" ID ".scope", "" },
	{ "0::/kubelet/kubepods/burstable/pod" UID "/" ID "\n", ID, "80f5ef0b12bc", UID,
	  "Burstable", "", "" },
	/* seen from another cgroup namespace */
	{ "0::/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", ID,
	  "80f5ef0b12bc", UID, "Burstable", "cri-containerd-" ID ".scope", "" },
	/* Docker, Podman, Podman's pods, and a user's containers */
	{ "0::/system.slice/docker-" ID ".scope\n", ID, "80f5ef0b12bc", "", NULL,
	  "docker-" ID ".scope", "" },
	{ "0::/docker/" ID "\n", ID, "80f5ef0b12bc", "", NULL, "", "" },
	{ "0::/machine.slice/libpod-" ID ".scope/container\n", ID, "80f5ef0b12bc", "", NULL,
	  "libpod-" ID ".scope", "" },
	{ "0::/machine.slice/machine-libpod_pod_ab" ID2 ".slice/libpod-" ID ".scope/container\n",
	  ID, "80f5ef0b12bc", "", NULL, "libpod-" ID ".scope", "" },
	{ "0::/machine.slice/libpod-conmon-" ID ".scope\n", "", "", "", NULL,
	  "libpod-conmon-" ID ".scope", "" },
	{ "0::/user.slice/user-1.slice/user@1.service/user.slice/libpod-" ID ".scope/container\n",
	  ID, "80f5ef0b12bc", "", NULL, "libpod-" ID ".scope", "" },
	/* ECS */
	{ "0::/ecs/shop/" HASH "-1234567890\n", HASH "-1234567890", "d2e1f00f1e2d", "", NULL, "",
	  "" },
	{ "0::/ecs/" HASH "/" ID "\n", ID, "80f5ef0b12bc", "", NULL, "", "" },
	{ "0::/ecs/shop/" HASH "-\n", "", "", "", NULL, "", "" },
	{ "0::/ecs/shop/" HASH "-12x\n", "", "", "", NULL, "", "" },
	{ "0::/ecs/shop/" HASH "-12345678901234567890123456789012\n", "", "", "", NULL, "", "" },
	/* machines of systemd and LXC */
	{ "0::/machine.slice/machine-my\\x2dweb.scope\n", "", "my-web", "", NULL,
	  "machine-my\\x2dweb.scope", "" },
	{ "0::/machine.slice/systemd-nspawn@web.service/payload\n", "", "web", "", NULL,
	  "systemd-nspawn@web.service", "systemd-nspawn@web.service" },
	{ "0::/lxc.payload.web/system.slice/nginx.service\n", "", "web", "", NULL, "nginx.service",
	  "nginx.service" },
	{ "0::/lxc/web\n", "", "web", "", NULL, "", "" },
	/* systemd: the system's units, units in a container, and a user's units */
	{ "0::/system.slice/my\\x2dshop.service/worker\n", "", "", "", NULL, "my\\x2dshop.service",
	  "my-shop.service" },
	{ "0::/system.slice/system-redis.slice/redis@6379.service\n", "", "", "", NULL,
	  "redis@6379.service", "redis@6379.service" },
	{ "0::/docker/" ID "/system.slice/nginx.service\n", ID, "80f5ef0b12bc", "", NULL,
	  "nginx.service", "nginx.service" },
	{ "0::/user.slice/user-1.slice/user@1.service/app.slice/a.service\n", "", "", "", NULL,
	  "a.service", "a.service" },
	{ "0::/user.slice/user-1.slice/user@1.service/app.slice/app-x-7.scope\n", "", "", "", NULL,
	  "app-x-7.scope", "" },
	{ "0::/user.slice/user-1.slice/session-3.scope\n", "", "", "", NULL, "session-3.scope",
	  "" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *cgroup = rows[i].cgroup, *qos;
		char id[CONTAINER_ID_LEN + 1], uid[POD_UID_LEN + 1], container[64], name[256];

		container_id_parse(cgroup, id);
		assert_string_equal(id, rows[i].id);
		container_parse(cgroup, container, sizeof(container));
		assert_string_equal(container, rows[i].container);
		assert_int_equal(pod_parse(cgroup, uid, &qos), *rows[i].pod != '\0');
		assert_string_equal(uid, rows[i].pod);
		assert_string_equal(qos ? qos : "", rows[i].qos ? rows[i].qos : "");
		unit_parse(cgroup, name, sizeof(name));
		assert_string_equal(name, rows[i].unit);
		service_parse(cgroup, name, sizeof(name));
		assert_string_equal(name, rows[i].service);
	}
}

static void assert_service(const char *cgroup, const char *wanted)
{
	char name[24];

	service_parse(cgroup, name, sizeof(name));
	assert_string_equal(name, wanted);
}

/* Invalid names are rejected, and escapes of unprintable characters are kept. */
static void test_names(void **state)
{
	char uid[POD_UID_LEN + 1];
	const char *qos;

	(void)state;
	assert_false(pod_parse("0::/pod" UID "/" ID "\n", uid, &qos)); /* not by kubelet */
	assert_false(pod_parse("0::/kubepods/xpod" UID "\n", uid, &qos));
	assert_false(pod_parse("0::/kubepods/pod" UID "0\n", uid, &qos));
	assert_false(pod_parse("0::/kubepods/pod" HASH "0\n", uid, &qos));
	assert_false(pod_parse("0::/kubepods/pod0f1e2d3c-4b5a\n", uid, &qos));
	assert_false(pod_parse("0::/kubepods\n1:x:/pod" UID "\n", uid, &qos)); /* on another line */
	assert_string_equal(uid, "");
	assert_null(qos);
	assert_service("0::/a\\x0a.service\n", "a\\x0a.service");
	assert_service("0::/a\\x00.service\n", "a\\x00.service");
	assert_service("0::/a\\x7f.service\n", "a\\x7f.service");
	assert_service("0::/a\\xff.service\n", "a\\xff.service");
	assert_service("0::/a\\x2.service\n", "a\\x2.service");
	assert_service("0::/a\\x5cx2d.service\n", "a\\x2d.service"); /* unescaped once */
	assert_service("0::/\\x2", "");
	assert_service("0::/a-very-long-name-of.service\n", "a-very-long-name-of.ser");
	assert_service("0::/.service\n", "");
	assert_service("0::", "");
	assert_service("", "");
}

static void assert_starter(const char *cgroup, enum starter wanted, const char *name)
{
	char buf[64];

	assert_int_equal(starter_parse(cgroup, buf, sizeof(buf)), wanted);
	if (name)
		assert_string_equal(buf, name);
}

static void test_starter(void **state)
{
	(void)state;
	assert_starter("0::/system.slice/redis.service\n", STARTER_SERVICE, "redis.service");
	assert_starter("9:name=systemd:/system.slice/a@b.service/w\n0::/\n", STARTER_SERVICE,
		       "a@b.service");
	assert_starter("0::/user.slice/user-1.slice/user@1.service/app.slice/a.service\n",
		       STARTER_USER_SERVICE, "a.service");
	/* A service that manages its own groups (Delegate=) may name one like another service. */
	assert_starter("0::/system.slice/a.service/sshd.service\n", STARTER_SERVICE, "a.service");
	assert_starter("0::/system.slice/a.service/user@0.service/b.service\n", STARTER_SERVICE,
		       "a.service");
	assert_starter("0::/user.slice/user-1.slice/user@1.service\n", STARTER_UNKNOWN, NULL);
	assert_starter("0::/user.slice/user-0.slice/session-1.scope\n", STARTER_UNKNOWN, NULL);
	assert_starter("0::/system.slice/$(x).service\n", STARTER_UNKNOWN, NULL);
	assert_starter("0::/\n", STARTER_UNKNOWN, NULL);
	assert_starter("", STARTER_UNKNOWN, NULL);
	assert_starter("0::/system.slice/docker-" ID ".scope\n", STARTER_DOCKER, "80f5ef0b12bc");
	assert_starter("4:memory:/docker/" ID "\n0::/\n", STARTER_DOCKER, "80f5ef0b12bc");
	assert_starter("0::/machine.slice/libpod-" ID ".scope/container\n", STARTER_PODMAN,
		       "80f5ef0b12bc");
	assert_starter("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n",
		       STARTER_POD, NULL);
	/* Started by a systemd inside the container. */
	assert_starter("0::/machine.slice/web.service/payload/system.slice/redis.service\n",
		       STARTER_CONTAINER, "web.service");
	assert_starter("0::/lxc.payload.web/system.slice/a.service\n", STARTER_CONTAINER, "web");
}

static void test_hostile(void **state)
{
	char big[PROC_CGROUP_SIZE];

	(void)state;
	assert_false(cgroup_holds("", "/"));
	assert_false(cgroup_holds("no colon", "/"));
	assert_false(cgroup_holds("one:colon", "colon"));
	assert_false(cgroup_holds("0::", "x"));
	assert_true(cgroup_holds("0::/x", "x")); /* truncated, or without its newline */
	memset(big, '/', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	memcpy(big, "0::", 3);
	assert_false(cgroup_holds(big, "x"));
	assert_false(cgroup_holds("0::/x\n", big));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),	  cmocka_unit_test(test_holds),
		cmocka_unit_test(test_container), cmocka_unit_test(test_unit),
		cmocka_unit_test(test_rows),	  cmocka_unit_test(test_names),
		cmocka_unit_test(test_starter),	  cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
