// SPDX-License-Identifier: Apache-2.0
/* A process that reports events: which are received, which are lost, and when it is restarted. */
#include "serve/feed.h"

#include "base/cleanup.h"
#include "base/signals.h"
#include "tests/unit/said.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 60000
#define MANY 5000

static struct feed feed;

/* The actions of the feed process, passed as `ctx`. */
struct script {
	unsigned int events; /* number of events, and size of each */
	size_t bytes;
	bool stays, fails;
};

static void wait_for_stop(int stop_fd)
{
	struct pollfd fd = { .fd = stop_fd, .events = POLLIN };

	poll(&fd, 1, PATIENCE_MS);
}

static int play(const void *ctx, const struct feed_out *out, int stop_fd, struct err *err)
{
	const struct script *s = ctx;
	struct feed_message m = { .kind = FEED_READY, .number = 3 };

	feed_tell(out, &m);
	for (unsigned int i = 1; i <= s->events; i++) {
		struct feed_message e = { .kind = FEED_EVENT, .pid = 7, .number = i, .ok = i & 1 };

		e.text.for_role[WIRE_ROLE_READ] = calloc(1, s->bytes + 1);
		memset(e.text.for_role[WIRE_ROLE_READ], 'x', s->bytes);
		feed_tell(out, &e);
		feed_message_fini(&e);
	}
	if (s->stays)
		wait_for_stop(stop_fd);
	return s->fails ? err_raise(err, ERROR_NO_SUCH_GROUP, .name = "wheel") : 0;
}

static void begin(const struct script *script)
{
	struct err err = ERR_INIT;

	if (feed_open(&feed, play, script, &err) || feed_start(&feed, NULL, 0, &err))
		fail_msg("%s", said(&err));
}

/* The next message, within the second that begins at `now`. False: the feed has ended. */
static bool next(uint64_t now, struct feed_message *m)
{
	struct pollfd fds[] = { { .fd = feed_fd(&feed, now), .events = POLLIN } };

	assert_true(fds[0].fd >= 0);
	poll(fds, 1, PATIENCE_MS);
	return feed_hear(&feed, now, m);
}

static bool take(uint64_t now)
{
	struct err err = ERR_INIT;

	return feed_take(&feed, now, &err);
}

static void test_messages(void **state)
{
	const struct script script = { .events = 3, .bytes = 5 };
	struct feed_message m;

	(void)state;
	begin(&script);
	assert_true(next(0, &m));
	assert_int_equal(m.kind, FEED_READY);
	assert_int_equal(m.number, 3);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_true(next(0, &m));
		assert_int_equal(m.kind, FEED_EVENT);
		assert_int_equal(m.number, i);
		assert_int_equal(m.pid, 7);
		assert_int_equal(m.ok, i & 1);
		assert_string_equal(m.text.for_role[WIRE_ROLE_READ], "xxxxx");
		assert_null(m.text.for_role[WIRE_ROLE_CONTROL]);
		feed_message_fini(&m);
	}
	assert_false(next(0, &m)); /* the feed has ended */
	assert_int_equal(feed_fd(&feed, 0), -1);
	assert_true(take(5));
	assert_int_equal(feed_lost(&feed, 5000), 0);
	feed_close(&feed);
}

/* A limited number per second. The rest waits while there is room, and is then lost and counted. */
static void test_many(void **state)
{
	const struct script script = { .events = MANY, .bytes = 1000 };
	uint64_t heard = 0, lost, now = 1000;
	struct feed_message m;

	(void)state;
	begin(&script);
	assert_true(take(now)); /* everything has been sent */
	while (feed_fd(&feed, now) >= 0) {
		unsigned int n = 0;

		while (feed_hear(&feed, now, &m)) {
			feed_message_fini(&m);
			n++;
		}
		assert_true(n <= FEED_PER_S);
		heard += n;
		if (feed_fd(&feed, now) < 0 && feed.sock >= 0) {
			assert_true(feed_next_ms(&feed) <= now + 1000);
			assert_int_equal(feed_fd(&feed, now + 999), -1);
			now += 1000;
		}
	}
	assert_true(heard > FEED_PER_S);
	lost = feed_lost(&feed, now + 1000);
	assert_true(lost > 0);
	assert_int_equal(heard + lost, MANY + 1);
	assert_int_equal(feed_lost(&feed, now + 3000), 0);
	feed_close(&feed);
}

