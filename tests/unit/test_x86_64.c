// SPDX-License-Identifier: Apache-2.0
#include "injector/arch/arch.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/asleep.h"

static void test_errno_shared(void **state)
{
	/* mov 0x10(%rip),%rax; add %fs:0,%rax; ret */
	static const unsigned char code[32] =
		"\x48\x8b\x05\x10\0\0\0\x64\x48\x03\x04\x25\0\0\0\0\xc3";
	uint64_t slot = 0;
	int64_t offset;

	(void)state;
	assert_true(arch_errno_offset(code, sizeof(code), 0x1000, &offset, &slot));
	assert_int_equal(slot, 0x1000 + 7 + 0x10);
}

static void test_errno_endbr(void **state)
{
	static const unsigned char code[32] =
		"\xf3\x0f\x1e\xfa\x48\x8b\x05\xf0\xff\xff\xff\x64\x48\x03\x04\x25\0\0\0\0\xc3";
	uint64_t slot = 0;
	int64_t offset;

	(void)state;
	assert_true(arch_errno_offset(code, sizeof(code), 0x1000, &offset, &slot));
	assert_int_equal(slot, 0x1004 + 7 - 0x10);
}

static void test_errno_static(void **state)
{
	/* mov $-0x40,%rax; add %fs:0,%rax; ret */
	static const unsigned char code[32] =
		"\x48\xc7\xc0\xc0\xff\xff\xff\x64\x48\x03\x04\x25\0\0\0\0\xc3";
	uint64_t slot = 1;
	int64_t offset = 0;

	(void)state;
	assert_true(arch_errno_offset(code, sizeof(code), 0x1000, &offset, &slot));
	assert_int_equal(slot, 0);
	assert_int_equal(offset, -0x40);
}

static void test_errno_at(void **state)
{
	unsigned char code[32] = { 0 };
	uint64_t slot = 1;
	int64_t offset = 0;

	(void)state;
	arch_errno_at(code, 0x34);
	assert_true(arch_errno_offset(code, sizeof(code), 0x1000, &offset, &slot));
	assert_int_equal(slot, 0);
	assert_int_equal(offset, 0x34);
	assert_int_equal(code[ARCH_ERRNO_AT_CODE - 1], 0xc3);
}

static void test_errno_unknown(void **state)
{
	static const unsigned char code[32] = "\x55\x48\x89\xe5\x90\x90";
	uint64_t slot;
	int64_t offset;

	(void)state;
	assert_false(arch_errno_offset(code, sizeof(code), 0x1000, &offset, &slot));
	for (size_t len = 0; len < 17; len++)
		assert_false(arch_errno_offset(code, len, 0x1000, &offset, &slot));
}

static void test_errno_location(void **state)
{
	/* mov $-0x38,%rdx; neg %eax; mov %eax,%fs:(%rdx); mov $-1,%eax */
	unsigned char code[ARCH_ERRNO_CODE + 1] =
		"\x48\xc7\xc2\xc8\xff\xff\xff\xf7\xd8\x64\x89\x02\xb8\xff\xff\xff\xff";
	int64_t offset = 0, same = 0;
	uint64_t slot = 1;

	(void)state;
	assert_memory_equal(code + ARCH_ERRNO_BEFORE, arch_set_errno, arch_set_errno_len);
	assert_true(arch_errno_location(code, &offset));
	assert_int_equal(offset, -0x38);
	assert_true(arch_errno_offset(code, ARCH_ERRNO_CODE, 0x1000, &same, &slot));
	assert_int_equal(same, offset);
	assert_false(arch_errno_location(code, &offset));
}

static struct arch_regs interrupted(long nr, long result)
{
	struct arch_regs regs = { 0 };

	regs.r.orig_rax = (uint64_t)nr;
	regs.r.rax = (uint64_t)result;
	regs.r.rip = 0x400002;
	regs.r.cs = 0x33;
	return regs;
}

