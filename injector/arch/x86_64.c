// SPDX-License-Identifier: Apache-2.0
/*
 * x86-64: how a thread is made to call a function and gets its state back.
 *
 * We write a signal frame without a signal. rt_sigreturn(2) loads the complete state of a thread
 * from one: registers, extended state, signal mask. The frame is on the borrowed thread's own
 * stack, below the red zone, and the called function returns into libc's __restore_rt, which makes
 * that system call. So the thread gets its state back without our help.
 *
 * 	struct rt_sigframe, as the kernel reads it (arch/x86/kernel/signal_64.c):
 * 	sp ->	ucontext: flags, link, uc_stack, sigcontext, sigmask	304 bytes
 * 	...
 * 		xstate: FXSAVE area, with at byte 464 the magic number, the
 * 		sizes and the features; XSAVE header; the rest; magic number 2.
 * 		The FXSAVE area alone where the processor has no XSAVE.
 *
 * Two details matter. uc_stack: rt_sigreturn passes it to sigaltstack(2), so a zeroed or "disabled"
 * one would change the program's alternate stack; with invalid flags the kernel leaves that
 * unchanged. xstate_size: if it is larger than what this task may use (AMX, 5.16), the kernel falls
 * back to restoring only the SSE registers; so dynamically enabled components are included only if
 * they are in use.
 */
#include "injector/arch/arch.h"
#include "process/proc.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define EFLAGS_TF 0x100u
#define EFLAGS_DF 0x400u
#define EFLAGS_NT 0x4000u
#define EFLAGS_RF 0x10000u
#define EFLAGS_AC 0x40000u
#define USER_CS 0x33
#define X32_SYSCALL_BIT 0x40000000L

/* include/linux/errno.h: the value of rax when a system call is to be restarted */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

#define FXSAVE_FCW 0
#define FXSAVE_FTW 4
#define FXSAVE_MXCSR 24
#define FXSAVE_SW_RESERVED 464
#define FXSAVE_SIZE 512
#define XSAVE_HEADER FXSAVE_SIZE
#define XSAVE_MIN_SIZE 576
#define FCW_DEFAULT 0x37fu
#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_FLAGS 0x3fu
#define XFEATURE_TILE_CFG (1ull << 17)
#define XFEATURE_TILE_DATA (1ull << 18)
#define FP_XSTATE_MAGIC1 0x46505853u
#define FP_XSTATE_MAGIC2 0x46505845u

#define UC_FP_XSTATE 1
#define UC_SIGCONTEXT_SS 2
#define UC_STRICT_RESTORE_SS 4
#define SS_NO_SUCH_FLAGS 3

struct sw_bytes { /* struct _fpx_sw_bytes, uapi/asm/sigcontext.h */
	uint32_t magic1, extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size, padding[7];
};

struct ucontext { /* uapi: struct ucontext with struct sigcontext_64 */
	uint64_t flags, link;
	uint64_t ss_sp;
	int32_t ss_flags, ss_pad;
	uint64_t ss_size;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t sigmask;
};
_Static_assert(sizeof(struct ucontext) == ARCH_UCONTEXT_SIZE, "the kernel's layout");

/* mov $15,%rax; syscall */
const unsigned char arch_restorer[ARCH_RESTORER_LEN] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
							 0x00, 0x00, 0x0f, 0x05 };

int arch_get_regs(pid_t tid, struct arch_regs *regs)
{
	struct iovec io = { &regs->r, sizeof(regs->r) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) < 0)
		return -1;
	if (io.iov_len == sizeof(regs->r))
		return 0;
	errno = ENOEXEC; /* a 32-bit thread returns fewer bytes */
	return -1;
}

int arch_set_regs(pid_t tid, const struct arch_regs *regs)
{
	struct iovec io = { (void *)&regs->r, sizeof(regs->r) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &io) < 0 ? -1 : 0;
}

/* Without XSAVE, as in some virtual machines, there is only the FXSAVE area. */
static int get_fxsave(pid_t tid, struct arch_xstate *x)
{
	struct iovec io = { x->bytes, FXSAVE_SIZE };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRFPREG, &io) < 0)
		return -1;
	x->len = FXSAVE_SIZE;
	return 0;
}

