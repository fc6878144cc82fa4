// SPDX-License-Identifier: Apache-2.0
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const struct wire_to_broker ask = { .version = WIRE_VERSION,
					   .kind = WIRE_ASK,
					   .connection = 1,
					   .id = 1,
					   .op = WIRE_DUMP,
					   .pid = 1 };

static void test_kinds(void **state)
{
	struct wire_to_broker m = ask;

	(void)state;
	assert_true(wire_is_valid(&m, false));
	assert_false(wire_is_valid(&m, true));
	m.version++;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	for (m.kind = 0; m.kind < 10; m.kind++)
		assert_int_equal(wire_is_valid(&m, false),
				 m.kind >= WIRE_READY && m.kind < WIRE_TO_BROKER_KINDS);
	for (m.kind = 0; m.kind < 10; m.kind++)
		assert_false(wire_is_valid(&m, true));
	m.kind = UINT32_MAX;
	assert_false(wire_is_valid(&m, false));
}

/* An operation on a process requires a PID; one on a run requires a run, and no PID. */
static void test_ops(void **state)
{
	struct wire_to_broker m = ask;

	(void)state;
	for (m.op = 0; m.op < WIRE_OPS + 3; m.op++) {
		bool is_one = m.op > WIRE_OP_NONE && m.op < WIRE_OPS;
		enum wire_about about = is_one ? wire_about(m.op) : WIRE_OF_ALL;

		m.duration_ms = 1;
		m.pid = about == WIRE_OF_PROCESS;
		m.run = about == WIRE_OF_RUN;
		m.words = is_one ? wire_words_of(m.op) : 0;
		assert_int_equal(wire_is_valid(&m, m.op == WIRE_SYMBOLS), is_one);
		assert_false(wire_is_valid(&m, m.op != WIRE_SYMBOLS));
		m.duration_ms = 0;
		assert_int_equal(wire_is_valid(&m, m.op == WIRE_SYMBOLS),
				 is_one && !wire_is_run(m.op));
		m.duration_ms = m.seconds = 1;
		assert_int_equal(wire_is_valid(&m, m.op == WIRE_SYMBOLS),
				 m.op == WIRE_DUMP || m.op == WIRE_EVENTS);
		m.seconds = 0;
		m.pid = m.run = 0;
		assert_int_equal(wire_is_valid(&m, m.op == WIRE_SYMBOLS),
				 is_one && about == WIRE_OF_ALL);
		m.pid = m.run = 1;
		assert_int_equal(wire_is_valid(&m, m.op == WIRE_SYMBOLS),
				 is_one && about != WIRE_OF_RUN);
	}
	m = ask;
	m.op = UINT32_MAX;
	assert_false(wire_is_valid(&m, false));
}

/* The largest valid value, and the smallest invalid one. */
static void test_bounds(void **state)
{
	struct wire_to_broker m = ask;

	(void)state;
	m.format = WIRE_FORMATS - 1;
	assert_true(wire_is_valid(&m, false));
	m.format = WIRE_FORMATS;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.flags = WIRE_FLAGS & ~WIRE_AT_ROOT;
	assert_true(wire_is_valid(&m, false));
	m.flags = WIRE_FLAGS + 1;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.pid = INT32_MAX;
	assert_true(wire_is_valid(&m, false));
	m.pid = -1;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	memset(m.subject, 'a', sizeof(m.subject) - 1);
	assert_true(wire_is_valid(&m, false));
	m.subject[sizeof(m.subject) - 1] = 'a';
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.seconds = WIRE_SECONDS_MAX;
	assert_true(wire_is_valid(&m, false));
	m.seconds = WIRE_SECONDS_MAX + 1;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.op = WIRE_EVENTS;
	m.since = UINT64_MAX;
	m.seconds = WIRE_WAIT_MAX;
	assert_true(wire_is_valid(&m, false));
	m.seconds++;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.lg_sample = 63;
	assert_true(wire_is_valid(&m, false));
	m.lg_sample = 64;
	assert_false(wire_is_valid(&m, false));
	m.lg_sample = -1;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.duration_ms = WIRE_DURATION_MAX_MS;
	assert_true(wire_is_valid(&m, false));
	m.duration_ms++;
	assert_false(wire_is_valid(&m, false));
}

static void test_words(void **state)
{
	struct wire_to_broker m = ask;

	(void)state;
	for (m.words = 0; m.words < WIRE_WORDS; m.words++)
		assert_true(wire_is_valid(&m, false));
	assert_false(wire_is_valid(&m, false));
	m.op = WIRE_MESOS_STATE;
	for (m.words = 0; m.words < WIRE_WORDS; m.words++)
		assert_int_equal(wire_is_valid(&m, false), m.words == WIRE_MESOS);
	m.words = WIRE_MESOS;
	m.flags = WIRE_AT_ROOT;
	assert_false(wire_is_valid(&m, false));
	m.pid = 0;
	assert_true(wire_is_valid(&m, false));
	m.start_time = 1;
	assert_false(wire_is_valid(&m, false));
	m = ask;
	m.pid = 0;
	m.flags = WIRE_AT_ROOT;
	assert_false(wire_is_valid(&m, false));
	assert_int_equal(wire_words_of(WIRE_RUN_DELETE), WIRE_OWN_WORDS);
	assert_int_equal(wire_words_of(WIRE_MESOS_START), WIRE_MESOS);
	assert_int_equal(wire_words_of(WIRE_MESOS_DOWNLOAD), WIRE_MESOS);
	assert_int_equal(wire_words_of(WIRE_MTEV_STATE), WIRE_MTEV);
	assert_int_equal(wire_words_of(WIRE_TIKV_LIST), WIRE_TIKV);
}

