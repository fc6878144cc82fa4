// SPDX-License-Identifier: Apache-2.0
/* Which operation of a service is done when, and who gets its answer. */
#include "serve/queue.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct queue queue;
static uint64_t ids;

static const struct serve_peer nobody = { .transport = WIRE_UNIX, .uid = 65534 };

static struct wire_to_broker ask(enum wire_op op, pid_t pid)
{
	return (struct wire_to_broker){
		.version = WIRE_VERSION, .kind = WIRE_ASK, .id = ++ids, .op = op, .pid = pid
	};
}

static struct job *added(const struct wire_to_broker *m, uint64_t now_ms)
{
	return queue_add(&queue, m, &nobody, -1, now_ms);
}

static struct job *add(enum wire_op op, pid_t pid)
{
	const struct wire_to_broker m = ask(op, pid);

	return added(&m, 0);
}

static struct job *run_next(void)
{
	struct job *job = queue_next(&queue);

	if (job)
		job->state = JOB_RUNNING;
	return job;
}

static void end(struct job *job, uint64_t now_ms)
{
	job->state = JOB_DONE;
	job->answer.bytes = 1;
	job->done_ms = now_ms;
}

static int begin(void **state)
{
	(void)state;
	queue_init(&queue, 2, 4);
	return 0;
}

/* Two at once, in the order they came. */
static void test_order(void **state)
{
	struct job *a = add(WIRE_STATUS, 1), *b = add(WIRE_STATUS, 2), *c = add(WIRE_STATUS, 3);

	(void)state;
	assert_ptr_equal(run_next(), a);
	assert_ptr_equal(run_next(), b);
	assert_null(run_next());
	end(b, 0);
	assert_ptr_equal(run_next(), c);
	assert_int_equal(queue_count(&queue, JOB_RUNNING), 2);
}

/* Of those that act on a process one; others go by. What is of none does not wait for any. */
static void test_one_each(void **state)
{
	struct job *a = add(WIRE_STATUS, 1), *b = add(WIRE_CHECK, 1), *c = add(WIRE_CHECK, 2);
	struct job *d, *e;

	(void)state;
	assert_ptr_equal(run_next(), a);
	assert_ptr_equal(run_next(), c);
	end(c, 0);
	assert_null(run_next());
	d = add(WIRE_LIST, 0);
	e = add(WIRE_METRICS, 0);
	assert_ptr_equal(run_next(), d);
	end(d, 0);
	assert_ptr_equal(run_next(), e);
	end(e, 0);
	end(a, 0);
	assert_ptr_equal(run_next(), b);
}

static struct job *add_for(const struct serve_peer *peer, pid_t pid)
{
	const struct wire_to_broker m = ask(WIRE_STATUS, pid);

	return queue_add(&queue, &m, peer, -1, 0);
}

/* Three quarters of the room is the most that one client has. */
static void test_full(void **state)
{
	static const struct serve_peer other = { .transport = WIRE_UNIX, .uid = 7 },
				       port = { .transport = WIRE_TCP, .name = "a" },
				       port_too = { .transport = WIRE_TCP, .name = "b" },
				       tls = { .transport = WIRE_TLS, .subject = "a" },
				       tls_too = { .transport = WIRE_TLS, .subject = "b" };

	(void)state;
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_non_null(add(WIRE_STATUS, pid));
	assert_null(add(WIRE_STATUS, 4));
	assert_non_null(add_for(&other, 4));
	assert_null(add_for(&other, 5));
	run_next();
	assert_non_null(add(WIRE_STATUS, 5));
	assert_null(add(WIRE_STATUS, 6));
	begin(state);
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_non_null(add_for(&port, pid));
	assert_null(add_for(&port, 4));
	assert_non_null(add_for(&port_too, 4));
	begin(state);
	for (pid_t pid = 1; pid <= 3; pid++)
		assert_non_null(add_for(&tls, pid));
	assert_null(add_for(&tls, 4));
	assert_non_null(add_for(&tls_too, 4));
}

