// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/scan.h"

#include "elf/image_file.h"
#include "elf/image_head.h"
#include "jemalloc/jemalloc.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* --- variables --- */

/*
 * The variables behind mallctl's names, where distributions have stripped
 * them. opt.prof decides whether anything else may be asked.
 */

#define BYTES_MAX 64
#define ALLOCATION_DEPTH 3 /* calls from malloc to where it decides whether to sample */

/* Bytes of the image's data that some code reads, and that it sets. */
struct bytes {
	const struct scan *scan;
	struct {
		uint64_t addr;
		bool read, set;
	} v[BYTES_MAX];
	size_t n;
};

static int note_byte(void *ctx, const struct insn *insn)
{
	struct bytes *b = ctx;
	size_t i = 0;

	if (!insn->has_memory || insn->size != 1 || !scan_in_image(b->scan, insn->memory) ||
	    scan_in_code(b->scan, insn->memory))
		return 0;
	while (i < b->n && b->v[i].addr != insn->memory)
		i++;
	if (i == BYTES_MAX)
		return 1;
	b->v[i].addr = insn->memory;
	b->v[i].read |= insn->reads;
	b->v[i].set |= insn->writes && !insn->writes_constant;
	b->n += i == b->n;
	return 0;
}

/* A byte of code is a bool: jemalloc's options have no other values. */
static bool is_bool(struct scan *s, uint64_t addr)
{
	unsigned char value;

	return peek(&s->memory, addr, &value, sizeof(value)) && value <= 1;
}

/* The only byte that the handler of `name` reads, 0 if there is none, or several. */
static uint64_t read_by(struct scan *s, const char *name)
{
	struct bytes b = { .scan = s };
	uint64_t handler = ctl_tree_handler(&s->tree, name);

	if (!handler || scan_reach(s, handler, 0, note_byte, &b) || b.n != 1 || !b.v[0].read ||
	    b.v[0].set)
		return 0;
	return is_bool(s, b.v[0].addr) ? b.v[0].addr : 0;
}

static int is_read(void *ctx, const struct insn *insn)
{
	const uint64_t *addr = ctx;

	return insn->has_memory && insn->memory == *addr && insn->size == 1 && insn->reads;
}

bool scan_allocation_reads(struct scan *s, uint64_t entry, uint64_t addr)
{
	return scan_reach(s, entry, ALLOCATION_DEPTH, is_read, &addr);
}

uint64_t scan_opt_prof(struct scan *s)
{
	uint64_t addr = s->n_trees == 1 ? read_by(s, "opt.prof") : 0;
	uint64_t dump = addr ? ctl_tree_handler(&s->tree, "prof.dump") : 0;

	return dump && scan_reach(s, dump, 2, is_read, &addr) ? addr : 0;
}

/* The bytes that a handler stores: a value of config.* stands in its code. */
static int note_constant(void *ctx, const struct insn *insn)
{
	unsigned int *seen = ctx; /* bits: 0, 1, anything else */

	if (insn->writes_constant && insn->size == 1)
		*seen |= 1u << (insn->constant < 2 ? insn->constant : 2);
	return 0;
}

static enum tristate config_of(struct scan *s, uint64_t handler)
{
	unsigned int seen = 0;

	scan_reach(s, handler, 0, note_constant, &seen);
	return seen == 1u << 1 ? TRI_YES : seen == 1u << 0 ? TRI_NO : TRI_UNKNOWN;
}

enum jemalloc_unwinder jemalloc_unwinder(enum tristate libgcc, enum tristate libunwind,
					 enum tristate frameptr)
{
	if (libunwind == TRI_YES)
		return UNWINDER_LIBUNWIND;
	if (libgcc == TRI_YES)
		return UNWINDER_LIBGCC;
	if (frameptr == TRI_YES)
		return UNWINDER_FRAMES;
	return libunwind == TRI_NO && libgcc == TRI_NO && frameptr == TRI_NO ? UNWINDER_COMPILER
									     : UNWINDER_UNKNOWN;
}

