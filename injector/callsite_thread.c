// SPDX-License-Identifier: Apache-2.0
/* Where in a thread's own data errno lies, and whether it is being cancelled. */
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

static void find_errno(struct callsite *cs, const struct proc *p, struct image *libc)
{
	unsigned char code[32];
	struct err ignored = ERR_INIT;
	struct symbol sym;
	uint64_t slot;

	if (!image_symbol(libc, "__errno_location", &sym)) {
		cs->has_errno = search_errno(cs, p, libc);
		return;
	}
	if (proc_read(p->mm_pid, sym.addr, code, sizeof(code), &ignored) < 0 ||
	    !arch_errno_offset(code, sizeof(code), sym.addr, &cs->errno_offset, &slot))
		return;
	if (slot &&
	    proc_read(p->mm_pid, slot, &cs->errno_offset, sizeof(cs->errno_offset), &ignored) < 0)
		return;
	cs->has_errno = true;
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

void callsite_find_thread(struct callsite *cs, const struct proc *p, struct image *libc,
			  struct image *pthread)
{
	find_errno(cs, p, libc);
	find_cancel(cs, p, libc, pthread);
}