/* The same profile is taken once for those who ask while it is taken, and within a second. */
static void test_shared(void **state)
{
	const struct wire_to_broker first = ask(WIRE_DUMP, 1), second = ask(WIRE_DUMP, 1),
				    third = ask(WIRE_DUMP, 1), late = ask(WIRE_DUMP, 1);
	struct job *a = added(&first, 0);

	(void)state;
	assert_ptr_equal(added(&second, 0), a);
	run_next();
	assert_ptr_equal(added(&third, 0), a);
	assert_int_equal(a->n, 3);
	assert_int_equal(a->shared, 2);
	end(a, 5000);
	a->n = 0;
	assert_ptr_equal(added(&late, 5000 + SHARED_MS - 1), a);
	assert_int_equal(a->n, 1);
	a->n = 0;
	assert_ptr_not_equal(added(&late, 5000 + SHARED_MS), a);
}

/* How a client showed who it is has no part in the answer. */
static void test_shared_by_all(void **state)
{
	struct wire_to_broker first = ask(WIRE_DUMP, 1), second = ask(WIRE_DUMP, 1);

	(void)state;
	first.flags = WIRE_HAS_TOKEN;
	second.flags = WIRE_HAS_CERTIFICATE;
	assert_ptr_equal(added(&second, 0), added(&first, 0));
}

/* What differs in anything is another one; so is one that failed, and what is no profile. */
static void test_not_shared(void **state)
{
	const struct wire_to_broker first = ask(WIRE_DUMP, 1);
	struct wire_to_broker other[] = { first, first, first, first, first };
	struct job *a = added(&first, 0), *b;

	(void)state;
	queue.waiting = 16;
	other[0].pid = 2;
	other[1].start_time = 1;
	other[2].format = WIRE_FORMAT_PPROF;
	other[3].flags = WIRE_IF_ACTIVE;
	other[4].seconds = 1;
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		assert_ptr_not_equal(added(&other[i], 0), a);
	run_next();
	end(a, 0);
	a->answer.code = ERR_FAILED;
	assert_ptr_not_equal(added(&first, 0), a);
	b = add(WIRE_STATUS, 9);
	assert_ptr_not_equal(add(WIRE_STATUS, 9), b);
}

/* A profile from before a change is not that of after it; that of another process is. */
static void test_not_shared_over_a_change(void **state)
{
	static const enum wire_op changes[] = { WIRE_ACTIVATE, WIRE_DEACTIVATE, WIRE_RESET };

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct job *before, *other, *change, *after;

		begin(state);
		queue.waiting = 8;
		before = add(WIRE_DUMP, 1);
		other = add(WIRE_DUMP, 2);
		change = add(changes[i], 1);
		after = add(WIRE_DUMP, 1);
		assert_ptr_not_equal(before, after);
		assert_ptr_equal(add(WIRE_DUMP, 1), after);
		assert_ptr_equal(add(WIRE_DUMP, 2), other);
		assert_int_equal(before->n, 1);
		assert_ptr_equal(run_next(), before);
		assert_ptr_equal(run_next(), other);
		end(before, 0);
		assert_ptr_equal(run_next(), change);
		end(change, 0);
		assert_ptr_equal(run_next(), after);
		/* What only asks is no change. */
		add(WIRE_STATUS, 1);
		assert_ptr_equal(add(WIRE_DUMP, 1), after);
	}
}

/* What is seen of all is looked at once for all who wait, but not from before they asked. */
static void test_overviews(void **state)
{
	struct job *a = add(WIRE_METRICS, 0), *b;

	(void)state;
	assert_ptr_equal(add(WIRE_METRICS, 0), a);
	assert_ptr_not_equal(add(WIRE_LIST, 0), a);
	assert_ptr_equal(run_next(), a);
	b = add(WIRE_METRICS, 0);
	assert_ptr_not_equal(b, a);
	end(a, 0);
	assert_ptr_equal(add(WIRE_METRICS, 0), b);
}

/* A profile of a time that has begun does not cover the time that is meant. */
static void test_long_not_shared(void **state)
{
	struct wire_to_broker m = ask(WIRE_DUMP, 1);
	struct job *a, *b;

	(void)state;
	m.seconds = 30;
	a = added(&m, 0);
	assert_ptr_equal(added(&m, 0), a);
	assert_ptr_equal(run_next(), a);
	b = added(&m, 0);
	assert_ptr_not_equal(b, a);
	end(a, 0);
	assert_ptr_equal(added(&m, 0), b);
}

