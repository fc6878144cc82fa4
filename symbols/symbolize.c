// SPDX-License-Identifier: Apache-2.0

#include "symbols/symbolize.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "process/proc.h"
#include "profile/symbols.h"
#include "symbols/symbolize_image.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* An address of the profile to be named. */
struct asked {
	uint64_t place; /* in the calling instruction: the return address minus one */
	size_t address; /* index of p->addresses */
};

/* An image without debug symbols, and the number of bytes allocated in it. */
struct bare {
	const struct profile_mapping *mapping;
	struct symbolize_id id;
	double bytes;
};

struct work {
	struct profile *p;
	const struct ops_symbolize_options *options;
	struct symbols_build *build;
	struct asked *asked; /* sorted by place */
	size_t n_asked;
	struct proc proc; /* the process while it is alive; pid 0: it is not */
	struct maps maps;
	struct images live;
	struct bare *bare; /* images without debug symbols */
	size_t n_bare, bare_room;
	uint32_t *bare_of; /* index in `bare` by mapping; PROFILE_NONE: it has symbols */
	bool server_told;  /* it was warned that debuginfod is not available */
	bool is_certain;   /* that process is certainly the profile's, whatever the build IDs are */
};

static void work_fini(struct work *w)
{
	symbols_build_free(w->build);
	free(w->asked);
	free(w->bare);
	free(w->bare_of);
	images_fini(&w->live);
	maps_fini(&w->maps);
	if (w->proc.pid)
		proc_close(&w->proc);
}

static void tell(const struct work *w, const struct err *warning)
{
	if (w->options->on_warning)
		w->options->on_warning(w->options->ctx, warning);
}

/* --- which addresses --- */

