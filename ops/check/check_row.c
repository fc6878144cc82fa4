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

__printf_like(3, 0) static void set(struct ops_check *c, enum tristate ok, const char *fmt,
				    va_list ap)
{
	vsnprintf(c->detail, sizeof(c->detail), fmt, ap);
	c->made = true;
	c->ok = ok;
	c->err = (struct err)ERR_INIT;
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
	char text[ERR_TEXT_SIZE];

	err_explain(&why);
	if (why.own)
		check_unknown(c, "%s: %s", what, err_text(&why, text, sizeof(text)));
	else
		check_unknown(c, "%s", what);
}

void check_unread_for(struct ops_check *c, const struct err *why)
{
	char text[ERR_TEXT_SIZE];

	check_unknown(c, "%s", err_text(why, text, sizeof(text)));
}

void check_failed(struct ops_check *c, const struct err *err)
{
	c->made = true;
	c->ok = TRI_NO;
	c->err = *err;
	err_text(err, c->detail, sizeof(c->detail));
}

/* --- as a message from the confined process --- */

void check_row_pack(const struct ops_check *c, struct pack *p)
{
	pack_u64(p, c->made);
	tristate_pack(c->ok, p);
	pack_text(p, c->detail);
	pack_err(p, &c->err);
}

void check_row_unpack(struct ops_check *c, const struct ops_check *was, struct unpack *u)
{
	c->name = was->name;
	c->made = unpack_bool(u);
	c->ok = tristate_unpack(u);
	unpack_into(u, c->detail, sizeof(c->detail));
	output_make_safe(c->detail, sizeof(c->detail));
	unpack_err(u, &c->err);
}
