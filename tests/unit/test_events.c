// SPDX-License-Identifier: Apache-2.0
/*
 * The newest events, and how clients receive them: each once and in order, or with a line that says
 * that some were lost.
 */
#include "serve/events.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BEGIN 1000000

static struct events events;
static uint64_t ids;

static const struct serve_peer nobody = { .transport = WIRE_UNIX,
					  .uid = 65534,
					  .role = WIRE_ROLE_CONTROL };

static int begin(void **state)
{
	(void)state;
	events_init(&events, BEGIN);
	return 0;
}

static int end(void **state)
{
	(void)state;
	events_fini(&events);
	assert_int_equal(events.bytes, 0);
	return 0;
}

static void add(pid_t pid, const char *members, uint64_t time)
{
	struct event_text text = { { [WIRE_ROLE_READ] = strdup(members) } };

	events_add(&events, pid, &text, time);
	assert_null(text.for_role[WIRE_ROLE_READ]);
}

/* NULL: there are too many waiters. */
static struct waiter *wait_since(uint64_t since, pid_t pid, const struct serve_peer *peer)
{
	const struct wire_to_broker ask = { .id = ++ids,
					    .op = WIRE_EVENTS,
					    .flags = since ? WIRE_HAS_SINCE : 0,
					    .since = since,
					    .pid = pid,
					    .seconds = 10 };

	if (!events_wait(&events, &ask, peer, 0))
		return NULL;
	for (size_t i = 0; i < WAITERS_MAX; i++)
		if (events.waiters[i].id == ids)
			return &events.waiters[i];
	fail_msg("who waits is not there");
	return NULL;
}

/* The answer to `w`. The caller frees it. */
static char *answer(struct waiter *w, uint64_t *next)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	bool some = events_answer(&events, w, f, next);

	fclose(f);
	assert_int_equal(some, len > 0);
	w->id = 0;
	return text;
}

static void assert_answer(struct waiter *w, const char *want, uint64_t next)
{
	uint64_t is;
	char *text = answer(w, &is);

	assert_string_equal(text, want);
	assert_int_equal(is, next);
	free(text);
}

static void test_ids(void **state)
{
	(void)state;
	add(0, "\"a\":1", BEGIN + 5);
	add(0, "\"a\":2", BEGIN + 5);	 /* at the same time */
	add(0, "\"a\":3", BEGIN - 1000); /* the clock was set back */
	add(0, "\"a\":4", BEGIN + 100);
	assert_answer(wait_since(BEGIN, 0, &nobody),
		      "{\"id\":1000005,\"a\":1}\n{\"id\":1000006,\"a\":2}\n"
		      "{\"id\":1000007,\"a\":3}\n{\"id\":1000100,\"a\":4}\n",
		      BEGIN + 100);
	assert_answer(wait_since(BEGIN + 6, 0, &nobody),
		      "{\"id\":1000007,\"a\":3}\n{\"id\":1000100,\"a\":4}\n", BEGIN + 100);
}

static void test_waiting(void **state)
{
	struct waiter *all, *one, *old;

	(void)state;
	assert_null(events_due(&events, 0));
	assert_int_equal(events_next_ms(&events), UINT64_MAX);
	add(7, "\"a\":0", BEGIN + 1);
	all = wait_since(0, 0, &nobody); /* from now on */
	one = wait_since(0, 8, &nobody);
	assert_null(events_due(&events, 9999));
	assert_int_equal(events_next_ms(&events), 10000);
	old = wait_since(BEGIN, 0, &nobody);
	assert_ptr_equal(events_due(&events, 0), old);
	assert_answer(old, "{\"id\":1000001,\"a\":0}\n", BEGIN + 1);
	add(7, "\"a\":1", BEGIN + 2);
	assert_ptr_equal(events_due(&events, 0), all);
	assert_answer(all, "{\"id\":1000002,\"a\":1}\n", BEGIN + 2);
	assert_null(events_due(&events, 0));
	add(8, "\"a\":2", BEGIN + 3);
	assert_ptr_equal(events_due(&events, 0), one);
	assert_answer(one, "{\"id\":1000003,\"a\":2}\n", BEGIN + 3);

	/* No event matched: the waiter continues after the events that were not for it. */
	one = wait_since(BEGIN + 3, 8, &nobody);
	add(7, "\"a\":3", BEGIN + 4);
	assert_null(events_due(&events, 9999));
	assert_ptr_equal(events_due(&events, 10000), one);
	assert_answer(one, "", BEGIN + 4);

	/* An event about no single process is for everyone. */
	one = wait_since(BEGIN + 4, 8, &nobody);
	add(0, "\"a\":4", BEGIN + 5);
	assert_ptr_equal(events_due(&events, 0), one);
	events_cancel(&events, 0);
	assert_ptr_equal(events_due(&events, 0), one);
	events_cancel(&events, one->id + 1);
	assert_ptr_equal(events_due(&events, 0), one);
	events_cancel(&events, one->id);
	assert_null(events_due(&events, UINT64_MAX));
}