enum jemalloc_unwinder scan_unwinder(struct scan *s)
{
	uint64_t libgcc, libunwind, frameptr;

	if (s->n_trees != 1)
		return UNWINDER_UNKNOWN;
	libgcc = ctl_tree_handler(&s->tree, "config.prof_libgcc");
	libunwind = ctl_tree_handler(&s->tree, "config.prof_libunwind");
	frameptr = ctl_tree_handler(&s->tree, "config.prof_frameptr"); /* from 5.3.1 on */
	return jemalloc_unwinder(config_of(s, libgcc), config_of(s, libunwind),
				 frameptr ? config_of(s, frameptr) : TRI_NO);
}

/* A lock's own flag is set to constants; what a caller hands over is not. */
static uint64_t set_by(struct scan *s, const char *name)
{
	struct bytes b = { .scan = s };
	uint64_t handler = ctl_tree_handler(&s->tree, name), addr = 0;

	if (!handler || scan_reach(s, handler, 1, note_byte, &b))
		return 0;
	for (size_t i = 0; i < b.n; i++) {
		if (!b.v[i].read || !b.v[i].set)
			continue;
		if (addr)
			return 0;
		addr = b.v[i].addr;
	}
	return addr && is_bool(s, addr) ? addr : 0;
}

uint64_t scan_prof_active(struct scan *s)
{
	uint64_t active, other;

	if (s->n_trees != 1)
		return 0;
	active = set_by(s, "prof.active");
	other = set_by(s, "prof.thread_active_init");
	return active && other && active != other ? active : 0;
}

/* --- options --- */

/* The variables that keep what profiling was started with. */

/* The code that reads the configuration stands in the same object file as mallctl's, or near it. */
#define NEAR (UINT64_C(4) << 20)
/* From the first byte of an instruction to the four that say where its memory lies. */
#define OPCODE_MIN 1
#define OPCODE_MAX 4
/* No handler of an option is longer; measured: 144 bytes. */
#define HANDLER_MAX 256

/* As their type in jemalloc says (jemalloc_internal_externs.h): a bool, size_t, ssize_t. */
static const struct opt {
	const char *name;
	size_t size;
	int64_t min, max;
} opts[JEMALLOC_OPTS] = {
	[OPT_PROF] = { "prof", 1, 0, 1 },
	[OPT_PROF_ACTIVE] = { "prof_active", 1, 0, 1 },
	[OPT_PROF_THREAD_ACTIVE_INIT] = { "prof_thread_active_init", 1, 0, 1 },
	[OPT_LG_PROF_SAMPLE] = { "lg_prof_sample", 8, 0, 63 },
	[OPT_LG_PROF_INTERVAL] = { "lg_prof_interval", 8, -1, 63 },
	[OPT_PROF_GDUMP] = { "prof_gdump", 1, 0, 1 },
	[OPT_PROF_FINAL] = { "prof_final", 1, 0, 1 },
	[OPT_PROF_LEAK] = { "prof_leak", 1, 0, 1 },
	[OPT_PROF_ACCUM] = { "prof_accum", 1, 0, 1 },
};

const char *jemalloc_opt_name(enum jemalloc_opt opt)
{
	return opts[opt].name;
}

size_t jemalloc_opt_size(enum jemalloc_opt opt)
{
	return opts[opt].size;
}

/* One byte or eight, of a machine that has the lowest first. */
static bool is_value(const struct opt *opt, const unsigned char bytes[8], int64_t *value)
{
	int64_t n = 0;

	memcpy(&n, bytes, opt->size);
	if (n < opt->min || n > opt->max)
		return false;
	*value = n;
	return true;
}

static bool peek_opt(const struct proc *p, const struct jemalloc *je, enum jemalloc_opt opt,
		     int64_t *value)
{
	struct err ignored = ERR_INIT;
	unsigned char bytes[8];

	return je->opt[opt] &&
	       !proc_read(p->mm_pid, je->opt[opt], bytes, opts[opt].size, &ignored) &&
	       is_value(&opts[opt], bytes, value);
}

