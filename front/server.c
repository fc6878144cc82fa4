// SPDX-License-Identifier: Apache-2.0
#include "front/server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "front/client.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * The daemon only has a timeout for silence, which a client can evade by a byte now and then. These
 * limit the whole time: of a connection without a request, of reading a request, and of sending an
 * answer.
 */
#define IDLE_MS 60000
#define READ_MS 15000
#define SEND_MS 600000
#define SILENCE_S 60u

#define END_MS 5000
#define SWEEP_MS 1000
#define EVENTS 64
#define MESSAGES_AT_ONCE 64

/* --- clients --- */

void client_enter(struct client *client, enum client_phase phase)
{
	static const unsigned int limits_ms[] = {
		[CLIENT_IDLE] = IDLE_MS,
		[CLIENT_READING] = READ_MS,
		[CLIENT_WAITING] = 0, /* limited by the broker */
		[CLIENT_SENDING] = SEND_MS,
	};

	client->phase = phase;
	client->deadline_ms = limits_ms[phase] ? now_ms() + limits_ms[phase] : 0;
	if (phase == CLIENT_IDLE && client->server->end_ms)
		shutdown(client->fd, SHUT_RDWR);
}

static void tell(struct server *s, enum wire_to_broker_kind kind, uint64_t connection, uint64_t id)
{
	const struct wire_to_broker m = {
		.version = WIRE_VERSION, .kind = kind, .connection = connection, .id = id
	};

	if (channel_send(&s->channel, &m, -1))
		return;
	if (s->channel.n < CHANNEL_SIZE)
		s->ended = true;
	else /* the broker would wait for this message forever */
		s->broken = true;
}

void client_end_body(struct client *client)
{
	client->server->bodies -= client->counted;
	client->counted = false;
}

void client_reset(struct client *client)
{
	if (client->id && !client->answered && !client->gone)
		tell(client->server, WIRE_CANCEL, client->number, client->id);
	if (client->answered)
		client->server->unsent -= client->answer.bytes;
	client_end_body(client);
	addresses_fini(&client->addresses);
	cleanup_close(&client->answer_fd);
	memset(client->token, 0, sizeof(client->token));
	client->uri[0] = '\0';
	client->has_token = client->has_begun = false;
	client->body = ADDRESSES_GOOD;
	client->id = 0;
	client->answered = client->gone = false;
	client->answer_fd = -1;
}

static void end_connection(void *ctx, uint64_t number)
{
	struct server *s = ctx;

	tell(s, WIRE_CLOSED, number, 0);
	s->n--;
}

static void forget(struct client *client)
{
	struct server *s = client->server;

	client_reset(client);
	s->by_fd[client->fd] = NULL;
	if (client->transport != WIRE_TLS || !streams_leave(&s->streams, client->number))
		end_connection(s, client->number);
	free(client);
}

static struct client *remember(struct server *s, int fd, const struct wire_to_front *m)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->server = s;
	client->number = m->connection;
	client->fd = fd;
	client->transport = m->transport;
	client->answer_fd = client->addresses.fd = -1;
	s->by_fd[fd] = client;
	s->n++;
	client_enter(client, CLIENT_IDLE);
	return client;
}

/* The daemon has started or closed a connection. */
static void note_connection(void *ctx, struct MHD_Connection *connection, void **of,
			    enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct server *s = ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED && info)
		*of = s->by_fd[info->connect_fd];
	if (code == MHD_CONNECTION_NOTIFY_CLOSED && *of) {
		forget(*of);
		*of = NULL;
	}
}

/* --- waiting clients --- */

/*
 * Watch for a disconnect. A Unix socket distinguishes a close (EPOLLHUP) from a half-close, which
 * is legal after a complete request. TCP does not: there a half-close counts as a disconnect, as in
 * most servers.
 */
static bool watch(struct client *client)
{
	struct epoll_event e = { .events = EPOLLONESHOT, .data.ptr = client };

	if (client->transport != WIRE_UNIX)
		e.events |= EPOLLRDHUP;
	return !epoll_ctl(client->server->epoll, EPOLL_CTL_ADD, client->fd, &e);
}

static void go_on(struct client *client)
{
	epoll_ctl(client->server->epoll, EPOLL_CTL_DEL, client->fd, NULL);
	MHD_resume_connection(client->connection);
	client_enter(client, CLIENT_SENDING);
}

