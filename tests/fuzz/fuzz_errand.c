// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to the controller from a confined child that works on profiles: messages, each preceded
 * by its length in a byte. Nothing may be opened or written, and the only result is the end.
 */
#include "ops/apart/errand_run.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Instead of the child that reads debug files. */
static void look_up(const struct errand_places *p, const struct errand_rules *rules,
		    struct errand_found *out)
{
	(void)rules, (void)out;
	if (*p->path != '/' || strlen(p->path) >= PATH_MAX || !p->n || p->n > ERRAND_PLACES_MAX ||
	    p->build_id_len > ERRAND_ID_MAX)
		abort();
	for (size_t i = 1; i < p->n; i++)
		if (p->offsets[i] <= p->offsets[i - 1])
			abort();
}

static void check_words(void *ctx, const struct err *warning)
{
	char text[ERR_TEXT_SIZE];
	const char *line = err_text(warning, text, sizeof(text));

	(void)ctx;
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			abort();
}

static void check_found(const uint8_t *data, size_t size)
{
	struct unpack u = { data, data + size, false };
	struct errand_found found = { .fd = -1 };

	if (errand_unpack_found(&u, &found) && strlen(found.lacks) >= sizeof(found.lacks))
		abort();
}

static void send_all(int sock, const uint8_t *data, size_t size)
{
	for (int i = 0; size && i < MESSAGES_MAX; i++) {
		size_t n = *data < size - 1 ? *data : size - 1;
		uint64_t len = n + sizeof(uint64_t);
		uint8_t message[8 + 255] = { 0 }; /* no error, and the message */

		memcpy(message + 8, data + 1, n);
		if (send(sock, &len, sizeof(len), MSG_NOSIGNAL) < 0 ||
		    send(sock, message, len, MSG_NOSIGNAL) < 0)
			return;
		data += n + 1;
		size -= n + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const inputs[] = { "/dev/null" };
	const struct errand_rules rules = {
		.inputs = inputs, .n_inputs = 1, .look_up = look_up, .on_warning = check_words
	};
	struct confined c = { .what = "fuzz", .stop_fd = -1 };
	struct err err = ERR_INIT;
	struct unpack u;
	int pair[2], fd = -1;

	check_found(data, size);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 0;
	send_all(pair[1], data, size);
	shutdown(pair[1], SHUT_WR);
	c.sock = pair[0];
	if (errand_run(&c, &rules, &u, &fd, &err) == 0) {
		if (u.bad || u.end < u.at || fd != -1)
			abort();
	} else if (err.code == ERR_NONE) {
		abort();
	}
	confined_end(&c);
	close(pair[1]);
	return 0;
}