void jemalloc_peek_values(const struct jemalloc *je, const struct proc *p,
			  struct jemalloc_values *out)
{
	struct err ignored = ERR_INIT;
	unsigned char active;

	*out = (struct jemalloc_values){ .prof_active = TRI_UNKNOWN };
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		out->opt[i].known = peek_opt(p, je, i, &out->opt[i].value);
	if (je->prof_active &&
	    !proc_read(p->mm_pid, je->prof_active, &active, sizeof(active), &ignored))
		out->prof_active = active ? TRI_YES : TRI_NO;
}

void jemalloc_read_values(struct jemalloc *je, const struct proc *p, struct jemalloc_values *out)
{
	jemalloc_find_opts(je, p->mm_pid);
	jemalloc_peek_values(je, p, out);
}

enum tristate jemalloc_value_is(const struct jemalloc_values *values, enum jemalloc_opt opt)
{
	if (!values->opt[opt].known)
		return TRI_UNKNOWN;
	return values->opt[opt].value ? TRI_YES : TRI_NO;
}

struct reading {
	struct scan *scan;
	size_t size;
	uint64_t addr; /* the only variable of that size that is read */
	bool ambiguous;
};

static int note_read(void *ctx, const struct insn *insn)
{
	struct reading *r = ctx;

	if (!insn->has_memory || insn->size != r->size || !scan_in_image(r->scan, insn->memory) ||
	    scan_in_code(r->scan, insn->memory))
		return 0;
	r->ambiguous |= !insn->reads || insn->writes || (r->addr && r->addr != insn->memory);
	r->addr = insn->memory;
	return 0;
}

static uint64_t handler_of(const struct scan *s, const struct opt *opt)
{
	char name[64];

	snprintf(name, sizeof(name), "opt.%s", opt->name);
	return ctl_tree_handler(&s->tree, name);
}

static uint64_t read_by_handler(struct scan *s, const struct opt *opt)
{
	struct reading r = { .scan = s, .size = opt->size };
	uint64_t handler = handler_of(s, opt);
	unsigned char bytes[8];
	int64_t value;

	if (!handler || scan_reach(s, handler, 0, note_read, &r) || r.ambiguous || !r.addr ||
	    !peek(&s->memory, r.addr, bytes, opt->size) || !is_value(opt, bytes, &value))
		return 0;
	return r.addr;
}

/* Which of the candidates the code near mallctl sets, as what reads the configuration does. */
struct setting {
	struct scan *scan;
	uint64_t mallctl;
	uint64_t addr[JEMALLOC_OPTS];
	bool set[JEMALLOC_OPTS];
	uint64_t low, high; /* of `addr` */
	unsigned int wanted;
};

/* It writes the variable, or takes its address to do so; or one before it took that. */
static int note_set(void *ctx, const struct insn *insn)
{
	struct setting *w = ctx;
	uint64_t wanted = w->addr[w->wanted];
	bool set = insn->has_memory && insn->memory == wanted &&
		   (!insn->size || (insn->writes && insn->size == opts[w->wanted].size));

	for (unsigned int i = 0; i < DECODE_REGS && w->scan->image->type == ET_EXEC; i++)
		set |= insn_reg_is(insn, i, wanted);
	w->set[w->wanted] |=
		set && insn->addr - handler_of(w->scan, &opts[w->wanted]) >= HANDLER_MAX;
	return 0;
}

/* Four bytes at `addr` that may say where a candidate is: at `memory`, or a little behind it. */
static void try_setting(struct setting *w, uint64_t addr, uint64_t memory)
{
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		/* What follows is a constant of 1 or 4 bytes to write, or nothing. */
		if (!w->addr[i] || w->set[i] || w->addr[i] - memory > 4)
			continue;
		w->wanted = i;
		for (unsigned int back = OPCODE_MIN; back <= OPCODE_MAX; back++)
			decode_line(&w->scan->code, addr - back, 2, note_set, w);
	}
}

/* Four bytes at `at` of code at `addr` as what an instruction adds to the address behind it. */
static uint64_t relative_to(const char *at, uint64_t addr)
{
	int32_t n;

	memcpy(&n, at, sizeof(n));
	return addr + 4 + (uint64_t)(int64_t)n;
}

