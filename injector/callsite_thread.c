// SPDX-License-Identifier: Apache-2.0
/* Where in a thread's own data errno lies, and whether it is being cancelled. */
#include "injector/glibc.h"
#include "injector/musl.h"
#include "injector/private.h"

#include <elf.h>

/*
 * Without symbols: where every wrapper of a system call puts its error, if
 * there is a function that answers with the address of just that.
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

/* By what the function says that answers with its address. */
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
 * In musl both lie in struct pthread. That it is the known one shows where errno is: the
 * instructions of __errno_location() say so.
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
		err_set(err, ERR_FAILED,
			"the target's C library is a musl whose struct pthread is not known: errno "
			"is not at %d in it",
			MUSL_ERRNO);
		return err_fix(err, "jeprof-ctl knows musl 1.1.20 to 1.2.5");
	}
	cs->has_errno = true;
	cs->cancel_offset = MUSL_CANCEL;
	return 0;
}

int callsite_find_thread(struct callsite *cs, const struct proc *p, struct image *libc,
			 struct image *pthread, struct err *err)
{
	if (cs->lib == &libc_musl)
		return find_in_musl(cs, p, libc, err);
	find_errno(cs, p, libc);
	find_cancel(cs, p, libc, pthread);
	return 0;
}
