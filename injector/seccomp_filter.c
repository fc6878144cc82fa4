// SPDX-License-Identifier: Apache-2.0
#include "injector/seccomp_filter.h"

#include <stdbool.h>
#include <string.h>

struct machine {
	const struct seccomp_data *data;
	uint32_t a, x, mem[BPF_MEMWORDS];
	bool bad;
};

static uint32_t load(struct machine *m, const struct sock_filter *f)
{
	uint32_t v = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS: /* a word of struct seccomp_data; the kernel allows aligned ones only */
		if (BPF_SIZE(f->code) != BPF_W || f->k % 4 || f->k > sizeof(*m->data) - sizeof(v))
			m->bad = true;
		else
			memcpy(&v, (const char *)m->data + f->k, sizeof(v));
		return v;
	case BPF_IMM:
		return f->k;
	case BPF_LEN:
		return sizeof(*m->data);
	case BPF_MEM:
		m->bad |= f->k >= BPF_MEMWORDS;
		return m->bad ? 0 : m->mem[f->k];
	default:
		m->bad = true;
		return 0;
	}
}

static void store(struct machine *m, uint32_t k, uint32_t v)
{
	m->bad |= k >= BPF_MEMWORDS;
	if (!m->bad)
		m->mem[k] = v;
}

static uint32_t alu(struct machine *m, const struct sock_filter *f)
{
	uint32_t b = BPF_SRC(f->code) == BPF_X ? m->x : f->k;

	switch (BPF_OP(f->code)) {
	case BPF_ADD:
		return m->a + b;
	case BPF_SUB:
		return m->a - b;
	case BPF_MUL:
		return m->a * b;
	case BPF_DIV:
		m->bad |= !b;
		return b ? m->a / b : 0;
	case BPF_AND:
		return m->a & b;
	case BPF_OR:
		return m->a | b;
	case BPF_XOR:
		return m->a ^ b;
	case BPF_LSH:
		return b < 32 ? m->a << b : 0;
	case BPF_RSH:
		return b < 32 ? m->a >> b : 0;
	case BPF_NEG:
		return -m->a;
	default:
		m->bad = true;
		return 0;
	}
}

static uint64_t jump(struct machine *m, const struct sock_filter *f)
{
	uint32_t b = BPF_SRC(f->code) == BPF_X ? m->x : f->k;
	bool yes;

	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		yes = m->a == b;
		break;
	case BPF_JGT:
		yes = m->a > b;
		break;
	case BPF_JGE:
		yes = m->a >= b;
		break;
	case BPF_JSET:
		yes = m->a & b;
		break;
	default:
		m->bad = true;
		return 0;
	}
	return yes ? f->jt : f->jf;
}

/* Jumps only go forward (the kernel checked that, too), so this ends. */
uint32_t seccomp_filter_run(const struct sock_filter *prog, size_t n,
			    const struct seccomp_data *data)
{
	struct machine m = { .data = data };

	for (uint64_t pc = 0; pc < n && !m.bad; pc++) {
		const struct sock_filter *f = &prog[pc];

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			m.a = load(&m, f);
			break;
		case BPF_LDX:
			m.x = load(&m, f);
			break;
		case BPF_ST:
			store(&m, f->k, m.a);
			break;
		case BPF_STX:
			store(&m, f->k, m.x);
			break;
		case BPF_ALU:
			m.a = alu(&m, f);
			break;
		case BPF_JMP:
			pc += jump(&m, f);
			break;
		case BPF_RET:
			if (BPF_RVAL(f->code) == BPF_A)
				return m.a;
			return BPF_RVAL(f->code) == BPF_K ? f->k : SECCOMP_RET_KILL_PROCESS;
		default: /* BPF_MISC */
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}
