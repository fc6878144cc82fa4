// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that depends on the processor: registers, the signal frame that restores a thread,
 * calls, and reading a few machine instructions.
 *
 * Functions that take a tid act on a stopped tracee; the others only compute. All return -1 with
 * errno set on failure unless stated otherwise.
 */
#ifndef INJECTOR_ARCH_ARCH_H
#define INJECTOR_ARCH_ARCH_H

#include "arch/machine.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* struct arch_regs, the lengths below, and the layouts of C libraries. */
#include ARCH_HEADER

struct proc_syscall;

struct arch_xstate {
	size_t len;
	unsigned char bytes[ARCH_XSTATE_MAX] __attribute__((aligned(64)));
};

int arch_get_regs(pid_t tid, struct arch_regs *regs);
int arch_set_regs(pid_t tid, const struct arch_regs *regs);
int arch_get_xstate(pid_t tid, struct arch_xstate *x);
int arch_set_xstate(pid_t tid, const struct arch_xstate *x);

/* Is the thread in 64-bit user mode (not compat, not x32)? */
bool arch_is_native(const struct arch_regs *regs);

uint64_t arch_pc(const struct arch_regs *regs);
uint64_t arch_sp(const struct arch_regs *regs);
uint64_t arch_tls(const struct arch_regs *regs);    /* thread pointer */
long arch_syscall_nr(const struct arch_regs *regs); /* -1 if in none */
long arch_syscall_result(const struct arch_regs *regs);

/* In the entry stop of a system call: replace it by another one, to continue at `pc` afterwards. */
void arch_replace_syscall(struct arch_regs *regs, long nr, const uint64_t args[6], uint64_t pc);

/* Was the system call interrupted in a way that makes the kernel restart it? */
bool arch_restarts(const struct arch_regs *regs);

/* Will it continue by restart_syscall(2), with the remaining time? */
bool arch_restarts_sleep(const struct arch_regs *regs);

/*
 * Is restart_syscall(2) set up but not made yet? That is so when a thread is stopped again on its
 * way out of the kernel: its program counter is at the system call instruction, whose
 * ARCH_SYSCALL_INSN bytes are `code`. Sets the registers back to those at the interruption, from
 * which the kernel sets up the same again (arch/x86/kernel/signal.c, arch_do_signal_or_restart()).
 */
bool arch_undo_restart(struct arch_regs *regs, const unsigned char code[ARCH_SYSCALL_INSN]);

/* Have an interrupted system call restarted from its beginning when the thread continues. */
void arch_restart_syscall(struct arch_regs *regs);

/* All registers in the order of their DWARF numbers. */
void arch_dwarf_regs(const struct arch_regs *regs, uint64_t out[ARCH_DWARF_REGS]);

/* The system call that the thread is in, as /proc would show it; `running` when it is in none. */
void arch_get_syscall(const struct arch_regs *regs, struct proc_syscall *sc);

/*
 * Lower the timeout of an epoll_wait(2), epoll_pwait(2) or poll(2) that is about to be restarted to
 * `ms`, unless it is shorter. Other calls are left unchanged.
 */
void arch_lower_timeout(struct arch_regs *regs, uint64_t ms);

/*
 * A thread in restart_syscall(2) is in a call that was interrupted before. That call's number is no
 * longer in a register, but in the instruction that loaded it: `code` are the ARCH_SYSCALL_CODE
 * bytes before the program counter. Puts the number back into `regs`, or leaves them unchanged when
 * the code does not show it.
 */
void arch_name_restarted(struct arch_regs *regs, const unsigned char code[ARCH_SYSCALL_CODE]);

/*
 * The same from the registers of an earlier stop of the same thread, if they show the same call:
 * the same program counter and arguments.
 */
void arch_name_as(struct arch_regs *regs, const struct arch_regs *earlier);

/*
 * The registers for calling `fn` with `args` and the stack pointer `sp`, which points at the return
 * address. Callee-saved registers in `regs` are left unchanged.
 */
void arch_call(struct arch_regs *regs, uint64_t fn, uint64_t sp, const uint64_t args[6]);

/*
 * Two instruction sequences, common in compiled C code, with which a thread stores a function's
 * return value: "store it where a register points, plus an offset; return", and "pop that register;
 * return".
 */
struct arch_gadget {
	uint64_t store, load;
	uint8_t reg; /* number of the register in the instruction set */
	int8_t offset;
};

