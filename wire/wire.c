// SPDX-License-Identifier: Apache-2.0
#include "wire/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LG_SAMPLE_MAX 63

static const struct {
	const char *name;
	enum wire_role role;
	enum wire_about about;
} ops[WIRE_OPS] = {
#define OP(id, name, role, about) [WIRE_##id] = { name, WIRE_ROLE_##role, WIRE_##about },
	WIRE_OPS_ALL(OP)
#undef OP
};

static const struct {
	const char *type, *suffix;
} formats[WIRE_FORMATS] = {
#define FORMAT(id, type, suffix) [WIRE_FORMAT_##id] = { type, suffix },
	WIRE_FORMATS_ALL(FORMAT)
#undef FORMAT
};

const char *wire_role_name(enum wire_role role)
{
	static const char *const names[WIRE_ROLES] = {
		[WIRE_ROLE_NONE] = "",
		[WIRE_ROLE_READ] = "read",
		[WIRE_ROLE_PROFILE] = "profile",
		[WIRE_ROLE_CONTROL] = "control",
	};

	return names[role];
}

enum wire_role wire_role_needed(const struct wire_to_broker *m)
{
	enum wire_role role = ops[m->op].role;

	return m->flags & WIRE_TOUCH && role < WIRE_ROLE_PROFILE ? WIRE_ROLE_PROFILE : role;
}

bool wire_loaded_is_good(enum wire_loaded loaded)
{
	return loaded < WIRE_LOADED_NO_CERTIFICATE;
}

enum wire_about wire_about(enum wire_op op)
{
	return ops[op].about;
}

bool wire_is_run(enum wire_op op)
{
	return op == WIRE_RECORD || op == WIRE_SAMPLE || op == WIRE_MESOS_START;
}

bool wire_ends_run(enum wire_op op)
{
	return op == WIRE_RUN_STOP || op == WIRE_MESOS_STOP;
}

enum wire_words wire_words_of(enum wire_op op)
{
	return op == WIRE_TIKV_LIST	? WIRE_TIKV
	       : op == WIRE_MTEV_STATE	? WIRE_MTEV
	       : op >= WIRE_MESOS_START ? WIRE_MESOS
					: WIRE_OWN_WORDS;
}

const char *wire_op_name(enum wire_op op)
{
	return ops[op].name;
}

const char *wire_media_type(enum wire_format format)
{
	return formats[format].type;
}

const char *wire_suffix(enum wire_format format)
{
	return formats[format].suffix;
}

/* WIRE_AT_ROOT: the broker fills in the process. */
static bool has_valid_words(const struct wire_to_broker *m)
{
	enum wire_words only = wire_words_of(m->op);

	return m->words < WIRE_WORDS && (!only || m->words == only) &&
	       (!(m->flags & WIRE_AT_ROOT) || (m->words && !m->pid && !m->start_time));
}

static bool has_valid_seconds(const struct wire_to_broker *m)
{
	return m->seconds <= (m->op == WIRE_EVENTS ? WIRE_WAIT_MAX
			      : m->op == WIRE_DUMP ? WIRE_SECONDS_MAX
						   : 0u);
}

static bool is_valid_ask(const struct wire_to_broker *m)
{
	return m->op > WIRE_OP_NONE && m->op < WIRE_OPS && m->format < WIRE_FORMATS &&
	       !(m->flags & ~WIRE_FLAGS) && m->pid >= 0 && has_valid_seconds(m) &&
	       m->lg_sample >= 0 && !m->subject[WIRE_SUBJECT_SIZE - 1] &&
	       m->lg_sample <= LG_SAMPLE_MAX && m->duration_ms <= WIRE_DURATION_MAX_MS &&
	       has_valid_words(m) && (m->duration_ms || !wire_is_run(m->op)) &&
	       (m->pid || m->flags & WIRE_AT_ROOT || wire_about(m->op) != WIRE_OF_PROCESS) &&
	       (m->run ? !m->pid || m->words || wire_about(m->op) != WIRE_OF_RUN
		       : wire_about(m->op) != WIRE_OF_RUN);
}

bool wire_is_valid(const struct wire_to_broker *m, bool has_fd)
{
	if (m->version != WIRE_VERSION || m->kind < WIRE_READY || m->kind >= WIRE_TO_BROKER_KINDS)
		return false;
	if (m->kind == WIRE_LOADED)
		return !has_fd && m->id < WIRE_LOADED_STATES;
	if (m->kind != WIRE_ASK)
		return !has_fd;
	return is_valid_ask(m) && has_fd == (m->op == WIRE_SYMBOLS);
}

int wire_send(int sock, const void *message, size_t size, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec io = { (void *)message, size };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	do {
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size ? 0 : -1;
}

static int take_fd(struct msghdr *msg)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

int wire_receive(int sock, void *message, size_t size, int *fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec io = { message, size };
	/* CMSG_SPACE() would have room for a second descriptor, which would leak. */
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t got;

	do {
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	*fd = got < 0 ? -1 : take_fd(&msg);
	if (got == (ssize_t)size && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if (got <= 0) /* an empty message, which we never send, looks like the end */
		return (int)got;
	errno = EBADMSG;
	return -1;
}
