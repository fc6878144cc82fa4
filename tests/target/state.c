// SPDX-License-Identifier: Apache-2.0
/*
 * state BOARD: one thread that fills all registers, the flags and the red zone with random data,
 * spins for a while in user mode, and compares them; it also compares what the kernel keeps for it:
 * errno, signal mask, alternate stack, limits, robust list, rseq, gs. Each difference is counted,
 * and named on standard error. The board's `reserved` says which registers there are.
 */
#include "tests/target/victim.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOPS 300000
#define SETTABLE_FLAGS 0x240cd5ull /* CF PF AF ZF SF DF, AC and ID */
#define FCW_MASKED 0x7f
#define MXCSR_MASKED 0x1f80u

struct cpu {
	uint64_t gpr[14]; /* rax rbx rdx rsi rdi rbp r8...r15 */
	uint64_t flags, pad;
	uint64_t red_zone[16];
	uint64_t masks[8];
	unsigned char fx[512];
	unsigned char vectors[32][64];
} __attribute__((aligned(64)));
_Static_assert(offsetof(struct cpu, fx) == 320 && offsetof(struct cpu, vectors) == 832,
	       "state_spin.S has these offsets");

void spin(const struct cpu *want, struct cpu *got, uint64_t loops, uint32_t vectors);

/* AMX: the operand of LDTILECFG, and the data of all tiles. */
struct tile_config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_config) == 64, "the processor reads 64 bytes");
struct tiles {
	unsigned char of[8][16 * 64];
};

void tiles_load(const struct tile_config *config, const struct tiles *want);
void tiles_store(struct tiles *got);

static struct cpu want, got;
static bool has_tiles;
static struct tiles want_tiles, got_tiles;
static uint64_t seed;
static uint32_t vectors; /* 0: xmm, 1: ymm, 2: zmm and k */
static struct rlimit limits[RLIM_NLIMITS];

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void found(const char *what, unsigned int number)
{
	fprintf(stderr, "state: %s %u\n", what, number);
	FOUND(corrupt);
}

static void put16(size_t at, uint64_t value)
{
	const uint16_t v = (uint16_t)value;

	memcpy(want.fx + at, &v, sizeof(v));
}

/* An FXSAVE image that FXRSTOR accepts: every exception masked, reserved bits 0. */
static void randomise_fx(void)
{
	const uint32_t mxcsr = MXCSR_MASKED | (next() & 0xe07f);

	memset(want.fx, 0, sizeof(want.fx));
	put16(0, FCW_MASKED | (next() & 0xc00) | (next() & 1 ? 0x300 : 0x200));
	put16(2, next() & 0x7f7f);
	want.fx[4] = (unsigned char)next();
	memcpy(want.fx + 24, &mxcsr, sizeof(mxcsr));
	for (size_t i = 0; i < 8; i++)
		for (size_t byte = 0; byte < 10; byte++)
			want.fx[32 + 16 * i + byte] = (unsigned char)next();
	for (size_t i = 0; i < 16; i++)
		memcpy(want.fx + 160 + 16 * i, want.vectors[i], 16);
}

static void fill(void *data, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		const uint64_t word = next();

		memcpy((char *)data + at, &word, sizeof(word));
	}
}

static void randomise(void)
{
	fill(&want, sizeof(want));
	fill(&want_tiles, sizeof(want_tiles));
	want.flags = (next() & SETTABLE_FLAGS) | 0x202;
	randomise_fx();
}

static size_t vector_size(size_t i)
{
	if (vectors == 2)
		return 64;
	return i >= 16 ? 0 : vectors == 1 ? 32 : 16;
}

static void compare_fx(void)
{
	if (memcmp(want.fx, got.fx, 5) != 0)
		found("x87 control, status or tags", got.fx[0]);
	if (memcmp(want.fx + 24, got.fx + 24, 4) != 0)
		found("mxcsr", got.fx[24]);
	for (unsigned int i = 0; i < 8; i++)
		if (memcmp(want.fx + 32 + 16 * i, got.fx + 32 + 16 * i, 10) != 0)
			found("x87 register", i);
	for (unsigned int i = 0; i < 16; i++)
		if (memcmp(want.fx + 160 + 16 * i, got.fx + 160 + 16 * i, 16) != 0)
			found("xmm", i);
}

