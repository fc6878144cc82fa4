// SPDX-License-Identifier: Apache-2.0
#include "injector/callsite.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "base/vec.h"
#include "injector/libc.h"
#include "injector/tracer.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- struct pthread and errno --- */

/* Finds where errno and the cancellation state are in a thread's data. */

/*
 * Without symbols: the place where every system call wrapper stores its error, if there is a
 * function that returns its address.
 */
static bool search_errno(struct callsite *cs, const struct proc *p, struct image *libc)
{
	unsigned char code[ARCH_ERRNO_CODE];
	struct err ignored = ERR_INIT;
	uint64_t at = image_search(libc, PF_X, arch_set_errno, arch_set_errno_len);

	if (!at || proc_read(p->mm_pid, at - ARCH_ERRNO_BEFORE, code, sizeof(code), &ignored) < 0)
		return false;
	return arch_errno_location(code, &cs->errno_offset) &&
	       image_search(libc, PF_X, code, sizeof(code));
}

/* From the code of the function that returns its address. */
static bool read_errno(struct callsite *cs, const struct proc *p, uint64_t location)
{
	unsigned char code[32];
	struct err ignored = ERR_INIT;
	uint64_t slot;

	if (proc_read(p->mm_pid, location, code, sizeof(code), &ignored) < 0 ||
	    !arch_errno_offset(code, sizeof(code), location, &cs->errno_offset, &slot))
		return false;
	return !slot || proc_read(p->mm_pid, slot, &cs->errno_offset, sizeof(cs->errno_offset),
				  &ignored) == 0;
}

static void find_errno(struct callsite *cs, const struct proc *p, struct image *libc)
{
	struct symbol sym;

	if (image_symbol(libc, "__errno_location", &sym))
		cs->has_errno = read_errno(cs, p, sym.addr);
	else
		cs->has_errno = search_errno(cs, p, libc);
}

static void find_cancel(struct callsite *cs, const struct proc *p, struct image *libc,
			struct image *pthread)
{
	static const char name[] = GLIBC_CANCEL_SYMBOL;
	struct err ignored = ERR_INIT;
	struct symbol sym;
	uint32_t field[3];

	if (!image_symbol(libc, name, &sym) && !(pthread && image_symbol(pthread, name, &sym)))
		return;
	if (proc_read(p->mm_pid, sym.addr, field, sizeof(field), &ignored) == 0)
		glibc_cancel_offset(field, &cs->cancel_offset);
}

/*
 * In musl both are in struct pthread. The layout is taken to be the known one if errno, according
 * to the instructions of __errno_location(), is where we expect it.
 */
static int find_in_musl(struct callsite *cs, const struct proc *p, struct image *libc,
			struct err *err)
{
	unsigned char code[ARCH_ERRNO_AT_CODE];
	struct symbol sym;
	uint64_t at;

	arch_errno_at(code, MUSL_ERRNO);
	at = image_symbol(libc, "__errno_location", &sym)
		     ? sym.addr
		     : image_search(libc, PF_X, code, sizeof(code));
	if (!at || !read_errno(cs, p, at) || cs->errno_offset != MUSL_ERRNO) {
		err_raise(err, ERROR_MUSL_UNKNOWN, .number = MUSL_ERRNO);
		return err_advise(err, FIX_KNOWN_MUSLS);
	}
	cs->has_errno = true;
	cs->cancel_offset = MUSL_CANCEL;
	return 0;
}

/*
 * Set errno_offset and cancel_offset; `pthread` is NULL except before glibc 2.34. ERR_FAILED for a
 * musl with an unknown struct pthread.
 */
static int find_thread(struct callsite *cs, const struct proc *p, struct image *libc,
		       struct image *pthread, struct err *err)
{
	if (cs->lib == &libc_musl)
		return find_in_musl(cs, p, libc, err);
	find_errno(cs, p, libc);
	find_cancel(cs, p, libc, pthread);
	return 0;
}

/* --- functions and code --- */

/* Finds the functions and instructions that an injection uses. */

#define RANGES_MAX (1u << 20)

