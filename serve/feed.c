// SPDX-License-Identifier: Apache-2.0
#include "serve/feed.h"

#include "base/cleanup.h"
#include "serve/broker.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX (EVENT_MAX + sizeof(struct err) + 256)
#define STEADY_MS 60000 /* after running that long, the next failure counts as the first */

void feed_message_fini(struct feed_message *m)
{
	event_text_fini(&m->text);
}

/* --- in the feed --- */

void feed_lose(const struct feed_out *out, uint64_t n)
{
	atomic_fetch_add(out->lost, n);
}

void feed_tell(const struct feed_out *out, const struct feed_message *m)
{
	_cleanup_(pack_fini) struct pack p = { .max = MESSAGE_MAX };

	pack_u64(&p, m->kind);
	pack_u64(&p, (uint64_t)m->pid);
	pack_bytes(&p, m->comm, sizeof(m->comm));
	pack_u64(&p, m->number);
	pack_u64(&p, m->ok);
	for (enum wire_role role = WIRE_ROLE_READ; role < WIRE_ROLES; role++)
		pack_text(&p, m->text.for_role[role]);
	pack_err(&p, m->kind == FEED_WARNING ? &m->warning : NULL);
	if (p.failed || send(out->sock, p.v, p.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		feed_lose(out, 1);
}

struct start {
	struct feed *feed;
	int sock;
	const struct broker *broker;
};

static int run(void *ctx, int stop_fd, struct pack *answer, struct err *err)
{
	const struct start *s = ctx;
	const struct feed_out out = { s->sock, s->feed->lost };

	(void)answer;
	if (s->broker)
		broker_leave(s->broker, &s->feed->process);
	return s->feed->fn(s->feed->ctx, &out, stop_fd, err);
}

/* --- in the broker --- */

int feed_open(struct feed *f, feed_fn *fn, const void *ctx, struct err *err)
{
	*f = (struct feed){ .fn = fn, .ctx = ctx, .process = SUBPROCESS_INIT, .sock = -1 };
	f->lost = mmap(NULL, sizeof(*f->lost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (f->lost != MAP_FAILED)
		return 0;
	f->lost = NULL;
	return err_raise_sys(err, ERROR_NO_SHARED_MEMORY, errno);
}

/* Messages of the last process that were not received are lost. */
static void hang_up(struct feed *f)
{
	char byte;

	while (f->sock >= 0 && recv(f->sock, &byte, 1, MSG_DONTWAIT) > 0)
		atomic_fetch_add(f->lost, 1);
	cleanup_close(&f->sock);
	f->sock = -1;
}

void feed_close(struct feed *f)
{
	if (f->lost)
		hang_up(f);
	if (f->lost)
		munmap((void *)f->lost, sizeof(*f->lost));
	f->lost = NULL;
}

static void again_later(struct feed *f, uint64_t now_ms)
{
	if (f->ready && now_ms - f->begun_ms >= STEADY_MS)
		backoff_reset(&f->again);
	backoff_fail(&f->again, BACKOFF_MIN_MS, BACKOFF_MAX_MS, now_ms);
}

/* Repeated failures with the same error are reported once. */
static bool is_news(struct feed *f, const struct err *err)
{
	bool news = f->ready || err->ids[0] != f->warned;

	f->warned = err->ids[0];
	f->ready = false;
	return news;
}

bool feed_start(struct feed *f, const struct broker *b, uint64_t now_ms, struct err *err)
{
	struct start start = { .feed = f, .broker = b };
	int ends[2], failed;

	if (f->process.pidfd >= 0 || now_ms < f->again.at_ms)
		return false;
	hang_up(f);
	failed = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
	if (failed) {
		err_raise_sys(err, ERROR_NO_FORK, errno);
	} else {
		f->sock = ends[0];
		f->begun_ms = now_ms;
		start.sock = ends[1];
		failed = subprocess_start(&f->process, run, &start, err);
		close(ends[1]);
	}
	if (!failed)
		return false;
	again_later(f, now_ms);
	return is_news(f, err);
}

static bool is_full(const struct feed *f, uint64_t now_ms)
{
	return f->heard >= FEED_PER_S && now_ms - f->second_ms < 1000;
}

uint64_t feed_next_ms(const struct feed *f)
{
	uint64_t next = f->process.pidfd < 0 ? f->again.at_ms : UINT64_MAX, other;

	other = f->heard >= FEED_PER_S ? f->second_ms + 1000 : UINT64_MAX;
	next = other < next ? other : next;
	other = atomic_load(f->lost) != f->lost_told ? f->told_ms + 1000 : UINT64_MAX;
	return other < next ? other : next;
}

int feed_fd(const struct feed *f, uint64_t now_ms)
{
	return is_full(f, now_ms) ? -1 : f->sock;
}

static bool unpack_message(char *bytes, size_t len, struct feed_message *m)
{
	struct unpack u = { .at = (unsigned char *)bytes, .end = (unsigned char *)bytes + len };

	*m = (struct feed_message){ .warning = ERR_INIT };
	m->kind = (enum feed_kind)unpack_max(&u, FEED_KINDS - 1);
	m->pid = (pid_t)unpack_max(&u, INT32_MAX);
	unpack_bytes(&u, m->comm, sizeof(m->comm));
	m->comm[sizeof(m->comm) - 1] = '\0';
	m->number = unpack_u64(&u);
	m->ok = unpack_bool(&u);
	for (enum wire_role role = WIRE_ROLE_READ; role < WIRE_ROLES; role++) {
		char *text = unpack_text(&u, EVENT_MAX);

		/* An event is one line. */
		u.bad |= text && strchr(text, '\n');
		m->text.for_role[role] = text;
	}
	(void)unpack_err(&u, &m->warning);
	if (unpack_done(&u) && m->kind)
		return true;
	feed_message_fini(m);
	return false;
}

static void count_anew(struct feed *f, uint64_t now_ms)
{
	if (now_ms - f->second_ms < 1000)
		return;
	f->second_ms = now_ms;
	f->heard = 0;
}

bool feed_hear(struct feed *f, uint64_t now_ms, struct feed_message *m)
{
	char bytes[MESSAGE_MAX];
	ssize_t n;

	count_anew(f, now_ms);
	while (f->sock >= 0 && !is_full(f, now_ms)) {
		n = recv(f->sock, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
		if (!n)
			hang_up(f);
		if (n <= 0)
			return false;
		f->heard++;
		if ((size_t)n <= sizeof(bytes) && unpack_message(bytes, (size_t)n, m)) {
			f->ready |= m->kind == FEED_READY;
			return true;
		}
		atomic_fetch_add(f->lost, 1);
	}
	return false;
}

uint64_t feed_lost(struct feed *f, uint64_t now_ms)
{
	uint64_t lost = atomic_load(f->lost), n = lost - f->lost_told;

	count_anew(f, now_ms);
	if (!n || now_ms - f->told_ms < 1000)
		return 0;
	f->lost_told = lost;
	f->told_ms = now_ms;
	return n;
}

bool feed_take(struct feed *f, uint64_t now_ms, struct err *err)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	struct unpack answer;

	if (!subprocess_take(&f->process, &bytes, &answer, err))
		err_raise(err, ERROR_FEED_ENDED);
	again_later(f, now_ms);
	return is_news(f, err);
}
