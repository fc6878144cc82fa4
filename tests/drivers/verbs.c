// SPDX-License-Identifier: Apache-2.0
/*
 * What no command does, for tests. Prints to stdout, or an error to stderr, with its exit status:
 *
 *	verbs symbols PID [START_TIME]		ops_symbols(), of hexadecimal numbers from stdin
 *	verbs between PID MS [OPTION...]	ops_dump_between(); the cost goes to stderr
 *
 * Options: format=NAME, stacks=N, active, stop=FIFO (when readable, it must stop), and
 * during=COMMAND, which runs instead of a wait of more than ten minutes: these have passed then.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "ops/ops.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
uint64_t __real_now_ms(void);
uint64_t __wrap_now_ms(void);

static const char *during;
static uint64_t passed_ms;

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	int ready;

	if (!during || timeout_ms <= 600000)
		return __real_poll(fds, n, timeout_ms);
	if (system(during) != 0)
		exit(99);
	ready = __real_poll(fds, n, 0);
	if (!ready)
		passed_ms += (uint64_t)timeout_ms;
	return ready;
}

uint64_t __wrap_now_ms(void)
{
	return __real_now_ms() + passed_ms;
}

static int failed(const struct err *err)
{
	char text[4096], name[ERR_NAME_SIZE];

	fprintf(stderr, "%s: %s\n", err_name(err->ids[0], name), err_text(err, text, sizeof(text)));
	return (int)err->code;
}

static int symbols(pid_t pid, const char *start_time)
{
	static uint64_t addresses[OPS_ADDRESSES_MAX + 1];
	struct ops_options options = { .stop_fd = -1 };
	struct err err = ERR_INIT;
	size_t n = 0;

	if (start_time)
		options.start_time = strtoull(start_time, NULL, 10);
	while (n <= OPS_ADDRESSES_MAX && scanf("%" SCNx64, &addresses[n]) == 1)
		n++;
	return ops_symbols(pid, addresses, n, &options, STDOUT_FILENO, &err) ? failed(&err) : 0;
}

static void set(const char *option, struct ops_dump_request *request, struct ops_options *options)
{
	if (text_begins(option, "format="))
		request->format = option + strlen("format=");
	else if (text_begins(option, "stacks="))
		request->max_stacks = strtoul(option + strlen("stacks="), NULL, 10);
	else if (text_begins(option, "during="))
		during = option + strlen("during=");
	else if (text_begins(option, "stop="))
		options->stop_fd = open(option + strlen("stop="), O_RDWR | O_CLOEXEC);
	else
		request->only_active = !strcmp(option, "active");
}

static int between(pid_t pid, uint64_t ms, char **more)
{
	struct ops_dump_request request = { .stream_fd = STDOUT_FILENO };
	struct ops_options options = { .stop_fd = -1, .wait_ms = 60000 };
	_cleanup_(ops_dump_fini) struct ops_dump dump = { 0 };
	struct err err = ERR_INIT;

	for (; *more; more++)
		set(*more, &request, &options);
	if (ops_dump_between(pid, ms, &request, &options, &dump, &err))
		return failed(&err);
	fprintf(stderr, "%s: %u stops, %" PRIu64 " bytes\n", dump.cost.comm, dump.cost.stops,
		dump.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[2], NULL, 10) : 0;

	if (argc > 2 && !strcmp(argv[1], "symbols"))
		return symbols(pid, argv[3]);
	if (argc > 3 && !strcmp(argv[1], "between"))
		return between(pid, strtoull(argv[3], NULL, 10), argv + 4);
	fprintf(stderr,
		"usage: verbs symbols PID [START_TIME] | verbs between PID MS [OPTION...]\n");
	return 2;
}