bool client_ask(struct client *client)
{
	struct server *s = client->server;
	const struct route *route = &client->route;
	struct wire_to_broker m = { .version = WIRE_VERSION,
				    .kind = WIRE_ASK,
				    .connection = client->number,
				    .id = s->last_id + 1,
				    .op = route->op,
				    .flags = route->flags,
				    .format = route->format,
				    .pid = route->pid,
				    .start_time = route->start_time,
				    .lg_sample = route->lg_sample,
				    .seconds = route->seconds,
				    .duration_ms = route->duration_ms,
				    .words = route->words,
				    .run = route->run,
				    .base = route->base,
				    .since = route->since };
	int fd = take_fd(client->addresses.fd);

	if (client->has_token) {
		m.flags |= WIRE_HAS_TOKEN;
		memcpy(m.token, client->token, sizeof(m.token));
	}
	if (client->transport == WIRE_TLS && streams_vouch(&s->streams, client->number, m.subject))
		m.flags |= WIRE_HAS_CERTIFICATE;
	if (!watch(client)) {
		cleanup_close(&fd);
		return false;
	}
	if (!channel_send(&s->channel, &m, fd)) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, client->fd, NULL);
		return false;
	}
	client->id = ++s->last_id;
	client_enter(client, CLIENT_WAITING);
	MHD_suspend_connection(client->connection);
	return true;
}

static void note_gone(struct client *client)
{
	if (client->phase != CLIENT_WAITING)
		return;
	tell(client->server, WIRE_CANCEL, client->number, client->id);
	client->gone = true;
	go_on(client);
}

/* --- messages of the broker --- */

/* The descriptor for the daemon; -1: the connection was closed. */
static int begin_stream(struct server *s, const struct wire_to_front *m, int fd)
{
	if (m->transport != WIRE_TLS)
		return fd;
	if (s->credentials && s->n < s->max && !s->end_ms)
		return streams_add(&s->streams, m->connection, fd, s->credentials);
	close(fd);
	return -1;
}

static void take_connection(struct server *s, const struct wire_to_front *m, int fd)
{
	/* Only the family is right: the peer's address is known to the broker alone. */
	const struct sockaddr_un local = { .sun_family = AF_UNIX };
	const struct sockaddr_in remote = { .sin_family = AF_INET };
	bool is_local = m->transport != WIRE_TCP;
	struct client *client = NULL;

	fd = begin_stream(s, m, fd);
	if (fd >= 0 && !s->end_ms && s->n < s->max && fd < SERVER_FDS_MAX) {
		if (s->by_fd[fd]) /* closed without a callback: out of memory */
			forget(s->by_fd[fd]);
		client = remember(s, fd, m);
	}
	if (!client) {
		cleanup_close(&fd);
		tell(s, WIRE_CLOSED, m->connection, 0);
		return;
	}
	/* On failure it closes the descriptor. */
	if (MHD_add_connection(s->daemon, fd,
			       is_local ? (const struct sockaddr *)&local
					: (const struct sockaddr *)&remote,
			       is_local ? sizeof(local) : sizeof(remote)) != MHD_YES &&
	    s->by_fd[fd] == client)
		forget(client);
}

/* An answer without a waiting client is dropped. */
static void take_answer(struct server *s, const struct wire_to_front *m, int fd)
{
	for (int i = 0; i < SERVER_FDS_MAX; i++) {
		struct client *client = s->by_fd[i];

		if (!client || client->phase != CLIENT_WAITING || client->id != m->id)
			continue;
		client->answer = *m;
		client->answer_fd = fd;
		client->answered = true;
		s->unsent += m->bytes;
		go_on(client);
		return;
	}
	cleanup_close(&fd);
}

static void be_ready(struct server *s)
{
	s->ready = true;
	tell(s, WIRE_READY, 0, 0);
}

/* Existing connections keep theirs; if the new ones are not good, so do later connections. */
static void take_credentials(struct server *s, int fd)
{
	struct credentials *credentials = NULL;
	enum wire_loaded loaded = credentials_load(fd, &credentials);

	close(fd);
	tell(s, WIRE_LOADED, 0, loaded);
	if (!credentials)
		return;
	credentials_drop(s->credentials);
	s->credentials = credentials;
	if (!s->ready)
		be_ready(s);
}

static void take_message(struct server *s, const struct wire_to_front *m, int fd)
{
	if (m->version == WIRE_VERSION && m->kind == WIRE_CONNECTION && fd >= 0 &&
	    m->transport < WIRE_TRANSPORTS)
		take_connection(s, m, fd);
	else if (m->version == WIRE_VERSION && m->kind == WIRE_ANSWER)
		take_answer(s, m, fd);
	else if (m->version == WIRE_VERSION && m->kind == WIRE_CREDENTIALS && fd >= 0 && s->tls)
		take_credentials(s, fd);
	else if (m->version == WIRE_VERSION && m->kind == WIRE_END && fd < 0 && !s->end_ms) {
		s->end_ms = now_ms() + END_MS;
		for (int i = 0; i < SERVER_FDS_MAX; i++)
			if (s->by_fd[i] && s->by_fd[i]->phase <= CLIENT_READING)
				shutdown(i, SHUT_RDWR);
	} else {
		cleanup_close(&fd);
		s->broken = true;
	}
}

