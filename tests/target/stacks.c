// SPDX-License-Identifier: Apache-2.0
/*
 * stacks BOARD KIND [idle]: threads with unusual stacks, each with canaries below, which they
 * watch. With "idle", there is one more, ordinary thread.
 */
#include "tests/target/victim.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define CANARY 0x5a
#define CANARY_SIZE (256u << 10)
#define SMALL (16u << 10)
#define PAINT_AWAY 1024	      /* bytes below the painting frame */
#define ZONE_MAIN (24u << 10) /* room for a frame of ours, but not for a call */
#define EDGE_MAIN (21u << 10) /* the same; a frame may need 20 KiB, if there is AMX */
#define TLS_SIZE (72u << 10)  /* tests/target/victim.c has a large thread-local array */

static unsigned char *canary; /* the memory below the stack in use */
static size_t canary_size;

static void canary_set(unsigned char *at, size_t size)
{
	memset(at, CANARY, size);
	canary_size = size;
	canary = at;
}

static void canary_check(void)
{
	for (size_t i = 0; i < canary_size; i++)
		if (canary[i] != CANARY) {
			FOUND(corrupt);
			return;
		}
}

/* What a thread that can be borrowed does: rests in an interruptible call, and computes. */
static void live(unsigned int id)
{
	while (board->altstack == 0) {
		victim_nap(2);
		canary_check();
		victim_beat(id);
	}
}

static void live_first(void)
{
	live(0);
}

static void *live_thread(void *arg)
{
	(void)arg;
	live(0);
	return NULL;
}

static void *idle_thread(void *arg)
{
	(void)arg;
	live(1);
	return NULL;
}

static void handler(int sig)
{
	(void)sig;
	live(0);
}

static void handle_on(unsigned char *stack)
{
	stack_t ss = { .ss_sp = stack, .ss_size = SMALL };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&ss, NULL) != 0 || sigaction(SIGUSR1, &sa, NULL) != 0)
		exit(2);
	raise(SIGUSR1);
}

static unsigned char *below_canary(size_t stack)
{
	unsigned char *p = malloc(CANARY_SIZE + stack);

	if (!p)
		exit(2);
	canary_set(p, CANARY_SIZE);
	return p + CANARY_SIZE;
}

static void on_altstack(void)
{
	handle_on(below_canary(SMALL));
}

/* The alternate stack is a part of the real one: the mapping is the same. */
static void on_altstack_within(void)
{
	unsigned char space[CANARY_SIZE + SMALL];

	canary_set(space, CANARY_SIZE);
	handle_on(space + CANARY_SIZE);
}

/* The same in a thread: the mapping has the expected guard and control block. */
static void *altstack_thread(void *arg)
{
	(void)arg;
	on_altstack_within();
	return NULL;
}

#ifdef __GLIBC__ /* musl has no makecontext(3) */
static void on_coroutine_of(size_t size)
{
	static ucontext_t self, other;

	getcontext(&other);
	other.uc_stack.ss_sp = below_canary(size);
	other.uc_stack.ss_size = size;
	other.uc_link = &self;
	makecontext(&other, live_first, 0);
	swapcontext(&self, &other);
}

static void on_coroutine(void)
{
	on_coroutine_of(256u << 10);
}

static void on_tiny_coroutine(void)
{
	on_coroutine_of(4096);
}
#endif

static void deep(size_t left)
{
	volatile unsigned char frame[4096];

	frame[0] = (unsigned char)left;
	if (left < 2 * sizeof(frame))
		live(0);
	else
		deep(left - sizeof(frame));
	frame[1] = frame[0];
}

/* Recurse until only some KiB are left. */
static void on_deep_main(void)
{
	struct rlimit limit = { 1u << 20, 1u << 20 };

	if (setrlimit(RLIMIT_STACK, &limit) != 0)
		exit(2);
	deep((1u << 20) - (40u << 10));
}

static uintptr_t stack_start(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[stack]"))
			start = strtoul(line, NULL, 16);
	if (!start)
		exit(2);
	fclose(f);
	return start;
}

/* Near the end of the mapped part of a stack that could grow: only a limit prevents that. */
static void on_edge_main(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), edge = stack_start() + EDGE_MAIN;
	volatile char space[here > edge ? here - edge : 1];

	if (here <= edge)
		exit(2);
	space[0] = 0;
	live((unsigned char)space[0]);
}

static void *deep_thread(void *arg)
{
	deep((size_t)(uintptr_t)arg);
	return NULL;
}

/* Block in write(2) on a full pipe, which cannot be interrupted transparently. */
static void not_to_be_had(void)
{
	static const char bytes[1 << 20];
	int fds[2];

	if (pipe(fds) != 0 || write(fds[1], bytes, sizeof(bytes)) != sizeof(bytes))
		exit(2);
}

static void start_alone(const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, attr, run, arg) != 0)
		exit(2);
	not_to_be_had();
}

static void in_deep_thread(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1u << 20);
	start_alone(&attr, deep_thread, (void *)(uintptr_t)(910u << 10));
}

static void in_altstack_thread(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1u << 20); /* musl's default is smaller */
	start_alone(&attr, altstack_thread, NULL);
}

static void in_thread_of(size_t size)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size + TLS_SIZE);
	start_alone(&attr, live_thread, NULL);
}

