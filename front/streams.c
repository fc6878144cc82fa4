// SPDX-License-Identifier: Apache-2.0
#include "front/streams.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/*
 * Only ephemeral key exchange, because plain RSA had timing leaks (CVE-2023-0361, CVE-2023-5981),
 * and only over elliptic curves, because with others a client can cause expensive calculations
 * (CVE-2002-20001). Only AEAD ciphers, and certificates with a strength of at least 112 bits.
 */
#define PRIORITIES                                                             \
	"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:"  \
	"+ECDHE-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:" \
	"-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%PROFILE_MEDIUM"

#define RECORD_MAX 16384 /* of a TLS record: the library buffers nothing of a record we have read */
#define HANDSHAKE_MAX 65536
#define HANDSHAKE_MS 15000
#define DRAIN_MS 600000 /* as for sending an answer without TLS */
#define SWEEP_MS 1000
#define EVENTS 64
#define ROUNDS 16 /* of one stream per turn */

enum state {
	HANDSHAKE,
	OPEN,
	CLOSING, /* the daemon has closed it: send close_notify */
	DEAD,
};

struct half {
	char v[RECORD_MAX];
	size_t at, n; /* still to be sent */
};

struct side {
	int fd;
	uint32_t watched; /* events; 0: not in the epoll */
	bool ended;	  /* end of file */
};

struct stream {
	uint64_t number;
	enum state state;
	struct side net, inner;
	struct half up, down; /* from and to the client */
	gnutls_session_t session;
	struct credentials *credentials;
	uint64_t deadline_ms; /* 0: limited by the daemon */
	bool left;	      /* the daemon has closed its end */
};

/* --- polling --- */

static void watch(const struct streams *s, struct stream *t, struct side *side, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = t };
	int op = !events ? EPOLL_CTL_DEL : side->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	/* EPOLLHUP is always reported, so one without wanted events is removed. */
	if (events == side->watched)
		return;
	if (epoll_ctl(s->epoll, op, side->fd, &e))
		t->state = DEAD;
	side->watched = events;
}

static void watch_both(const struct streams *s, struct stream *t)
{
	bool writing = gnutls_record_get_direction(t->session);
	uint32_t net = 0, inner = 0;

	switch (t->state) {
	case HANDSHAKE:
		net = writing ? EPOLLOUT : EPOLLIN;
		inner = EPOLLIN; /* the daemon closes it at its timeout */
		break;
	case OPEN:
		/* With data pending for the daemon, only notice a disconnect, as without TLS. */
		net = t->net.ended ? 0 : t->up.n ? EPOLLRDHUP : EPOLLIN;
		net |= t->down.n ? EPOLLOUT : 0;
		inner = t->up.n ? EPOLLOUT : 0;
		inner |= t->down.n || t->inner.ended ? 0 : EPOLLIN;
		break;
	case CLOSING:
		net = EPOLLOUT;
		break;
	case DEAD:
		break;
	}
	watch(s, t, &t->net, net);
	watch(s, t, &t->inner, inner);
}

/* --- steps; each returns whether it made progress --- */

static bool shake_hands(struct stream *t)
{
	int result = gnutls_handshake(t->session);

	if (result < 0 && gnutls_error_is_fatal(result)) {
		gnutls_alert_send_appropriate(t->session, result);
		t->state = DEAD;
	}
	if (result)
		return false;
	t->state = OPEN;
	t->deadline_ms = 0;
	return true;
}

static void end_net(struct stream *t)
{
	t->net.ended = true;
	t->up.n = 0;
	shutdown(t->inner.fd, SHUT_WR);
}

/* Renegotiation is refused: current clients do not need it. */
static bool take_record(struct stream *t)
{
	ssize_t got = gnutls_record_recv(t->session, t->up.v, sizeof(t->up.v));

	if (got > 0) {
		t->up.at = 0;
		t->up.n = (size_t)got;
		return true;
	}
	if (got && got != GNUTLS_E_REHANDSHAKE && !gnutls_error_is_fatal((int)got))
		return false;
	if (got && got != GNUTLS_E_PREMATURE_TERMINATION)
		t->state = DEAD;
	end_net(t);
	return false;
}

static bool pass_up(struct stream *t)
{
	ssize_t sent = send(t->inner.fd, t->up.v + t->up.at, t->up.n, MSG_NOSIGNAL);

	if (sent < 0) {
		if (errno != EAGAIN)
			end_net(t);
		return false;
	}
	t->up.at += (size_t)sent;
	t->up.n -= (size_t)sent;
	return sent > 0;
}

static bool take_answer(struct stream *t)
{
	ssize_t got = recv(t->inner.fd, t->down.v, sizeof(t->down.v), 0);

	if (got < 0 && errno == EAGAIN)
		return false;
	t->inner.ended = got <= 0;
	t->down.at = 0;
	t->down.n = got > 0 ? (size_t)got : 0;
	return true;
}

/* A retry must pass the same bytes: the library has already made a record of them. */
static bool pass_down(struct stream *t)
{
	ssize_t sent = gnutls_record_send(t->session, t->down.v + t->down.at, t->down.n);

	if (sent < 0) {
		if (gnutls_error_is_fatal((int)sent))
			t->state = DEAD;
		return false;
	}
	t->down.at += (size_t)sent;
	t->down.n -= (size_t)sent;
	return sent > 0;
}