/* False: the broker has exited. */
static bool take_messages(struct server *s)
{
	for (int i = 0; i < MESSAGES_AT_ONCE && !s->broken; i++) {
		struct wire_to_front m = { 0 };
		int fd, got = wire_receive(s->channel.sock, &m, sizeof(m), &fd);

		if (!got || (got < 0 && errno == ECONNRESET))
			return false;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got < 0)
			s->broken = true;
		else
			take_message(s, &m, fd);
	}
	return true;
}

/* --- the loop --- */

static void sweep(struct server *s, uint64_t now)
{
	if (now - s->swept_ms < SWEEP_MS)
		return;
	s->swept_ms = now;
	for (int i = 0; i < SERVER_FDS_MAX; i++) {
		struct client *client = s->by_fd[i];

		if (client && client->deadline_ms && now >= client->deadline_ms) {
			client->deadline_ms = 0;
			shutdown(i, SHUT_RDWR);
		}
	}
}

static int wait_ms(const struct server *s)
{
	MHD_UNSIGNED_LONG_LONG daemon_ms;
	int wait = s->n ? SWEEP_MS : -1;

	if (s->end_ms)
		wait = SWEEP_MS / 10;
	if (MHD_get_timeout(s->daemon, &daemon_ms) == MHD_YES &&
	    (wait < 0 || daemon_ms < (MHD_UNSIGNED_LONG_LONG)wait))
		wait = (int)daemon_ms;
	return wait;
}

static bool turn(struct server *s)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(s->epoll, events, EVENTS, wait_ms(s));

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == s) {
			if (!channel_flush(&s->channel) || !take_messages(s))
				return false;
		} else if (events[i].data.ptr != s->daemon && events[i].data.ptr != &s->streams) {
			note_gone(events[i].data.ptr);
		}
	}
	sweep(s, now_ms());
	if (s->tls)
		streams_run(&s->streams, now_ms());
	MHD_run(s->daemon);
	return !s->ended && (!s->end_ms || (s->n && now_ms() < s->end_ms));
}

bool server_run(struct server *s)
{
	bool writing = false;

	if (!s->tls)
		be_ready(s);
	while (!s->broken && turn(s)) {
		/* Poll for EPOLLOUT only while messages are queued. */
		bool want = s->channel.n > 0;
		struct epoll_event e = { .events = EPOLLIN | (want ? EPOLLOUT : 0u),
					 .data.ptr = s };

		if (want != writing && !epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->channel.sock, &e))
			writing = want;
	}
	return !s->broken;
}

static bool open_daemon(struct server *s)
{
	s->daemon = MHD_start_daemon(
		MHD_USE_NO_LISTEN_SOCKET | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		request_go_on, s, MHD_OPTION_CONNECTION_LIMIT, SERVER_CLIENTS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVER_HEADERS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_S,
#if MHD_VERSION >= 0x00097701
		MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#else
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
#endif
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_URI_LOG_CALLBACK, request_begin, s,
		MHD_OPTION_NOTIFY_COMPLETED, request_end, s, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, s, MHD_OPTION_END);
	return s->daemon != NULL;
}

static bool add(struct server *s, int fd, void *ptr)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = ptr };

	return !epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e);
}

bool server_open(struct server *s, int sock, const char *const *hosts, size_t n_hosts, bool tls)
{
	const union MHD_DaemonInfo *info;
	long fds = sysconf(_SC_OPEN_MAX);

	memset(s, 0, sizeof(*s));
	s->hosts = hosts;
	s->n_hosts = n_hosts;
	s->tls = tls;
	s->max = SERVER_CLIENTS_MAX;
	if (fds < SERVER_FDS_MAX) /* with less, fewer clients */
		s->max = (size_t)fds / (SERVER_FDS_MAX / SERVER_CLIENTS_MAX);
	s->channel.sock = sock;
	s->channel.queue = calloc(CHANNEL_SIZE, sizeof(*s->channel.queue));
	s->by_fd = calloc(SERVER_FDS_MAX, sizeof(struct client *));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!s->channel.queue || !s->by_fd || s->epoll < 0 ||
	    fcntl(sock, F_SETFL, O_RDWR | O_NONBLOCK) || !open_daemon(s))
		return false;
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || !add(s, info->epoll_fd, s->daemon) || !add(s, sock, s))
		return false;
	s->streams.ended = end_connection;
	s->streams.ctx = s;
	return !tls || (streams_open(&s->streams, SERVER_CLIENTS_MAX) &&
			add(s, s->streams.epoll, &s->streams));
}