static bool has_xsave(const struct arch_xstate *x)
{
	return x->len != FXSAVE_SIZE;
}

int arch_get_xstate(pid_t tid, struct arch_xstate *x)
{
	struct iovec io = { x->bytes, sizeof(x->bytes) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &io) < 0)
		return errno == ENODEV ? get_fxsave(tid, x) : -1;
	if (io.iov_len < XSAVE_MIN_SIZE || io.iov_len == sizeof(x->bytes)) {
		errno = E2BIG;
		return -1;
	}
	x->len = io.iov_len;
	return 0;
}

int arch_set_xstate(pid_t tid, const struct arch_xstate *x)
{
	struct iovec io = { (void *)x->bytes, x->len };

	return ptrace(PTRACE_SETREGSET, tid, has_xsave(x) ? NT_X86_XSTATE : NT_PRFPREG, &io) < 0
		       ? -1
		       : 0;
}

bool arch_is_native(const struct arch_regs *regs)
{
	long nr = (long)regs->r.orig_rax;

	return regs->r.cs == USER_CS && (nr < 0 || !(nr & X32_SYSCALL_BIT));
}

uint64_t arch_pc(const struct arch_regs *regs)
{
	return regs->r.rip;
}

uint64_t arch_sp(const struct arch_regs *regs)
{
	return regs->r.rsp;
}

uint64_t arch_tls(const struct arch_regs *regs)
{
	return regs->r.fs_base;
}

long arch_syscall_nr(const struct arch_regs *regs)
{
	return (long)regs->r.orig_rax;
}

long arch_syscall_result(const struct arch_regs *regs)
{
	return (long)regs->r.rax;
}

void arch_name_restarted(struct arch_regs *regs, const unsigned char code[ARCH_SYSCALL_CODE])
{
	/* The calls that set a restart block (kernel: set_restart_fn) */
	static const uint32_t numbers[] = { SYS_poll, SYS_nanosleep, SYS_clock_nanosleep,
					    SYS_futex };
	uint32_t nr;

	/* mov $nr,%eax; syscall */
	if (code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return;
	memcpy(&nr, code + 1, sizeof(nr));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (nr == numbers[i])
			regs->r.orig_rax = nr;
}

void arch_name_as(struct arch_regs *regs, const struct arch_regs *earlier)
{
	const struct user_regs_struct *a = &regs->r, *b = &earlier->r;

	if (a->rip == b->rip && a->rsp == b->rsp && a->rbp == b->rbp && a->rbx == b->rbx &&
	    a->rdi == b->rdi && a->rsi == b->rsi && a->rdx == b->rdx && a->r10 == b->r10 &&
	    a->r8 == b->r8 && a->r9 == b->r9 && a->fs_base == b->fs_base)
		regs->r.orig_rax = b->orig_rax;
}

static void set_args(struct arch_regs *regs, const uint64_t args[6])
{
	regs->r.rdi = args[0];
	regs->r.rsi = args[1];
	regs->r.rdx = args[2];
	regs->r.rcx = args[3];
	regs->r.r8 = args[4];
	regs->r.r9 = args[5];
}

void arch_replace_syscall(struct arch_regs *regs, long nr, const uint64_t args[6], uint64_t pc)
{
	set_args(regs, args);
	regs->r.r10 = args[3]; /* the system call's fourth argument */
	regs->r.orig_rax = (uint64_t)nr;
	regs->r.rip = pc;
}

bool arch_restarts(const struct arch_regs *regs)
{
	long result = (long)regs->r.rax;

	return (long)regs->r.orig_rax >= 0 &&
	       (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
		result == -ERESTART_RESTARTBLOCK);
}

bool arch_restarts_sleep(const struct arch_regs *regs)
{
	return arch_syscall_nr(regs) >= 0 && arch_syscall_result(regs) == -ERESTART_RESTARTBLOCK;
}

bool arch_undo_restart(struct arch_regs *regs, const unsigned char code[ARCH_SYSCALL_INSN])
{
	if ((long)regs->r.orig_rax < 0 || regs->r.rax != SYS_restart_syscall || code[0] != 0x0f ||
	    code[1] != 0x05)
		return false;
	regs->r.rax = (uint64_t)-ERESTART_RESTARTBLOCK;
	regs->r.rip += ARCH_SYSCALL_INSN;
	return true;
}

void arch_restart_syscall(struct arch_regs *regs)
{
	regs->r.rax = regs->r.orig_rax;
	regs->r.rip -= ARCH_SYSCALL_INSN;
	regs->r.orig_rax = (uint64_t)-1;
}

void arch_dwarf_regs(const struct arch_regs *regs, uint64_t out[ARCH_DWARF_REGS])
{
	const struct user_regs_struct *r = &regs->r;
	const uint64_t values[ARCH_DWARF_REGS] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
						   r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
						   r->r12, r->r13, r->r14, r->r15, r->rip };

	memcpy(out, values, sizeof(values));
}

