// SPDX-License-Identifier: Apache-2.0
#include "injector/walker.h"

#include "base/cleanup.h"
#include "elf/unwind.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define ANSWER_MAX 4096

enum verdict { VERDICT_SAFE, VERDICT_DANGEROUS, VERDICT_UNKNOWN_FRAME, VERDICT_NO_WALK, VERDICTS };

/* The request. */
struct question {
	uint64_t regs[ARCH_DWARF_REGS];
	uint64_t from, len; /* the stack */
	bool forget;	    /* drop cached unwind tables */
};

/* --- in the confined process --- */

#define TABLE_ADDR \
	0xffff800000000000ull /* address that libunwind is given for our own table: not a user
			       * address */

struct walk {
	const struct injector *inj;
	int mem;
	struct question q;
	unsigned char stack[WALKED_MAX];
	unsigned int n; /* frames so far */
	uint64_t inner; /* address of the last one */
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *word)
{
	const struct walk *w = ctx;
	const struct unwind_table *table = &w->inj->cs.table;
	uint64_t at = addr - w->q.from;

	if (addr >= TABLE_ADDR &&
	    addr - TABLE_ADDR + sizeof(*word) <= table->n * sizeof(*table->v)) {
		memcpy(word, (const char *)table->v + (addr - TABLE_ADDR), sizeof(*word));
		return true;
	}
	if (addr >= w->q.from && at + sizeof(*word) <= w->q.len) {
		memcpy(word, w->stack + at, sizeof(*word));
		return true;
	}
	return pread(w->mem, word, sizeof(*word), (off_t)addr) == sizeof(*word);
}

static bool find_table(void *ctx, uint64_t ip, struct unwind_table_place *place)
{
	const struct walk *w = ctx;
	const struct callsite *cs = &w->inj->cs;
	const struct image *img = images_find(w->inj->images, ip);

	if (img && !img->eh_frame_hdr && cs->table.n && img->start == cs->program.start) {
		*place = (struct unwind_table_place){ .start = cs->program.start,
						      .end = cs->program.end,
						      .base = cs->table.base,
						      .table = TABLE_ADDR,
						      .n_entries = cs->table.n };
		return true;
	}
	return img && unwind_table_of(img, read_word, ctx, place);
}

enum judgement { GO_ON, AT_ROOT, DANGEROUS };

static int judge(void *ctx, uint64_t ip)
{
	struct walk *w = ctx;
	const struct callsite *cs = &w->inj->cs;
	uint64_t inner = w->inner;
	bool called = w->n++;

	w->inner = ip;
	if (called && callsite_is_root(cs, ip - 1, inner - 1))
		return AT_ROOT;
	/* A return address may be just past a function whose last instruction is the call. */
	if (callsite_is_dangerous(cs, ip) || (called && callsite_is_dangerous(cs, ip - 1)))
		return DANGEROUS;
	return GO_ON;
}

static enum verdict walk(struct walk *w)
{
	struct unwind_source source = {
		.read = read_word, .table = find_table, .ctx = w, .keep = true
	};

	memcpy(source.regs, w->q.regs, sizeof(source.regs));
	if (w->q.forget)
		unwind_forget();
	if (pread(w->mem, w->stack, w->q.len, (off_t)w->q.from) != (ssize_t)w->q.len)
		return VERDICT_NO_WALK;
	w->n = 0;
	switch (unwind_walk(&source, judge, w)) {
	case GO_ON:
	case AT_ROOT:
		return VERDICT_SAFE;
	case DANGEROUS:
		return VERDICT_DANGEROUS;
	default:
		return source.guessed ? VERDICT_UNKNOWN_FRAME : VERDICT_NO_WALK;
	}
}

static void walk_all(void *ctx)
{
	struct walk *w = ctx;
	struct unpack question;

	while (confined_next(&question, NULL)) {
		_cleanup_(pack_fini) struct pack answer = { 0 };

		unpack_bytes(&question, &w->q, sizeof(w->q));
		if (!unpack_done(&question) || w->q.len > sizeof(w->stack))
			break;
		pack_u64(&answer, walk(w));
		confined_reply(false, NULL, &answer, -1);
	}
}

