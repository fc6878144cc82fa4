// SPDX-License-Identifier: Apache-2.0
#include "injector/filters.h"

#include "base/cleanup.h"
#include "injector/confine.h"
#include "injector/proof.h"
#include "injector/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* --- running one --- */

struct machine {
	const struct seccomp_data *data;
	uint32_t a, x, mem[BPF_MEMWORDS];
	bool bad;
};

static uint32_t load(struct machine *m, const struct sock_filter *f)
{
	uint32_t v = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS: /* a word of struct seccomp_data; the kernel allows only aligned ones */
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

/* All jumps go forward, which the kernel checks too, so this terminates. */
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

/* --- reading them --- */

/* From the tracer: a thread's ID; after its filters were read, whether to restart its sleep. */
struct request {
	pid_t tid;
	bool anew;
};

/* From the reader: once the filters are read, with the thread stopped; and once it is released. */
enum answer { ANSWER_FAILED, ANSWER_READ, ANSWER_LET_GO };

static int read_filters(struct filters *f, pid_t tid, struct err *err)
{
	for (f->n = 0; f->n < FILTERS_MAX; f->n++) {
		struct sock_filter *code = f->code[f->n];
		long len = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, f->n, NULL);

		if (len < 0 && errno == ENOENT && f->n)
			return 0;
		if (len < 0 && errno == EINVAL)
			return err_raise(err, ERROR_FILTERS_NOT_SHOWN);
		if (len <= 0 || len > BPF_MAXINSNS ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, tid, f->n, code) != len)
			return err_raise_sys(err, ERROR_FILTER_UNREADABLE, errno, .tid = tid);
		f->len[f->n] = (unsigned int)len;
	}
	return err_raise(err, ERROR_TOO_MANY_FILTERS, .limit = FILTERS_MAX);
}

/* With the thread stopped. */
static int look(struct tracer *t, struct borrow *b, int status, struct err *err)
{
	struct filters *f = t->filters;

	if (tracee_look(t, b, status, err) < 0)
		return -1;
	f->count = t->now.filters;
	f->has_rseq = tracee_rseq(b->tid);
	f->rests = arch_restarts_sleep(&b->regs);
	return read_filters(f, b->tid, err);
}

static bool say(int socket, enum answer answer)
{
	return write(socket, &answer, sizeof(answer)) == sizeof(answer);
}

/* Handle one thread; false when the tracer is gone. */
static bool serve(struct tracer *t, int socket, pid_t tid)
{
	_cleanup_(cleanup_close) int status = proc_thread_status_open(t->inj->p->pid, tid);
	struct filters *f = t->filters;
	struct borrow b = { .tid = tid };
	struct request then = { 0 };
	bool have;

	t->status = status;
	wait_look(t, tid);
	if (tracee_stop(t, tid, &f->err) < 0) {
		tracer_phase(t, PHASE_SEARCH);
		return say(socket, ANSWER_FAILED);
	}
	have = look(t, &b, status, &f->err) == 0;
	if (have)
		have = say(socket, ANSWER_READ) &&
		       read(socket, &then, sizeof(then)) == sizeof(then);
	if (have && then.anew && arch_restarts_sleep(&b.regs)) {
		arch_restart_syscall(&b.regs);
		wait_shorten(t, &b.regs);
		proof_set_regs(t, tid, &b.regs);
	}
	tracee_release(t, tid, &b.regs);
	tracer_phase(t, PHASE_SEARCH);
	return say(socket, have ? ANSWER_LET_GO : ANSWER_FAILED);
}

static void reader(struct tracer *t, pid_t tracer, int socket)
{
	struct request r;

	struct err ignored = ERR_INIT;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(t->mem);
	t->mem = -1;
	close(t->maps);
	close(t->socket);
	if (getppid() == tracer && confine_capabilities(true, &ignored) == 0)
		while (read(socket, &r, sizeof(r)) == sizeof(r) && serve(t, socket, r.tid))
			;
	_exit(0);
}

int filters_open(struct tracer *t, struct err *err)
{
	pid_t tracer = getpid(), pid;
	int sockets[2];

	if (!confine_rules_filters()) {
		err_raise(err, ERROR_FILTERS_FORBIDDEN);
		return err_advise(err, FIX_ROOT_ON_HOST);
	}
	t->filters = mmap(NULL, sizeof(*t->filters), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->filters == MAP_FAILED)
		return err_raise_sys(err, ERROR_NO_SHARED_MEMORY, errno);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return err_raise_sys(err, ERROR_NO_SOCKET_PAIR, errno);
	pid = fork();
	if (pid == 0) {
		close(sockets[0]);
		reader(t, tracer, sockets[1]);
	}
	close(sockets[1]);
	t->reader = sockets[0];
	t->reader_pid = pid < 0 ? 0 : pid;
	return pid < 0 ? err_raise_sys(err, ERROR_NO_FORK, errno) : 0;
}

void filters_close(struct tracer *t)
{
	if (!t->reader_pid)
		return;
	close(t->reader);
	waitpid(t->reader_pid, NULL, 0);
}

static int failed(struct tracer *t, struct err *err)
{
	*err = t->filters->err;
	t->filters->tid = 0;
	return -1;
}

/*
 * No heartbeat meanwhile: if the reader holds a thread for too long, the watchdog kills both of us.
 */
static enum answer await(const struct tracer *t)
{
	enum answer answer;

	if (read(t->reader, &answer, sizeof(answer)) == sizeof(answer))
		return answer;
	err_raise(&t->filters->err, ERROR_FILTER_READER_ENDED);
	return ANSWER_FAILED;
}

int filters_read(struct tracer *t, pid_t tid, unsigned int count,
		 bool (*allows_restart)(const struct filters *f), struct err *err)
{
	struct request r = { .tid = tid };
	struct filters *f = t->filters;

	if (f->tid == tid && f->count == count)
		return 0;
	f->tid = 0;
	if (write(t->reader, &r, sizeof(r)) != sizeof(r) || await(t) != ANSWER_READ)
		return failed(t, err);
	r.anew = f->rests && !allows_restart(f);
	if (write(t->reader, &r, sizeof(r)) != sizeof(r) || await(t) != ANSWER_LET_GO)
		return failed(t, err);
	f->tid = tid;
	return 0;
}