void arch_get_syscall(const struct arch_regs *regs, struct proc_syscall *sc)
{
	const struct user_regs_struct *r = &regs->r;

	*sc = (struct proc_syscall){ .running = (long)r->orig_rax < 0,
				     .nr = (long)r->orig_rax,
				     .args = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 },
				     .sp = r->rsp,
				     .pc = r->rip };
}

void arch_lower_timeout(struct arch_regs *regs, uint64_t ms)
{
	long nr = (long)regs->r.orig_rax < 0 ? (long)regs->r.rax : (long)regs->r.orig_rax;
	unsigned long long *timeout;

	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		timeout = &regs->r.r10;
		break;
	case SYS_poll:
		timeout = &regs->r.rdx;
		break;
	default:
		return;
	}
	if ((int)*timeout >= 0 && ms < (uint64_t)(int)*timeout)
		*timeout = ms;
}

void arch_call(struct arch_regs *regs, uint64_t fn, uint64_t sp, const uint64_t args[6])
{
	set_args(regs, args);
	regs->r.rax = 0;		 /* no vector arguments */
	regs->r.orig_rax = (uint64_t)-1; /* otherwise the kernel would restart the interrupted
					  * call */
	regs->r.rip = fn;
	regs->r.rsp = sp;
	regs->r.eflags &= ~(uint64_t)(EFLAGS_TF | EFLAGS_DF | EFLAGS_NT | EFLAGS_RF | EFLAGS_AC);
}

/* mov %rax,(%rsi) or mov %rax,n(%rsi), or the same with %rdi; ret */
#define STORE_REX 0x48
#define STORE_OPCODE 0x89
#define STORE_OFFSET 0x40 /* in the third byte: a byte with the offset follows */
#define REG_RSI 6
#define REG_RDI 7
#define POP 0x58
#define RET 0xc3
#define MOV_EAX 0xb8
#define STORE32 1 /* offset of the 32-bit store, without the prefix: mov %eax,... */

static bool is_store(const unsigned char *code, unsigned char offset)
{
	return code[0] == STORE_REX && code[1] == STORE_OPCODE &&
	       (code[2] == (offset | REG_RSI) || code[2] == (offset | REG_RDI));
}

/* Number of bytes from a store to its "ret", 0 for none. */
static size_t store_before(const unsigned char *ret, size_t before)
{
	if (before >= 3 && is_store(ret - 3, 0))
		return 3;
	return before >= 4 && is_store(ret - 4, STORE_OFFSET) ? 4 : 0;
}

const char *arch_find_store(const char *bytes, size_t len)
{
	const char *at = bytes, *end = bytes + len;

	while ((at = memchr(at, RET, (size_t)(end - at)))) {
		size_t n = store_before((const unsigned char *)at, (size_t)(at - bytes));

		if (n)
			return at - n;
		at++;
	}
	return NULL;
}

