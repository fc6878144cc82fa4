// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the bytes of one call in the target (a result word, the value read, its length, the value
 * to write, strings), and reads the results back.
 */
#include "injector/tracee.h"

#include <errno.h>
#include <string.h>

#define RESULT_NONE 0x6a6570726f662d63ull /* no mallctl returns this */

/* Layout of `bytes`. */
struct layout {
	uint64_t result;
	uint64_t old_len;
	uint64_t new_text; /* the pointer passed as the new value of a string */
	char old[CALL_VALUE_MAX];
	char new[CALL_VALUE_MAX];
	char name[256];
	char text[TEXT_MAX];
};

static struct layout *layout_of(const struct call_args *a)
{
	return (struct layout *)a->bytes;
}
_Static_assert(sizeof(struct layout) <= ARGS_MAX, "a call's arguments fit");

#define AT(a, member) ((a)->addr + offsetof(struct layout, member))

static int put_text(char *to, size_t size, const char *text, struct err *err)
{
	size_t len = strlen(text) + 1;

	if (len > size)
		return err_raise(err, ERROR_PATH_TOO_LONG, .number = (int64_t)len - 1);
	memcpy(to, text, len);
	return 0;
}

/* mallctl(name, oldp, oldlenp, newp, newlen) */
static int build_mallctl(struct call_args *a, const struct call *call, const char *path,
			 struct err *err)
{
	bool text = call->flags & (CALL_NEW_STRING | CALL_MEMFD);
	struct layout *l = layout_of(a);

	if (put_text(l->name, sizeof(l->name), call->name, err) < 0)
		return -1;
	a->args[0] = AT(a, name);
	if (call->old) {
		l->old_len = call->flags & CALL_OLD_STRING ? sizeof(uint64_t) : call->old_len;
		a->args[1] = AT(a, old);
		a->args[2] = AT(a, old_len);
	}
	if (text && (path || call->new)) {
		if (put_text(l->text, sizeof(l->text), path ? path : call->new, err) < 0)
			return -1;
		l->new_text = AT(a, text);
		a->args[3] = AT(a, new_text);
		a->args[4] = sizeof(uint64_t);
	} else if (call->new) {
		memcpy(l->new, call->new, call->new_len);
		a->args[3] = AT(a, new);
		a->args[4] = call->new_len;
	}
	return 0;
}

int call_args_build(struct call_args *a, const struct callsite *cs, const struct call *call,
		    const char *path, uint64_t addr, struct err *err)
{
	bool text_out = call->flags & CALL_OLD_STRING;
	struct layout *l = layout_of(a);

	memset(l, 0, sizeof(*l));
	memset(a->args, 0, sizeof(a->args));
	a->addr = addr;
	a->len = sizeof(*l);
	a->result = AT(a, result);
	l->result = RESULT_NONE;
	if ((!text_out && call->old_len > CALL_VALUE_MAX) ||
	    (!(call->flags & CALL_NEW_STRING) && call->new_len > CALL_VALUE_MAX))
		return err_raise(err, ERROR_VALUE_TOO_LONG, .name = call->name);
	if (call->flags & CALL_STATS) {
		a->fn = cs->stats_print;
		a->args[2] = AT(a, name); /* malloc_stats_print(write_cb, cbopaque, opts) */
		return put_text(l->name, sizeof(l->name), call->name, err);
	}
	a->fn = call->at ? call->at : cs->mallctl;
	return build_mallctl(a, call, path, err);
}

static int read_errno(const struct tracer *t, uint64_t tls, int *sys, struct err *err)
{
	*sys = 0;
	if (!t->inj->cs.has_errno)
		return 0;
	return mem_read(t, tls + (uint64_t)t->inj->cs.errno_offset, sys, sizeof(*sys), err);
}

static int collect_old(const struct tracer *t, const struct layout *l, const struct call *call,
		       struct shared_call *out, struct err *err)
{
	uint64_t addr;

	if (!(call->flags & CALL_OLD_STRING)) {
		out->old_len = call->old_len;
		memcpy(out->old, l->old, call->old_len);
		if (call->old_len == sizeof(bool)) /* normalized: an untrusted byte may not be a
						    * valid bool */
			out->old[0] = out->old[0] != 0;
		return 0;
	}
	memcpy(&addr, l->old, sizeof(addr));
	out->old[0] = '\0';
	out->old_len = 1;
	if (!addr)
		return 0;
	if (proc_read_string(t->inj->p->mm_pid, addr, out->old, sizeof(out->old), err) < 0)
		return -1;
	out->old_len = strlen(out->old) + 1;
	return 0;
}

int call_args_collect(const struct tracer *t, const struct call_args *a, const struct call *call,
		      uint64_t tls, struct shared_call *out, bool *go_on, struct err *err)
{
	_Static_assert(sizeof(struct layout) < 8192, "it is on the stack");
	struct layout l;

	if (mem_read(t, a->addr, &l, sizeof(l), err) < 0)
		return -1;
	if (l.result == RESULT_NONE)
		return err_raise(err, ERROR_CALL_WITHOUT_RESULT, .name = call->name);
	out->ret = call->flags & CALL_STATS ? 0 : (int)l.result;
	if (out->ret && read_errno(t, tls, &out->sys, err) < 0)
		return -1;
	if (!out->ret && call->old && collect_old(t, &l, call, out, err) < 0)
		return -1;
	out->made = true;
	*go_on = !out->ret || (call->flags & CALL_KEEP_GOING);
	if (!out->ret && call->expect && memcmp(out->old, call->expect, call->old_len) != 0)
		*go_on = false;
	return 0;
}
