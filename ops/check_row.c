// SPDX-License-Identifier: Apache-2.0
/* A row of a check as a message from the confined process that judged it. */
#include "ops/check.h"

#include "base/text.h"
#include "jemalloc/answer.h"

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