static void test_roles(void **state)
{
	struct serve_peer peer = nobody;
	struct event_text text = { 0 };

	(void)state;
	text.for_role[WIRE_ROLE_READ] = strdup("\"r\":1");
	text.for_role[WIRE_ROLE_PROFILE] = strdup("\"p\":1");
	text.for_role[WIRE_ROLE_CONTROL] = strdup("\"c\":1");
	events_add(&events, 0, &text, BEGIN + 1);
	peer.role = WIRE_ROLE_READ;
	assert_answer(wait_since(BEGIN, 0, &peer), "{\"id\":1000001,\"r\":1}\n", BEGIN + 1);
	peer.role = WIRE_ROLE_PROFILE;
	assert_answer(wait_since(BEGIN, 0, &peer), "{\"id\":1000001,\"r\":1,\"p\":1}\n", BEGIN + 1);
	peer.role = WIRE_ROLE_CONTROL;
	assert_answer(wait_since(BEGIN, 0, &peer), "{\"id\":1000001,\"r\":1,\"p\":1,\"c\":1}\n",
		      BEGIN + 1);
}

#define LOST(gone, since)                                                    \
	"{\"id\":" gone ",\"type\":\"lost\",\"time\":\"1970-01-01T00:00:01." \
	"000000Z\",\"what\":\"events\",\"count\":null,\"since\":" since "}\n"

static void test_lost(void **state)
{
	struct waiter *w;

	(void)state;
	/* An id from before the start of the service: the loss is reported at once, and once. */
	w = wait_since(BEGIN - 1, 0, &nobody);
	assert_ptr_equal(events_due(&events, 0), w);
	assert_answer(w, LOST("1000000", "999999"), BEGIN);
	w = wait_since(BEGIN, 0, &nobody);
	assert_null(events_due(&events, 0));
	events_cancel(&events, w->id);

	/* An id from the future, since the clock was set back: all events are new. */
	add(7, "\"a\":0", BEGIN + 1);
	w = wait_since(BEGIN + 2, 8, &nobody);
	assert_answer(w, LOST("1000000", "1000002"), BEGIN + 1);
	w = wait_since(BEGIN + 2, 7, &nobody);
	assert_answer(w, LOST("1000000", "1000002") "{\"id\":1000001,\"a\":0}\n", BEGIN + 1);
}

/* The answer begins with the loss of the first event, and continues with the second one. */
static void assert_overtaken(struct waiter *w)
{
	uint64_t next;
	char *text = answer(w, &next), *second = strchr(text, '\n') + 1;

	assert_ptr_equal(strstr(text, "{\"id\":1000001,\"type\":\"lost\","), text);
	assert_ptr_equal(strstr(second, "{\"id\":1000002,"), second);
	assert_non_null(strstr(text, "\"since\":1000000}\n"));
	assert_int_equal(next, events.last);
	free(text);
}

/*
 * The front takes no answers for a while. Meanwhile, an event is dropped that the clients wait for.
 */