/* The same as an address, in programs where those are constants. */
static uint64_t absolute(const char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

/* Nearly every byte of the code comes through here: what the loop compares with is its own. */
static int search_settings(void *ctx, unsigned int pflags, const char *bytes, size_t len,
			   uint64_t addr)
{
	struct setting *w = ctx;
	const bool constants = w->scan->image->type == ET_EXEC;
	const uint64_t low = w->low, span = w->high - w->low;
	size_t i = OPCODE_MAX, end = len;

	if (!(pflags & PF_X) || addr > w->mallctl || w->mallctl - addr >= len)
		return 0;
	if (w->mallctl - addr > NEAR)
		i = (size_t)(w->mallctl - addr - NEAR);
	if (end > w->mallctl - addr + NEAR)
		end = (size_t)(w->mallctl - addr + NEAR);
	for (; i + 4 <= end; i++) {
		uint64_t memory = relative_to(bytes + i, addr + i);

		if (memory + 4 - low <= span + 4)
			try_setting(w, addr + i, memory);
		if (constants && absolute(bytes + i) - low <= span)
			try_setting(w, addr + i, absolute(bytes + i));
	}
	return 0;
}

static void bound(struct setting *w)
{
	w->low = UINT64_MAX;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		if (!w->addr[i])
			continue;
		if (w->addr[i] < w->low)
			w->low = w->addr[i];
		if (w->addr[i] > w->high)
			w->high = w->addr[i];
	}
}

static bool is_unique(const struct setting *w, unsigned int opt)
{
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		if (i != opt && w->addr[i] == w->addr[opt])
			return false;
	return true;
}

void scan_opts(struct scan *s, uint64_t mallctl, uint64_t opt[JEMALLOC_OPTS])
{
	struct setting w = { .scan = s, .mallctl = mallctl };
	bool any = false;

	if (s->n_trees != 1)
		return;
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		w.addr[i] = opt[i] ? opt[i] : read_by_handler(s, &opts[i]);
		any |= !opt[i] && w.addr[i];
	}
	if (!any)
		return;
	bound(&w);
	image_each_segment(s->image, search_settings, &w);
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++)
		if (!opt[i] && w.set[i] && is_unique(&w, i))
			opt[i] = w.addr[i];
}

/* --- prof dump --- */

/* prof_dump, which every dump goes through whoever caused it, and which no build exports. */

#define DEPTH 3 /* from the handler to the call of prof_dump */
#define CREAT_INSNS 64

struct dump {
	struct scan *scan;
	uint64_t found;
	const char *reg;
	bool ambiguous;
};

static int is_creat_call(void *ctx, const struct insn *insn)
{
	(void)ctx;
	return insn->kind == INSN_SYSCALL && insn_reg_is(insn, INSN_RAX, SYS_creat);
}

/*
 * creat(3) by the name that the linker is to look up, or has looked up, else by what it does.
 * In newer C libraries the function itself makes no system call.
 */
static bool calls_creat(struct scan *s, const struct insn *insn)
{
	uint64_t slot = insn->kind == INSN_CALL_INDIRECT ? insn->memory
							 : decode_stub(&s->code, insn->target);
	uint64_t callee = scan_callee(s, insn);
	char name[32];

	if (!callee)
		return false;
	if (slot && image_reloc_name(s->image, slot, name, sizeof(name)))
		return !strcmp(name, "creat") || !strcmp(name, "creat64");
	return decode_function(&s->code, callee, CREAT_INSNS, is_creat_call, NULL);
}

static int note_creat(void *ctx, const struct insn *insn)
{
	return insn->kind != INSN_OTHER && insn->kind != INSN_SYSCALL && calls_creat(ctx, insn);
}

/*
 * To dump into a file of this name, and not for leaks: prof_dump(tsd, true,
 * filename, false), and before 4.0, and where the compiler drops the first
 * argument, prof_dump(true, filename, false).
 */
