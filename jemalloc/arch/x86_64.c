// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/arch/decode.h"

#include <Zydis/Zydis.h>
#include <string.h>

#define PATHS_MAX 256
#define SEEN_SIZE 8192 /* a power of two, twice the number of instructions followed */
#define INSNS_MAX (SEEN_SIZE / 2)

/* Known values on a path. */
struct state {
	uint64_t pc;
	uint32_t known;
	uint64_t regs[DECODE_REGS];
	int64_t depth; /* of the stack in bytes, relative to the entry */
	bool canary;   /* the last instruction compared the stack's guard */
};

struct walk {
	struct decode *d;
	ZydisDecoder decoder;
	uint64_t entry;
	uint64_t highest; /* instruction seen so far */
	bool line;
	unsigned int left;
	insn_fn *fn;
	void *ctx;
	size_t n_paths;
	struct state paths[PATHS_MAX];
	uint64_t seen[SEEN_SIZE];
};

static size_t fetch(struct decode *d, uint64_t addr, void *buf, size_t len)
{
	return d->read(d->ctx, addr, buf, len);
}

void decode_use_frames(struct decode *d, uint64_t hdr, uint64_t size)
{
	unsigned char head[12];
	uint32_t count;

	/* version 1; eh_frame_ptr pcrel sdata4; count udata4; table datarel sdata4 */
	if (!hdr || size < sizeof(head) || fetch(d, hdr, head, sizeof(head)) != sizeof(head) ||
	    memcmp(head, "\x01\x1b\x03\x3b", 4) != 0)
		return;
	memcpy(&count, head + 8, sizeof(count));
	if (count > (size - sizeof(head)) / 8)
		return;
	d->fde_base = hdr;
	d->fde_table = hdr + sizeof(head);
	d->n_fdes = count;
}