static int range_cmp(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct ranges {
	struct range *v;
	size_t n, cap;
};

static int ranges_add(struct ranges *r, uint64_t start, uint64_t end)
{
	struct range *v;

	if (start >= end)
		return 0;
	if (r->n == r->cap) {
		if (r->n >= RANGES_MAX)
			return -1;
		r->cap = r->cap ? r->cap * 2 : 64;
		v = reallocarray(r->v, r->cap, sizeof(*v));
		if (!v) {
			err_remember(ENOMEM, ERROR_LIBC_SYMBOLS_UNKEPT);
			return -1;
		}
		r->v = v;
	}
	r->v[r->n++] = (struct range){ start, end };
	return 0;
}

/* Sort, and merge adjacent or overlapping ranges. */
static void ranges_sort(struct ranges *r)
{
	size_t n = 0;

	if (!r->n)
		return;
	vec_sort(r->v, r->n, range_cmp);
	for (size_t i = 1; i < r->n; i++) {
		if (r->v[i].start > r->v[n].end)
			r->v[++n] = r->v[i];
		else if (r->v[i].end > r->v[n].end)
			r->v[n].end = r->v[i].end;
	}
	r->n = n + 1;
}

static bool range_holds(const struct range *r, uint64_t addr)
{
	return addr >= r->start && addr < r->end;
}

/* If no range contains the address, *gap is the gap around it. */
static bool ranges_hold(const struct range *v, size_t n, uint64_t addr, struct range *gap)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < v[mid].start)
			hi = mid;
		else if (addr >= v[mid].end)
			lo = mid + 1;
		else
			return true;
	}
	gap->start = lo ? v[lo - 1].end : 0;
	gap->end = lo < n ? v[lo].start : UINT64_MAX;
	return false;
}

bool callsite_is_dangerous(const struct callsite *cs, uint64_t addr)
{
	struct range gap;

	return ranges_hold(cs->danger, cs->n_danger, addr, &gap);
}

/* Neighboring words of a stack tend to point to the same areas, so most need no search. */
bool callsite_any_dangerous(const struct callsite *cs, const unsigned char *bytes, size_t len)
{
	struct range gap = { 0 };
	uint64_t word;

	for (size_t i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word - gap.start >= gap.end - gap.start &&
		    ranges_hold(cs->danger, cs->n_danger, word, &gap))
			return true;
	}
	return false;
}

bool callsite_is_unknown(const struct callsite *cs, uint64_t addr)
{
	struct range gap;

	if (!range_holds(&cs->libc, addr) && !range_holds(&cs->libpthread, addr))
		return false;
	return cs->n_known && !ranges_hold(cs->known, cs->n_known, addr, &gap);
}

bool callsite_is_root(const struct callsite *cs, uint64_t addr, uint64_t inner)
{
	return range_holds(&cs->clone, addr) &&
	       (range_holds(&cs->libpthread, inner) || range_holds(&cs->start_thread, inner) ||
		callsite_is_unknown(cs, inner));
}

static int read_proof(const struct callsite *cs, unsigned char proof[PROOF_LEN],
		      int (*read)(void *ctx, uint64_t addr, void *buf, size_t len), void *ctx)
{
	const struct {
		uint64_t addr;
		size_t len;
	} parts[] = { { cs->mallctl, 16 },
		      { cs->pthread_create, 16 },
		      { cs->home, ARCH_CALL_CODE },
		      { cs->restorer, ARCH_RESTORER_LEN },
		      { cs->gadget.store, ARCH_STORE_MAX },
		      { cs->gadget.load, ARCH_LOAD_LEN } };
	size_t at = 0;

	memset(proof, 0, PROOF_LEN);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (parts[i].addr && read(ctx, parts[i].addr, proof + at, parts[i].len) < 0)
			return -1;
		at += parts[i].len;
	}
	return 0;
}

static int read_mem(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct err ignored = ERR_INIT;

	return mem_read(ctx, addr, buf, len, &ignored);
}

static int read_proc(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct err ignored = ERR_INIT;

	return proc_read(((const struct proc *)ctx)->mm_pid, addr, buf, len, &ignored);
}

bool callsite_holds(const struct tracer *t)
{
	unsigned char proof[PROOF_LEN];

	return read_proof(&t->inj->cs, proof, read_mem, (void *)t) == 0 &&
	       memcmp(proof, t->inj->cs.proof, sizeof(proof)) == 0;
}

static int add_image(struct ranges *r, const struct image *img)
{
	for (size_t i = 0; i < img->n_exec; i++)
		if (ranges_add(r, img->exec[i].start, img->exec[i].end) < 0)
			return -1;
	return 0;
}