static const char *name_register(const struct insn *insn)
{
	if (insn_reg_is(insn, INSN_RSI, 1) && insn_reg_is(insn, INSN_RCX, 0))
		return "rdx";
	if (insn_reg_is(insn, INSN_RDI, 1) && insn_reg_is(insn, INSN_RDX, 0))
		return "rsi";
	return NULL;
}

/* It makes the file by itself, or, before 5.3.0, has a function for that. */
static int note_site(void *ctx, const struct insn *insn)
{
	struct dump *d = ctx;
	const char *reg = name_register(insn);

	if ((insn->kind != INSN_CALL && insn->kind != INSN_TAIL) || !reg ||
	    insn->target == d->found || !scan_reach(d->scan, insn->target, 1, note_creat, d->scan))
		return 0;
	d->ambiguous |= d->found != 0;
	d->found = insn->target;
	d->reg = reg;
	return 0;
}

uint64_t scan_prof_dump(struct scan *s, const char **reg)
{
	uint64_t handler = s->n_trees == 1 ? ctl_tree_handler(&s->tree, "prof.dump") : 0;
	struct dump d = { .scan = s };

	if (!handler)
		return 0;
	scan_reach(s, handler, DEPTH, note_site, &d);
	if (!d.found || d.ambiguous)
		return 0;
	*reg = d.reg;
	return d.found;
}

static int count_name(void *ctx, const char *name, uint64_t handler)
{
	(void)name;
	(void)handler;
	++*(size_t *)ctx;
	return 0;
}

void jemalloc_find_dump(const struct jemalloc *je, const struct proc *p, struct jemalloc_dump *out)
{
	struct scan scan;

	*out = (struct jemalloc_dump){ .reg = "" };
	scan_open(&scan, je->image, p->mm_pid);
	if (scan.n_trees == 1)
		ctl_tree_each(&scan.tree, count_name, &out->n_names);
	out->prof_dump = scan_prof_dump(&scan, &out->reg);
}

/* "prof_dump", also as a clone that gcc or clang made with fewer arguments; not its cold part. */
static bool is_prof_dump(const char *name, bool *cloned)
{
	static const char plain[] = "prof_dump";
	static const char *const clones[] = { ".constprop.", ".isra.", ".part.", ".lto_priv." };
	const char *tail = name + sizeof(plain) - 1;

	if (strncmp(name, plain, sizeof(plain) - 1) != 0 || strstr(name, ".cold"))
		return false;
	*cloned = *tail;
	for (size_t i = 0; *tail && i < sizeof(clones) / sizeof(*clones); i++)
		if (!strncmp(tail, clones[i], strlen(clones[i])))
			return true;
	return !*tail;
}

struct named {
	const struct jemalloc *je;
	struct jemalloc_text text;
	struct jemalloc_dump *out;
	size_t n;
	bool in_text; /* `out` lies in what is known to be this jemalloc's code */
};

static int note_name(void *ctx, const char *name, const struct symbol *sym)
{
	struct named *n = ctx;
	bool cloned;

	if (sym->type != STT_FUNC || !is_prof_dump(name, &cloned))
		return 0;
	n->n++;
	n->in_text = jemalloc_text_has(&n->text, sym->addr);
	n->out->prof_dump = sym->addr;
	if (cloned)
		n->out->reg = "";
	else
		n->out->reg = jemalloc_version_cmp(n->je->version, 4, 0, 0) < 0 ? "rsi" : "rdx";
	return n->in_text;
}

bool jemalloc_find_prof_dump(const struct jemalloc *je, const struct proc *p,
			     struct jemalloc_dump *out)
{
	struct named n = { .je = je, .out = out };
	struct err ignored = ERR_INIT;

	jemalloc_find_dump(je, p, out);
	if (out->prof_dump || !image_may_name(je->image, "prof_dump"))
		return out->prof_dump;
	(void)!jemalloc_text(&n.text, je, p->mm_pid, &ignored);
	image_each_symbol(je->image, note_name, &n);
	jemalloc_text_fini(&n.text);
	/* Of several jemallocs in one program, only the one whose code is known to be there. */
	if (n.n > 1 && !n.in_text)
		out->prof_dump = 0;
	return out->prof_dump;
}