static bool has_frame(struct decode *d, uint64_t addr)
{
	uint64_t low = 0, high = d->n_fdes;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		int32_t start;

		if (fetch(d, d->fde_table + 8 * mid, &start, sizeof(start)) != sizeof(start))
			return false;
		if (d->fde_base + (uint64_t)(int64_t)start == addr)
			return true;
		if (d->fde_base + (uint64_t)(int64_t)start < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

bool decode_may_start(struct decode *d, uint64_t addr)
{
	return !d->n_fdes || has_frame(d, addr);
}

/* True the first time. Straight-line code has no loops. If the table is full, false. */
static bool first_time(struct walk *w, uint64_t addr)
{
	size_t at = (size_t)((addr * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % SEEN_SIZE;

	if (w->line)
		return true;
	for (size_t i = 0; i < SEEN_SIZE; i++, at = (at + 1) % SEEN_SIZE) {
		if (w->seen[at] == addr)
			return false;
		if (w->seen[at])
			continue;
		w->seen[at] = addr;
		return true;
	}
	return false;
}

/* -1 if it is not one of the sixteen. */
static int reg_number(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return -1;
	return ZydisRegisterGetId(whole);
}

static bool reg_value(const struct state *s, ZydisRegister reg, uint64_t *value)
{
	int n = reg_number(reg);

	if (n < 0 || !(s->known >> n & 1))
		return false;
	*value = s->regs[n];
	return true;
}

static void set_reg(struct state *s, ZydisRegister reg, uint64_t value)
{
	int n = reg_number(reg);

	if (n < 0 || ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) < 32)
		return;
	if (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) == 32)
		value = (uint32_t)value;
	s->known |= 1u << n;
	s->regs[n] = value;
}

/* The address of `op`, if known before the instruction. */
static bool address_of(const struct state *s, uint64_t next, const ZydisDecodedOperand *op,
		       uint64_t *addr)
{
	uint64_t base = 0;

	if (op->mem.index != ZYDIS_REGISTER_NONE || op->mem.segment == ZYDIS_REGISTER_FS ||
	    op->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		base = next;
	else if (op->mem.base != ZYDIS_REGISTER_NONE && !reg_value(s, op->mem.base, &base))
		return false;
	*addr = base + (op->mem.disp.has_displacement ? (uint64_t)op->mem.disp.value : 0);
	return true;
}

/* "cmpb $0,%fs:offset(%base)", or without a base. */
static void note_tls(const struct state *s, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *ops, struct insn *insn)
{
	uint64_t base = 0;

	if (zi->mnemonic != ZYDIS_MNEMONIC_CMP || ops[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    ops[0].mem.segment != ZYDIS_REGISTER_FS || ops[0].size != 8 ||
	    ops[0].mem.index != ZYDIS_REGISTER_NONE ||
	    ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || ops[1].imm.value.u)
		return;
	insn->tests_tls =
		ops[0].mem.base == ZYDIS_REGISTER_NONE || reg_value(s, ops[0].mem.base, &base);
	insn->tls = (int64_t)base + insn->offset;
}

static void note_memory(const struct state *s, const ZydisDecodedInstruction *zi,
			const ZydisDecodedOperand *ops, struct insn *insn)
{
	for (size_t i = 0; i < zi->operand_count_visible; i++) {
		const ZydisDecodedOperand *op = &ops[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		insn->has_memory = address_of(s, insn->next, op, &insn->memory);
		insn->size = op->mem.type == ZYDIS_MEMOP_TYPE_MEM ? op->size / 8 : 0;
		insn->reads = insn->size && (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		insn->writes = insn->size && (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
		insn->writes_constant = i == 0 && zi->operand_count_visible > 1 &&
					ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		insn->constant = insn->writes_constant ? ops[1].imm.value.u : 0;
		insn->has_offset = !insn->has_memory && insn->reads && insn->size == 8 &&
				   op->mem.index == ZYDIS_REGISTER_NONE &&
				   op->mem.segment != ZYDIS_REGISTER_FS;
		insn->offset = op->mem.disp.has_displacement ? op->mem.disp.value : 0;
	}
	note_tls(s, zi, ops, insn);
}

static void track_stack(struct state *s, const ZydisDecodedInstruction *zi,
			const ZydisDecodedOperand *ops)
{
	bool on_sp = zi->operand_count_visible == 2 && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		     ops[0].reg.value == ZYDIS_REGISTER_RSP &&
		     ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (zi->mnemonic == ZYDIS_MNEMONIC_PUSH)
		s->depth += 8;
	else if (zi->mnemonic == ZYDIS_MNEMONIC_POP)
		s->depth -= 8;
	else if (zi->mnemonic == ZYDIS_MNEMONIC_SUB && on_sp)
		s->depth += ops[1].imm.value.s;
	else if (zi->mnemonic == ZYDIS_MNEMONIC_ADD && on_sp)
		s->depth -= ops[1].imm.value.s;
	else if (zi->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		s->depth = 0;
}

/* The new value of a register, if known: from mov, lea, xor with itself, or a GOT slot. */
static bool result_of(struct walk *w, const struct state *s, const ZydisDecodedInstruction *zi,
		      const ZydisDecodedOperand *ops, const struct insn *insn, uint64_t *value)
{
	if (zi->operand_count_visible != 2 || ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	if (zi->mnemonic == ZYDIS_MNEMONIC_LEA) {
		*value = insn->memory;
		return insn->has_memory;
	}
	if (ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		if (zi->mnemonic == ZYDIS_MNEMONIC_MOV)
			return reg_value(s, ops[1].reg.value, value);
		return zi->mnemonic == ZYDIS_MNEMONIC_XOR && ops[0].reg.value == ops[1].reg.value;
	}
	if (zi->mnemonic != ZYDIS_MNEMONIC_MOV)
		return false;
	if (ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*value = ops[1].imm.value.u;
		return true;
	}
	return insn->has_memory && insn->size == sizeof(*value) &&
	       ops[1].mem.base == ZYDIS_REGISTER_RIP &&
	       fetch(w->d, insn->memory, value, sizeof(*value)) == sizeof(*value);
}

static void track_regs(struct walk *w, struct state *s, const ZydisDecodedInstruction *zi,
		       const ZydisDecodedOperand *ops, const struct insn *insn)
{
	uint64_t value = 0;
	bool known = result_of(w, s, zi, ops, insn, &value);

	for (size_t i = 0; i < zi->operand_count; i++) {
		bool is_reg = ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			      reg_number(ops[i].reg.value) >= 0;

		if (is_reg && (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			s->known &= ~(1u << reg_number(ops[i].reg.value));
	}
	if (known)
		set_reg(s, ops[0].reg.value, value);
}

static void push_path(struct walk *w, const struct state *s, uint64_t pc)
{
	if (w->n_paths == PATHS_MAX)
		return;
	w->paths[w->n_paths] = *s;
	w->paths[w->n_paths++].pc = pc;
}

/*
 * Does a jump leave the function? A tail call has the stack as at the entry. A conditional jump may
 * lead to a cold part, which has a frame of its own.
 */
static bool is_tail(struct walk *w, const struct state *s, uint64_t target)
{
	if (target == w->entry)
		return false;
	if (w->d->n_fdes)
		return has_frame(w->d, target);
	return !s->depth && target % 16 == 0 && (target < w->entry || target > w->highest);
}

/*
 * The same for straight-line code in an unknown function: does it jump to the start of a function,
 * or to a stub? Stubs have no frames of their own.
 */
static bool is_line_tail(struct walk *w, uint64_t target)
{
	return !w->d->n_fdes || has_frame(w->d, target) || decode_stub(w->d, target);
}

#define CANARY 0x28 /* offset of the stack protector's guard in the thread control block */

static bool reads_canary(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
	for (size_t i = 0; i < zi->operand_count_visible; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    ops[i].mem.segment == ZYDIS_REGISTER_FS && ops[i].mem.disp.value == CANARY)
			return true;
	return false;
}

static bool branch_target(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
			  uint64_t next, uint64_t *target)
{
	if (!zi->operand_count_visible || ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !ops[0].imm.is_relative)
		return false;
	*target = next + (uint64_t)ops[0].imm.value.s;
	return true;
}

/* Classify the instruction; false when the path ends here. */
static bool classify(struct walk *w, struct state *s, const ZydisDecodedInstruction *zi,
		     const ZydisDecodedOperand *ops, struct insn *insn)
{
	uint64_t target = 0;
	bool direct = branch_target(zi, ops, insn->next, &target);

	switch (zi->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		insn->kind = direct ? INSN_CALL : INSN_CALL_INDIRECT;
		insn->target = target;
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (direct && (w->line ? is_line_tail(w, target) : is_tail(w, s, target))) {
			insn->kind = INSN_TAIL;
			insn->target = target;
		} else if (direct && !w->line) {
			push_path(w, s, target);
		} else if (!direct && s->depth <= 0) {
			insn->kind = INSN_CALL_INDIRECT; /* a tail call, or a switch */
		}
		return false;
	case ZYDIS_CATEGORY_COND_BR:
		/* If the guard was overwritten, a call that never returns follows. */
		if (direct && !w->line && !s->canary)
			push_path(w, s, target);
		return !w->line;
	case ZYDIS_CATEGORY_SYSCALL:
		insn->kind = INSN_SYSCALL;
		return true;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_INTERRUPT:
		return false;
	default:
		return zi->mnemonic != ZYDIS_MNEMONIC_UD2 && zi->mnemonic != ZYDIS_MNEMONIC_HLT;
	}
}

/* Limits this walk and all of them: a target must not make us decode forever. */
static bool may_go_on(struct walk *w)
{
	if (!w->left || !w->d->left)
		return false;
	w->left--;
	w->d->left--;
	return true;
}

static int follow(struct walk *w, struct state *s)
{
	for (bool more = true; more && may_go_on(w) && first_time(w, s->pc);) {
		unsigned char bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
		ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
		size_t len = fetch(w->d, s->pc, bytes, sizeof(bytes));
		struct insn insn = { .addr = s->pc, .known = s->known };
		ZydisDecodedInstruction zi;
		int ret;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, bytes, len, &zi, ops)))
			return 0;
		insn.next = s->pc + zi.length;
		memcpy(insn.regs, s->regs, sizeof(insn.regs));
		if (s->pc > w->highest)
			w->highest = s->pc;
		note_memory(s, &zi, ops, &insn);
		more = classify(w, s, &zi, ops, &insn);
		ret = w->fn(w->ctx, &insn);
		if (ret)
			return ret;
		track_stack(s, &zi, ops);
		track_regs(w, s, &zi, ops, &insn);
		/* A call preserves the callee-saved registers only. */
		if (insn.kind == INSN_CALL || insn.kind == INSN_CALL_INDIRECT)
			s->known &= 1u << INSN_RBX | 1u << INSN_RBP | 0xf000;
		s->canary = reads_canary(&zi, ops);
		s->pc = insn.next;
		/* After a call that never returns, another function may begin. */
		if (more && s->pc != w->entry && s->pc % 16 == 0 && w->d->n_fdes &&
		    has_frame(w->d, s->pc))
			return 0;
	}
	return 0;
}

static int walk(struct decode *d, uint64_t addr, bool line, const struct state *first,
		unsigned int max, insn_fn *fn, void *ctx)
{
	struct walk w; /* not initialized: large, and mostly unused */
	int ret = 0;

	w.d = d;
	w.entry = w.highest = addr;
	w.line = line;
	w.left = max < INSNS_MAX ? max : INSNS_MAX;
	w.fn = fn;
	w.ctx = ctx;
	w.n_paths = 0;
	if (!line)
		memset(w.seen, 0, sizeof(w.seen));
	ZydisDecoderInit(&w.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	push_path(&w, first, w.entry);
	while (w.n_paths && w.left && !ret) {
		struct state s = w.paths[--w.n_paths];

		ret = follow(&w, &s);
	}
	return ret;
}

int decode_function(struct decode *d, uint64_t entry, unsigned int max, insn_fn *fn, void *ctx)
{
	return walk(d, entry, false, &(struct state){ 0 }, max, fn, ctx);
}

int decode_function_given(struct decode *d, uint64_t entry, uint64_t arg_2, unsigned int max,
			  insn_fn *fn, void *ctx)
{
	struct state first = { .known = 1u << INSN_ARG_2 };

	first.regs[INSN_ARG_2] = arg_2;
	return walk(d, entry, false, &first, max, fn, ctx);
}

int decode_line(struct decode *d, uint64_t addr, unsigned int max, insn_fn *fn, void *ctx)
{
	return walk(d, addr, true, &(struct state){ 0 }, max, fn, ctx);
}

void decode_refs(const void *code, size_t len, uint64_t addr, ref_fn *fn, void *ctx)
{
	ZydisDecodedInstruction zi;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	for (size_t i = 0; i < len; i += zi.length) {
		uint64_t next;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &decoder, NULL, (const char *)code + i, len - i, &zi)))
			return;
		next = addr + i + zi.length;
		if (zi.raw.imm[0].size == 32 || zi.raw.imm[0].is_relative)
			fn(ctx, (zi.raw.imm[0].is_relative ? next : 0) + zi.raw.imm[0].value.u,
			   zi.raw.imm[0].is_relative);
		/* Relative to the program counter, without base or index. */
		if (zi.raw.disp.size == 32 && zi.raw.modrm.mod == 0 && zi.raw.modrm.rm == 5)
			fn(ctx, next + (uint64_t)zi.raw.disp.value, false);
	}
}

/* lea r64, [rip + n] */
static void find_lea(const char *code, size_t len, uint64_t addr, decode_found_fn *fn, void *ctx)
{
	int32_t n;

	for (size_t i = 1; i + 6 <= len; i++) {
		const char *hit = memchr(code + i, 0x8d, len - 5 - i);

		if (!hit)
			break;
		i = (size_t)(hit - code);
		if ((hit[-1] & 0xfb) != 0x48 || (hit[1] & 0xc7) != 0x05)
			continue;
		memcpy(&n, hit + 2, sizeof(n));
		fn(ctx, addr + i - 1, addr + i + 6 + (uint64_t)(int64_t)n);
	}
}

/* mov edi, n */
static void find_mov(const char *code, size_t len, uint64_t addr, decode_found_fn *fn, void *ctx)
{
	uint32_t n;

	for (size_t i = 0; i + 5 <= len; i++) {
		const char *hit = memchr(code + i, 0xbf, len - 4 - i);

		if (!hit)
			break;
		i = (size_t)(hit - code);
		memcpy(&n, hit + 1, sizeof(n));
		fn(ctx, addr + i, n);
	}
}

void decode_find_addresses(const char *code, size_t len, uint64_t addr, bool constants,
			   decode_found_fn *fn, void *ctx)
{
	find_lea(code, len, addr, fn, ctx);
	if (constants)
		find_mov(code, len, addr, fn, ctx);
}

/* xor esi, esi or xor edi, edi */
void decode_find_zeros(const char *code, size_t len, uint64_t addr, decode_found_fn *fn, void *ctx)
{
	for (size_t i = 0; i + 2 <= len; i++) {
		const char *hit = memchr(code + i, 0x31, len - 1 - i);

		if (!hit)
			break;
		i = (size_t)(hit - code);
		if (hit[1] == (char)0xf6 || hit[1] == (char)0xff)
			fn(ctx, addr + i, 0);
	}
}

/*
 * The target of the relative displacement in the four bytes `at`, which are the end of an
 * instruction at address `addr`.
 */
static uint64_t relative_to(const char *at, uint64_t addr)
{
	int32_t n;

	memcpy(&n, at, sizeof(n));
	return addr + 4 + (uint64_t)(int64_t)n;
}

/* The same as an absolute address, for programs not compiled as PIE. */
static uint64_t absolute(const char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

/* Runs for nearly every byte of code. A constant of 1 or 4 bytes may follow. */
void decode_find_names(const char *code, size_t len, uint64_t addr, bool constants, uint64_t low,
		       uint64_t high, decode_found_fn *fn, void *ctx)
{
	const uint64_t span = high - low;

	for (size_t i = DECODE_BACK_MAX; i + 4 <= len; i++) {
		uint64_t to = relative_to(code + i, addr + i);

		if (to + 4 - low <= span + 4)
			fn(ctx, addr + i, to);
		if (constants && absolute(code + i) - low <= span)
			fn(ctx, addr + i, absolute(code + i));
	}
}

/* call n */
void decode_find_calls(const char *code, size_t len, uint64_t addr, uint64_t low, uint64_t high,
		       decode_found_fn *fn, void *ctx)
{
	for (size_t i = 0; i + 5 <= len; i++) {
		const char *hit = memchr(code + i, 0xe8, len - 4 - i);
		uint64_t to;

		if (!hit)
			break;
		i = (size_t)(hit - code);
		to = relative_to(hit + 1, addr + i + 1);
		if (to - low <= high - low)
			fn(ctx, addr + i, to);
	}
}

static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

uint64_t decode_probe(struct decode *d, uint64_t entry)
{
	char code[sizeof(endbr64)];
	bool marked = fetch(d, entry, code, sizeof(code)) == sizeof(code) &&
		      !memcmp(code, endbr64, sizeof(code));

	return marked ? entry + sizeof(code) : entry;
}

uint64_t decode_stub(struct decode *d, uint64_t addr)
{
	static const char index[] = "\x41\xbb"; /* mov $n,%r11d: by mold */
	unsigned char code[16];
	const unsigned char *c = code;
	int32_t displacement;

	if (fetch(d, addr, code, sizeof(code)) != sizeof(code))
		return 0;
	if (!memcmp(c, endbr64, sizeof(endbr64)))
		c += sizeof(endbr64);
	if (!memcmp(c, index, 2))
		c += 6;
	if (*c == 0xf2) /* bnd */
		c++;
	if (c[0] != 0xff || c[1] != 0x25)
		return 0;
	memcpy(&displacement, c + 2, sizeof(displacement));
	return addr + (uint64_t)(c + 6 - code) + (uint64_t)(int64_t)displacement;
}