/* The first such store among these bytes of code, or NULL; it has at most ARCH_STORE_MAX bytes. */
const char *arch_find_store(const char *bytes, size_t len);

/*
 * Decode `reg` and `offset` from the ARCH_STORE_MAX bytes at a store, and return in `load` the code
 * that pops that register. False if the bytes are not a store.
 */
bool arch_gadget_from(struct arch_gadget *g, const unsigned char store[ARCH_STORE_MAX],
		      unsigned char load[ARCH_LOAD_LEN]);

/*
 * Return addresses that store the result of a called function at `to`. After them the thread
 * continues at `next`, with the stack pointer right above the chain. Fills `chain` and returns its
 * number of words: the stack pointer for arch_call() is that many words below the final stack
 * pointer, and correctly aligned if the latter is a multiple of 16 (or, with `at_entry`, aligned as
 * on entry of a function).
 */
size_t arch_chain(uint64_t chain[ARCH_CHAIN_MAX], const struct arch_gadget *g, uint64_t to,
		  uint64_t next, bool at_entry);

/*
 * The registers that make a thread write the four bytes `value` to the address `to`, and then
 * return to the word at the stack pointer `sp`.
 */
void arch_store(struct arch_regs *regs, const struct arch_gadget *g, uint64_t sp, uint64_t to,
		uint32_t value);

/*
 * The code of a function that only makes a system call without arguments: "load its number;
 * syscall; return".
 */
void arch_call_code(unsigned char code[ARCH_CALL_CODE], uint32_t nr);

/* The bytes of libc's __restore_rt. */
extern const unsigned char arch_restorer[ARCH_RESTORER_LEN];

/*
 * Query the processor for the functions below. Call it once, before them and before a thread is
 * stopped: in a virtual machine each CPUID takes longer than a system call.
 */
void arch_prepare(void);

/* Is this floating-point state good enough for a call? */
bool arch_fp_is_clean(const struct arch_xstate *x);
void arch_fp_clean(struct arch_xstate *x);

/* Size in bytes of this extended state in a signal frame. */
size_t arch_xframe_size(const struct arch_xstate *x);
/* Its maximum on this machine, in bytes; after arch_prepare(). */
size_t arch_xframe_max(void);

/* The extended state in the form that rt_sigreturn(2) reads; `buf` has arch_xframe_size() bytes. */
void arch_xframe_build(const struct arch_xstate *x, unsigned char *buf);

/* The ucontext for these registers and this signal mask, with the extended state at `xframe`. */
void arch_ucontext_build(const struct arch_regs *regs, uint64_t sigmask, uint64_t xframe,
			 unsigned char buf[ARCH_UCONTEXT_SIZE]);

/*
 * Find the next signal frame, for a handler that returns to `restorer`, in the `len` bytes of a
 * stack at address `at`, from offset *i on. False if there is none; else it is at *i, with
 * ARCH_SIGNAL_FRAME_SIZE bytes, and *altstack is the alternate stack of the thread that it records
 * (sigaltstack(2)).
 *
 * The return address alone is not enough: the C library leaves it on the stack in the argument of
 * rt_sigaction(2), next to arbitrary data.
 */
struct arch_altstack {
	uint64_t start, size;
};
bool arch_find_signal_frame(const unsigned char *bytes, size_t len, uint64_t at, uint64_t restorer,
			    size_t *i, struct arch_altstack *altstack);

/*
 * Find the offset of errno from the thread pointer by reading the instructions of __errno_location:
 * `code` are its first `len` bytes, at the address `pc`. Returns true with *offset, or with *slot
 * != 0: the address of the 8-byte word that holds the offset.
 */
bool arch_errno_offset(const unsigned char *code, size_t len, uint64_t pc, int64_t *offset,
		       uint64_t *slot);

/* The code of an __errno_location for errno at `offset` from the thread pointer. */
void arch_errno_at(unsigned char code[ARCH_ERRNO_AT_CODE], int8_t offset);

/*
 * The code with which system call wrappers of a static C library store an error. ARCH_ERRNO_BEFORE
 * bytes before it is the instruction with the offset of errno. arch_errno_location() replaces the
 * ARCH_ERRNO_CODE bytes from there on by the code that __errno_location must have for this offset.
 */
extern const unsigned char arch_set_errno[];
extern const size_t arch_set_errno_len;
bool arch_errno_location(unsigned char code[ARCH_ERRNO_CODE], int64_t *offset);

#endif