static void test_loaded(void **state)
{
	struct wire_to_broker m = { .version = WIRE_VERSION, .kind = WIRE_LOADED };

	(void)state;
	m.id = WIRE_LOADED_STATES - 1;
	assert_true(wire_is_valid(&m, false));
	assert_false(wire_is_valid(&m, true));
	m.id = WIRE_LOADED_STATES;
	assert_false(wire_is_valid(&m, false));
	m.id = UINT64_C(1) << 32;
	assert_false(wire_is_valid(&m, false));
	for (int loaded = 0; loaded < WIRE_LOADED_STATES; loaded++)
		assert_int_equal(wire_loaded_is_good((enum wire_loaded)loaded),
				 loaded == WIRE_LOADED_GOOD || loaded == WIRE_LOADED_EXPIRED ||
					 loaded == WIRE_LOADED_EARLY);
}

static void test_tables(void **state)
{
	(void)state;
	for (enum wire_op op = WIRE_OP_NONE + 1; op < WIRE_OPS; op++) {
		const struct wire_to_broker m = { .op = op },
					    touch = { .op = op, .flags = WIRE_TOUCH };

		assert_non_null(wire_op_name(op));
		assert_in_range(wire_role_needed(&m), WIRE_ROLE_READ, WIRE_ROLES - 1);
		assert_true(wire_role_needed(&touch) >= WIRE_ROLE_PROFILE);
		assert_true(wire_role_needed(&touch) >= wire_role_needed(&m));
	}
	for (enum wire_format f = 0; f < WIRE_FORMATS; f++) {
		assert_non_null(strchr(wire_media_type(f), '/'));
		assert_int_equal(wire_suffix(f)[0], '.');
	}
}

/* --- over a socket --- */

static int pair[2];

static int make_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* The lowest free descriptor. If it is still the same later, nothing was left open. */
static int next_fd(void)
{
	int fd = fcntl(0, F_DUPFD, 3);

	close(fd);
	return fd;
}

static void test_send(void **state)
{
	struct wire_to_broker got = { 0 };
	int fd;

	(void)state;
	assert_int_equal(wire_send(pair[0], &ask, sizeof(ask), -1), 0);
	assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), 1);
	assert_memory_equal(&got, &ask, sizeof(ask));
	assert_int_equal(fd, -1);
	close(pair[0]);
	assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(wire_send(pair[1], &ask, sizeof(ask), -1), -1);
	assert_int_equal(errno, EPIPE);
}

static void test_send_fd(void **state)
{
	struct wire_to_broker got;
	int ends[2], fd;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(wire_send(pair[0], &ask, sizeof(ask), ends[1]), 0);
	close(ends[1]);
	assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), 1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	close(ends[0]);
}

static void test_full(void **state)
{
	struct wire_to_broker got;
	int fd;

	(void)state;
	assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), -1);
	assert_int_equal(errno, EAGAIN);
	while (!wire_send(pair[0], &ask, sizeof(ask), -1))
		;
	assert_int_equal(errno, EAGAIN);
}

static void send_fds(const void *bytes, size_t size, const int *fds, size_t n)
{
	char control[CMSG_SPACE(4 * sizeof(int))] = { 0 };
	struct iovec io = { (void *)bytes, size };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	assert_int_equal(sendmsg(pair[0], &msg, 0), size);
}

/* An invalid message is an error, and file descriptors that came with it are closed. */
static void test_bad(void **state)
{
	static const char bytes[sizeof(ask) + 1];
	static const int two[] = { 0, 0, 0, 0 };
	static const struct {
		size_t size, fds;
	} rows[] = {
		{ sizeof(ask) - 1, 1 }, { sizeof(ask) + 1, 1 }, { 1, 1 },
		{ sizeof(ask), 2 },	{ sizeof(ask), 3 },	{ sizeof(ask), 4 },
	};
	struct wire_to_broker got;
	int fd, next = next_fd();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		send_fds(bytes, rows[i].size, two, rows[i].fds);
		assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), -1);
		assert_int_equal(errno, EBADMSG);
		assert_int_equal(fd, -1);
		assert_int_equal(next_fd(), next);
	}
	send_fds(bytes, 0, two, 1);
	assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), 0);
	assert_int_equal(next_fd(), next);
	assert_int_equal(send(pair[0], bytes, sizeof(ask) + 1, 0), sizeof(ask) + 1);
	assert_int_equal(wire_receive(pair[1], &got, sizeof(got), &fd), -1);
	assert_int_equal(errno, EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_tables),
		cmocka_unit_test_setup_teardown(test_send, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_send_fd, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_full, make_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_bad, make_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