static bool say_goodbye(struct stream *t)
{
	int result = gnutls_bye(t->session, GNUTLS_SHUT_WR);

	if (result && !gnutls_error_is_fatal(result))
		return false;
	shutdown(t->net.fd, SHUT_WR);
	t->state = DEAD;
	return false;
}

static bool go_on(struct stream *t)
{
	bool did = false;

	if (t->state == HANDSHAKE)
		return shake_hands(t);
	if (t->state == CLOSING)
		return say_goodbye(t);
	if (!t->up.n && !t->net.ended)
		did = take_record(t);
	if (t->state == OPEN && t->up.n)
		did = pass_up(t) || did;
	if (t->state == OPEN && !t->down.n && !t->inner.ended)
		did = take_answer(t) || did;
	if (t->state == OPEN && t->down.n)
		did = pass_down(t) || did;
	if (t->state == OPEN && t->inner.ended && !t->down.n) {
		t->state = CLOSING;
		return true;
	}
	return did;
}

/* --- life cycle --- */

static void end(struct streams *s, size_t i)
{
	struct stream *t = s->v[i];

	s->v[i] = s->v[--s->n];
	/* close(2) alone does not remove them while the broker has the socket, too. */
	watch(s, t, &t->net, 0);
	watch(s, t, &t->inner, 0);
	if (t->session)
		gnutls_deinit(t->session);
	credentials_drop(t->credentials);
	cleanup_close(&t->net.fd);
	cleanup_close(&t->inner.fd);
	if (t->left)
		s->ended(s->ctx, t->number);
	explicit_bzero(t, sizeof(*t));
	free(t);
}

static bool begin_session(struct streams *s, struct stream *t)
{
	const gnutls_datum_t http = { (unsigned char *)"http/1.1", 8 };

	if (gnutls_init(&t->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) ||
	    gnutls_priority_set(t->session, s->priorities) ||
	    gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, t->credentials->v) ||
	    gnutls_alpn_set_protocols(t->session, &http, 1, 0))
		return false;
	if (t->credentials->asks)
		gnutls_certificate_server_set_request(t->session, GNUTLS_CERT_REQUEST);
	gnutls_handshake_set_max_packet_length(t->session, HANDSHAKE_MAX);
	gnutls_transport_set_int(t->session, t->net.fd);
	return true;
}

int streams_add(struct streams *s, uint64_t number, int net, struct credentials *credentials)
{
	struct stream *t = s->n < s->room ? calloc(1, sizeof(*t)) : NULL;
	int pair[2], yes = 1;

	if (!t || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
		free(t);
		close(net);
		return -1;
	}
	*t = (struct stream){ .number = number,
			      .net = { .fd = net },
			      .inner = { .fd = pair[0] },
			      .credentials = credentials_keep(credentials),
			      .deadline_ms = now_ms() + HANDSHAKE_MS };
	setsockopt(net, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	s->v[s->n++] = t;
	if (begin_session(s, t))
		watch_both(s, t);
	if (!t->net.watched || t->state == DEAD) {
		end(s, s->n - 1);
		close(pair[1]);
		return -1;
	}
	return pair[1];
}

static struct stream *find(const struct streams *s, uint64_t number)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i]->number == number)
			return s->v[i];
	return NULL;
}

bool streams_vouch(const struct streams *s, uint64_t number, char subject[WIRE_SUBJECT_SIZE])
{
	const struct stream *t = find(s, number);

	return t && t->state == OPEN && credentials_vouch(t->credentials, t->session, subject);
}

bool streams_leave(struct streams *s, uint64_t number)
{
	struct stream *t = find(s, number);

	if (!t)
		return false;
	t->left = true;
	t->deadline_ms = now_ms() + DRAIN_MS;
	return true;
}

static void take_event(const struct streams *s, struct stream *t, uint32_t events)
{
	/* During a handshake, the daemon can only close its end. */
	if (t->state == HANDSHAKE && recv(t->inner.fd, &(char){ 0 }, 1, MSG_PEEK) == 0)
		t->state = DEAD;
	if (t->state == OPEN && t->up.n && events & EPOLLRDHUP)
		end_net(t);
	for (int i = 0; i < ROUNDS && t->state != DEAD && go_on(t); i++)
		;
	if (t->state != DEAD)
		watch_both(s, t);
}

void streams_run(struct streams *s, uint64_t now)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(s->epoll, events, EVENTS, 0);
	bool any_dead = false;

	for (int i = 0; i < n; i++) {
		struct stream *t = events[i].data.ptr;

		take_event(s, t, events[i].events);
		any_dead = any_dead || t->state == DEAD;
	}
	if (!any_dead && now - s->swept_ms < SWEEP_MS)
		return;
	/* End dead streams and those past their deadline. */
	for (size_t i = s->n; i--;) {
		struct stream *t = s->v[i];

		if (t->state == DEAD || (t->deadline_ms && now >= t->deadline_ms))
			end(s, i);
	}
	s->swept_ms = now;
}

bool streams_open(struct streams *s, size_t room)
{
	s->room = room;
	s->v = calloc(room, sizeof(*s->v));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s->v && s->epoll >= 0 && !gnutls_priority_init(&s->priorities, PRIORITIES, NULL);
}