static void test_restart(void **state)
{
	static const long restarted[] = { -512, -513, -514, -516 };
	struct arch_regs regs;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		regs = interrupted(SYS_read, restarted[i]);
		assert_true(arch_restarts(&regs));
	}
	regs = interrupted(SYS_read, -4);
	assert_false(arch_restarts(&regs));
	regs = interrupted(-1, -512); /* not in a system call: the value is the program's own */
	assert_false(arch_restarts(&regs));
	regs = interrupted(SYS_poll, -516);
	arch_restart_syscall(&regs);
	assert_int_equal(regs.r.rip, 0x400000);
	assert_int_equal(regs.r.rax, SYS_poll);
	assert_int_equal(arch_syscall_nr(&regs), -1);
}

static const unsigned char syscall_insn[ARCH_SYSCALL_INSN] = { 0x0f, 0x05 };

/* The registers on the way out of the kernel, with restart_syscall(2) set up. */
static struct arch_regs set_up(long nr)
{
	struct arch_regs regs = interrupted(nr, SYS_restart_syscall);

	regs.r.rip -= ARCH_SYSCALL_INSN;
	return regs;
}

static void test_undo_restart(void **state)
{
	static const unsigned char nop[ARCH_SYSCALL_INSN] = { 0x90, 0x90 };
	struct arch_regs regs = set_up(SYS_clock_nanosleep), was;

	(void)state;
	assert_true(arch_undo_restart(&regs, syscall_insn));
	was = interrupted(SYS_clock_nanosleep, -516);
	assert_memory_equal(&regs, &was, sizeof(regs));
	regs = was = set_up(SYS_futex);
	assert_false(arch_undo_restart(&regs, nop));
	assert_memory_equal(&regs, &was, sizeof(regs));
	regs = set_up(-1); /* not in a system call: the program itself calls it */
	assert_false(arch_undo_restart(&regs, syscall_insn));
	regs = interrupted(SYS_futex, SYS_futex); /* restarted from the beginning */
	assert_false(arch_undo_restart(&regs, syscall_insn));
}

