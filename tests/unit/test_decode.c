// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/arch/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE 0x401000

/* The bytes of a target at BASE, and the instructions seen in them. */
struct code {
	const char *bytes;
	size_t len;
	struct insn seen[64];
	size_t n;
};

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct code *c = ctx;

	if (addr < BASE || addr - BASE >= c->len)
		return 0;
	if (len > c->len - (addr - BASE))
		len = c->len - (addr - BASE);
	memcpy(buf, c->bytes + (addr - BASE), len);
	return len;
}

static int see(void *ctx, const struct insn *insn)
{
	struct code *c = ctx;

	assert_true(c->n < 64);
	c->seen[c->n++] = *insn;
	return 0;
}

static struct code walk(const char *bytes, size_t len)
{
	struct code c = { .bytes = bytes, .len = len };
	struct decode d = { .read = read_code, .ctx = &c, .left = 100000 };

	assert_int_equal(decode_function(&d, BASE, 1000, see, &c), 0);
	return c;
}
#define WALK(bytes) walk(bytes, sizeof(bytes) - 1)

static void test_memory(void **state)
{
	struct code c;

	(void)state;
	/* sub rsp, 24; movzx esi, byte [rip + 0x100]; ret */
	c = WALK("\x48\x83\xec\x18\x0f\xb6\x35\x00\x01\x00\x00\xc3");
	assert_int_equal(c.n, 3);
	assert_true(c.seen[1].has_memory && c.seen[1].reads && !c.seen[1].writes);
	assert_int_equal(c.seen[1].size, 1);
	assert_int_equal(c.seen[1].memory, BASE + 11 + 0x100);
	/* lea rax, [rip - 0x10]; movzx esi, byte [rax + 2]; ret */
	c = WALK("\x48\x8d\x05\xf0\xff\xff\xff\x0f\xb6\x70\x02\xc3");
	assert_int_equal(c.seen[0].size, 0);
	assert_int_equal(c.seen[1].memory, BASE + 7 - 0x10 + 2);
	/* mov byte [rip], 1; mov byte [rip], al; ret */
	c = WALK("\xc6\x05\x00\x00\x00\x00\x01\x88\x05\x00\x00\x00\x00\xc3");
	assert_true(c.seen[0].writes && c.seen[0].writes_constant && !c.seen[0].reads);
	assert_true(c.seen[1].writes && !c.seen[1].writes_constant);
	/* mov rax, [rdi + 32]; mov rax, fs:[0x28]; ret */
	c = WALK("\x48\x8b\x47\x20\x64\x48\x8b\x04\x25\x28\x00\x00\x00\xc3");
	assert_true(c.seen[0].has_offset && !c.seen[0].has_memory);
	assert_int_equal(c.seen[0].offset, 32);
	assert_false(c.seen[1].has_offset || c.seen[1].has_memory);
	assert_false(c.seen[1].tests_tls);
	/* mov rdi, -0xa48; cmp byte fs:[rdi + 0x330], 0; cmp byte fs:[-8], 0; ret */
	c = WALK("\x48\xc7\xc7\xb8\xf5\xff\xff\x64\x80\xbf\x30\x03\x00\x00\x00"
		 "\x64\x80\x3c\x25\xf8\xff\xff\xff\x00\xc3");
	assert_true(c.seen[1].tests_tls && !c.seen[1].has_memory);
	assert_int_equal(c.seen[1].tls, -0xa48 + 0x330);
	assert_int_equal(c.seen[1].offset, 0x330);
	assert_true(c.seen[2].tests_tls);
	assert_int_equal(c.seen[2].tls, -8);
	/* cmp byte fs:[rdi], 1; cmp byte fs:[rdi], 0 (unknown rdi); cmp byte [rdi], 0; ret */
	c = WALK("\x64\x80\x3f\x01\x64\x80\x3f\x00\x80\x3f\x00\xc3");
	assert_false(c.seen[0].tests_tls || c.seen[1].tests_tls || c.seen[2].tests_tls);
}