static void test_overtaken(void **state)
{
	struct waiter *w, *new;

	(void)state;
	w = wait_since(BEGIN, 0, &nobody);
	new = wait_since(0, 0, &nobody);
	assert_null(events_due(&events, 0));
	for (size_t i = 1; i <= EVENTS_MAX + 1; i++)
		add(7, "\"a\":0", BEGIN + i);
	assert_ptr_equal(events_due(&events, 0), w);
	assert_overtaken(w);
	assert_ptr_equal(events_due(&events, 0), new);
	assert_overtaken(new);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

static void test_number(void **state)
{
	uint64_t next;
	char *text;

	(void)state;
	for (uint64_t i = 1; i <= EVENTS_MAX + 3; i++)
		add(0, "\"a\":0", BEGIN + i);
	assert_int_equal(events.n, EVENTS_MAX);
	assert_int_equal(events.gone, BEGIN + 3);
	text = answer(wait_since(BEGIN + 2, 0, &nobody), &next);
	assert_int_equal(count_lines(text), EVENTS_MAX + 1);
	assert_true(strstr(text, "\"type\":\"lost\"") != NULL);
	assert_int_equal(next, BEGIN + EVENTS_MAX + 3);
	free(text);
	text = answer(wait_since(BEGIN + 3, 0, &nobody), &next);
	assert_int_equal(count_lines(text), EVENTS_MAX);
	assert_null(strstr(text, "lost"));
	free(text);
}

static char *filler(size_t len)
{
	char *text = malloc(len + 1);

	memset(text, 'x', len);
	text[len] = '\0';
	return text;
}

/* Limits in bytes: of all events, of one event, and of an answer, which then comes in parts. */
static void test_bytes(void **state)
{
	uint64_t next = BEGIN, before;
	size_t lines = 0;

	(void)state;
	for (uint64_t i = 1; i <= EVENTS_MAX; i++) {
		char *text = filler(EVENT_MAX - 100);

		add(0, text, BEGIN + i);
		free(text);
		assert_true(events.bytes <= EVENTS_BYTES);
	}
	assert_int_equal(events.n, EVENTS_BYTES / EVENT_MAX);
	next = events.gone;
	do {
		struct waiter *w = wait_since(next, 0, &nobody);
		char *text = events_due(&events, 0) ? answer(w, &next) : NULL;

		before = lines;
		lines += text ? count_lines(text) : 0;
		assert_true(!text || strlen(text) < ANSWER_MAX + EVENT_MAX);
		assert_true(!text || lines > before);
		free(text);
	} while (lines > before);
	assert_int_equal(lines, events.n);
	assert_int_equal(next, events.last);
}

static void test_long(void **state)
{
	struct event_text text = { 0 };
	uint64_t next;
	char *line;

	(void)state;
	text.for_role[WIRE_ROLE_READ] = strdup("\"r\":1");
	text.for_role[WIRE_ROLE_PROFILE] = filler(EVENT_MAX);
	events_add(&events, 0, &text, BEGIN + 1);
	line = answer(wait_since(BEGIN, 0, &nobody), &next);
	assert_string_equal(line, "{\"id\":1000001,\"r\":1}\n");
	free(line);
}

/* The owner can use all places, and any other peer three quarters of them. */
static void test_full(void **state)
{
	const struct serve_peer owner = { .transport = WIRE_UNIX, .uid = geteuid() };
	struct serve_peer token = { .transport = WIRE_TCP, .name = "one" };
	size_t n = 0;

	(void)state;
	while (wait_since(0, 0, &token))
		n++;
	assert_int_equal(n, WAITERS_MAX / 4 * 3);
	strcpy(token.name, "two");
	assert_non_null(wait_since(0, 0, &token));
	for (n++; wait_since(0, 0, &owner); n++)
		;
	assert_int_equal(n, WAITERS_MAX);
	assert_null(wait_since(0, 0, &token));
	events_cancel(&events, 0);
	assert_null(wait_since(0, 0, &owner));
	events_cancel(&events, events.waiters[5].id);
	assert_non_null(wait_since(0, 0, &owner));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ids, begin, end),
		cmocka_unit_test_setup_teardown(test_waiting, begin, end),
		cmocka_unit_test_setup_teardown(test_roles, begin, end),
		cmocka_unit_test_setup_teardown(test_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_overtaken, begin, end),
		cmocka_unit_test_setup_teardown(test_number, begin, end),
		cmocka_unit_test_setup_teardown(test_bytes, begin, end),
		cmocka_unit_test_setup_teardown(test_long, begin, end),
		cmocka_unit_test_setup_teardown(test_full, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