/* The kernel sets up the restart again, and the sleep continues with its remaining time. */
static void test_undo_restart_sleep(void **state)
{
	const struct timespec nap = { .tv_sec = 2 };
	struct user_regs_struct r;
	struct arch_regs regs;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL) != 0);
	}
	wait_until_asleep(pid);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(arch_get_regs(pid, &regs), 0);
	assert_true(arch_restarts_sleep(&regs));
	r = regs.r;
	regs.r.rax = SYS_restart_syscall;
	regs.r.rip -= ARCH_SYSCALL_INSN;
	assert_true(arch_undo_restart(&regs, syscall_insn));
	assert_memory_equal(&regs.r, &r, sizeof(r));
	assert_int_equal(arch_set_regs(pid, &regs), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_restarted_name(void **state)
{
	struct arch_regs regs = interrupted(SYS_restart_syscall, -516);

	(void)state;
	arch_name_restarted(&regs, (const unsigned char *)"\xb8\xe6\0\0\0\x0f\x05");
	assert_int_equal(arch_syscall_nr(&regs), SYS_clock_nanosleep);
	regs = interrupted(SYS_restart_syscall, -516);
	/* a call without a restart block, or another instruction: left unchanged */
	arch_name_restarted(&regs, (const unsigned char *)"\xb8\x01\0\0\0\x0f\x05");
	assert_int_equal(arch_syscall_nr(&regs), SYS_restart_syscall);
	arch_name_restarted(&regs, (const unsigned char *)"\x90\xe6\0\0\0\x0f\x05");
	assert_int_equal(arch_syscall_nr(&regs), SYS_restart_syscall);
}

static void test_restarted_as(void **state)
{
	struct arch_regs earlier = interrupted(SYS_futex, -516), regs = earlier;

	(void)state;
	regs.r.orig_rax = SYS_restart_syscall;
	arch_name_as(&regs, &earlier);
	assert_int_equal(arch_syscall_nr(&regs), SYS_futex);
	regs.r.orig_rax = SYS_restart_syscall;
	regs.r.rdx++; /* another call from the same place */
	arch_name_as(&regs, &earlier);
	assert_int_equal(arch_syscall_nr(&regs), SYS_restart_syscall);
}

static void test_modes(void **state)
{
	struct arch_regs regs = interrupted(SYS_read, -512);

	(void)state;
	assert_true(arch_is_native(&regs));
	regs.r.cs = 0x23;
	assert_false(arch_is_native(&regs));
	regs = interrupted(SYS_read | 0x40000000L, -512);
	assert_false(arch_is_native(&regs));
}

static void test_ucontext(void **state)
{
	struct arch_regs regs = interrupted(SYS_pause, -514);
	unsigned char buf[ARCH_UCONTEXT_SIZE];
	uint64_t word;
	int flags;

	(void)state;
	regs.r.rsp = 0x7ffe0000;
	arch_ucontext_build(&regs, 0xabcd, 0x7ffd0000, buf);
	memcpy(&flags, buf + 24, sizeof(flags));
	assert_int_equal(flags & ~3, 0);
	assert_int_equal(flags, 3); /* ON_STACK and DISABLE at once: sigaltstack(2) refuses it */
	memcpy(&word, buf + 40 + 15 * 8, sizeof(word));
	assert_int_equal(word, 0x7ffe0000);
	memcpy(&word, buf + 40 + 16 * 8, sizeof(word));
	assert_int_equal(word, 0x400000); /* pause(2) is called again */
	memcpy(&word, buf + sizeof(buf) - 8, sizeof(word));
	assert_int_equal(word, 0xabcd);
}

static const struct arch_gadget gadget = { .store = 0x100, .load = 0x300, .reg = 6, .offset = 8 };

static void test_chain(void **state)
{
	uint64_t chain[ARCH_CHAIN_MAX];

	(void)state;
	assert_int_equal(arch_chain(chain, &gadget, 0x77, 0x200, true), 4);
	assert_int_equal(chain[0], 0x300);
	assert_int_equal(chain[1], 0x77 - 8);
	assert_int_equal(chain[2], 0x100);
	assert_int_equal(chain[3], 0x200);
	assert_int_equal(arch_chain(chain, &gadget, 0x77, 0x200, false), 5);
	assert_int_equal(chain[0], 0x301); /* a "ret" */
	assert_int_equal(chain[1], 0x300);
	assert_int_equal(chain[4], 0x200);
}

/* Stores of each form, and other code: other registers, a load, no "ret" right behind it. */
static const char *const stores[] = {
	"\x48\x89\x06\xc3",
	"\x48\x89\x07\xc3",
	"\x48\x89\x46\xc3\xc3",
	"\x48\x89\x47\xf0\xc3",
};
static const char *const no_stores[] = {
	"\x48\x89\x0f\xc3\x90", "\x48\x89\x03\xc3\x90", "\x4c\x89\x06\xc3\x90",
	"\x48\x8b\x06\xc3\x90", "\x48\x89\x06\x90\xc3", "\x48\x89\x86\x90\xc3",
};

static void test_call_code(void **state)
{
	static const unsigned char getppid_code[] = "\xb8\x6e\0\0\0\x0f\x05\xc3";
	unsigned char code[ARCH_CALL_CODE];

	(void)state;
	arch_call_code(code, SYS_getppid);
	assert_memory_equal(code, getppid_code, sizeof(code));
}

static void test_find_store(void **state)
{
	unsigned char load[ARCH_LOAD_LEN];
	struct arch_gadget g;
	char code[64];

	(void)state;
	for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
		memset(code, 0xc3, sizeof(code));
		memcpy(code + 40, stores[i], strlen(stores[i]));
		assert_ptr_equal(arch_find_store(code, sizeof(code)), code + 40);
		assert_ptr_equal(arch_find_store(code + 40, strlen(stores[i])), code + 40);
		assert_null(arch_find_store(code + 40, 3));
		assert_null(arch_find_store(code + 41, 10));
		assert_true(arch_gadget_from(&g, (unsigned char *)code + 40, load));
		assert_int_equal(load[0], i % 2 ? 0x5f : 0x5e);
		assert_int_equal(load[1], 0xc3);
		assert_int_equal(g.offset, i < 2 ? 0 : stores[i][3]);
	}
	for (size_t i = 0; i < sizeof(no_stores) / sizeof(*no_stores); i++) {
		assert_null(arch_find_store(no_stores[i], 5));
		assert_false(arch_gadget_from(&g, (const unsigned char *)no_stores[i], load));
	}
	assert_null(arch_find_store(code, 0));
}