int callsite_too_bold(const struct callsite *cs, enum error it, struct err *err)
{
	if (cs->caution == CAUTION_OUTSIDE)
		err_raise(err, ERROR_MUSL_LOCKS_UNSEEN);
	else if (cs->lib->no_unwind)
		err_raise(err, ERROR_MUSL_WITHOUT_UNWIND);
	else
		err_raise(err, ERROR_JEMALLOC_END_UNKNOWN);
	err_within(err, it);
	return cs->lib->no_unwind ? -1 : err_advise(err, FIX_INSTALL_SYMBOLS);
}

static enum caution caution_of(const struct callsite *cs, const struct image *libc, bool stripped,
			       const struct jemalloc_text *text)
{
	if (stripped || !text->whole || (cs->lib->no_unwind && libc->is_main))
		return CAUTION_WAITING;
	return cs->lib->no_unwind ? CAUTION_OUTSIDE : CAUTION_NONE;
}

struct libc_symbols {
	const struct libc *lib;
	struct ranges danger, known;
};

static int add_symbol(void *ctx, const char *name, const struct symbol *sym)
{
	struct libc_symbols *found = ctx;
	uint64_t end = sym->addr + (sym->size ? sym->size : 1);

	if (sym->type != STT_FUNC)
		return 0;
	if (found->lib->holds_locks(name) && ranges_add(&found->danger, sym->addr, end) < 0)
		return -1;
	/* An internal function may have been reached by a jump from one that holds a lock. */
	return sym->size && sym->dynamic ? ranges_add(&found->known, sym->addr, end) : 0;
}

static int find_danger(struct callsite *cs, struct images *images, struct image *libc,
		       const struct jemalloc_text *text, struct err *err)
{
	struct image *pthread = images_by_name(images, "libpthread"); /* before glibc 2.34 */
	struct libc_symbols found = { .lib = cs->lib };
	int bad = 0;

	for (size_t i = 0; i < text->n; i++)
		bad |= ranges_add(&found.danger, text->v[i].start, text->v[i].end);
	for (size_t i = 0; i < images->n; i++)
		if (libc_image_holds_locks(text_file_name(images->v[i].path)))
			bad |= add_image(&found.danger, &images->v[i]);
	bad |= image_each_symbol(libc, add_symbol, &found);
	if (pthread)
		bad |= image_each_symbol(pthread, add_symbol, &found);
	ranges_sort(&found.danger);
	ranges_sort(&found.known);
	cs->danger = found.danger.v;
	cs->n_danger = found.danger.n;
	cs->known = found.known.v;
	/* In a static program its own functions would count as the C library's. */
	cs->n_known = libc->is_main ? 0 : found.known.n;
	if (bad)
		return err_raise(err, ERROR_LIBC_TOO_MANY_SYMBOLS);
	return 0;
}

/* Find instructions in any image, the C library first. */
static uint64_t search_code(struct images *images, struct image *libc, const unsigned char *bytes,
			    size_t len)
{
	uint64_t addr = image_search(libc, PF_X, bytes, len);

	for (size_t i = 0; !addr && i < images->n; i++)
		if (images->v[i].file)
			addr = image_search(&images->v[i], PF_X, bytes, len);
	return addr;
}

static bool find_gadget(struct arch_gadget *g, const struct proc *p, struct images *images,
			struct image *libc)
{
	unsigned char store[ARCH_STORE_MAX], load[ARCH_LOAD_LEN];
	struct err ignored = ERR_INIT;

	g->store = image_search_code(libc, arch_find_store, ARCH_STORE_MAX);
	for (size_t i = 0; !g->store && i < images->n; i++)
		if (images->v[i].file)
			g->store =
				image_search_code(&images->v[i], arch_find_store, ARCH_STORE_MAX);
	if (!g->store || proc_read(p->mm_pid, g->store, store, sizeof(store), &ignored) < 0 ||
	    !arch_gadget_from(g, store, load))
		return false;
	g->load = search_code(images, libc, load, sizeof(load));
	return g->load;
}

/* pthread_create is in libpthread before glibc 2.34. */
static uint64_t find_function(struct images *images, struct image *libc, const char *name)
{
	struct image *pthread = images_by_name(images, "libpthread");
	struct symbol sym;

	if (image_symbol(libc, name, &sym) && sym.type == STT_FUNC)
		return sym.addr;
	if (pthread && image_symbol(pthread, name, &sym) && sym.type == STT_FUNC)
		return sym.addr;
	return 0;
}