static void test_registers(void **state)
{
	struct code c;

	(void)state;
	/* mov esi, 1; xor ecx, ecx; mov rdi, rax; call +0 */
	c = WALK("\xbe\x01\x00\x00\x00\x31\xc9\x48\x89\xc7\xe8\x00\x00\x00\x00\xc3");
	assert_int_equal(c.seen[3].kind, INSN_CALL);
	assert_int_equal(c.seen[3].target, BASE + 15);
	assert_true(insn_reg_is(&c.seen[3], INSN_RSI, 1));
	assert_true(insn_reg_is(&c.seen[3], INSN_RCX, 0));
	assert_false(insn_reg_is(&c.seen[3], INSN_RDI, 0));
	/* after the call, only the callee-saved registers are known */
	c = WALK("\xbe\x01\x00\x00\x00\xbb\x02\x00\x00\x00\xe8\x01\x00\x00\x00\xc3\xc3");
	assert_int_equal(c.seen[3].addr, BASE + 15);
	assert_false(insn_reg_is(&c.seen[3], INSN_RSI, 1));
	assert_true(insn_reg_is(&c.seen[3], INSN_RBX, 2));
	/* mov eax, 85; syscall; mov eax, edi; ret */
	c = WALK("\xb8\x55\x00\x00\x00\x0f\x05\x89\xf8\xc3");
	assert_int_equal(c.seen[1].kind, INSN_SYSCALL);
	assert_true(insn_reg_is(&c.seen[1], INSN_RAX, 85));
	/* mov rax, [rip + 1]; ret; and the value at that address */
	c = WALK("\x48\x8b\x05\x01\x00\x00\x00\xc3\x11\x22\x33\x44\x55\x66\x77\x00");
	assert_true(insn_reg_is(&c.seen[1], INSN_RAX, 0x0077665544332211));
}

static void test_paths(void **state)
{
	struct code c;

	(void)state;
	/* test al, al; je +1; ret; nop; ret: both paths, each once */
	c = WALK("\x84\xc0\x74\x01\xc3\x90\xc3");
	assert_int_equal(c.n, 5);
	/* sub rsp, 8; jmp self: terminates */
	c = WALK("\x48\x83\xec\x08\xeb\xfe");
	assert_int_equal(c.n, 2);
	/* jmp to an aligned address further on: another function */
	c = WALK("\xeb\x0e\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xc3");
	assert_int_equal(c.n, 1);
	assert_int_equal(c.seen[0].kind, INSN_TAIL);
	assert_int_equal(c.seen[0].target, BASE + 16);
	/* the same with something on the stack: part of the same function */
	c = WALK("\x50\xeb\x0d\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xc3");
	assert_int_equal(c.n, 3);
	/* sub rdx, fs:[0x28]; jne; ret: the path for a corrupted stack guard never returns */
	c = WALK("\x64\x48\x2b\x14\x25\x28\x00\x00\x00\x75\x01\xc3\x90\x90\xc3");
	assert_int_equal(c.n, 3);
}

static void test_undecodable(void **state)
{
	struct code c;

	(void)state;
	c = walk("", 0);
	assert_int_equal(c.n, 0);
	/* an invalid instruction; a truncated one */
	c = WALK("\x06\x06");
	assert_int_equal(c.n, 0);
	c = WALK("\x90\x48\x8d\x05\x00");
	assert_int_equal(c.n, 1);
}

static void test_frames(void **state)
{
	/* version, encodings, eh_frame_ptr, count 2; functions at 0x20 and 0x30 from here */
	static const char bytes[] =
		"\x01\x1b\x03\x3b\0\0\0\0\x02\0\0\0\x20\0\0\0\0\0\0\0\x30\0\0\0\0"
		"\0\0\0\0\0\0\0"
		"\xeb\x0e\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
		"\x90\xc3";
	char within[sizeof(bytes)];
	struct code c = { .bytes = bytes, .len = sizeof(bytes) - 1 };
	struct decode d = { .read = read_code, .ctx = &c, .left = 100000 };

	(void)state;
	decode_use_frames(&d, BASE, 12); /* too short for two */
	assert_int_equal(d.n_fdes, 0);
	decode_use_frames(&d, BASE, 28);
	assert_int_equal(d.n_fdes, 2);
	assert_true(decode_may_start(&d, BASE + 0x20) && decode_may_start(&d, BASE + 0x30));
	assert_false(decode_may_start(&d, BASE + 0x21));
	assert_int_equal(decode_function(&d, BASE + 0x20, 10, see, &c), 0);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.seen[0].kind, INSN_TAIL);
	/* A jump to a function, into the middle of one, and without a frame table. */
	assert_int_equal(decode_line(&d, BASE + 0x20, 10, see, &c), 0);
	assert_int_equal(c.seen[1].kind, INSN_TAIL);
	memcpy(within, bytes, sizeof(within));
	within[0x21] = 0x0d;
	c.bytes = within;
	assert_int_equal(decode_line(&d, BASE + 0x20, 10, see, &c), 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.seen[2].kind, INSN_OTHER);
	d.n_fdes = 0;
	assert_true(decode_may_start(&d, BASE + 0x21));
	assert_int_equal(decode_line(&d, BASE + 0x20, 10, see, &c), 0);
	assert_int_equal(c.seen[3].kind, INSN_TAIL);
}