/* --- in the controller --- */

/* A thread is stopped during the walk. */
static int hurry(void *ctx, struct err *err)
{
	(void)ctx, (void)err;
	setpriority(PRIO_PROCESS, 0, NICEST);
	return 0;
}

int walker_start(struct injector *inj, struct err *err)
{
	static struct walk w;
	_cleanup_(cleanup_close) int mem = -1;
	const struct confined_options options = { .what = "walk the stack of a thread",
						  .fds = &mem,
						  .n_fds = 1,
						  .no_door = true,
						  .enter = hurry };

	if (inj->walker.child)
		return 0;
	mem = door_proc(inj->p->mm_pid, 0, "mem");
	if (mem < 0)
		return err_raise_sys(err, ERROR_MEMORY_UNOPENED, errno,
				     .code = errno == ENOENT || errno == ESRCH ? ERR_LOST
									       : ERR_FAILED,
				     .pid = inj->p->pid);
	w.inj = inj;
	w.mem = mem;
	return confined_start(&inj->walker, &options, walk_all, &w, err);
}

void walker_end(struct injector *inj, bool idle)
{
	if (idle)
		confined_finish(&inj->walker);
	else
		confined_end(&inj->walker);
}

/* --- in the tracer --- */

/* It exited or hangs: because of the target's tables, or for lack of memory or a CPU. */
static int no_answer(struct tracer *t, struct err *err)
{
	struct err ignored = ERR_INIT;
	struct proc_status st;

	if (err->code != ERR_UNSAFE) {
		err->code = ERR_UNSAFE;
		err->own = false;
		err_unadvise(err);
		return err_within(err, ERROR_UNWALKABLE);
	}
	if (proc_thread_status(t->inj->walker.child, t->inj->walker.child, &st, &ignored) == 0 &&
	    st.state == 'D')
		return err_raise(err, ERROR_STACK_MEMORY_HANGS);
	t->shared->another = ANOTHER_LATER;
	err_raise(err, ERROR_WALK_LATE, .number = tracer_patience_ms(t));
	return err_advise(err, FIX_RETRY_OR_DAMAGED);
}

static int ask(struct tracer *t, const struct question *q, enum verdict *verdict, struct err *err)
{
	_cleanup_(pack_fini) struct pack question = { 0 };
	struct unpack answer;

	pack_bytes(&question, q, sizeof(*q));
	if (confined_ask(&t->inj->walker, &question, -1, err) < 0 ||
	    confined_answer(&t->inj->walker, tracer_patience_ms(t), ANSWER_MAX, &answer, NULL,
			    err) < 0)
		return -1;
	*verdict = (enum verdict)unpack_max(&answer, VERDICTS - 1);
	if (unpack_done(&answer))
		return 0;
	t->inj->walker.broken = true;
	return err_raise(err, ERROR_WALK_MALFORMED);
}

int walker_check(struct tracer *t, const struct arch_regs *regs, uint64_t from, size_t len,
		 struct err *err)
{
	struct question q = { .from = from, .len = len, .forget = !t->has_walked };
	enum verdict verdict;

	if (t->inj->walker.broken)
		return err_raise(err, ERROR_WALKER_GONE);
	arch_dwarf_regs(regs, q.regs);
	t->has_walked = true;
	if (ask(t, &q, &verdict, err) < 0)
		return no_answer(t, err);
	switch (verdict) {
	case VERDICT_SAFE:
		return 0;
	case VERDICT_DANGEROUS:
		return err_raise(err, ERROR_CALLED_FROM_ALLOCATOR);
	case VERDICT_UNKNOWN_FRAME:
		return err_raise(err, ERROR_FRAME_WITHOUT_UNWIND);
	default:
		return err_raise(err, ERROR_STACK_UNWALKABLE);
	}
}