bool arch_gadget_from(struct arch_gadget *g, const unsigned char store[ARCH_STORE_MAX],
		      unsigned char load[ARCH_LOAD_LEN])
{
	size_t len = store[2] & STORE_OFFSET ? 4 : 3;

	if (store[len] != RET || store_before(store + len, len) != len)
		return false;
	g->reg = store[2] & 7;
	g->offset = (int8_t)(store[2] & STORE_OFFSET ? store[3] : 0);
	load[0] = (unsigned char)(POP + g->reg);
	load[1] = RET;
	return true;
}

void arch_call_code(unsigned char code[ARCH_CALL_CODE], uint32_t nr)
{
	static const unsigned char rest[] = { 0x0f, 0x05, RET };

	code[0] = MOV_EAX;
	memcpy(code + 1, &nr, sizeof(nr));
	memcpy(code + 1 + sizeof(nr), rest, sizeof(rest));
}

static uint64_t store_base(const struct arch_gadget *g, uint64_t to)
{
	return to - (uint64_t)(int64_t)g->offset;
}

size_t arch_chain(uint64_t chain[ARCH_CHAIN_MAX], const struct arch_gadget *g, uint64_t to,
		  uint64_t next, bool at_entry)
{
	size_t n = 0;

	if (!at_entry) /* an extra word aligns the stack for the called function */
		chain[n++] = g->load + 1;
	chain[n++] = g->load;
	chain[n++] = store_base(g, to);
	chain[n++] = g->store;
	chain[n++] = next;
	return n;
}

void arch_store(struct arch_regs *regs, const struct arch_gadget *g, uint64_t sp, uint64_t to,
		uint32_t value)
{
	uint64_t args[6] = { 0 };

	args[g->reg == REG_RDI ? 0 : 1] = store_base(g, to);
	arch_call(regs, g->store + STORE32, sp, args);
	regs->r.rax = value;
}

#define XFEATURES 63
static size_t xfeature_end[XFEATURES]; /* in the standard XSAVE format; 0: no such feature */

void arch_prepare(void)
{
	unsigned int low, high, size, offset, c, d;

	if (!__get_cpuid_count(0xd, 0, &low, &size, &c, &high))
		return;
	for (unsigned int i = 2; i < XFEATURES; i++) {
		if (!(((uint64_t)high << 32 | low) & (1ull << i)))
			continue;
		__cpuid_count(0xd, i, size, offset, c, d);
		xfeature_end[i] = offset + size;
	}
}

/* The size of this task's features in the standard XSAVE format. */
static size_t xstate_size(const struct arch_xstate *x, uint64_t features)
{
	size_t end = XSAVE_MIN_SIZE;

	for (unsigned int i = 2; i < XFEATURES; i++)
		if ((features & (1ull << i)) && xfeature_end[i] > end)
			end = xfeature_end[i];
	return end < x->len ? end : x->len;
}

/* The features reported by ptrace(2), without those that this task has not enabled. */
static uint64_t xstate_features(const struct arch_xstate *x)
{
	uint64_t features, in_use;

	memcpy(&features, x->bytes + FXSAVE_SW_RESERVED, sizeof(features));
	memcpy(&in_use, x->bytes + XSAVE_HEADER, sizeof(in_use));
	if (!(in_use & XFEATURE_TILE_DATA))
		features &= ~(XFEATURE_TILE_CFG | XFEATURE_TILE_DATA);
	return features;
}

bool arch_fp_is_clean(const struct arch_xstate *x)
{
	uint16_t fcw;
	uint32_t mxcsr;

	memcpy(&fcw, x->bytes + FXSAVE_FCW, sizeof(fcw));
	memcpy(&mxcsr, x->bytes + FXSAVE_MXCSR, sizeof(mxcsr));
	/* Sticky exception flags are harmless; an occupied x87 stack is not. */
	return fcw == FCW_DEFAULT && x->bytes[FXSAVE_FTW] == 0 &&
	       (mxcsr & ~MXCSR_FLAGS) == MXCSR_DEFAULT;
}

void arch_fp_clean(struct arch_xstate *x)
{
	const uint16_t fcw = FCW_DEFAULT;
	const uint32_t mxcsr = MXCSR_DEFAULT;

	memset(x->bytes, 0, FXSAVE_SW_RESERVED);
	memcpy(x->bytes + FXSAVE_FCW, &fcw, sizeof(fcw));
	memcpy(x->bytes + FXSAVE_MXCSR, &mxcsr, sizeof(mxcsr));
}