static void compare(void)
{
	for (unsigned int i = 0; i < 14; i++)
		if (want.gpr[i] != got.gpr[i])
			found("general register", i);
	if ((want.flags ^ got.flags) & SETTABLE_FLAGS)
		found("flags", (unsigned int)got.flags);
	if (memcmp(want.red_zone, got.red_zone, sizeof(want.red_zone)) != 0)
		found("red zone", 0);
	compare_fx();
	for (unsigned int i = 0; vectors && i < 32; i++)
		if (memcmp(want.vectors[i], got.vectors[i], vector_size(i)) != 0)
			found("vector", i);
	if (vectors == 2 && memcmp(want.masks, got.masks, sizeof(want.masks)) != 0)
		found("k", 0);
}

#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

/* Each process must ask for AMX (Linux 5.16). */
static void find_vectors(void)
{
	vectors = __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx2") ? 1 : 0;
	has_tiles = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static void load_tiles(void)
{
	struct tile_config config = { .palette = 1 };

	for (size_t i = 0; i < 8; i++) {
		config.row_bytes[i] = 64;
		config.rows[i] = 16;
	}
	if (has_tiles)
		tiles_load(&config, &want_tiles);
}

static void compare_tiles(void)
{
	if (!has_tiles)
		return;
	tiles_store(&got_tiles);
	for (unsigned int i = 0; i < 8; i++)
		if (memcmp(want_tiles.of[i], got_tiles.of[i], sizeof(want_tiles.of[i])) != 0)
			found("tile", i);
}

/* --- what the kernel and the C library keep ------------------------------------------ */

static uint64_t mask, gs;
static int error;

static void set_kept(void)
{
	mask = next() & ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 1ull << (SIGTERM - 1));
	gs = next() >> 18;
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8) != 0 ||
	    syscall(SYS_arch_prctl, ARCH_SET_GS, gs) != 0)
		FOUND(failed);
	error = (int)(next() >> 40);
	errno = error;
}

static void compare_kept(void)
{
	uint64_t now = 0;

	if (errno != error)
		found("errno", (unsigned int)errno);
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, 8) != 0 || now != mask)
		found("signal mask", (unsigned int)now);
	if (syscall(SYS_arch_prctl, ARCH_GET_GS, &now) != 0 || now != gs)
		found("gs", (unsigned int)now);
	victim_altstack_check();
}

static struct robust_list_head *robust_list(void)
{
	struct robust_list_head *head = NULL;
	size_t len;

	return syscall(SYS_get_robust_list, 0, &head, &len) == 0 ? head : NULL;
}

static void compare_limits(void)
{
	struct rlimit now;

	for (unsigned int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit((int)i, &now) != 0 || now.rlim_cur != limits[i].rlim_cur ||
		    now.rlim_max != limits[i].rlim_max)
			found("limit", i);
}

/* Registering the same area again fails with EBUSY. */
static void compare_rseq(void)
{
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	if (__rseq_size && (syscall(SYS_rseq, area, 32, 0, RSEQ_SIG) == 0 || errno != EBUSY))
		found("rseq", (unsigned int)errno);
}

int main(int argc, char **argv)
{
	struct robust_list_head *robust = robust_list();

	if (argc != 2) {
		fprintf(stderr, "usage: state BOARD\n");
		return 2;
	}
	victim_open(argv[1]);
	victim_altstack_set();
	find_vectors();
	seed = (uint64_t)time(NULL) * 2654435761u + (uint64_t)getpid();
	for (unsigned int i = 0; i < RLIM_NLIMITS; i++)
		getrlimit((int)i, &limits[i]);
	board->reserved = vectors + has_tiles;
	victim_ready(1);
	for (;;) {
		randomise();
		set_kept();
		load_tiles();
		spin(&want, &got, LOOPS, vectors);
		compare_kept();
		compare();
		compare_tiles();
		compare_limits();
		compare_rseq();
		if (robust_list() != robust)
			found("robust list", 0);
		victim_beat(0);
	}
}
