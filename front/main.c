// SPDX-License-Identifier: Apache-2.0
/* The part of `serve` that speaks HTTP: started by the broker, with a socket to it as WIRE_FD. */
#include "base/cleanup.h"
#include "base/json.h"
#include "front/confine.h"
#include "front/server.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOSTS_MAX 64

struct arguments {
	const char *hosts[HOSTS_MAX];
	size_t n_hosts;
	bool tls;
	unsigned int words;
	bool at_root;
};

static bool read_arguments(struct arguments *a, int argc, char **argv)
{
	static const struct option options[] = { { "host", required_argument, NULL, 'H' },
						 { "tls", no_argument, NULL, 'T' },
						 { "words", required_argument, NULL, 'W' },
						 { "at-root", no_argument, NULL, 'R' },
						 { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'T')
			a->tls = true;
		else if (c == 'W')
			a->words = (unsigned int)strtoul(optarg, NULL, 10);
		else if (c == 'R')
			a->at_root = true;
		else if (c == 'H' && a->n_hosts < HOSTS_MAX)
			a->hosts[a->n_hosts++] = optarg;
		else
			return false;
	}
	return optind == argc;
}

static int fail(const char *what)
{
	fprintf(stderr, "jeprof-ctl: the HTTP process: %s\n", what);
	return EXIT_FAILURE;
}

static int run(const struct arguments *a)
{
	_cleanup_(json_close) struct json_object *doc = json_object_new_object();
	struct err err = ERR_INIT;
	struct server server;
	struct rlimit now;
	char text[ERR_TEXT_SIZE];

	/* Close all other inherited descriptors. */
	syscall(SYS_close_range, WIRE_FD + 1, ~0u, 0);
	if (!getrlimit(RLIMIT_NOFILE, &now)) {
		if (now.rlim_max > SERVER_FDS_MAX)
			now.rlim_max = SERVER_FDS_MAX;
		now.rlim_cur = now.rlim_max;
		setrlimit(RLIMIT_NOFILE, &now);
	}
	/* Have libraries open now what they open at their first use. */
	json_set_bool(doc, "warm", true);
	tzset();
	if (!server_open(&server, WIRE_FD, a->hosts, a->n_hosts, a->tls))
		return fail(strerror(errno));
	server.words = a->words;
	server.at_root = a->at_root;
	if (front_confine(&err) < 0)
		return fail(err_text(&err, text, sizeof(text)));
	/* It fails if the broker violates the protocol. */
	return server_run(&server) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct arguments a = { .n_hosts = 0 };

	if (!read_arguments(&a, argc, argv))
		return fail("wrong arguments");
	/* No cleanup: clients may be connected, and LeakSanitizer cannot run in this sandbox. */
	quick_exit(run(&a));
}