size_t arch_xframe_size(const struct arch_xstate *x)
{
	return has_xsave(x) ? xstate_size(x, xstate_features(x)) + sizeof(uint32_t) : FXSAVE_SIZE;
}

size_t arch_xframe_max(void)
{
	size_t end = XSAVE_MIN_SIZE;

	for (unsigned int i = 2; i < XFEATURES; i++)
		if (xfeature_end[i] > end)
			end = xfeature_end[i];
	return (end < ARCH_XSTATE_MAX ? end : ARCH_XSTATE_MAX) + sizeof(uint32_t);
}

void arch_xframe_build(const struct arch_xstate *x, unsigned char *buf)
{
	const uint32_t magic2 = FP_XSTATE_MAGIC2;
	struct sw_bytes sw = { .magic1 = FP_XSTATE_MAGIC1 };
	uint64_t features;
	size_t size;

	if (!has_xsave(x)) {
		memcpy(buf, x->bytes, FXSAVE_SIZE);
		return;
	}
	features = xstate_features(x);
	size = xstate_size(x, features);
	sw.extended_size = (uint32_t)(size + sizeof(magic2));
	sw.xfeatures = features;
	sw.xstate_size = (uint32_t)size;
	memcpy(buf, x->bytes, size);
	memcpy(buf + FXSAVE_SW_RESERVED, &sw, sizeof(sw));
	memcpy(buf + size, &magic2, sizeof(magic2));
}

void arch_ucontext_build(const struct arch_regs *regs, uint64_t sigmask, uint64_t xframe,
			 unsigned char buf[ARCH_UCONTEXT_SIZE])
{
	struct arch_regs home = *regs;
	struct ucontext uc;

	if (arch_restarts(&home))
		arch_restart_syscall(&home);
	uc = (struct ucontext){
		.flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
		.ss_flags = SS_NO_SUCH_FLAGS,
		.r8 = home.r.r8,
		.r9 = home.r.r9,
		.r10 = home.r.r10,
		.r11 = home.r.r11,
		.r12 = home.r.r12,
		.r13 = home.r.r13,
		.r14 = home.r.r14,
		.r15 = home.r.r15,
		.di = home.r.rdi,
		.si = home.r.rsi,
		.bp = home.r.rbp,
		.bx = home.r.rbx,
		.dx = home.r.rdx,
		.ax = home.r.rax,
		.cx = home.r.rcx,
		.sp = home.r.rsp,
		.ip = home.r.rip,
		.eflags = home.r.eflags,
		.cs = (uint16_t)home.r.cs,
		.ss = (uint16_t)home.r.ss,
		.fpstate = xframe,
		.sigmask = sigmask,
	};
	memcpy(buf, &uc, sizeof(uc));
}

/* Part of the frame that the kernel creates for a handler (struct rt_sigframe). */
struct signal_frame {
	uint64_t restorer, flags, link, stack, stack_flags, stack_size;
	uint64_t regs[15], sp, pc, eflags; /* at the interruption */
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate;
};
_Static_assert(sizeof(struct signal_frame) == ARCH_SIGNAL_FRAME_SIZE, "the kernel's layout");
#define FRAME_FLAGS ((uint64_t)(UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS))
#define USER_END (UINT64_C(1) << 56) /* with five levels of page tables */
#define FPSTATE_ALIGN 16	     /* 64 with XSAVE */

/*
 * Other properties of a frame created by the kernel: only these flags, no link, the selector of
 * 64-bit code, user addresses, and the extended state a little above.
 */
static bool is_signal_frame(const struct signal_frame *f, uint64_t at)
{
	return !(f->flags & ~FRAME_FLAGS) && !f->link && f->cs == USER_CS && f->pc < USER_END &&
	       f->sp < USER_END &&
	       (!f->fpstate || (f->fpstate > at && f->fpstate - at < ARCH_XSTATE_MAX &&
				f->fpstate % FPSTATE_ALIGN == 0));
}

