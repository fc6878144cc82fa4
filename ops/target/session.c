// SPDX-License-Identifier: Apache-2.0
#include "ops/target/session.h"

#include "base/clock.h"
#include "base/signals.h"
#include "base/text.h"

#include <stdio.h>
#include <time.h>

const char *session_who(const struct session *s, char *buf, size_t size)
{
	char comm[PROC_COMM_SIZE * 4];

	snprintf(buf, size, "%d (%s)", s->proc.pid,
		 output_safe(s->proc.status.comm, comm, sizeof(comm)));
	return buf;
}

void cost_add(struct ops_cost *sum, const struct ops_cost *more)
{
	sum->stops += more->stops;
	sum->pause_us += more->pause_us;
	sum->prolonged += more->prolonged;
	sum->late_us += more->late_us;
	sum->call_us += more->call_us;
}

unsigned int session_left_ms(const struct session *s)
{
	uint64_t now = now_ms();

	return now < s->timeout_ms ? (unsigned int)(s->timeout_ms - now) : 0;
}

bool session_older(const struct session *s, int major, int minor, int patch)
{
	return jemalloc_version_cmp(s->version, major, minor, patch) < 0;
}

#define BUSY_RETRY_MS 20

bool session_try_again(const struct session *s, const struct err *err)
{
	const struct timespec nap = { .tv_nsec = BUSY_RETRY_MS * 1000000L };

	if (err->code != ERR_BUSY || now_ms() >= s->deadline_ms || stop_asked(s->options->stop_fd))
		return false;
	nanosleep(&nap, NULL);
	return true;
}

int session_failed(const struct session *s, struct err *err)
{
	struct err why = ERR_INIT;
	struct proc_status now;
	bool ended;

	if (err->code == ERR_LOST)
		return -1;
	/* An exiting process loses its memory before its pid. */
	ended = !proc_alive(&s->proc);
	if (!ended && proc_thread_status(s->proc.pid, 0, &now, &why))
		ended = why.code == ERR_LOST; /* one of our own (EMFILE) says nothing of it */
	else if (!ended)
		ended = s->proc.status.rss_bytes && !now.rss_bytes;
	if (ended)
		return err_raise(err, ERROR_TARGET_ENDED, SESSION_ARGS(s));
	return proc_replaced(&s->proc) ? err_raise(err, ERROR_TARGET_REPLACED, SESSION_ARGS(s))
				       : -1;
}

int session_no_call(struct session *s, struct err *err)
{
	session_failed(s, err);
	s->no_call = err->code != ERR_LOST && !err->own;
	return -1;
}
