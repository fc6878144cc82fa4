// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "profile/format/pprof.pb-c.h"
#include "profile/format/private.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/*
 * A pprof profile as it is written, compressed by gzip. Concatenated messages are one message to
 * the reader, so the profile is written in small pieces and never held completely.
 */

struct pprof_out {
	ProtobufCBuffer base; /* what protobuf-c appends to */
	FILE *file;
	z_stream z;
	bool deflating;		/* z is in use */
	bool failed;		/* no memory */
	struct hashmap strings; /* by pointer: the index in the string table */
	int64_t n_strings;
	char *safe; /* for one text */
	size_t safe_size;
	size_t n_plain;
	uint8_t plain[1 << 16];
	uint8_t packed[1 << 16];
};

/* --- a message piece by piece --- */

/* With the header and checksum of gzip(1). */
#define GZIP_WINDOW (15 + 16)

static void compress_plain(struct pprof_out *o, int flush)
{
	o->z.next_in = o->plain;
	o->z.avail_in = (uInt)o->n_plain;
	do {
		o->z.next_out = o->packed;
		o->z.avail_out = sizeof(o->packed);
		deflate(&o->z, flush);
		fwrite(o->packed, 1, sizeof(o->packed) - o->z.avail_out, o->file);
	} while (o->z.avail_out == 0);
	o->n_plain = 0;
}

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	struct pprof_out *o = (struct pprof_out *)buffer;

	while (len) {
		size_t n = sizeof(o->plain) - o->n_plain;

		n = n < len ? n : len;
		memcpy(o->plain + o->n_plain, data, n);
		o->n_plain += n;
		data += n;
		len -= n;
		if (o->n_plain == sizeof(o->plain))
			compress_plain(o, Z_NO_FLUSH);
	}
}

/* Write a part of the profile. */
static void pprof_out_part(struct pprof_out *o, const Pprof__Profile *part)
{
	pprof__profile__pack_to_buffer(part, &o->base);
}