bool arch_find_signal_frame(const unsigned char *bytes, size_t len, uint64_t at, uint64_t restorer,
			    size_t *i, struct arch_altstack *altstack)
{
	struct signal_frame f;

	for (; *i + sizeof(f) <= len; *i += sizeof(f.restorer)) {
		memcpy(&f.restorer, bytes + *i, sizeof(f.restorer));
		if (f.restorer != restorer)
			continue;
		memcpy(&f, bytes + *i, sizeof(f));
		if (!is_signal_frame(&f, at + *i))
			continue;
		*altstack = (struct arch_altstack){ f.stack, f.stack_size };
		return true;
	}
	return false;
}

static bool starts(const unsigned char *code, size_t len, const char *bytes, size_t n)
{
	return len >= n && memcmp(code, bytes, n) == 0;
}
#define STARTS(code, len, bytes) starts(code, len, bytes, sizeof(bytes) - 1)

#define ADD_FS_RAX "\x64\x48\x03\x04\x25\x00\x00\x00\x00" /* add %fs:0,%rax */
#define MOV_FS_RAX "\x64\x48\x8b\x04\x25\x00\x00\x00\x00" /* mov %fs:0,%rax */
#define ENDBR64 "\xf3\x0f\x1e\xfa"

bool arch_errno_offset(const unsigned char *code, size_t len, uint64_t pc, int64_t *offset,
		       uint64_t *slot)
{
	int32_t disp;

	if (STARTS(code, len, ENDBR64)) {
		code += 4;
		len -= 4;
		pc += 4;
	}
	if (len < 17)
		return false;
	*slot = 0;
	memcpy(&disp, code + 3, sizeof(disp));
	/* mov disp(%rip),%rax; add %fs:0,%rax: a shared glibc */
	if (STARTS(code, len, "\x48\x8b\x05") && STARTS(code + 7, len - 7, ADD_FS_RAX)) {
		*slot = pc + 7 + (uint64_t)(int64_t)disp;
		return true;
	}
	/* mov $imm,%rax; add %fs:0,%rax: a static glibc */
	if (STARTS(code, len, "\x48\xc7\xc0") && STARTS(code + 7, len - 7, ADD_FS_RAX)) {
		*offset = disp;
		return true;
	}
	if (!STARTS(code, len, MOV_FS_RAX))
		return false;
	memcpy(&disp, code + 11, sizeof(disp));
	/* mov %fs:0,%rax; then add $imm32,%rax or add $imm8,%rax (musl) */
	if (STARTS(code + 9, len - 9, "\x48\x05")) {
		*offset = disp;
		return true;
	}
	if (STARTS(code + 9, len - 9, "\x48\x83\xc0")) {
		*offset = (signed char)code[12];
		return true;
	}
	return false;
}

void arch_errno_at(unsigned char code[ARCH_ERRNO_AT_CODE], int8_t offset)
{
	/* mov %fs:0,%rax; add $offset,%rax; ret */
	const unsigned char bytes[ARCH_ERRNO_AT_CODE] = {
		0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x83, 0xc0, (unsigned char)offset,
		0xc3
	};

	memcpy(code, bytes, sizeof(bytes));
}

/* neg %eax; mov %eax,%fs:(%rdx), after mov $imm,%rdx */
const unsigned char arch_set_errno[] = { 0xf7, 0xd8, 0x64, 0x89, 0x02 };
const size_t arch_set_errno_len = sizeof(arch_set_errno);

bool arch_errno_location(unsigned char code[ARCH_ERRNO_CODE], int64_t *offset)
{
	static const char end[] = ADD_FS_RAX "\xc3";
	int32_t displacement;

	if (!STARTS(code, ARCH_ERRNO_CODE, "\x48\xc7\xc2"))
		return false;
	memcpy(&displacement, code + 3, sizeof(displacement));
	*offset = displacement;
	code[2] = 0xc0; /* mov $imm,%rax; add %fs:0,%rax; ret */
	memcpy(code + 7, end, sizeof(end) - 1);
	return true;
}