static void in_smallest_thread(void)
{
	in_thread_of((size_t)PTHREAD_STACK_MIN);
}

/* With stacks like those of varnishd's workers. */
static void in_small_thread(void)
{
	in_thread_of(80u << 10);
}

/* A guard, other data, and the stack of a thread: one mapping, except for the guard. */
static void in_given_stack(void)
{
	const size_t guard = 4096, stack = (8u << 10) + TLS_SIZE;
	unsigned char *p = mmap(NULL, guard + CANARY_SIZE + stack, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	if (p == MAP_FAILED || mprotect(p, guard, PROT_NONE) != 0)
		exit(2);
	canary_set(p + guard, CANARY_SIZE);
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, p + guard + CANARY_SIZE, stack) != 0)
		exit(2);
	start_alone(&attr, live_thread, NULL);
}

/*
 * Like HotSpot, remove all access from the lowest pages of the stack, leaving room for `left` bytes
 * below the frame.
 */
static void *zone_thread(void *left)
{
	const size_t page = 4096;
	char *top = (char *)__builtin_frame_address(0) - (uintptr_t)left;
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr) != 0 ||
	    pthread_attr_getstack(&attr, &low, &size) != 0)
		exit(2);
	size = (size_t)(top - (char *)low) / page * page;
	if (mprotect(low, size, PROT_NONE) != 0)
		exit(2);
	live(0);
	return NULL;
}

static void above_zone_by(size_t left)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1u << 20); /* musl's default is smaller */
	start_alone(&attr, zone_thread, (void *)left);
}

static void above_zone(void)
{
	above_zone_by(256u << 10);
}

static void near_zone(void)
{
	above_zone_by(8u << 10);
}

/* The same for the main thread, whose stack then cannot grow, whatever its limit is. */
static void near_zone_main(void)
{
	const size_t page = 4096;
	unsigned char *top = (unsigned char *)__builtin_frame_address(0) - ZONE_MAIN;

	if (mprotect(top - (uintptr_t)top % page, page, PROT_NONE) != 0)
		exit(2);
	live(0);
}

/*
 * Leave on the stack what a program has there after it installed a handler: the address that
 * handlers return to, among other words, like in a signal frame with a stack of nearly 2^64 bytes.
 */
static void with_leftovers(void)
{
	struct {
		void *handler;
		unsigned long flags;
		uint64_t restorer, mask;
	} known;
	const struct sigaction sa = { .sa_handler = SIG_IGN };
	volatile uint64_t words[] = { 0, 0, 1, 2, 0x2000, 0 };

	if (sigaction(SIGUSR1, &sa, NULL) != 0 ||
	    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &known, sizeof(known.mask)) != 0)
		exit(2);
	words[0] = known.restorer;
	words[5] = (uint64_t)-6376;
	live(0);
	board->reserved = words[0];
}

/* A handler on the normal stack. */
static void in_handler(void)
{
	const struct sigaction sa = { .sa_handler = handler };

	if (sigaction(SIGUSR1, &sa, NULL) != 0)
		exit(2);
	raise(SIGUSR1);
}

/* Measure how deep calls go: paint the stack below; board->reserved is where the paint ends. */
static void *painted_thread(void *arg)
{
	const size_t size = 400u << 10;
	unsigned char *here = __builtin_frame_address(0), *low = here - size;

	(void)arg;
	for (volatile unsigned char *p = low; p < here - PAINT_AWAY; p++)
		*p = CANARY;
	while (board->altstack == 0) {
		const unsigned char *p = low;

		victim_nap(2);
		while (p < here && *p == CANARY)
			p++;
		if ((size_t)(here - p) > board->reserved)
			board->reserved = (size_t)(here - p);
		victim_beat(0);
	}
	return NULL;
}

static void in_painted_thread(void)
{
	start_alone(NULL, painted_thread, NULL);
}

static const struct kind {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "altstack", on_altstack },
	{ "altstack-within", on_altstack_within },
	{ "altstack-thread", in_altstack_thread },
#ifdef __GLIBC__
	{ "coroutine", on_coroutine },
	{ "tiny-coroutine", on_tiny_coroutine },
#endif
	{ "deep-main", on_deep_main },
	{ "edge-main", on_edge_main },
	{ "deep-thread", in_deep_thread },
	{ "smallest-thread", in_smallest_thread },
	{ "small-thread", in_small_thread },
	{ "given-stack", in_given_stack },
	{ "above-zone", above_zone },
	{ "near-zone", near_zone },
	{ "near-zone-main", near_zone_main },
	{ "leftovers", with_leftovers },
	{ "handler", in_handler },
	{ "painted", in_painted_thread },
};

int main(int argc, char **argv)
{
	bool idle = argc > 3 && strcmp(argv[3], "idle") == 0;
	const struct kind *kind = NULL;
	pthread_t thread;

	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(argv[2], kinds[i].name) == 0)
			kind = &kinds[i];
	if (!kind) {
		fprintf(stderr, "usage: stacks BOARD KIND [idle]\n");
		return 2;
	}
	victim_open(argv[1]);
	if (idle && pthread_create(&thread, NULL, idle_thread, NULL) != 0)
		return 2;
	victim_ready(idle ? 2 : 1);
	kind->run();
	return 2;
}