/* ERR_FAILED: no memory. The caller ends it with pprof_out_fini(). */
static int pprof_out_init(struct pprof_out *o, FILE *file, struct err *err)
{
	char nothing[] = "", *first = nothing;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	o->base.append = append;
	o->file = file;
	if (deflateInit2(&o->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return err_no_memory(err);
	o->deflating = true;
	part.n_string_table = 1;
	part.string_table = &first;
	pprof_out_part(o, &part);
	o->n_strings = 1;
	return 0;
}

static void pprof_out_fini(struct pprof_out *o)
{
	if (o->deflating)
		deflateEnd(&o->z);
	o->deflating = false;
	hashmap_fini(&o->strings);
	free(o->safe);
	o->safe = NULL;
}

/* As pprof_out_text(), for temporary text, which is always added. */
static int64_t pprof_out_copy(struct pprof_out *o, const char *raw)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	size_t size = strlen(raw) * 4 + 1;

	if (!*raw)
		return 0;
	if (size > o->safe_size) {
		char *bigger = realloc(o->safe, size);

		if (!bigger) {
			o->failed = true;
			return 0;
		}
		o->safe = bigger;
		o->safe_size = size;
	}
	output_safe(raw, o->safe, size);
	part.n_string_table = 1;
	part.string_table = &o->safe;
	pprof_out_part(o, &part);
	return o->n_strings++;
}

/*
 * The index of a text in the string table, to which new text is written. `raw` is made safe to
 * show; NULL and "" are 0. While `o` exists, equal pointers must mean equal text.
 */
static int64_t pprof_out_text(struct pprof_out *o, const char *raw)
{
	uint32_t known;

	if (!raw)
		return 0;
	known = hashmap_get(&o->strings, (uintptr_t)raw);
	if (known != HASHMAP_NONE)
		return known;
	if (o->n_strings >= HASHMAP_NONE ||
	    !hashmap_put(&o->strings, (uintptr_t)raw, (uint32_t)(*raw ? o->n_strings : 0))) {
		o->failed = true;
		return 0;
	}
	return pprof_out_copy(o, raw);
}

/* --- profiles --- */

/*
 * A compressed pprof profile with all names, so that `go tool pprof` and the like need no binary.
 * As in other formats, allocator frames are left out of the samples; drop_frames names them for
 * readers that look up names again.
 */

/* The limit of drop_frames, whatever the size of the profile. */
#define DROP_MAX 16384

#define LABELS_MAX 3

/* Of an address: samples have all its lines, or those without the allocator's. */
#define USED_WHOLE 1
#define USED_CUT 2
/* Of a mapping: what is known about its code. */
#define KNOWN_FILES 1
#define KNOWN_LINES 2
#define KNOWN_INLINES 4

struct pprof {
	const struct profile *p;
	bool keep_allocator;
	enum profile_type types[PROFILE_TYPES];
	unsigned int n_types;
	uint8_t *use;	/* of each address */
	uint8_t *known; /* of each mapping */
	/*
	 * Ids count from 1 in the order of the file, without gaps, as Parca requires. 0: not in the
	 * file.
	 */
	uint64_t *whole_id, *cut_id;   /* of each address: ids of its locations */
	uint64_t *function_id;	       /* of each function in any location */
	uint64_t *ids;		       /* location ids of one sample */
	Pprof__Line *lines, **line_of; /* of one location */
	struct format_sum sum[PROFILE_TYPES];
	struct pprof_out out;
};

static void pprof_free(struct pprof **guarded)
{
	struct pprof *w = *guarded;

	if (!w)
		return;
	pprof_out_fini(&w->out);
	free(w->use);
	free(w->known);
	free(w->whole_id);
	free(w->cut_id);
	free(w->function_id);
	free(w->ids);
	free(w->lines);
	free(w->line_of);
	free(w);
}

static struct pprof *pprof_new(const struct profile *p)
{
	_cleanup_(pprof_free) struct pprof *w = calloc(1, sizeof(*w));
	size_t most_lines = 1, most_frames = 1;

	if (!w)
		return NULL;
	for (size_t i = 0; i < p->n_addresses; i++)
		if (p->symbols->locations[i].n > most_lines)
			most_lines = p->symbols->locations[i].n;
	for (size_t i = 0; i < p->n_stacks; i++)
		if (p->stacks[i].depth > most_frames)
			most_frames = p->stacks[i].depth;
	w->p = p;
	w->n_types = format_known(p, w->types);
	w->use = calloc(p->n_addresses + 1, sizeof(*w->use));
	w->known = calloc(p->n_mappings + 1, sizeof(*w->known));
	w->whole_id = calloc(p->n_addresses + 1, sizeof(*w->whole_id));
	w->cut_id = calloc(p->n_addresses + 1, sizeof(*w->cut_id));
	w->function_id = calloc(p->symbols->n_functions + 1, sizeof(*w->function_id));
	w->ids = calloc(most_frames, sizeof(*w->ids));
	w->lines = calloc(most_lines, sizeof(*w->lines));
	w->line_of = calloc(most_lines, sizeof(*w->line_of));
	if (!w->use || !w->known || !w->whole_id || !w->cut_id || !w->function_id || !w->ids ||
	    !w->lines || !w->line_of)
		return NULL;
	return take_ptr(w);
}

/* The locations of a stack, marked as used. Returns how many. */
static size_t stack_ids(struct pprof *w, const struct profile_stack *stack)
{
	uint32_t at = 0, cut = 0;
	size_t n = 0;

	profile_stack_start(w->p, stack, w->keep_allocator, &at, &cut);
	for (; at < stack->depth; at++, cut = 0) {
		uint32_t address = w->p->frames[stack->first + at];

		w->ids[n++] = cut ? w->cut_id[address] : w->whole_id[address];
		w->use[address] |= cut ? USED_CUT : USED_WHOLE;
	}
	return n;
}

static void write_types(struct pprof *w)
{
	Pprof__ValueType type[PROFILE_TYPES], period = PPROF__VALUE_TYPE__INIT, *all[PROFILE_TYPES];
	Pprof__Profile part = PPROF__PROFILE__INIT;

	for (unsigned int i = 0; i < w->n_types; i++) {
		type[i] = (Pprof__ValueType)PPROF__VALUE_TYPE__INIT;
		type[i].type = pprof_out_text(&w->out, format_types[w->types[i]].name);
		type[i].unit = pprof_out_text(&w->out, format_types[w->types[i]].unit);
		all[i] = &type[i];
	}
	period.type = pprof_out_text(&w->out, "space");
	period.unit = pprof_out_text(&w->out, "bytes");
	part.n_sample_type = w->n_types;
	part.sample_type = all;
	part.period_type = &period;
	part.period = (int64_t)w->p->period;
	part.default_sample_type =
		pprof_out_text(&w->out, format_types[profile_default_type(w->p)].name);
	part.time_nanos = w->p->facts.time_ns;
	part.duration_nanos = w->p->facts.duration_ns;
	pprof_out_part(&w->out, &part);
}

static void write_comment(struct pprof *w, const char *what, const char *value)
{
	_cleanup_(cleanup_free) char *text = NULL;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t at;

	if (!value || asprintf(&text, "%s: %s", what, value) < 0)
		return;
	at = pprof_out_copy(&w->out, text);
	part.n_comment = 1;
	part.comment = &at;
	pprof_out_part(&w->out, &part);
}

static void write_facts(struct pprof *w)
{
	const struct profile_facts *facts = &w->p->facts;
	char pid[24], allocated[24];

	snprintf(pid, sizeof(pid), "%lld", (long long)facts->pid);
	snprintf(allocated, sizeof(allocated), "%lld", (long long)facts->allocated);
	write_comment(w, "process", facts->comm);
	write_comment(w, "pid", facts->pid ? pid : NULL);
	write_comment(w, "host", facts->host);
	write_comment(w, "jemalloc", facts->version);
	if (w->p->difference) /* these are totals of one profile */
		return;
	write_comment(w, "allocated", facts->allocated ? allocated : NULL);
	write_comment(w, "opt.prof_active", facts->opt_active);
}

/* Without has_functions pprof would look up names itself, which takes minutes. */
static void write_mappings(struct pprof *w)
{
	for (size_t i = 0; i < w->p->n_mappings; i++) {
		const struct profile_mapping *from = &w->p->mappings[i];
		Pprof__Mapping m = PPROF__MAPPING__INIT, *one = &m;
		Pprof__Profile part = PPROF__PROFILE__INIT;

		m.id = i + 1;
		m.memory_start = from->start;
		m.memory_limit = from->end;
		m.file_offset = from->offset;
		m.filename = pprof_out_text(&w->out, from->path);
		m.build_id = pprof_out_text(&w->out, from->build_id);
		m.has_functions = true;
		m.has_filenames = w->known[i] & KNOWN_FILES;
		m.has_line_numbers = w->known[i] & KNOWN_LINES;
		m.has_inline_frames = w->known[i] & KNOWN_INLINES;
		part.n_mapping = 1;
		part.mapping = &one;
		pprof_out_part(&w->out, &part);
	}
}

/* Note what is known about used addresses, and mark their functions for an id. */
static void learn(struct pprof *w)
{
	const struct profile_symbols *s = w->p->symbols;

	for (size_t i = 0; i < w->p->n_addresses; i++) {
		const struct profile_location *at = &s->locations[i];
		uint8_t known = at->n > 1 ? KNOWN_INLINES : 0;

		if (!w->use[i])
			continue;
		for (uint32_t j = 0; j < at->n; j++) {
			const struct profile_line *line = &s->lines[at->first + j];

			w->function_id[line->function] = 1;
			known |= s->functions[line->function].file ? KNOWN_FILES : 0;
			known |= line->line ? KNOWN_LINES : 0;
		}
		if (w->p->addresses[i].mapping != PROFILE_NONE)
			w->known[w->p->addresses[i].mapping] |= known;
	}
}

/* Assign ids in the order of writing. */
static void number(struct pprof *w)
{
	uint64_t location = 0, function = 0;

	for (size_t i = 0; i < w->p->n_addresses; i++) {
		w->whole_id[i] = w->use[i] & USED_WHOLE ? ++location : 0;
		w->cut_id[i] = w->use[i] & USED_CUT ? ++location : 0;
	}
	for (size_t i = 0; i < w->p->symbols->n_functions; i++)
		w->function_id[i] = w->function_id[i] ? ++function : 0;
}

/* Write the lines of an address from number `cut` on as a location. */
static void write_location(struct pprof *w, uint32_t address, uint64_t id, uint32_t cut)
{
	const struct profile_symbols *s = w->p->symbols;
	const struct profile_location *at = &s->locations[address];
	const struct profile_address *from = &w->p->addresses[address];
	Pprof__Location location = PPROF__LOCATION__INIT, *one = &location;
	Pprof__Profile part = PPROF__PROFILE__INIT;

	location.id = id;
	/* One byte before the return address is within the call, and so in its line. */
	location.address = from->pc ? from->pc - 1 : 0;
	location.mapping_id = from->mapping == PROFILE_NONE ? 0 : (uint64_t)from->mapping + 1;
	location.line = w->line_of;
	for (uint32_t j = cut; j < at->n; j++) {
		Pprof__Line *line = &w->lines[location.n_line];

		*line = (Pprof__Line)PPROF__LINE__INIT;
		line->function_id = w->function_id[s->lines[at->first + j].function];
		line->line = s->lines[at->first + j].line;
		w->line_of[location.n_line++] = line;
	}
	part.n_location = 1;
	part.location = &one;
	pprof_out_part(&w->out, &part);
}

static void write_functions(struct pprof *w)
{
	for (size_t i = 0; i < w->p->symbols->n_functions; i++) {
		const struct profile_function *from = &w->p->symbols->functions[i];
		Pprof__Function function = PPROF__FUNCTION__INIT, *one = &function;
		Pprof__Profile part = PPROF__PROFILE__INIT;

		if (!w->function_id[i])
			continue;
		function.id = w->function_id[i];
		function.name = pprof_out_text(&w->out, from->name);
		function.system_name = pprof_out_text(&w->out, from->linkage);
		function.filename = pprof_out_text(&w->out, from->file);
		part.n_function = 1;
		part.function = &one;
		pprof_out_part(&w->out, &part);
	}
}

/* A regexp of the allocator's functions without their arguments: as many as there is room for. */
static void write_drop_frames(struct pprof *w)
{
	const struct profile_symbols *s = w->p->symbols;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char regexp[DROP_MAX] = "";
	size_t at = 0;

	for (size_t i = 0; i < s->n_functions; i++) {
		const struct profile_function *f = &s->functions[i];
		size_t len = strcspn(f->name, "(");

		if (!f->allocator || !f->known || !*f->name)
			continue;
		if (2 * len + 2 > DROP_MAX - at)
			break;
		if (at)
			regexp[at++] = '|';
		for (size_t j = 0; j < len; j++) {
			if (strchr("\\.+*?()|[]{}^$", f->name[j]))
				regexp[at++] = '\\';
			regexp[at++] = f->name[j];
		}
		regexp[at] = '\0';
	}
	part.drop_frames = pprof_out_copy(&w->out, regexp);
	pprof_out_part(&w->out, &part);
}

/* The labels of a sample: the average size of its objects, and its thread. */
static size_t make_labels(struct pprof *w, const struct profile_stack *stack,
			  Pprof__Label label[LABELS_MAX])
{
	double objects = stack->sampled[PROFILE_INUSE_OBJECTS];
	double bytes = stack->sampled[PROFILE_INUSE_SPACE];
	size_t n = 0;

	if (objects == 0) {
		objects = stack->sampled[PROFILE_ALLOC_OBJECTS];
		bytes = stack->sampled[PROFILE_ALLOC_SPACE];
	}
	/* If samples represent more than their objects, no size is known. */
	if (profile_knows(w->p, PROFILE_INUSE_OBJECTS) && objects != 0 && bytes / objects >= 1) {
		label[n] = (Pprof__Label)PPROF__LABEL__INIT;
		label[n].key = pprof_out_text(&w->out, "bytes");
		label[n].num_unit = label[n].key;
		label[n++].num = (int64_t)(bytes / objects);
	}
	if (stack->thread == PROFILE_NONE)
		return n;
	label[n] = (Pprof__Label)PPROF__LABEL__INIT;
	label[n].key = pprof_out_text(&w->out, "thread_id");
	label[n].num = (int64_t)w->p->threads[stack->thread].id;
	/* Without a unit, pprof takes 0 as a missing label. */
	label[n++].num_unit = pprof_out_text(&w->out, "id");
	if (!*w->p->threads[stack->thread].name)
		return n;
	label[n] = (Pprof__Label)PPROF__LABEL__INIT;
	label[n].key = pprof_out_text(&w->out, "thread");
	label[n++].str = pprof_out_text(&w->out, w->p->threads[stack->thread].name);
	return n;
}

static void write_sample(struct pprof *w, const struct profile_stack *stack)
{
	Pprof__Label label[LABELS_MAX], *labels[LABELS_MAX];
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *one = &sample;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t value[PROFILE_TYPES];
	bool any = false;

	for (unsigned int i = 0; i < w->n_types; i++) {
		value[i] = format_round(&w->sum[i], stack->value[w->types[i]]);
		any |= value[i] != 0;
	}
	if (!any)
		return;
	sample.n_value = w->n_types;
	sample.value = value;
	sample.n_location_id = stack_ids(w, stack);
	sample.location_id = w->ids;
	sample.n_label = make_labels(w, stack, label);
	sample.label = labels;
	for (size_t i = 0; i < sample.n_label; i++)
		labels[i] = &label[i];
	part.n_sample = 1;
	part.sample = &one;
	pprof_out_part(&w->out, &part);
}

int format_pprof(const struct profile *profile, const struct profile_format_options *options,
		 FILE *out, struct err *err)
{
	_cleanup_(pprof_free) struct pprof *w = pprof_new(profile);
	const struct profile_symbols *s = profile->symbols;

	if (!w)
		return err_no_memory(err);
	w->keep_allocator = options->keep_allocator;
	if (pprof_out_init(&w->out, out, err))
		return -1;
	for (size_t i = 0; i < profile->n_stacks; i++) {
		bool counts = false; /* false for most stacks of a difference */

		for (unsigned int t = 0; t < w->n_types && !counts; t++)
			counts = profile->stacks[i].value[w->types[t]] != 0;
		if (counts)
			stack_ids(w, &profile->stacks[i]);
	}
	learn(w);
	number(w);
	write_types(w);
	write_facts(w);
	if (!w->keep_allocator)
		write_drop_frames(w);
	write_mappings(w);
	for (uint32_t i = 0; i < profile->n_addresses; i++) {
		const struct profile_location *at = &s->locations[i];
		uint32_t cut = at->n; /* inner lines that belong to the allocator */

		if (w->use[i] & USED_WHOLE)
			write_location(w, i, w->whole_id[i], 0);
		if (!(w->use[i] & USED_CUT))
			continue;
		while (cut && !s->functions[s->lines[at->first + cut - 1].function].allocator)
			cut--;
		write_location(w, i, w->cut_id[i], cut);
	}
	write_functions(w);
	for (size_t i = 0; i < profile->n_stacks; i++)
		write_sample(w, &profile->stacks[i]);
	compress_plain(&w->out, Z_FINISH);
	return w->out.failed ? err_no_memory(err) : 0;
}