/* They delay no operation of any process, and are limited, too: one more does not wait. */
static void test_long_ones(void **state)
{
	struct wire_to_broker m = ask(WIRE_DUMP, 1);
	struct job *a, *b;

	(void)state;
	queue.waiting = SERVE_WAITING_MAX;
	m.seconds = 30;
	for (unsigned int i = 0; i < SERVE_WORKERS_MAX; i++) {
		m.seconds++;
		a = added(&m, 0);
		assert_ptr_equal(run_next(), a);
	}
	m.seconds++;
	assert_null(added(&m, 0));
	a = add(WIRE_STATUS, 1);
	b = add(WIRE_STATUS, 2);
	assert_ptr_equal(run_next(), a);
	assert_ptr_equal(run_next(), b);
}

/* It is being stopped: who asks for the same now gets one of their own. */
static void test_stopped_not_shared(void **state)
{
	const struct wire_to_broker first = ask(WIRE_DUMP, 1), second = ask(WIRE_DUMP, 1);
	struct job *a = added(&first, 0), *b;

	(void)state;
	assert_ptr_equal(run_next(), a);
	assert_ptr_equal(queue_cancel(&queue, first.id), a);
	b = added(&second, 0);
	assert_ptr_not_equal(b, a);
	assert_null(run_next()); /* not before that one has left the process alone */
	end(a, 0);
	assert_ptr_equal(run_next(), b);
}

static void test_cancel(void **state)
{
	const struct wire_to_broker first = ask(WIRE_DUMP, 1), second = ask(WIRE_DUMP, 1),
				    third = ask(WIRE_DUMP, 2);
	struct job *a = added(&first, 0), *b;

	(void)state;
	added(&second, 0);
	assert_ptr_equal(run_next(), a);
	assert_null(queue_cancel(&queue, first.id)); /* somebody else waits for it */
	assert_null(queue_cancel(&queue, first.id));
	assert_ptr_equal(queue_cancel(&queue, second.id), a);
	b = added(&third, 0);
	assert_null(queue_cancel(&queue, third.id));
	assert_int_equal(b->state, JOB_FREE);
	assert_null(queue_cancel(&queue, 12345));
}