/*
 * By its code, not by its name: a function of the program with that name may have a stack frame,
 * and would push another one each time the thread returns to its entry.
 */
static void find_home(struct callsite *cs, struct image *libc)
{
	unsigned char code[ARCH_CALL_CODE];

	for (size_t i = 0; i < n_libc_homes && !cs->home; i++) {
		arch_call_code(code, (uint32_t)libc_homes[i].nr);
		cs->home = image_search(libc, PF_X, code, sizeof(code));
		cs->home_call = i;
	}
}

#define EH_FRAME_MAX (64u << 20)

/* Static programs may lack .eh_frame_hdr; without a table their stacks cannot be walked. */
static void make_table(struct callsite *cs, const struct proc *p, struct images *images)
{
	_cleanup_(cleanup_free) unsigned char *bytes = NULL;
	struct err ignored = ERR_INIT;
	struct image *prog = NULL;
	struct range where;
	size_t len;

	for (size_t i = 0; i < images->n; i++)
		if (images->v[i].is_main)
			prog = &images->v[i];
	if (!prog || prog->eh_frame_hdr || !image_section(prog, ".eh_frame", &where))
		return;
	len = where.end - where.start;
	bytes = len <= EH_FRAME_MAX ? malloc(len) : NULL;
	if (!bytes || proc_read(p->mm_pid, where.start, bytes, len, &ignored) < 0)
		return;
	unwind_table_make(&cs->table, bytes, len, where.start);
	cs->program = (struct range){ prog->start, prog->end };
}

static struct range code_of(const struct image *img)
{
	if (!img || !img->n_exec)
		return (struct range){ 0 };
	return (struct range){ img->exec[0].start, img->exec[img->n_exec - 1].end };
}

int callsite_find(struct callsite *cs, const struct proc *p, struct images *images,
		  const struct jemalloc *je, struct err *err)
{
	_cleanup_(jemalloc_text_fini) struct jemalloc_text text = { 0 };
	bool stripped;
	const struct libc *lib;
	struct image *libc = libc_find(images, &lib, &stripped, err);
	struct symbol sym;

	*cs = (struct callsite){ .mallctl = je->mallctl,
				 .stats_print = je->malloc_stats_print,
				 .malloc_message = je->malloc_message,
				 .lib = lib };
	if (!libc || jemalloc_text(&text, je, p->mm_pid, err) < 0)
		return -1;
	cs->caution = caution_of(cs, libc, stripped, &text);
	cs->libc = code_of(libc);
	cs->libpthread = code_of(images_by_name(images, "libpthread"));
	if (image_symbol(libc, "clone", &sym))
		cs->clone = (struct range){ sym.addr, sym.addr + sym.size };
	if (image_symbol(libc, "start_thread", &sym)) /* in a static program, or with debug data */
		cs->start_thread = (struct range){ sym.addr, sym.addr + sym.size };
	cs->pthread_create = find_function(images, libc, "pthread_create");
	find_home(cs, libc);
	cs->restorer = search_code(images, libc, arch_restorer, ARCH_RESTORER_LEN);
	if (!cs->restorer || !find_gadget(&cs->gadget, p, images, libc))
		return err_raise(err,
				 libc->is_main ? ERROR_STATIC_WITHOUT_RESTORER
					       : ERROR_LIBC_WITHOUT_RESTORER,
				 .name = lib->name);
	if (!cs->home)
		cs->pthread_create = 0;
	if (read_proof(cs, cs->proof, read_proc, (void *)p) < 0)
		return err_raise(err, ERROR_CODE_UNREADABLE);
	if (find_thread(cs, p, libc, images_by_name(images, "libpthread"), err) < 0)
		return -1;
	make_table(cs, p, images);
	jemalloc_find_tsd(&cs->tsd, je, p->mm_pid);
	if (find_danger(cs, images, libc, &text, err) < 0) {
		callsite_fini(cs);
		return -1;
	}
	return 0;
}

void callsite_fini(struct callsite *cs)
{
	free(cs->danger);
	free(cs->known);
	unwind_table_fini(&cs->table);
	*cs = (struct callsite){ 0 };
}