/* Run the code at the program counter in `regs`, with a return address on the stack. */
static void run_store(const struct arch_regs *regs)
{
	__asm__ volatile("sub $128, %%rsp\n\t"
			 "lea 1f(%%rip), %%rcx\n\t"
			 "push %%rcx\n\t"
			 "jmp *%[pc]\n"
			 "1:\tadd $128, %%rsp"
			 :
			 : "a"(regs->r.rax), [pc] "d"(regs->r.rip), "S"(regs->r.rsi),
			   "D"(regs->r.rdi)
			 : "rcx", "memory", "cc");
}

static void test_store(void **state)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char load[ARCH_LOAD_LEN];

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
		struct arch_gadget g = { .store = (uintptr_t)page };
		uint32_t words[3] = { 1, 2, 3 };
		struct arch_regs regs = { 0 };

		memcpy(page, stores[i], strlen(stores[i]));
		assert_true(arch_gadget_from(&g, page, load));
		regs.r.orig_rax = SYS_pause;
		arch_store(&regs, &g, 0x1000, (uintptr_t)&words[1], 77);
		assert_int_equal(regs.r.rsp, 0x1000);
		assert_int_equal(arch_syscall_nr(&regs), -1);
		run_store(&regs);
		assert_int_equal(words[0], 1);
		assert_int_equal(words[1], 77);
		assert_int_equal(words[2], 3); /* the next word is unchanged */
	}
	munmap(page, 4096);
}

static void test_fp(void **state)
{
	static struct arch_xstate x;

	(void)state;
	x.len = 832;
	arch_fp_clean(&x);
	assert_true(arch_fp_is_clean(&x));
	x.bytes[24] |= 0x20; /* an earlier inexact result is harmless */
	assert_true(arch_fp_is_clean(&x));
	x.bytes[25] &= (unsigned char)~0x10; /* an unmasked exception is not */
	assert_false(arch_fp_is_clean(&x));
	arch_fp_clean(&x);
	x.bytes[4] = 0x80; /* something on the x87 stack */
	assert_false(arch_fp_is_clean(&x));
}

/* Without XSAVE, nothing follows the FXSAVE area in a signal frame. */
static void test_xframe(void **state)
{
	static unsigned char buf[ARCH_XSTATE_MAX];
	static struct arch_xstate x;
	uint32_t magic;

	(void)state;
	x.len = 512;
	memset(x.bytes, 0x5a, 512);
	assert_int_equal(arch_xframe_size(&x), 512);
	arch_xframe_build(&x, buf);
	assert_memory_equal(buf, x.bytes, 512);
	assert_int_equal(buf[512], 0);
	x.len = 832;
	memset(x.bytes, 0, sizeof(x.bytes));
	assert_int_equal(arch_xframe_size(&x), 576 + sizeof(magic));
	arch_xframe_build(&x, buf);
	memcpy(&magic, buf + 464, sizeof(magic));
	assert_int_equal(magic, 0x46505853);
	memcpy(&magic, buf + 576, sizeof(magic));
	assert_int_equal(magic, 0x46505845);
}

/* A task with all features of this machine has the largest frame. */
static void test_xframe_max(void **state)
{
	static struct arch_xstate x = { .len = ARCH_XSTATE_MAX - 1 };
	const uint64_t all = ~UINT64_C(0);

	(void)state;
	arch_prepare();
	memcpy(x.bytes + 464, &all, sizeof(all));
	memcpy(x.bytes + 512, &all, sizeof(all));
	assert_int_equal(arch_xframe_size(&x), arch_xframe_max());
	assert_true(arch_xframe_max() >= 576);
}

static unsigned char taken[2 * ARCH_SIGNAL_FRAME_SIZE];
static uint64_t taken_at;