/* More than can share one answer get one of their own. */
static void test_many_askers(void **state)
{
	struct wire_to_broker m = ask(WIRE_DUMP, 1);
	struct job *a = added(&m, 0);

	(void)state;
	for (int i = 1; i < ASKERS_MAX; i++)
		assert_ptr_equal(added(&m, 0), a);
	assert_ptr_not_equal(added(&m, 0), a);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_descriptors(void **state)
{
	const struct wire_to_broker m = ask(WIRE_SYMBOLS, 1);
	int kept = dup(0), refused = dup(0);
	struct job *job;

	(void)state;
	queue.waiting = 1;
	job = queue_add(&queue, &m, &nobody, kept, 0);
	assert_null(queue_add(&queue, &m, &nobody, refused, 0));
	assert_false(is_open(refused));
	assert_true(is_open(kept));
	job_free(job);
	assert_false(is_open(kept));
}

/* What is done and answered goes after a while, or when there is no room; nothing else does. */
/* A run has its own worker, is found by its number, and who stopped it waits for its end. */
static void test_runs(void **state)
{
	static const struct serve_peer other = { .transport = WIRE_UNIX, .uid = 7 };
	struct job *runs[SERVE_WORKERS_MAX], *stop, *job;
	struct wire_to_broker m;

	(void)state;
	for (int i = 0; i < SERVE_WORKERS_MAX; i++) {
		m = ask(i % 2 ? WIRE_SAMPLE : WIRE_RECORD, 7);
		/* One client has three quarters of them at most. */
		if (i == SERVE_WORKERS_MAX / 4 * 3)
			assert_null(added(&m, 0));
		queue_add(&queue, &m, i < SERVE_WORKERS_MAX / 4 * 3 ? &nobody : &other, -1, 0);
		runs[i] = run_next();
		assert_non_null(runs[i]); /* also of the same process */
		runs[i]->run = (uint64_t)i + 1;
	}
	m = ask(WIRE_RECORD, 8);
	assert_null(queue_add(&queue, &m, &other, -1, 0));
	assert_ptr_equal(queue_find_run(&queue, 3), runs[2]);
	assert_null(queue_find_run(&queue, 99));
	assert_null(queue_find_run(&queue, 0));
	/* Neither is who wants something of the process kept waiting. */
	assert_non_null(add(WIRE_STATUS, 7));
	job = run_next();
	assert_non_null(job);
	end(job, 0);
	m = ask(WIRE_RUN_STOP, 0);
	m.run = 3;
	stop = added(&m, 0);
	assert_non_null(stop);
	assert_null(run_next());
	end(runs[2], 0);
	assert_ptr_equal(run_next(), stop);
	end(stop, 0);
	/* The same by the words that name no run. */
	runs[3]->run = 4;
	assert_int_equal(queue_run_of(&queue, runs[3]->ask.pid), 0);
	runs[3]->began = true;
	assert_int_equal(queue_run_of(&queue, runs[3]->ask.pid), 4);
	assert_int_equal(queue_run_of(&queue, runs[3]->ask.pid + 1000), 0);
	m = ask(WIRE_MESOS_STOP, runs[3]->ask.pid);
	m.run = 4;
	stop = added(&m, 0);
	assert_non_null(stop);
	assert_null(run_next());
	end(runs[3], 0);
	assert_int_equal(queue_run_of(&queue, runs[3]->ask.pid), 0);
	assert_ptr_equal(run_next(), stop);
	end(stop, 0);
	/* There is room for another one. */
	assert_non_null(add(WIRE_RECORD, 8));
	assert_non_null(run_next());
}

/* What a run changed is seen by who asks from now on. */
static void test_age(void **state)
{
	struct job *job = add(WIRE_DUMP, 7);

	(void)state;
	assert_ptr_equal(run_next(), job);
	end(job, 0);
	assert_ptr_equal(add(WIRE_DUMP, 7), job);
	queue_age(&queue, 8);
	assert_ptr_equal(add(WIRE_DUMP, 7), job);
	queue_age(&queue, 7);
	assert_ptr_not_equal(add(WIRE_DUMP, 7), job);
}

static void test_forget(void **state)
{
	struct job *a = add(WIRE_STATUS, 1), *b = add(WIRE_STATUS, 2), *c = add(WIRE_STATUS, 3);

	(void)state;
	end(a, 0);
	a->n = 0;
	end(b, 0);
	queue_forget(&queue, SHARED_MS - 1);
	assert_int_equal(a->state, JOB_DONE);
	queue_forget(&queue, SHARED_MS);
	assert_int_equal(a->state, JOB_FREE);
	assert_int_equal(b->state, JOB_DONE); /* its answer could not be sent yet */
	assert_int_equal(c->state, JOB_WAITING);
}

static void test_room(void **state)
{
	(void)state;
	queue.waiting = SERVE_WAITING_MAX;
	for (pid_t pid = 1; pid <= JOBS_MAX; pid++) {
		struct job *job = add(WIRE_STATUS, pid);

		end(job, (uint64_t)pid);
		job->n = 0;
	}
	assert_non_null(add(WIRE_STATUS, 12345));
	assert_int_equal(queue_count(&queue, JOB_DONE), JOBS_MAX - 1);
	for (size_t i = 0; i < JOBS_MAX; i++)
		assert_int_not_equal(queue.v[i].ask.pid, 1); /* the oldest went */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order, begin),
		cmocka_unit_test_setup(test_one_each, begin),
		cmocka_unit_test_setup(test_full, begin),
		cmocka_unit_test_setup(test_shared, begin),
		cmocka_unit_test_setup(test_shared_by_all, begin),
		cmocka_unit_test_setup(test_not_shared, begin),
		cmocka_unit_test(test_not_shared_over_a_change),
		cmocka_unit_test_setup(test_overviews, begin),
		cmocka_unit_test_setup(test_long_not_shared, begin),
		cmocka_unit_test_setup(test_long_ones, begin),
		cmocka_unit_test_setup(test_stopped_not_shared, begin),
		cmocka_unit_test_setup(test_cancel, begin),
		cmocka_unit_test_setup(test_many_askers, begin),
		cmocka_unit_test_setup(test_descriptors, begin),
		cmocka_unit_test_setup(test_runs, begin),
		cmocka_unit_test_setup(test_age, begin),
		cmocka_unit_test_setup(test_forget, begin),
		cmocka_unit_test_setup(test_room, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
