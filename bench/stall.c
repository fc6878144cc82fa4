// SPDX-License-Identifier: Apache-2.0
/*
 * stall SOCKET: a redis client that sends each PING as soon as the last one was answered. At
 * SIGTERM it prints "LONGEST MEDIAN COUNT", times in microseconds: what a client noticed of
 * whatever was done to the server.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 100000 /* of a microsecond each, for the median */

static volatile sig_atomic_t done;

static void finish(int sig)
{
	(void)sig;
	done = 1;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int connect_to(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(sa.sun_path))
		return -1;
	memcpy(sa.sun_path, path, strlen(path) + 1);
	return connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 ? fd : -1;
}

static int ping(int fd)
{
	static const char question[] = "PING\r\n";
	char answer[64];
	size_t got = 0;

	if (write(fd, question, sizeof(question) - 1) != sizeof(question) - 1)
		return -1;
	while (got < strlen("+PONG\r\n")) {
		ssize_t n = read(fd, answer + got, sizeof(answer) - got);

		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	return 0;
}

static uint64_t median(const uint64_t *buckets, uint64_t count)
{
	uint64_t seen = 0;

	for (uint64_t us = 0; us < BUCKETS; us++) {
		seen += buckets[us];
		if (seen * 2 >= count)
			return us;
	}
	return BUCKETS;
}

int main(int argc, char **argv)
{
	static uint64_t buckets[BUCKETS];
	/* SA_RESTART: the pending answer is still waited for. */
	struct sigaction sa = { .sa_handler = finish, .sa_flags = SA_RESTART };
	uint64_t longest = 0, count = 0;
	int fd = argc > 1 ? connect_to(argv[1]) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: stall SOCKET\n");
		return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	puts("ready");
	fflush(stdout);
	while (!done) {
		uint64_t began = now_us(), took;

		if (ping(fd) != 0)
			return 1;
		took = now_us() - began;
		longest = took > longest ? took : longest;
		buckets[took < BUCKETS ? took : BUCKETS - 1]++;
		count++;
	}
	printf("%lu %lu %lu\n", longest, median(buckets, count), count);
	return 0;
}