/* The frame of this handler: the return address, and the context above it. */
static void take_frame(int sig, siginfo_t *info, void *context)
{
	const unsigned char *frame = (const unsigned char *)context - sizeof(uint64_t);

	(void)sig, (void)info;
	taken_at = (uint64_t)(uintptr_t)frame;
	memcpy(taken, frame, ARCH_SIGNAL_FRAME_SIZE);
}

static bool finds(uint64_t at, size_t len, size_t *i, struct arch_altstack *alt)
{
	uint64_t restorer;

	memcpy(&restorer, taken, sizeof(restorer));
	return arch_find_signal_frame(taken, len, at, restorer, i, alt);
}

static void test_signal_frame(void **state)
{
	/* Values that the kernel never writes: a word of the frame, and its invalid value. */
	static const struct {
		size_t word;
		uint64_t value;
	} wrong[] = {
		{ 1, 8 },		   /* flags that do not exist */
		{ 2, 1 },		   /* a link */
		{ 21, UINT64_C(1) << 56 }, /* the stack pointer */
		{ 22, UINT64_C(1) << 63 }, /* the program counter */
		{ 24, 0x23 },		   /* the selector of 32-bit code */
		{ 29, 16 },		   /* the extended state: below the frame, */
		{ 29, UINT64_C(1) << 40 }, /* and far from it */
	};
	struct sigaction take = { .sa_sigaction = take_frame, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static char room[65536];
	stack_t own = { .ss_sp = room, .ss_size = sizeof(room) };
	struct arch_altstack alt = { 0 };
	size_t i = 0;

	(void)state;
	assert_int_equal(sigaltstack(&own, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &take, NULL), 0);
	raise(SIGUSR1);
	assert_true(finds(taken_at, sizeof(taken), &i, &alt));
	assert_int_equal(i, 0);
	assert_int_equal(alt.start, (uint64_t)(uintptr_t)room);
	assert_int_equal(alt.size, sizeof(room));
	/* The frame must be complete, and is only found from *i on. */
	assert_true(finds(taken_at, ARCH_SIGNAL_FRAME_SIZE, &i, &alt));
	assert_false(finds(taken_at, ARCH_SIGNAL_FRAME_SIZE - 1, &i, &alt));
	i = sizeof(uint64_t);
	assert_false(finds(taken_at, sizeof(taken), &i, &alt));
	for (size_t n = 0; n < sizeof(wrong) / sizeof(*wrong); n++) {
		unsigned char *word = taken + wrong[n].word * sizeof(uint64_t);
		uint64_t was;

		memcpy(&was, word, sizeof(was));
		memcpy(word, &wrong[n].value, sizeof(was));
		i = 0;
		assert_false(finds(taken_at, sizeof(taken), &i, &alt));
		memcpy(word, &was, sizeof(was));
	}
	i = 0;
	assert_true(finds(taken_at, sizeof(taken), &i, &alt));
	own.ss_flags = SS_DISABLE;
	sigaltstack(&own, NULL);
}

/* The TLS block of a program ends at the thread pointer, and its start is aligned. */
static void test_tls_place(void **state)
{
	(void)state;
	assert_int_equal(arch_tls_place(-8, 8, 8), 0);
	assert_int_equal(arch_tls_place(-8, 0x21, 16), 0x28);
	assert_int_equal(arch_tls_place(-0x100, 0x100, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errno_shared),
		cmocka_unit_test(test_errno_endbr),
		cmocka_unit_test(test_errno_static),
		cmocka_unit_test(test_errno_at),
		cmocka_unit_test(test_errno_unknown),
		cmocka_unit_test(test_errno_location),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_undo_restart),
		cmocka_unit_test(test_undo_restart_sleep),
		cmocka_unit_test(test_restarted_name),
		cmocka_unit_test(test_restarted_as),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_ucontext),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_call_code),
		cmocka_unit_test(test_find_store),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_fp),
		cmocka_unit_test(test_xframe),
		cmocka_unit_test(test_xframe_max),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_tls_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
