// SPDX-License-Identifier: Apache-2.0
/* When a service runs each operation, and who gets its answer. */
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

/* Two run at once, in the order in which they were added. */
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

/*
 * Only one operation per process runs at a time; operations on other processes, or on none, do not
 * wait for it.
 */
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

/* One client gets at most three quarters of the queue. */
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

/* A profile is taken once for all who ask while it is being taken, or within a second. */
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

/* How a client authenticated does not affect the answer. */
static void test_shared_by_all(void **state)
{
	struct wire_to_broker first = ask(WIRE_DUMP, 1), second = ask(WIRE_DUMP, 1);

	(void)state;
	first.flags = WIRE_HAS_TOKEN;
	second.flags = WIRE_HAS_CERTIFICATE;
	assert_ptr_equal(added(&second, 0), added(&first, 0));
}

/* A request that differs in anything is not shared; nor is a failed one, or one for no profile. */
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

/* A profile from before a change is not shared after it, unless it is of another process. */
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
		/* A query is not a change. */
		add(WIRE_STATUS, 1);
		assert_ptr_equal(add(WIRE_DUMP, 1), after);
	}
}

/* An overview is taken once for all who wait for it, but not shared from before they asked. */
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

/* A profile over a time that has already begun does not cover the requested time. */
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

/* Long dumps delay no operation on any process. Their number is limited: one more is refused. */
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

/* A dump that is being stopped is not shared: the next request gets its own. */
static void test_stopped_not_shared(void **state)
{
	const struct wire_to_broker first = ask(WIRE_DUMP, 1), second = ask(WIRE_DUMP, 1);
	struct job *a = added(&first, 0), *b;

	(void)state;
	assert_ptr_equal(run_next(), a);
	assert_ptr_equal(queue_cancel(&queue, first.id), a);
	b = added(&second, 0);
	assert_ptr_not_equal(b, a);
	assert_null(run_next()); /* not before the other one has left the process */
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

/* An answer has a maximum number of askers; further ones get their own. */
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

/* A run has its own worker and is found by its number. A request to stop it waits for its end. */
static void test_runs(void **state)
{
	static const struct serve_peer other = { .transport = WIRE_UNIX, .uid = 7 };
	struct job *runs[SERVE_WORKERS_MAX], *stop, *job;
	struct wire_to_broker m;

	(void)state;
	for (int i = 0; i < SERVE_WORKERS_MAX; i++) {
		m = ask(i % 2 ? WIRE_SAMPLE : WIRE_RECORD, 7);
		/* One client gets at most three quarters of the workers. */
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
	/* Other operations on the process are not delayed, either. */
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
	/* The same through an API that names no run. */
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
	/* There is room for another run. */
	assert_non_null(add(WIRE_RECORD, 8));
	assert_non_null(run_next());
}

/* After a run has changed something, later requests get a new profile. */
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

/* Answered jobs are freed after a while, or when there is no room; no others are. */
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
		assert_int_not_equal(queue.v[i].ask.pid, 1); /* the oldest one is gone */
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
