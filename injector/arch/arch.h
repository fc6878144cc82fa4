// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that depends on the processor: registers, the signal frame a
 * thread can be sent home with, calls, and reading a few machine instructions.
 *
 * Functions named *_regs only compute; those that take a tid talk to a stopped
 * tracee. All return -1 with errno set on failure unless said otherwise.
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
long arch_syscall_nr(const struct arch_regs *regs); /* -1 outside a system call */
long arch_syscall_result(const struct arch_regs *regs);

/* In a system call's entry stop: make it another one, and go on at `pc` afterwards. */
void arch_replace_syscall(struct arch_regs *regs, long nr, const uint64_t args[6], uint64_t pc);

/* Was the system call interrupted in a way that the kernel restarts by itself? */
bool arch_restarts(const struct arch_regs *regs);

/* Is it one that goes on through restart_syscall(2), with the time that remains? */
bool arch_restarts_sleep(const struct arch_regs *regs);

/*
 * Is restart_syscall(2) set up, and not made yet? So is a thread that is stopped once more on its
 * way out of the kernel: its program counter is at the system call, whose ARCH_SYSCALL_INSN bytes
 * are `code`. Puts the registers back to those of the interruption, from which the kernel
 * sets up the same again (arch/x86/kernel/signal.c, arch_do_signal_or_restart()).
 */
bool arch_undo_restart(struct arch_regs *regs, const unsigned char code[ARCH_SYSCALL_INSN]);

/* Make an interrupted system call be made anew, from its start, when the thread goes on. */
void arch_restart_syscall(struct arch_regs *regs);

/* All of them in the order of their DWARF numbers. */
void arch_dwarf_regs(const struct arch_regs *regs, uint64_t out[ARCH_DWARF_REGS]);

/* The system call that the thread is in, as /proc would show it; `running` when it is in none. */
void arch_get_syscall(const struct arch_regs *regs, struct proc_syscall *sc);

/*
 * Of epoll_wait(2), epoll_pwait(2) or poll(2), about to be made anew: the timeout becomes `ms`,
 * unless it is shorter than that. Other calls stay as they are.
 */
void arch_lower_timeout(struct arch_regs *regs, uint64_t ms);

/*
 * A thread in restart_syscall(2) is in a call that was interrupted before. That
 * one's number is in no register any more, but in the instruction that loaded it:
 * `code` are the ARCH_SYSCALL_CODE bytes before the program counter. Puts the
 * number back into `regs`, or leaves them alone when the code does not show it.
 */
void arch_name_restarted(struct arch_regs *regs, const unsigned char code[ARCH_SYSCALL_CODE]);

/*
 * The same from the registers of an earlier stop of the same thread: if they are of the same
 * call, made from the same place with the same arguments, its number is known.
 */
void arch_name_as(struct arch_regs *regs, const struct arch_regs *earlier);

/*
 * The registers for calling `fn` with `args` and the stack pointer `sp`, which points at the
 * return address. What a function must preserve stays as it is in `regs`.
 */
void arch_call(struct arch_regs *regs, uint64_t fn, uint64_t sp, const uint64_t args[6]);

/*
 * Two runs of instructions that C compilers leave everywhere, by which a thread stores what a
 * function returned: "store it where a register points, or so far behind; return", and "take
 * that register from the stack; return".
 */
struct arch_gadget {
	uint64_t store, load;
	uint8_t reg; /* which, as the instruction set numbers it */
	int8_t offset;
};

/* The first such store among these bytes of code, or NULL; it has at most ARCH_STORE_MAX bytes. */
const char *arch_find_store(const char *bytes, size_t len);

/*
 * Take `reg` and `offset` from the ARCH_STORE_MAX bytes at a store, and say by which
 * ARCH_LOAD_LEN bytes its register is taken from the stack. False if they are no store.
 */
bool arch_gadget_from(struct arch_gadget *g, const unsigned char store[ARCH_STORE_MAX],
		      unsigned char load[ARCH_LOAD_LEN]);

/*
 * Return addresses that make a called function store its result at `to`. After them the thread
 * goes on at `next`, with the stack pointer right above the chain. Fills `chain` and returns its
 * number of words: the stack pointer for arch_call() is so many words below the place where the
 * thread shall come out, and aligned if that place is aligned to 16 (or, with `at_entry`, aligned
 * as on entry of a function).
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
 * A function that makes a system call without arguments, and nothing else: "put its number into
 * the register for that; make it; return".
 */
void arch_call_code(unsigned char code[ARCH_CALL_CODE], uint32_t nr);

/* The bytes of libc's __restore_rt. */
extern const unsigned char arch_restorer[ARCH_RESTORER_LEN];

/*
 * What the functions below need to know of this processor. To be called once, before them and
 * before a thread is stopped: in a virtual machine each CPUID takes longer than a system call.
 */
void arch_prepare(void);

/* Does the call need a cleaner floating point state than this? */
bool arch_fp_is_clean(const struct arch_xstate *x);
void arch_fp_clean(struct arch_xstate *x);

/* How big the signal frame is for this extended state, and its parts. */
size_t arch_xframe_size(const struct arch_xstate *x);
/* The most that this is on this machine, in bytes; after arch_prepare(). */
size_t arch_xframe_max(void);

/* The extended state in the form that rt_sigreturn(2) reads; `buf` has arch_xframe_size() bytes. */
void arch_xframe_build(const struct arch_xstate *x, unsigned char *buf);

/* The ucontext for these registers and this mask, its extended state at `xframe`. */
void arch_ucontext_build(const struct arch_regs *regs, uint64_t sigmask, uint64_t xframe,
			 unsigned char buf[ARCH_UCONTEXT_SIZE]);

/*
 * The next place in the `len` bytes of a stack, from *i on, whose first is at address `at`, that
 * looks like what the kernel puts there for a signal handler, which returns to `restorer`. False
 * if there is none; else it is at *i, has ARCH_SIGNAL_FRAME_SIZE bytes there, and *altstack is the
 * alternate stack of the thread as it says (sigaltstack(2)).
 *
 * The address to return to is not enough: the C library leaves it on the stack in what it passes
 * to rt_sigaction(2), and what lies beside it is anything.
 */
struct arch_altstack {
	uint64_t start, size;
};
bool arch_find_signal_frame(const unsigned char *bytes, size_t len, uint64_t at, uint64_t restorer,
			    size_t *i, struct arch_altstack *altstack);

/*
 * Find where errno lies, relative to the thread pointer, by reading the
 * instructions of __errno_location: `code` are its first `len` bytes, at the
 * address `pc`. Returns true with *offset, or with *slot != 0 the address of
 * the 8-byte word that holds the offset.
 */
bool arch_errno_offset(const unsigned char *code, size_t len, uint64_t pc, int64_t *offset,
		       uint64_t *slot);

/* The code of an __errno_location by which errno lies at `offset` from the thread pointer. */
void arch_errno_at(unsigned char code[ARCH_ERRNO_AT_CODE], int8_t offset);

/*
 * What a static C library's wrappers of system calls do with an error, and how
 * far before it the instruction stands that tells where errno lies.
 * arch_errno_location() replaces the ARCH_ERRNO_CODE bytes from there on by
 * what __errno_location must look like if that is right.
 */
extern const unsigned char arch_set_errno[];
extern const size_t arch_set_errno_len;
bool arch_errno_location(unsigned char code[ARCH_ERRNO_CODE], int64_t *offset);

#endif