/* --- the search --- */

#define FUNCTIONS_MAX 128
#define INSNS_MAX 3000
#define ALL_INSNS_MAX (8u << 20) /* one second or two */

static size_t read_target(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return peek_some(ctx, addr, buf, len);
}

void scan_open_code(struct scan *s, struct image *img, pid_t pid)
{
	s->image = img;
	s->n_trees = 0;
	s->code = (struct decode){ .read = read_target, .ctx = &s->memory, .left = ALL_INSNS_MAX };
	peek_init(&s->memory, pid);
	image_peek_code(img, &s->memory);
	if (img->machine == EM_X86_64)
		decode_use_frames(&s->code, img->eh_frame_hdr, img->eh_frame_hdr_size);
	else
		s->code.left = 0;
}

void scan_open(struct scan *s, struct image *img, pid_t pid)
{
	scan_open_code(s, img, pid);
	if (img->machine == EM_X86_64)
		s->n_trees = ctl_tree_find(&s->tree, img, &s->memory);
}

bool scan_in_image(const struct scan *s, uint64_t addr)
{
	return s->image->start <= addr && addr < s->image->end;
}

bool scan_in_code(const struct scan *s, uint64_t addr)
{
	for (size_t i = 0; i < s->image->n_exec; i++)
		if (s->image->exec[i].start <= addr && addr < s->image->exec[i].end)
			return true;
	return false;
}

uint64_t scan_callee(struct scan *s, const struct insn *insn)
{
	uint64_t slot = 0, target = insn->target;

	if (insn->kind == INSN_CALL_INDIRECT && insn->has_memory && insn->size == sizeof(slot))
		slot = insn->memory;
	else if (insn->kind == INSN_CALL || insn->kind == INSN_TAIL)
		slot = decode_stub(&s->code, target);
	else
		return 0;
	if (slot && !peek(&s->memory, slot, &target, sizeof(target)))
		return 0;
	return target;
}

struct reach {
	struct scan *scan;
	insn_fn *fn;
	void *ctx;
	size_t n;
	struct {
		uint64_t entry;
		unsigned int depth;
	} v[FUNCTIONS_MAX];
	unsigned int depth; /* of the function being walked */
};

static void add_function(struct reach *r, uint64_t entry, unsigned int depth)
{
	if (!scan_in_code(r->scan, entry) || r->n == FUNCTIONS_MAX)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].entry == entry)
			return;
	r->v[r->n].entry = entry;
	r->v[r->n++].depth = depth;
}

static int visit(void *ctx, const struct insn *insn)
{
	struct reach *r = ctx;

	if (r->depth && insn->kind != INSN_OTHER)
		add_function(r, scan_callee(r->scan, insn), r->depth - 1);
	return r->fn(r->ctx, insn);
}

int scan_reach(struct scan *s, uint64_t entry, unsigned int depth, insn_fn *fn, void *ctx)
{
	struct reach r = { .scan = s, .fn = fn, .ctx = ctx };
	int ret = 0;

	add_function(&r, entry, depth);
	for (size_t i = 0; i < r.n && !ret; i++) {
		r.depth = r.v[i].depth;
		ret = decode_function(&s->code, r.v[i].entry, INSNS_MAX, visit, &r);
	}
	return ret;
}

struct control {
	scan_control_fn *fn;
	void *ctx;
};

static int note_handler(void *ctx, const char *name, uint64_t handler)
{
	const struct control *c = ctx;

	(void)name;
	c->fn(c->ctx, handler);
	return 0;
}

void scan_control(struct scan *s, uint64_t mallctl, scan_control_fn *fn, void *ctx)
{
	struct control c = { fn, ctx };
	const char *ignored;
	uint64_t dump = scan_prof_dump(s, &ignored);

	fn(ctx, mallctl);
	if (s->n_trees == 1)
		ctl_tree_each(&s->tree, note_handler, &c);
	if (dump)
		fn(ctx, dump);
}
