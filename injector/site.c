// SPDX-License-Identifier: Apache-2.0
#include "injector/site.h"

#include "injector/callsite.h"
#include "jemalloc/answer.h"

#include <errno.h>
#include <stdlib.h>

#define RANGES_LEAST (2 * sizeof(uint64_t))

int injector_site_find(struct callsite **out, const struct proc *p, struct images *images,
		       size_t n_mappings, const struct jemalloc *je, struct err *err)
{
	struct callsite *site = calloc(1, sizeof(*site));

	if (!site)
		return err_no_memory(err);
	if (callsite_find(site, p, images, je, err) < 0) {
		free(site);
		return -1;
	}
	site->n_mappings = n_mappings;
	*out = site;
	return 0;
}

void injector_site_free(struct callsite *site)
{
	if (!site)
		return;
	callsite_fini(site);
	free(site);
}

/* --- as a message --- */

static void pack_ranges(struct pack *p, const struct range *v, size_t n)
{
	pack_u64(p, n);
	for (size_t i = 0; i < n; i++)
		range_pack(v[i], p);
}

/* Must be ascending and disjoint for binary search. */
static struct range *unpack_ranges(struct unpack *u, size_t *n)
{
	size_t want = unpack_count(u, RANGES_LEAST);
	struct range *v = calloc(want + 1, sizeof(*v));

	u->bad |= !v;
	for (size_t i = 0; i < want && !u->bad; i++) {
		v[i] = range_unpack(u);
		u->bad |= v[i].start >= v[i].end || (i && v[i].start <= v[i - 1].end);
	}
	*n = u->bad ? 0 : want;
	return v;
}

static void pack_table(struct pack *p, const struct unwind_table *t)
{
	pack_u64(p, t->base);
	pack_u64(p, t->n);
	pack_bytes(p, t->v, t->n * sizeof(*t->v));
}

static void unpack_table(struct unpack *u, struct unwind_table *t)
{
	t->base = unpack_u64(u);
	t->n = unpack_count(u, sizeof(*t->v));
	t->v = t->n ? calloc(t->n, sizeof(*t->v)) : NULL;
	u->bad |= t->n && !t->v;
	if (t->v)
		unpack_bytes(u, t->v, t->n * sizeof(*t->v));
	for (size_t i = 1; i < t->n && t->v; i++)
		u->bad |= t->v[i].start < t->v[i - 1].start;
}

void injector_site_pack(const struct callsite *cs, struct pack *p)
{
	pack_u64(p, libc_number(cs->lib));
	pack_u64(p, cs->mallctl);
	pack_u64(p, cs->stats_print);
	pack_u64(p, cs->malloc_message);
	pack_u64(p, cs->pthread_create);
	pack_u64(p, cs->home);
	pack_u64(p, cs->home_call);
	pack_u64(p, cs->restorer);
	pack_u64(p, cs->gadget.store);
	pack_u64(p, cs->gadget.load);
	pack_u64(p, cs->gadget.reg);
	pack_u64(p, (uint64_t)cs->gadget.offset);
	pack_u64(p, cs->has_errno);
	pack_u64(p, (uint64_t)cs->errno_offset);
	pack_u64(p, cs->n_mappings);
	pack_u64(p, cs->tsd.is_known);
	pack_u64(p, (uint64_t)cs->tsd.state);
	pack_u64(p, cs->tsd.fresh);
	pack_u64(p, cs->cancel_offset);
	pack_ranges(p, cs->danger, cs->n_danger);
	pack_ranges(p, cs->known, cs->n_known);
	range_pack(cs->libc, p);
	range_pack(cs->libpthread, p);
	range_pack(cs->clone, p);
	range_pack(cs->start_thread, p);
	pack_u64(p, cs->caution);
	pack_bytes(p, cs->proof, sizeof(cs->proof));
	range_pack(cs->program, p);
	pack_table(p, &cs->table);
}

static void unpack(struct callsite *cs, struct unpack *u)
{
	cs->lib = libc_by_number(unpack_u64(u));
	u->bad |= !cs->lib;
	cs->mallctl = unpack_u64(u);
	cs->stats_print = unpack_u64(u);
	cs->malloc_message = unpack_u64(u);
	cs->pthread_create = unpack_u64(u);
	cs->home = unpack_u64(u);
	cs->home_call = unpack_max(u, n_libc_homes - 1);
	cs->restorer = unpack_u64(u);
	cs->gadget.store = unpack_u64(u);
	cs->gadget.load = unpack_u64(u);
	cs->gadget.reg = (uint8_t)unpack_max(u, UINT8_MAX);
	cs->gadget.offset = (int8_t)unpack_u64(u);
	cs->has_errno = unpack_bool(u);
	cs->errno_offset = (int64_t)unpack_u64(u);
	cs->n_mappings = unpack_u64(u);
	cs->tsd.is_known = unpack_bool(u);
	cs->tsd.state = (int64_t)unpack_u64(u);
	cs->tsd.fresh = (uint8_t)unpack_max(u, UINT8_MAX);
	cs->cancel_offset = (uint32_t)unpack_max(u, TCB_MAX - 1);
	cs->danger = unpack_ranges(u, &cs->n_danger);
	cs->known = unpack_ranges(u, &cs->n_known);
	cs->libc = range_unpack(u);
	cs->libpthread = range_unpack(u);
	cs->clone = range_unpack(u);
	cs->start_thread = range_unpack(u);
	cs->caution = (enum caution)unpack_max(u, CAUTION_WAITING);
	unpack_bytes(u, cs->proof, sizeof(cs->proof));
	cs->program = range_unpack(u);
	unpack_table(u, &cs->table);
}

struct callsite *injector_site_unpack(const struct jemalloc *je, struct unpack *u)
{
	struct callsite *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return NULL;
	unpack(cs, u);
	if (!u->bad && cs->mallctl == je->mallctl && cs->stats_print == je->malloc_stats_print &&
	    cs->restorer && cs->gadget.store && cs->gadget.load &&
	    !(cs->pthread_create && !cs->home))
		return cs;
	injector_site_free(cs);
	return NULL;
}