static int by_place(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

static int sort_addresses(struct work *w, struct err *err)
{
	const struct profile *p = w->p;

	w->asked = calloc(p->n_addresses + 1, sizeof(*w->asked));
	w->build = symbols_build_new(p->n_addresses);
	w->bare_of = calloc(p->n_mappings + 1, sizeof(*w->bare_of));
	if (!w->asked || !w->build || !w->bare_of)
		return err_no_memory(err);
	memset(w->bare_of, 0xff, p->n_mappings * sizeof(*w->bare_of));
	for (size_t i = 0; i < p->n_addresses; i++) {
		if (p->addresses[i].mapping != PROFILE_NONE && p->addresses[i].pc)
			w->asked[w->n_asked++] = (struct asked){ p->addresses[i].pc - 1, i };
	}
	vec_sort(w->asked, w->n_asked, by_place);
	return 0;
}

/* --- the process --- */

/* Not being able to access it is not an error: there are other sources. */
static void open_process(struct work *w)
{
	const struct profile *p = w->p;
	pid_t pid = w->options->pid;
	char host[256] = "";
	struct err ignored;

	w->is_certain = pid != 0;
	/* Only on the same host: elsewhere that pid is another process. */
	if (!pid && p->facts.pid > 0 && p->facts.pid <= INT32_MAX && p->facts.host &&
	    !gethostname(host, sizeof(host) - 1) && !strcmp(host, p->facts.host))
		pid = (pid_t)p->facts.pid;
	if (!pid || proc_open(&w->proc, pid, &ignored)) {
		w->proc.pid = 0;
		return;
	}
	if (maps_read(&w->maps, w->proc.mm_pid, &ignored) ||
	    images_read(&w->live, w->proc.mm_pid, &w->maps, &ignored))
		w->live.n = 0;
	w->live.ask_debuginfod = w->options->debuginfod;
}

static struct image *find_live(const struct work *w, const struct profile_mapping *m,
			       const struct symbolize_id *id)
{
	const struct image *found = images_find(&w->live, m->start);
	size_t len = strlen(m->path);

	if (!found || strncmp(found->path, m->path, len) != 0 ||
	    (found->path[len] && strcmp(found->path + len, " (deleted)") != 0))
		return NULL;
	if (id->len ? id->len != found->build_id_len || memcmp(id->bytes, found->build_id, id->len)
		    : !w->is_certain)
		return NULL;
	return &w->live.v[found - w->live.v];
}

/* --- one image --- */

/* Translate function indexes from the image to the profile. */
static int add_found(struct work *w, const struct profile_symbols *found, const char *path,
		     const struct asked *asked, size_t n, const uint64_t *places, struct err *err)
{
	_cleanup_(cleanup_free) uint32_t *functions =
		calloc(found->n_functions + 1, sizeof(*functions));
	size_t place = 0;

	if (!functions)
		return err_no_memory(err);
	memset(functions, 0xff, found->n_functions * sizeof(*functions));
	for (size_t i = 0; i < n; i++) {
		while (places[place] != asked[i].place)
			place++;
		symbols_build_copy(w->build, asked[i].address, found, place, functions, path);
		if (w->options->by_address)
			symbols_build_into(w->build, asked[i].address, 0);
	}
	return 0;
}

static void warn_not_used(const struct work *w, const struct symbolize_image *image, size_t n)
{
	const struct profile_mapping *m = image->mapping;
	struct err warning;
	char date[32] = "?";
	struct tm tm;

	switch (image->result) {
	case SYMBOLIZE_ABSENT:
		err_raise(&warning, ERROR_IMAGE_NOT_FOUND, .path = m->path, .count = (int64_t)n);
		break;
	case SYMBOLIZE_OTHER:
		err_raise(&warning,
			  m->build_id ? ERROR_IMAGE_OF_OTHER_BUILD : ERROR_IMAGE_WITHOUT_THAT_CODE,
			  .path = m->path);
		break;
	case SYMBOLIZE_REPLACED:
		err_raise(&warning, ERROR_IMAGE_REPLACED, .path = m->path,
			  .number = (int64_t)m->inode, .count = (int64_t)image->inode);
		break;
	case SYMBOLIZE_CHANGED:
		if (gmtime_r(&(time_t){ image->changed_s }, &tm))
			strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
		err_raise(&warning, ERROR_IMAGE_CHANGED, .path = m->path, .text = date);
		break;
	case SYMBOLIZE_DELETED:
		err_raise(&warning, ERROR_IMAGE_DELETED, .path = m->path);
		break;
	default:
		err_raise(&warning, ERROR_IMAGE_OF_TWO_FILES, .path = m->path,
			  .number = (int64_t)m->inode, .count = (int64_t)m->other_inode);
	}
	/* The file exists, but is not proven to be the mapped one. */
	if (image->result != SYMBOLIZE_ABSENT && image->result != SYMBOLIZE_OTHER)
		err_advise(&warning, FIX_TRUST_IMAGES);
	tell(w, &warning);
}

/* Warn of debug data that exists but is not available. */
static void warn_lacks(struct work *w, const struct symbolize_image *image)
{
	const enum error server = image->server.ids[0];
	const char *path = image->mapping->path;
	struct err warning;

	if (*image->lacks)
		err_raise(&warning, ERROR_DEBUG_FILE_NOT_FOUND, .file = image->lacks, .path = path);
	else if (image->split)
		err_raise(&warning, ERROR_DEBUG_DATA_SPLIT, .path = path);
	if (*image->lacks || image->split)
		tell(w, &warning);
	/* Only once: it is the same for all images. */
	if (w->server_told || !server || server == ERROR_DEBUGINFOD_HAS_NONE)
		return;
	w->server_told = true;
	tell(w, &image->server);
}

/* Name asked[0 .. n), which are in the image whose first mapping is `m`. */
static int name_image(struct work *w, const struct profile_mapping *m, const struct asked *asked,
		      size_t n, struct err *err)
{
	_cleanup_(cleanup_free) uint64_t *places = calloc(n, sizeof(*places));
	struct symbolize_image image = {
		.mapping = m,
		.root = w->options->root,
		.debuginfod = w->options->debuginfod,
		.trusted = w->options->trust_images,
		.written_ns = w->p->written_ns,
		.use_cache = !w->options->no_cache,
	};
	struct profile_symbols *found = NULL;
	size_t n_places = 0;
	int failed;

	if (!places)
		return err_no_memory(err);
	for (size_t i = 0; i < n; i++) {
		if (!i || asked[i].place != asked[i - 1].place)
			places[n_places++] = asked[i].place;
	}
	symbolize_id_of(m->build_id, &image.id);
	image.live = find_live(w, m, &image.id);
	image.pid = w->proc.pid ? w->proc.mm_pid : 0;
	if (symbolize_image(&image, places, n_places, &found, err))
		return -1;
	if (image.result != SYMBOLIZE_FOUND)
		warn_not_used(w, &image, n);
	warn_lacks(w, &image);
	if (image.bare) {
		if (!vec_grow(w->bare, w->bare_room, w->n_bare)) {
			profile_symbols_free(found);
			return err_no_memory(err);
		}
		for (size_t i = 0; i < n; i++)
			w->bare_of[w->p->addresses[asked[i].address].mapping] = (uint32_t)w->n_bare;
		w->bare[w->n_bare++] = (struct bare){
			.mapping = m,
			.id = image.id.len ? image.id : image.file_id,
		};
	}
	failed = found ? add_found(w, found, m->path, asked, n, places, err) : 0;
	profile_symbols_free(found);
	return failed;
}

static const struct profile_mapping *mapping_of(const struct work *w, size_t asked)
{
	const struct profile *p = w->p;

	return &p->mappings[p->addresses[w->asked[asked].address].mapping];
}

/* Two mappings of a file belong to one image if their distance is the same as in the file. */
static bool same_image(const struct profile_mapping *a, const struct profile_mapping *b)
{
	return !strcmp(a->path, b->path) && a->deleted == b->deleted &&
	       (a->build_id == b->build_id ||
		(a->build_id && b->build_id && !strcmp(a->build_id, b->build_id))) &&
	       b->start - a->start == b->offset - a->offset;
}

/* --- images without debug symbols --- */

#define BARE_PERCENT_MIN 5 /* of all bytes: less is not worth a warning */

static int by_bytes(const void *a, const void *b)
{
	const struct bare *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/*
 * Attribute the bytes of each stack to the image of its innermost visible call. Returns the total.
 */
static double count_bare(const struct work *w, enum profile_type type)
{
	const struct profile *p = w->p;
	double all = 0;

	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];
		double bytes = fabs(s->value[type]);
		uint32_t frame, line, mapping, bare;

		all += bytes;
		profile_stack_start(p, s, false, &frame, &line);
		if (frame == s->depth)
			continue;
		mapping = p->addresses[p->frames[s->first + frame]].mapping;
		bare = mapping == PROFILE_NONE ? PROFILE_NONE : w->bare_of[mapping];
		if (bare != PROFILE_NONE)
			w->bare[bare].bytes += bytes;
	}
	return all;
}

