// SPDX-License-Identifier: Apache-2.0
/*
 * Private to jemalloc/: decodes functions of the target, instruction by instruction.
 *
 * The bytes are untrusted: a path ends at anything that cannot be decoded, and every walk is
 * bounded.
 */
#ifndef JEMALLOC_ARCH_DECODE_H
#define JEMALLOC_ARCH_DECODE_H

#include "elf/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * DECODE_REGS, the number of registers; INSN_ARG_1 to INSN_ARG_4, those of function arguments;
 * INSN_SYSCALL_NR, that of the system call number.
 */
#include ARCH_HEADER

enum insn_kind {
	INSN_OTHER,
	INSN_CALL,	    /* to `target` */
	INSN_CALL_INDIRECT, /* through a register or memory */
	INSN_TAIL,	    /* a jump to another function, at `target` */
	INSN_SYSCALL,
};

struct insn {
	enum insn_kind kind;
	uint64_t addr, next;
	uint64_t target;   /* INSN_CALL, INSN_TAIL */
	bool has_memory;   /* it refers to memory at a known address, */
	uint64_t memory;   /* `memory` */
	unsigned int size; /* of the access, in bytes; 0: it only takes the address */
	bool reads, writes;
	bool writes_constant;
	uint64_t constant; /* the constant written */
	bool has_offset;   /* it reads 8 bytes through a register with unknown value, */
	int64_t offset;	   /* at this offset from it */
	bool tests_tls;	   /* it compares a byte of thread-local storage with 0 */
	int64_t tls;	   /* at this offset from the thread pointer; `offset` is only the
			    * displacement */
	uint32_t known;	   /* registers with known values before it, one bit each */
	uint64_t regs[DECODE_REGS];
};

/* Where the code comes from. */
struct decode {
	/* Copy up to `len` bytes of the target at `addr`; returns their number. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
	unsigned int left;	    /* instructions that may still be decoded, in all walks */
	uint64_t fde_table, n_fdes; /* private: the sorted table of an .eh_frame_hdr */
	uint64_t fde_base;
};

/* Use the .eh_frame_hdr at `hdr`, of `size` bytes, to find the starts of functions. */
void decode_use_frames(struct decode *d, uint64_t hdr, uint64_t size);

/*
 * Call `fn` once for each instruction of the function at `entry`, following its paths; stops early
 * when fn returns non-zero, and returns that. At most `max` instructions.
 */
typedef int insn_fn(void *ctx, const struct insn *insn);
int decode_function(struct decode *d, uint64_t entry, unsigned int max, insn_fn *fn, void *ctx);

/* The same, assuming `arg_2` as its second argument. */
int decode_function_given(struct decode *d, uint64_t entry, uint64_t arg_2, unsigned int max,
			  insn_fn *fn, void *ctx);

/* May a function start at `addr`, according to the frame table? True without one. */
bool decode_may_start(struct decode *d, uint64_t addr);

/*
 * Where to probe the function at `entry`: after an endbr64 instruction, which the kernel would
 * single-step at the price of an exception. Registers and stack are the same there.
 */
uint64_t decode_probe(struct decode *d, uint64_t entry);

/* The same for the straight-line code from `addr` up to a jump. */
int decode_line(struct decode *d, uint64_t addr, unsigned int max, insn_fn *fn, void *ctx);

/*
 * Call `fn` for each address that the `len` bytes of code at `addr` refer to: branch targets, and
 * anything read, written, computed or loaded that is or may be an address. The bytes are decoded
 * linearly, as compilers put no data between.
 */
typedef void ref_fn(void *ctx, uint64_t to, bool is_branch);
void decode_refs(const void *code, size_t len, uint64_t addr, ref_fn *fn, void *ctx);

/*
 * Four searches through code without decoding, which may have false positives: for instructions
 * that take an address (with `constants`, also as an immediate value); for those that set a first
 * or second argument to 0; for calls of functions from `low` to `high`; and for bytes in
 * instructions that may refer to an address from `low` to `high`, or up to 4 bytes before. Each
 * calls `fn` for its findings at address `at`; in the last search, the instruction begins
 * DECODE_BACK_MIN to DECODE_BACK_MAX bytes before `at`.
 */
typedef void decode_found_fn(void *ctx, uint64_t at, uint64_t to);
void decode_find_addresses(const char *code, size_t len, uint64_t addr, bool constants,
			   decode_found_fn *fn, void *ctx);
void decode_find_zeros(const char *code, size_t len, uint64_t addr, decode_found_fn *fn, void *ctx);
void decode_find_calls(const char *code, size_t len, uint64_t addr, uint64_t low, uint64_t high,
		       decode_found_fn *fn, void *ctx);
void decode_find_names(const char *code, size_t len, uint64_t addr, bool constants, uint64_t low,
		       uint64_t high, decode_found_fn *fn, void *ctx);

/* The slot that a linker stub (PLT) at `addr` jumps through; 0 if there is no stub. */
uint64_t decode_stub(struct decode *d, uint64_t addr);

static inline bool insn_reg_is(const struct insn *insn, unsigned int reg, uint64_t value)
{
	return (insn->known >> reg & 1) && insn->regs[reg] == value;
}

#endif
