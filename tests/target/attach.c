// SPDX-License-Identifier: Apache-2.0
/*
 * attach PID [HOW]: what careless tools do to a thread. The tests use it to show that they would
 * notice.
 *
 *	stop	stop it and let it go, as debuggers do
 *	restart	restart an interrupted call with its full timeout
 *	old	PTRACE_ATTACH, which sends a SIGSTOP, and exit before it arrives
 *	eat	swallow one signal
 *	xmm, x87, mxcsr, tile, gpr, flags, redzone, mask, gs: leave that state changed
 */
#include <errno.h>
#include <linux/elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pid;

static void need(int true_thing, const char *what)
{
	if (true_thing)
		return;
	perror(what);
	exit(1);
}

static void get(struct user_regs_struct *regs)
{
	need(ptrace(PTRACE_GETREGS, pid, 0, regs) == 0, "GETREGS");
}

static void set(struct user_regs_struct *regs)
{
	need(ptrace(PTRACE_SETREGS, pid, 0, regs) == 0, "SETREGS");
}

static void restart(void)
{
	struct user_regs_struct regs;

	get(&regs);
	if ((long)regs.orig_rax < 0)
		return;
	regs.rax = regs.orig_rax;
	regs.rip -= 2;
	regs.orig_rax = (unsigned long)-1;
	set(&regs);
}

static void fp(size_t offset, size_t len, unsigned char value)
{
	static unsigned char x[32768];
	struct iovec io = { x, sizeof(x) };

	need(ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &io) == 0, "GETREGSET");
	for (size_t i = 0; i < len; i++)
		x[offset + i] ^= value;
	x[512] |= 3; /* x87 and SSE are in use */
	need(ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &io) == 0, "SETREGSET");
}

static void xmm(void)
{
	fp(160, 256, 0xff);
}

static void x87(void)
{
	fp(1, 1, 0x0c); /* the rounding mode */
}

static void mxcsr(void)
{
	fp(25, 1, 0x60);
}

/* The first of AMX, which must be in use. Its place is the same on all processors that have it. */
static void tile(void)
{
	fp(2816, 1024, 0xff);
}

static void gpr(void)
{
	struct user_regs_struct regs;

	get(&regs);
	regs.r15 = ~regs.r15;
	set(&regs);
}

static void flags(void)
{
	struct user_regs_struct regs;

	get(&regs);
	regs.eflags ^= 1;
	set(&regs);
}

static void gs(void)
{
	struct user_regs_struct regs;

	get(&regs);
	regs.gs_base ^= 0x1000;
	set(&regs);
}

static void redzone(void)
{
	struct user_regs_struct regs;

	get(&regs);
	for (unsigned int i = 1; i <= 16; i++)
		need(ptrace(PTRACE_POKEDATA, pid, regs.rsp - 8 * i, 0) == 0, "POKEDATA");
}

static void mask(void)
{
	uint64_t all = ~0ull;

	need(ptrace(PTRACE_SETSIGMASK, pid, 8, &all) == 0, "SETSIGMASK");
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*harm)(void);
} ways[] = {
	{ "stop", nothing }, { "restart", restart }, { "xmm", xmm },	 { "x87", x87 },
	{ "mxcsr", mxcsr },  { "gpr", gpr },	     { "flags", flags }, { "redzone", redzone },
	{ "mask", mask },    { "gs", gs },	     { "tile", tile },
};

/* Wait for a stop that no signal caused. */
static void stop(void)
{
	int status;

	need(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0, "SEIZE");
	need(ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0, "INTERRUPT");
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	       status >> 16 != PTRACE_EVENT_STOP)
		need(ptrace(PTRACE_CONT, pid, 0, (long)WSTOPSIG(status)) == 0, "CONT");
}

static void eat(void)
{
	int status;

	need(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0, "SEIZE");
	need(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status), "waitpid");
	need(ptrace(PTRACE_DETACH, pid, 0, 0) == 0, "DETACH");
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "stop";

	pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	if (strcmp(how, "old") == 0) {
		need(ptrace(PTRACE_ATTACH, pid, 0, 0) == 0, "ATTACH");
		return 0;
	}
	if (strcmp(how, "eat") == 0) {
		eat();
		return 0;
	}
	stop();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(how, ways[i].name) != 0)
			continue;
		ways[i].harm();
		need(ptrace(PTRACE_DETACH, pid, 0, 0) == 0, "DETACH");
		return 0;
	}
	fprintf(stderr, "attach: no such way: %s\n", how);
	return 2;
}
