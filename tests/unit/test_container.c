// SPDX-License-Identifier: Apache-2.0
/* What the text of /proc/PID/cgroup tells: container and control group. */
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
	assert_false(container_matches(nested, "80f", id));	       /* too short to mean it */
	assert_false(container_matches(nested, "0f5e", id));	       /* within one */
	assert_false(container_matches(nested, "80f5x", id));	       /* no digits */
	assert_false(container_matches(nested, ID "0", id));	       /* longer than any */
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
	/* A service that manages its own groups (Delegate=) calls one like another service. */
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
	/* A systemd of its own has started it in there. */
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
	assert_true(cgroup_holds("0::/x", "x")); /* cut off, or without its newline */
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
		cmocka_unit_test(test_starter),	  cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