static void warn_bare(const struct work *w)
{
	double all = count_bare(w, PROFILE_INUSE_SPACE);

	if (all == 0)
		all = count_bare(w, PROFILE_ALLOC_SPACE);
	vec_sort(w->bare, w->n_bare, by_bytes);
	for (size_t i = 0; i < w->n_bare; i++) {
		const struct bare *b = &w->bare[i];
		double percent = all > 0 ? 100 * b->bytes / all : 0;
		char id[2 * IMAGE_BUILD_ID_MAX + 1] = "";
		struct err warning;

		if (percent < BARE_PERCENT_MIN)
			return;
		for (size_t j = 0; j < b->id.len; j++)
			snprintf(id + 2 * j, 3, "%02x", b->id.bytes[j]);
		err_raise(&warning, ERROR_NO_DEBUG_SYMBOLS, .path = b->mapping->path, .name = id,
			  .number = (int64_t)(percent + 0.5));
		err_advise(&warning, w->options->debuginfod ? FIX_INSTALL_DBGSYM
							    : FIX_INSTALL_DBGSYM_OR_DEBUGINFOD);
		tell(w, &warning);
	}
}

int ops_symbolize(struct profile *p, const struct ops_symbolize_options *options, struct err *err)
{
	_cleanup_(work_fini) struct work w = { .p = p, .options = options };
	struct err warning;

	if (!p->n_mappings && p->n_stacks) {
		err_raise(&warning, ERROR_NO_MAPPED_LIBRARIES);
		tell(&w, &warning);
	}
	if (sort_addresses(&w, err))
		return -1;
	open_process(&w);
	for (size_t at = 0, next; at < w.n_asked; at = next) {
		const struct profile_mapping *m = mapping_of(&w, at);

		next = at + 1;
		while (next < w.n_asked && same_image(m, mapping_of(&w, next)))
			next++;
		while (m > p->mappings && same_image(m - 1, m))
			m--;
		if (*m->path == '/' && name_image(&w, m, w.asked + at, next - at, err))
			return -1;
	}
	if (symbols_build_finish(w.build, p, err) ||
	    (!options->as_found && profile_symbols_tell_apart(p->symbols, err)))
		return -1;
	warn_bare(&w);
	return 0;
}

int ops_symbolize_pair(struct profile *a, struct profile *b,
		       const struct ops_symbolize_options *options, struct err *err)
{
	struct profile *bare = a->symbols ? b : a;

	if (!a->symbols == !b->symbols || !bare->n_addresses)
		return 0;
	return ops_symbolize(bare, options, err);
}