static void test_stub(void **state)
{
	/* endbr64; bnd jmp [rip + 0x10] / jmp [rip + 0x10] / no stub / a stub by mold */
	struct code c = {
		.bytes = "\xf3\x0f\x1e\xfa\xf2\xff\x25\x10\x00\x00\x00\x90\x90\x90\x90\x90"
			 "\xff\x25\x10\x00\x00\x00\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
			 "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
			 "\xf3\x0f\x1e\xfa\x41\xbb\x07\x00\x00\x00\xff\x25\x10\x00\x00\x00",
		.len = 64
	};
	struct decode d = { .read = read_code, .ctx = &c, .left = 100000 };

	(void)state;
	assert_int_equal(decode_stub(&d, BASE), BASE + 11 + 0x10);
	assert_int_equal(decode_stub(&d, BASE + 16), BASE + 22 + 0x10);
	assert_int_equal(decode_stub(&d, BASE + 32), 0);
	assert_int_equal(decode_stub(&d, BASE + 48), BASE + 64 + 0x10);
	assert_int_equal(decode_stub(&d, BASE + 1000), 0);
}

/* A function is probed at its start, or after an endbr64 there. */
static void test_probe(void **state)
{
	struct code c = { .bytes = "\xf3\x0f\x1e\xfa\x55\xc3\xf3\x0f\x1e\xfb\xf3\x0f\x1e",
			  .len = 13 };
	struct decode d = { .read = read_code, .ctx = &c, .left = 100000 };

	(void)state;
	assert_int_equal(decode_probe(&d, BASE), BASE + 4);
	assert_int_equal(decode_probe(&d, BASE + 4), BASE + 4);
	assert_int_equal(decode_probe(&d, BASE + 6), BASE + 6);	  /* endbr32 */
	assert_int_equal(decode_probe(&d, BASE + 10), BASE + 10); /* truncated */
	assert_int_equal(decode_probe(&d, BASE + 1000), BASE + 1000);
}

/* Reads through the second argument, in any register that holds it. */
static void test_argument(void **state)
{
	/*
	 * mov rbp, rsi; mov rax, [rsi + 8]; cmp byte [rbp], 0; mov rsi, [rdi + 8]; mov rax, [rsi];
	 * ret
	 */
	struct code c = { .bytes = "\x48\x89\xf5\x48\x8b\x46\x08\x80\x7d\x00\x00"
				   "\x48\x8b\x77\x08\x48\x8b\x06\xc3",
			  .len = 19 };
	struct decode d = { .read = read_code, .ctx = &c, .left = 100000 };

	(void)state;
	assert_int_equal(decode_function_given(&d, BASE, 1000, 10, see, &c), 0);
	assert_int_equal(c.n, 6);
	assert_true(c.seen[1].has_memory && c.seen[1].memory == 1008 && c.seen[1].size == 8);
	assert_true(c.seen[2].has_memory && c.seen[2].memory == 1000 && c.seen[2].size == 1);
	assert_false(c.seen[3].has_memory);
	assert_false(c.seen[4].has_memory); /* rsi was reloaded */
}

struct calls {
	uint64_t at[4], to[4];
	size_t n;
};

static void add_call(void *ctx, uint64_t at, uint64_t to)
{
	struct calls *c = ctx;

	assert_true(c->n < 4);
	c->at[c->n] = at;
	c->to[c->n++] = to;
}

static void test_calls(void **state)
{
	/* nop; call +16; call +256; call -5; a truncated call */
	static const char code[] = "\x90\xe8\x10\x00\x00\x00\xe8\x00\x01\x00\x00"
				   "\xe8\xfb\xff\xff\xff\xe8\x00\x00\x00";
	struct calls c = { .n = 0 };

	(void)state;
	decode_find_calls(code, sizeof(code) - 1, BASE, BASE + 11, BASE + 22, add_call, &c);
	assert_int_equal(c.n, 2);
	assert_true(c.at[0] == BASE + 1 && c.to[0] == BASE + 22);
	assert_true(c.at[1] == BASE + 11 && c.to[1] == BASE + 11);
	decode_find_calls(code, sizeof(code) - 1, BASE, BASE + 267, BASE + 267, add_call, &c);
	assert_int_equal(c.n, 3);
	decode_find_calls(code, 4, BASE, 0, UINT64_MAX, add_call, &c);
	assert_int_equal(c.n, 3);
}

