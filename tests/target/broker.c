// SPDX-License-Identifier: Apache-2.0
/*
 * A broker for testing only the HTTP process: it passes connections on, and answers each question
 * with the question itself, as text. Some pids have other answers.
 *
 *	broker SOCKET FRONT [ARGUMENTS...]
 *
 * CREDENTIALS in its environment names the file whose contents a WIRE_CREDENTIALS carries.
 *
 * It logs to standard output, a line each. Lines of standard input are commands; it exits at the
 * end of its input.
 */
#include "wire/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FAILS = 1000,
	REFUSES = 1100,
	INACTIVE = 1200,
	NEVER,
	PAUSES,
	EMPTY,
	BIG,
	BAD_NAME,
	TWICE,
	BAD_FORMAT
};
#define FAILS_WITH_TEXT 1300
#define BIG_SIZE (16 << 20)
#define OWN (1 + WIRE_TRANSPORTS) /* the channel, in the array for poll(2) */

static int channel, listeners[WIRE_TRANSPORTS];
static bool deaf;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void send_it(const struct wire_to_front *m, int fd)
{
	if (wire_send(channel, m, sizeof(*m), fd))
		die("wire_send");
}

static int file_of(const char *text, size_t size)
{
	int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || ftruncate(fd, (off_t)size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		die("memfd");
	return fd;
}

static size_t add_addresses(char *text, size_t size, int fd)
{
	int used = snprintf(text, size, " seals=%#x", (unsigned int)fcntl(fd, F_GET_SEALS));
	uint64_t v;

	for (off_t at = 0; pread(fd, &v, sizeof(v), at) == sizeof(v); at += 8)
		if ((size_t)used + 32 < size)
			used += snprintf(text + used, size - (size_t)used, " 0x%" PRIx64, v);
	return (size_t)used + (size_t)snprintf(text + used, size - (size_t)used, " bytes=%jd",
					       (intmax_t)lseek(fd, 0, SEEK_END));
}

static void describe(const struct wire_to_broker *m, int fd, char *text, size_t size)
{
	int used = snprintf(text, size,
			    "op=%s flags=%u format=%u pid=%d start_time=%" PRIu64
			    " lg_sample=%d seconds=%u token=",
			    wire_op_name(m->op), m->flags, m->format, m->pid, m->start_time,
			    m->lg_sample, m->seconds);

	for (size_t i = 0; m->flags & WIRE_HAS_TOKEN && i < sizeof(m->token); i++)
		used += snprintf(text + used, size - (size_t)used, "%02x", m->token[i]);
	if (fd >= 0)
		used += (int)add_addresses(text + used, size - (size_t)used, fd);
	snprintf(text + used, size - (size_t)used, "\n");
}

static void answer(const struct wire_to_broker *m, int asked_fd)
{
	struct wire_to_front a = { .version = WIRE_VERSION,
				   .kind = WIRE_ANSWER,
				   .id = m->id,
				   .format = m->format,
				   .name = "echo.1.heap" };
	char text[4096];
	bool empty = m->pid == EMPTY;
	int fd;

	describe(m, asked_fd, text, sizeof(text));
	printf("ask connection=%" PRIu64 " id=%" PRIu64 " %s", m->connection, m->id, text);
	a.bytes = strlen(text);
	if (m->pid >= FAILS && m->pid < FAILS + ERR_CODES)
		a.code = (uint32_t)(m->pid - FAILS), empty = true;
	if (m->pid >= FAILS_WITH_TEXT && m->pid < FAILS_WITH_TEXT + ERR_CODES)
		a.code = (uint32_t)(m->pid - FAILS_WITH_TEXT);
	if (m->pid >= REFUSES && m->pid < REFUSES + WIRE_REFUSALS)
		a.refusal = (uint32_t)(m->pid - REFUSES), empty = true;
	if (m->pid == INACTIVE)
		a.reason = WIRE_INACTIVE, empty = true;
	if (m->pid == PAUSES)
		a.stops = 2, a.pause_us = 345, a.role = WIRE_ROLE_PROFILE;
	if (m->pid == BIG)
		a.bytes = BIG_SIZE;
	if (m->pid == BAD_NAME)
		strcpy(a.name, "a\"b");
	if (m->pid == BAD_FORMAT)
		a.format = 99;
	if (m->pid == NEVER)
		return;
	if (empty)
		a.bytes = 0;
	fd = empty ? -1 : file_of(text, a.bytes);
	for (int i = m->pid == TWICE ? 2 : 1; i; i--)
		send_it(&a, fd);
	if (fd >= 0)
		close(fd);
}

static bool hear(void)
{
	struct wire_to_broker m = { 0 };
	int fd, got = wire_receive(channel, &m, sizeof(m), &fd);

	if (got <= 0)
		return false;
	if (!wire_is_valid(&m, fd >= 0))
		printf("invalid kind=%u op=%u\n", m.kind, m.op);
	else if (m.kind == WIRE_ASK)
		answer(&m, fd);
	else if (m.kind == WIRE_READY)
		printf("ready\n");
	else if (m.kind == WIRE_LOADED)
		printf("loaded %" PRIu64 "\n", m.id);
	else
		printf("%s connection=%" PRIu64 " id=%" PRIu64 "\n",
		       m.kind == WIRE_CANCEL ? "cancel" : "closed", m.connection, m.id);
	if (fd >= 0)
		close(fd);
	return true;
}

static void send_credentials(void)
{
	const struct wire_to_front m = { .version = WIRE_VERSION, .kind = WIRE_CREDENTIALS };
	const char *path = getenv("CREDENTIALS");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (path && fd < 0)
		die(path);
	if (fd < 0)
		return;
	send_it(&m, fd);
	close(fd);
}

static bool obey(void)
{
	struct wire_to_front m = { .version = WIRE_VERSION };
	char line[64];

	if (!fgets(line, sizeof(line), stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	deaf = !strcmp(line, "deaf");
	if (!strcmp(line, "credentials")) {
		send_credentials();
	} else if (!strcmp(line, "end")) {
		m.kind = WIRE_END;
		send_it(&m, -1);
	} else if (!strcmp(line, "unknown")) {
		int fd = file_of("x", 1);

		m.kind = WIRE_ANSWER;
		m.id = UINT64_C(1) << 60;
		m.bytes = 1;
		send_it(&m, fd);
		close(fd);
	} else if (!strcmp(line, "nonsense")) {
		m.kind = 77;
		send_it(&m, -1);
	}
	printf("did %s\n", line);
	return true;
}

static void pass_on(enum wire_transport transport)
{
	static uint64_t connections;
	struct wire_to_front m = { .version = WIRE_VERSION,
				   .kind = WIRE_CONNECTION,
				   .transport = transport };
	int fd = accept4(listeners[transport], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		die("accept");
	m.connection = ++connections;
	send_it(&m, fd);
	close(fd);
}

static int listen_at_port(const char *name)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(in);

	if (bind(fd, (struct sockaddr *)&in, len) || listen(fd, 4096) ||
	    getsockname(fd, (struct sockaddr *)&in, &len))
		die("listen");
	printf("%s %d\n", name, ntohs(in.sin_port));
	return fd;
}

static void listen_at(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	listeners[WIRE_UNIX] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listeners[WIRE_UNIX], (struct sockaddr *)&un, sizeof(un)) ||
	    listen(listeners[WIRE_UNIX], 4096))
		die("listen");
	listeners[WIRE_TCP] = listen_at_port("port");
	listeners[WIRE_TLS] = listen_at_port("tls");
}

static pid_t start(char **argv)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC),
		    sock = fcntl(pair[1], F_DUPFD, 10);

		dup2(null, 0);
		dup2(null, 1);
		dup2(sock, WIRE_FD);
		if (sock != WIRE_FD)
			close(sock);
		execv(argv[0], argv);
		die(argv[0]);
	}
	close(pair[1]);
	channel = pair[0];
	printf("front %d\n", pid);
	return pid;
}

int main(int argc, char **argv)
{
	struct pollfd fds[2 + WIRE_TRANSPORTS] = { { .events = POLLIN } };
	bool alive = true;
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid = start(argv + 2);
	listen_at(argv[1]);
	send_credentials();
	for (int i = 0; i < WIRE_TRANSPORTS; i++)
		fds[1 + i] = (struct pollfd){ listeners[i], POLLIN, 0 };
	fds[OWN] = (struct pollfd){ channel, POLLIN, 0 };
	while (alive && poll(fds, deaf ? OWN : OWN + 1, -1) > 0) {
		if (!deaf && fds[OWN].revents && !hear())
			alive = false;
		if (fds[0].revents && !obey())
			break;
		for (int i = 0; alive && i < WIRE_TRANSPORTS; i++)
			if (fds[1 + i].revents)
				pass_on(i);
	}
	close(channel);
	waitpid(pid, &status, 0);
	printf("exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
	return 0;
}
