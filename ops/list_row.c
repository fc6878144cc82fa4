// SPDX-License-Identifier: Apache-2.0
#include "ops/list_row.h"

#include "jemalloc/answer.h"

void list_row_pack(const struct ops_process *row, struct pack *p)
{
	pack_text(p, row->version);
	pack_text(p, row->prefix);
	pack_text(p, row->image);
	pack_text(p, row->command);
	pack_text(p, row->service_name);
	pack_u64(p, row->linkage);
	tristate_pack(row->config_prof, p);
	tristate_pack(row->opt_prof, p);
	tristate_pack(row->prof_active, p);
	tristate_pack(row->emits, p);
	for (size_t i = 0; i < JEMALLOC_OPTS; i++) {
		pack_u64(p, row->opts[i].known);
		pack_u64(p, (uint64_t)row->opts[i].value);
	}
}

void list_row_unpack(struct ops_process *row, struct unpack *u)
{
	unpack_into(u, row->version, sizeof(row->version));
	unpack_into(u, row->prefix, sizeof(row->prefix));
	unpack_into(u, row->image, sizeof(row->image));
	row->command = unpack_text(u, OPS_COMMAND_SIZE);
	unpack_into(u, row->service_name, sizeof(row->service_name));
	row->linkage = (enum jemalloc_linkage)unpack_max(u, LINKAGE_NONE);
	row->config_prof = tristate_unpack(u);
	row->opt_prof = tristate_unpack(u);
	row->prof_active = tristate_unpack(u);
	row->emits = tristate_unpack(u);
	for (size_t i = 0; i < JEMALLOC_OPTS; i++) {
		row->opts[i].known = unpack_bool(u);
		row->opts[i].value = (int64_t)unpack_u64(u);
	}
}
