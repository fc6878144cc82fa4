// SPDX-License-Identifier: Apache-2.0
#include "ops/check/parts.h"

#include "base/text.h"
#include "jemalloc/answer.h"

#include <stdarg.h>
#include <stdio.h>

enum tristate check_tristate(const struct check_value *v)
{
	return !v->known ? TRI_UNKNOWN : v->flag ? TRI_YES : TRI_NO;
}

static void set(struct ops_check *c, enum tristate ok, const char *fmt, va_list ap)
{
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	c->made = true;
	c->ok = ok;
	c->fix[0] = '\0';
}

void check_passed(struct ops_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(c, TRI_YES, fmt, ap);
	va_end(ap);
}

void check_unknown(struct ops_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(c, TRI_UNKNOWN, fmt, ap);
	va_end(ap);
}

void check_unread(struct ops_check *c, const char *what)
{
	struct err why = ERR_INIT;

	err_explain(&why);
	check_unknown(c, "%s%s%s", what, why.own ? ": " : "", why.msg);
}

void check_failed(struct ops_check *c, const struct err *err)
{
	c->made = true;
	c->ok = TRI_NO;
	c->code = err->code;
	snprintf(c->detail, sizeof(c->detail), "%.*s", (int)sizeof(c->detail) - 1, err->msg);
	snprintf(c->fix, sizeof(c->fix), "%s", err->fix);
}

void check_fix(struct ops_check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->fix, sizeof(c->fix), fmt, ap);
	va_end(ap);
}

/* --- as a message, from the confined process that judged it --- */

void check_row_pack(const struct ops_check *c, struct pack *p)
{
	pack_u64(p, c->made);
	tristate_pack(c->ok, p);
	pack_u64(p, c->code);
	pack_text(p, c->detail);
	pack_text(p, c->fix);
}

void check_row_unpack(struct ops_check *c, const struct ops_check *was, struct unpack *u)
{
	c->name = was->name;
	c->made = unpack_bool(u);
	c->ok = tristate_unpack(u);
	c->code = (enum err_code)unpack_max(u, ERR_CODES - 1);
	unpack_into(u, c->detail, sizeof(c->detail));
	unpack_into(u, c->fix, sizeof(c->fix));
	output_make_safe(c->detail, sizeof(c->detail));
	output_make_safe(c->fix, sizeof(c->fix));
}
