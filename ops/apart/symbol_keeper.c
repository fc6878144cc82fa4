// SPDX-License-Identifier: Apache-2.0

#include "ops/apart/symbol_keeper.h"

#include "base/cleanup.h"
#include "io/memory_file.h"
#include "io/received.h"
#include "profile/profile.h"
#include "symbols/cache.h"
#include "symbols/symbolize_image.h"

#include <string.h>
#include <unistd.h>

/* --- the child --- */

static void look_up(const struct errand_asked *a, bool debuginfod)
{
	_cleanup_(pack_fini) struct pack p = { 0 };
	/* As if it were mapped with addresses equal to its offsets. */
	const struct profile_mapping mapping = { .path = a->path };
	struct symbolize_image image = {
		.mapping = &mapping,
		.debuginfod = debuginfod,
		.use_cache = true,
		.keeper = true,
		.kept = -1,
	};
	struct errand_found found = { .fd = -1 };
	struct profile_symbols *symbols = NULL;
	struct err ignored;

	memcpy(image.id.bytes, a->build_id, a->p.build_id_len);
	image.id.len = a->p.build_id_len;
	if (!symbolize_image(&image, a->p.offsets, a->p.n, &symbols, &ignored))
		profile_symbols_free(symbols);
	found.split = image.split;
	memcpy(found.lacks, image.lacks, sizeof(found.lacks));
	errand_pack_found(&p, &found);
	errand_done(&p, image.kept);
	cleanup_close(&image.kept);
}

static void serve(void *ctx)
{
	struct unpack u;

	while (confined_next(&u, NULL)) {
		_cleanup_(errand_asked_fini) struct errand_asked a = { .offsets = NULL };

		if (!errand_unpack_places(&u, &a))
			return;
		look_up(&a, *(const bool *)ctx);
	}
}

/* --- the controller --- */

static int ask(const struct errand_places *places, const struct errand_rules *rules,
	       struct errand_found *out, struct err *err)
{
	const struct errand_rules nothing = { .deadline_ms = rules->deadline_ms };
	_cleanup_(pack_fini) struct pack p = { 0 };
	struct confined *child = &rules->keeper->child;
	struct unpack u;

	errand_pack_places(&p, places);
	if (confined_ask(child, &p, -1, err) || errand_run(child, &nothing, &u, &out->fd, err))
		return -1;
	return errand_unpack_found(&u, out) ? 0 : err_raise(err, ERROR_LOOKUP_MALFORMED);
}

void symbol_keeper_look_up(const struct errand_places *places, const struct errand_rules *rules,
			   struct errand_found *out)
{
	struct symbol_keeper *keeper = rules->keeper;
	bool debuginfod = rules->debuginfod;
	const struct confined_options options = {
		.what = "look up names",
		.policy = { .pid = -1,
			    .vouched = true,
			    .caller = geteuid(),
			    .debuginfod = debuginfod,
			    .temporary_max_bytes = CONFINED_FILE },
	};
	const struct received_rules size = {
		.what = "the file of names",
		.max_bytes = SYMBOL_CACHE_FILE_MAX,
		.deadline_ms = rules->deadline_ms,
	};
	struct err ignored;
	uint64_t bytes;

	if (!keeper->failed && keeper->child.sock < 0)
		keeper->failed =
			confined_start(&keeper->child, &options, serve, &debuginfod, &ignored) != 0;
	if (keeper->failed)
		return;
	if (ask(places, rules, out, &ignored)) {
		confined_end(&keeper->child);
		keeper->failed = true;
		cleanup_close(&out->fd);
		*out = (struct errand_found){ .fd = -1 };
		return;
	}
	if (out->fd >= 0 && !memory_file_seal(out->fd, &ignored) &&
	    !received_check(out->fd, &size, &bytes, &ignored))
		symbol_cache_store(places->build_id, places->build_id_len, out->fd, bytes);
}

void symbol_keeper_finish(struct symbol_keeper *keeper, struct confined *c)
{
	confined_finish(&keeper->child);
	confined_finish(c);
}

void symbol_keeper_end(struct symbol_keeper *keeper)
{
	confined_end(&keeper->child);
}