struct refs {
	struct {
		uint64_t to;
		bool is_branch;
	} v[8];
	size_t n;
};

static void note_ref(void *ctx, uint64_t to, bool is_branch)
{
	struct refs *r = ctx;

	assert_true(r->n < 8);
	r->v[r->n].to = to;
	r->v[r->n++].is_branch = is_branch;
}

static void test_refs(void **state)
{
	static const char code[] = "\xe8\x10\x00\x00\x00"		   /* call */
				   "\x74\x02"				   /* je */
				   "\x48\x8d\x3d\x20\x00\x00\x00"	   /* lea n(%rip),%rdi */
				   "\xc3"				   /* ret */
				   "\xbf\x00\x00\x40\x00"		   /* mov $n,%edi */
				   "\x0f\x85\xf0\xff\xff\xff"		   /* jne */
				   "\x48\x8b\x87\x20\x00\x00\x00\x06\xe8"; /* (%rdi); bad */
	struct refs r = { .n = 0 };

	(void)state;
	decode_refs(code, sizeof(code) - 1, BASE, note_ref, &r);
	assert_int_equal(r.n, 5);
	assert_true(r.v[0].to == BASE + 5 + 0x10 && r.v[0].is_branch);
	assert_true(r.v[1].to == BASE + 7 + 2 && r.v[1].is_branch);
	assert_true(r.v[2].to == BASE + 14 + 0x20 && !r.v[2].is_branch);
	assert_true(r.v[3].to == 0x400000 && !r.v[3].is_branch);
	assert_true(r.v[4].to == BASE + 26 - 0x10 && r.v[4].is_branch);
}

struct found {
	struct {
		uint64_t at, to;
	} v[8];
	size_t n;
};

static void note_found(void *ctx, uint64_t at, uint64_t to)
{
	struct found *f = ctx;

	assert_true(f->n < 8);
	f->v[f->n].at = at;
	f->v[f->n++].to = to;
}

/* Search the first `len` bytes of the code, placed at the end of their allocation. */
static struct found found_in(const char *code, size_t len, int search)
{
	struct found f = { .n = 0 };
	char *bytes = malloc(len ? len : 1);

	assert_non_null(bytes);
	memcpy(bytes, code, len);
	if (search == 0)
		decode_find_addresses(bytes, len, BASE, true, note_found, &f);
	else if (search == 1)
		decode_find_zeros(bytes, len, BASE, note_found, &f);
	else
		decode_find_names(bytes, len, BASE, true, 0x400000, 0x400008, note_found, &f);
	free(bytes);
	return f;
}

/* Each is found once its last byte is present, and not before. */
static void test_find(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		int search;
		uint64_t at, to;
	} cases[] = {
		{ "\x90\x48\x8d\x3d\x20\0\0\0", 8, 0, BASE + 1, BASE + 8 + 0x20 },
		{ "\x4c\x8d\x05\xf0\xff\xff\xff", 7, 0, BASE, BASE + 7 - 0x10 },
		{ "\x8d\x8d\xbf\x01\0\x40\0", 7, 0, BASE + 2, 0x400001 },
		{ "\x31\x90\x31\xf6", 4, 1, BASE + 2, 0 },
		{ "\x31\x31\xff", 3, 1, BASE + 1, 0 },
		{ "\x90\x90\x90\x90\x08\0\x40\0", 8, 2, BASE + 4, 0x400008 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct found f;

		for (size_t len = 0; len < cases[i].len; len++)
			assert_int_equal(found_in(cases[i].code, len, cases[i].search).n, 0);
		f = found_in(cases[i].code, cases[i].len, cases[i].search);
		assert_int_equal(f.n, 1);
		assert_int_equal(f.v[0].at, cases[i].at);
		assert_int_equal(f.v[0].to, cases[i].to);
	}
	/* A value just above the range, and an opcode with nothing before it. */
	assert_int_equal(found_in("\x90\x90\x90\x90\x09\0\x40\0", 8, 2).n, 0);
	assert_int_equal(found_in("\x8d\x05\0\0\0\0\0", 7, 0).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory), cmocka_unit_test(test_registers),
		cmocka_unit_test(test_paths),  cmocka_unit_test(test_undecodable),
		cmocka_unit_test(test_frames), cmocka_unit_test(test_stub),
		cmocka_unit_test(test_refs),   cmocka_unit_test(test_find),
		cmocka_unit_test(test_probe),  cmocka_unit_test(test_argument),
		cmocka_unit_test(test_calls),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