static void test_too_long(void **state)
{
	const struct script script = { .events = 1, .bytes = 4 * EVENT_MAX };
	struct feed_message m;

	(void)state;
	begin(&script);
	assert_true(next(0, &m));
	assert_false(next(0, &m));
	assert_int_equal(feed_lost(&feed, 1000), 1);
	assert_true(take(0));
	feed_close(&feed);
}

/* Malformed messages count as lost. */
static void test_malformed(void **state)
{
	const struct script script = { .stays = true };
	struct feed_out out;
	struct feed_message m = { .kind = FEED_EVENT };
	int ends[2];

	(void)state;
	begin(&script);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	close(feed.sock);
	feed.sock = ends[0];
	out = (struct feed_out){ ends[1], feed.lost };
	assert_int_equal(send(ends[1], "x", 1, 0), 1);
	m.text.for_role[WIRE_ROLE_READ] = (char *)"two\nlines";
	feed_tell(&out, &m);
	m.kind = FEED_KINDS;
	m.text.for_role[WIRE_ROLE_READ] = NULL;
	feed_tell(&out, &m);
	m.kind = 0;
	feed_tell(&out, &m);
	assert_false(feed_hear(&feed, 0, &m));
	assert_int_equal(feed_lost(&feed, 1000), 4);
	m = (struct feed_message){ .kind = FEED_EVENT };
	feed_tell(&out, &m); /* control: a valid message */
	assert_true(feed_hear(&feed, 1000, &m));
	close(ends[1]);
	subprocess_stop(&feed.process);
	assert_true(take(0));
	feed_close(&feed);
}

/* It is restarted with an increasing delay, and the same cause is reported only once. */
static void test_again(void **state)
{
	const struct script script = { .fails = true };
	uint64_t now = 1000, after = 1000;
	struct feed_message m;
	struct err err = ERR_INIT;

	(void)state;
	begin(&script);
	for (int i = 0; i < 12; i++) {
		struct err why = ERR_INIT;

		assert_int_equal(feed_take(&feed, now, &why), i == 0);
		assert_int_equal(why.ids[0], ERROR_NO_SUCH_GROUP);
		while (feed_hear(&feed, now, &m))
			feed.ready = false; /* as if it had not been received */
		assert_int_equal(feed_next_ms(&feed), now + after);
		assert_false(feed_start(&feed, NULL, now + after - 1, &err));
		assert_int_equal(feed.process.pidfd, -1);
		now += after;
		assert_false(feed_start(&feed, NULL, now, &err));
		assert_true(feed.process.pidfd >= 0);
		after = 2 * after < 300000 ? 2 * after : 300000;
	}
	/* It has worked for a while, so the delay is short again. */
	feed.ready = true;
	now += 60000;
	assert_true(take(now));
	assert_int_equal(feed_next_ms(&feed), now + 1000);
	feed_close(&feed);
}

static void test_killed(void **state)
{
	const struct script script = { .stays = true };
	struct err err = ERR_INIT;

	(void)state;
	begin(&script);
	kill(feed.process.pid, SIGKILL);
	assert_true(feed_take(&feed, 0, &err));
	assert_int_equal(err.ids[0], ERROR_SUBPROCESS_DIED);
	feed_close(&feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages), cmocka_unit_test(test_many),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_again),	 cmocka_unit_test(test_killed),
	};
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct err err = ERR_INIT;

	if (signals_open(&stop, &err))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
