// SPDX-License-Identifier: Apache-2.0
/*
 * Private to jemalloc/: what a function of the target does, instruction by
 * instruction.
 *
 * The bytes may be anything: what cannot be decoded ends a path, and every
 * walk is bounded.
 */
#ifndef JEMALLOC_ARCH_DECODE_H
#define JEMALLOC_ARCH_DECODE_H

#include "elf/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * DECODE_REGS registers, and which of them carry the arguments of a function, INSN_ARG_1 to
 * INSN_ARG_4, and the number of a system call, INSN_SYSCALL_NR.
 */
#include ARCH_HEADER

enum insn_kind {
	INSN_OTHER,
	INSN_CALL,	    /* of `target` */
	INSN_CALL_INDIRECT, /* of what a register or memory says */
	INSN_TAIL,	    /* a jump to another function, at `target` */
	INSN_SYSCALL,
};

struct insn {
	enum insn_kind kind;
	uint64_t addr, next;
	uint64_t target;   /* INSN_CALL, INSN_TAIL */
	bool has_memory;   /* it reads or writes memory at a known address: */
	uint64_t memory;   /* this */
	unsigned int size; /* so many bytes of it; 0: it only takes the address */
	bool reads, writes;
	bool writes_constant;
	uint64_t constant; /* this */
	bool has_offset;   /* it reads 8 bytes through a register whose value is unknown, */
	int64_t offset;	   /* so far from where it points */
	bool tests_tls;	   /* it compares a byte of thread-local storage with 0, */
	int64_t tls;	   /* so far from the thread pointer; `offset` is its displacement alone */
	uint32_t known;	   /* before it: which registers hold a known value, a bit for each */
	uint64_t regs[DECODE_REGS];
};

/* Where the code comes from. */
struct decode {
	/* Copy up to `len` bytes of the target at `addr`; their number. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
	unsigned int left;	    /* how many more instructions are looked at, in all walks */
	uint64_t fde_table, n_fdes; /* private: the sorted table of an .eh_frame_hdr */
	uint64_t fde_base;
};

/* Use the .eh_frame_hdr at `hdr`, of `size` bytes, to tell where functions start. */
void decode_use_frames(struct decode *d, uint64_t hdr, uint64_t size);

/*
 * Call `fn` for the instructions of the function that starts at `entry`, in
 * the order of its paths, each once; stops early when fn returns non-zero, and
 * returns that. At most `max` instructions.
 */
typedef int insn_fn(void *ctx, const struct insn *insn);
int decode_function(struct decode *d, uint64_t entry, unsigned int max, insn_fn *fn, void *ctx);

/* The same, where its second argument is taken to be `arg_2`. */
int decode_function_given(struct decode *d, uint64_t entry, uint64_t arg_2, unsigned int max,
			  insn_fn *fn, void *ctx);

/* May a function start at `addr`, as far as the frames tell? Always so where there are none. */
bool decode_may_start(struct decode *d, uint64_t addr);

/*
 * Where to probe the function that starts at `entry`: behind the mark of a place that may be
 * branched to (endbr64), which the kernel would step over at the price of an exception. Registers
 * and stack are the same there.
 */
uint64_t decode_probe(struct decode *d, uint64_t entry);

/* The same for what is executed in a row from `addr` on, up to a jump. */
int decode_line(struct decode *d, uint64_t addr, unsigned int max, insn_fn *fn, void *ctx);

/*
 * Call `fn` for each address that the `len` bytes of code at `addr` name: where they branch to,
 * and what they read, write, compute or load that is an address or may be one. They are decoded
 * in a row, as compilers put no data between.
 */
typedef void ref_fn(void *ctx, uint64_t to, bool is_branch);
void decode_refs(const void *code, size_t len, uint64_t addr, ref_fn *fn, void *ctx);

/*
 * Four searches through code that decode nothing, and so may find what is none: for where an
 * address is taken (with `constants`, also as an immediate value); where a first or second argument
 * becomes 0; for calls of what lies from `low` to `high`; and for the bytes of instructions that
 * may name an address from `low` to `high`, or up to 4 bytes before. Each calls `fn` with what it
 * found at address `at`; of the last kind, the instruction begins DECODE_BACK_MIN to
 * DECODE_BACK_MAX bytes before `at`.
 */
typedef void decode_found_fn(void *ctx, uint64_t at, uint64_t to);
void decode_find_addresses(const char *code, size_t len, uint64_t addr, bool constants,
			   decode_found_fn *fn, void *ctx);
void decode_find_zeros(const char *code, size_t len, uint64_t addr, decode_found_fn *fn, void *ctx);
void decode_find_calls(const char *code, size_t len, uint64_t addr, uint64_t low, uint64_t high,
		       decode_found_fn *fn, void *ctx);
void decode_find_names(const char *code, size_t len, uint64_t addr, bool constants, uint64_t low,
		       uint64_t high, decode_found_fn *fn, void *ctx);

/* Where a stub of the kind that linkers make (PLT) jumps through; 0 if none is at `addr`. */
uint64_t decode_stub(struct decode *d, uint64_t addr);

static inline bool insn_reg_is(const struct insn *insn, unsigned int reg, uint64_t value)
{
	return (insn->known >> reg & 1) && insn->regs[reg] == value;
}

#endif
