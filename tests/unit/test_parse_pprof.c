// SPDX-License-Identifier: Apache-2.0
/* Profiles in pprof's format, as other programs write them, and malformed ones. */
#include "profile/combine.h"
#include "profile/format/pprof.pb-c.h"
#include "profile/profile.h"
#include "profile/symbols.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	T_NONE,
	T_OBJECTS,
	T_SPACE,
	T_COUNT,
	T_BYTES,
	T_FILE,
	T_ID,
	T_NAME,
	T_THREAD_ID,
	T_THREAD,
	T_COMMENT,
	T_ALLOC,
	TEXTS
};
#define SAMPLES 3
#define LOCATIONS 3

/* A message in parts, which a test modifies before packing it. */
struct made {
	char *texts[TEXTS];
	Pprof__ValueType types[2], period_type, *types_at[2];
	Pprof__Mapping mapping, other, *mappings_at[2];
	Pprof__Location locations[LOCATIONS], *locations_at[LOCATIONS];
	Pprof__Line lines[2], *lines_at[2];
	Pprof__Function function, *functions_at[1];
	Pprof__Label labels[2], *labels_at[2];
	Pprof__Sample samples[SAMPLES], *samples_at[SAMPLES];
	uint64_t stack[LOCATIONS];
	int64_t values[SAMPLES][2], comments[1];
	Pprof__Profile p;
};

static void make_where(struct made *m)
{
	m->mapping = (Pprof__Mapping)PPROF__MAPPING__INIT;
	m->mapping.id = 1;
	m->mapping.memory_start = 0x400000;
	m->mapping.memory_limit = 0x500000;
	m->mapping.filename = T_FILE;
	m->mapping.build_id = T_ID;
	m->other = m->mapping;
	m->mappings_at[0] = &m->mapping;
	m->mappings_at[1] = &m->other;
	m->p.mapping = m->mappings_at;
	m->p.n_mapping = 1;
	for (size_t i = 0; i < LOCATIONS; i++) {
		m->locations[i] = (Pprof__Location)PPROF__LOCATION__INIT;
		m->locations[i].id = m->stack[i] = i + 1;
		m->locations[i].mapping_id = 1;
		m->locations[i].address = 0x400100 + i * 0x100;
		m->locations_at[i] = &m->locations[i];
	}
	m->p.location = m->locations_at;
	m->p.n_location = LOCATIONS;
	m->function = (Pprof__Function)PPROF__FUNCTION__INIT;
	m->function.id = 1;
	m->function.name = T_NAME;
	m->functions_at[0] = &m->function;
	m->p.function = m->functions_at;
	m->p.n_function = 1;
	for (size_t i = 0; i < 2; i++) {
		m->lines[i] = (Pprof__Line)PPROF__LINE__INIT;
		m->lines[i].function_id = 1;
		m->lines_at[i] = &m->lines[i];
	}
}

static void make(struct made *m)
{
	static const char *const texts[TEXTS] = { "",	      "inuse_objects", "inuse_space",
						  "count",    "bytes",	       "/bin/it",
						  "0123abcd", "work",	       "thread_id",
						  "thread",   "pid: 42",       "alloc_space" };

	memset(m, 0, sizeof(*m));
	m->p = (Pprof__Profile)PPROF__PROFILE__INIT;
	memcpy(m->texts, texts, sizeof(texts));
	m->p.string_table = m->texts;
	m->p.n_string_table = TEXTS;
	for (size_t i = 0; i < 2; i++) {
		m->types[i] = (Pprof__ValueType)PPROF__VALUE_TYPE__INIT;
		m->types[i].type = i ? T_SPACE : T_OBJECTS;
		m->types[i].unit = i ? T_BYTES : T_COUNT;
		m->types_at[i] = &m->types[i];
		m->labels[i] = (Pprof__Label)PPROF__LABEL__INIT;
		m->labels_at[i] = &m->labels[i];
	}
	m->p.sample_type = m->types_at;
	m->p.n_sample_type = 2;
	make_where(m);
	for (size_t i = 0; i < SAMPLES; i++) {
		m->samples[i] = (Pprof__Sample)PPROF__SAMPLE__INIT;
		m->samples[i].location_id = m->stack;
		m->samples[i].n_location_id = i + 1;
		m->values[i][0] = 1;
		m->values[i][1] = 100;
		m->samples[i].value = m->values[i];
		m->samples[i].n_value = 2;
		m->samples_at[i] = &m->samples[i];
	}
	m->p.sample = m->samples_at;
	m->p.n_sample = SAMPLES;
	m->p.comment = m->comments;
}

static int parse_with(const struct made *m, const struct profile_options *options,
		      struct profile *p, struct err *err)
{
	size_t len = pprof__profile__get_packed_size(&m->p);
	uint8_t *bytes = malloc(len);
	int failed;

	assert_non_null(bytes);
	pprof__profile__pack(&m->p, bytes);
	failed = profile_parse_pprof(p, bytes, len, options, err);
	free(bytes);
	return failed;
}

static int parse(const struct made *m, struct profile *p)
{
	struct err err = ERR_INIT;
	int failed = parse_with(m, NULL, p, &err);

	assert_int_equal(failed, err.code ? -1 : 0);
	return failed;
}

static struct profile parsed(const struct made *m)
{
	struct profile p;

	assert_int_equal(parse(m, &p), 0);
	return p;
}

static void test_plain(void **state)
{
	struct made m;
	struct profile p;

	(void)state;
	make(&m);
	m.comments[0] = T_COMMENT;
	m.p.n_comment = 1;
	p = parsed(&m);
	assert_int_equal(p.n_stacks, 3);
	assert_true(profile_total(&p, PROFILE_INUSE_SPACE) == 300);
	assert_int_equal(p.period, 1);
	assert_null(p.symbols);
	assert_int_equal(p.n_mappings, 1);
	assert_string_equal(p.mappings[0].path, "/bin/it");
	assert_string_equal(p.mappings[0].build_id, "0123abcd");
	assert_int_equal(p.addresses[p.frames[p.stacks[0].first]].pc, 0x400101);
	assert_int_equal(p.facts.pid, 42);
	profile_fini(&p);
}

/* Impossible messages are rejected rather than guessed at. */
static void no_types(struct made *m)
{
	m->p.n_sample_type = 0;
}

static void other_types(struct made *m)
{
	m->types[0].type = T_NAME;
	m->types[1].type = T_THREAD;
}

static void type_outside(struct made *m)
{
	m->types[0].type = m->types[1].type = TEXTS;
}

static void type_negative(struct made *m)
{
	m->types[0].type = m->types[1].type = INT64_MIN;
}

static void value_missing(struct made *m)
{
	m->samples[2].n_value = 1;
}

static void value_too_many(struct made *m)
{
	m->p.n_sample_type = 1;
}

static void location_missing(struct made *m)
{
	m->stack[2] = 77;
}

static void location_twice(struct made *m)
{
	m->locations[2].id = 1;
}

static void test_refused(void **state)
{
	static void (*const spoil[])(struct made *) = { no_types,	  other_types,
							type_outside,	  type_negative,
							value_missing,	  value_too_many,
							location_missing, location_twice };
	struct profile p;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(spoil) / sizeof(*spoil); i++) {
		make(&m);
		spoil[i](&m);
		assert_int_equal(parse(&m, &p), -1);
	}
}

/* A stack may have 4096 calls, but not one more. */
static void test_deep(void **state)
{
	static uint64_t deep[4097];
	struct profile p;
	struct made m;

	(void)state;
	make(&m);
	for (size_t i = 0; i < 4097; i++)
		deep[i] = 1 + i % LOCATIONS;
	m.samples[0].location_id = deep;
	m.samples[0].n_location_id = 4096;
	p = parsed(&m);
	profile_fini(&p);
	m.samples[0].n_location_id = 4097;
	assert_int_equal(parse(&m, &p), -1);
}

/* Every prefix of a message is either read or rejected, and nothing beyond it is accessed. */
static void test_cut(void **state)
{
	size_t len, read = 0;
	uint8_t *bytes;
	struct made m;

	(void)state;
	make(&m);
	len = pprof__profile__get_packed_size(&m.p);
	bytes = malloc(len);
	assert_non_null(bytes);
	pprof__profile__pack(&m.p, bytes);
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = malloc(n ? n : 1);
		struct err err = ERR_INIT;
		struct profile p;

		assert_non_null(cut);
		memcpy(cut, bytes, n);
		if (!profile_parse_pprof(&p, cut, n, NULL, &err)) {
			read++;
			profile_fini(&p);
		}
		free(cut);
	}
	/* Without the texts, which come last, the sample types are unknown. */
	assert_in_range(read, 0, len / 4);
	free(bytes);
}

/* Addresses at both extremes, and those that two locations share, are replaced by made-up ones. */
static void test_addresses(void **state)
{
	static const uint64_t none[] = { 0, UINT64_MAX, PROFILE_MADE_UP - 1, PROFILE_MADE_UP,
					 0x400100 };
	struct profile p;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		make(&m);
		m.locations[1].address = none[i];
		m.p.n_sample = 2;
		p = parsed(&m);
		assert_true(p.addresses[p.frames[p.stacks[1].first + 1]].pc >= PROFILE_MADE_UP);
		profile_fini(&p);
	}
	make(&m);
	m.locations[1].address = PROFILE_MADE_UP - 2;
	p = parsed(&m);
	assert_true(p.addresses[p.frames[p.stacks[1].first + 1]].pc == PROFILE_MADE_UP - 1);
	profile_fini(&p);
}

/* Mappings that are empty, overlap, or have no file; ids that do not exist. */
static void test_mappings(void **state)
{
	static const struct {
		uint64_t start, limit;
		size_t n; /* how many mappings are kept */
	} cases[] = {
		{ 0x600000, 0x700000, 2 },
		{ 0x300000, 0x400000, 2 },
		{ 0x600000, 0x600000, 1 },
		{ 0x600000, 0x5fffff, 1 },
		{ 0x4fffff, 0x700000, 1 },
		{ 0x300000, 0x400001, 1 },
		{ 0x600000, PROFILE_MADE_UP, 1 },
		{ 0x600000, PROFILE_MADE_UP - 1, 2 },
		{ 0, UINT64_MAX, 1 },
		{ 0x400000, 0x500000, 1 },
	};
	struct profile p;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		make(&m);
		m.p.n_mapping = 2;
		m.other.id = 2;
		m.other.memory_start = cases[i].start;
		m.other.memory_limit = cases[i].limit;
		p = parsed(&m);
		assert_int_equal(p.n_mappings, cases[i].n);
		profile_fini(&p);
	}
	make(&m);
	m.mapping.filename = INT64_MIN;
	m.mapping.build_id = T_NAME; /* a Go build ID: no hex digits */
	m.locations[0].mapping_id = 9;
	p = parsed(&m);
	assert_string_equal(p.mappings[0].path, "");
	assert_null(p.mappings[0].build_id);
	assert_true(p.addresses[p.frames[p.stacks[0].first]].pc >= PROFILE_MADE_UP);
	profile_fini(&p);
}

/* Only the second location has names; neither it nor the last one has an address of its own. */
static void test_names(void **state)
{
	const struct profile_symbols *s;
	struct profile p;
	struct made m;

	(void)state;
	make(&m);
	m.locations[1].line = m.lines_at;
	m.locations[1].n_line = 2;
	m.lines[0].line = (int64_t)UINT32_MAX + 1; /* too large for a line number */
	m.lines[1].line = 7;
	m.locations[1].address = m.locations[2].address = 0;
	p = parsed(&m);
	s = p.symbols;
	assert_non_null(s);
	assert_int_equal(s->locations[p.frames[p.stacks[1].first + 1]].n, 2);
	assert_int_equal(s->lines[s->locations[p.frames[p.stacks[1].first + 1]].first].line, 0);
	assert_int_equal(s->lines[s->locations[p.frames[p.stacks[1].first + 1]].first + 1].line, 7);
	profile_fini(&p);

	/* A function that does not exist, or has no name, is ignored. */
	m.lines[0].function_id = m.lines[1].function_id = 2;
	p = parsed(&m);
	assert_null(p.symbols);
	profile_fini(&p);
	m.lines[0].function_id = m.lines[1].function_id = 1;
	m.function.name = TEXTS;
	p = parsed(&m);
	assert_null(p.symbols);
	profile_fini(&p);
}

static void label(struct made *m, size_t sample, int64_t id, int64_t name)
{
	m->labels[0].key = T_THREAD_ID;
	m->labels[0].num = id;
	m->labels[1].key = T_THREAD;
	m->labels[1].str = name;
	m->samples[sample].label = m->labels_at;
	m->samples[sample].n_label = 2;
}

static void test_threads(void **state)
{
	struct profile_options options = { .by_thread = true };
	struct err err = ERR_INIT;
	struct profile p;
	struct made m;

	(void)state;
	make(&m);
	label(&m, 1, 7, T_NAME);
	assert_int_equal(parse_with(&m, &options, &p, &err), 0);
	assert_int_equal(p.n_threads, 1);
	assert_int_equal(p.threads[0].id, 7);
	assert_string_equal(p.threads[0].name, "work");
	profile_fini(&p);
	options = (struct profile_options){ .only_thread = true, .thread = 7 };
	assert_int_equal(parse_with(&m, &options, &p, &err), 0);
	assert_int_equal(p.n_stacks, 1);
	profile_fini(&p);
	label(&m, 1, -1, T_NAME);
	assert_int_equal(parse_with(&m, &options, &p, &err), 0);
	assert_int_equal(p.n_stacks, 0);
	profile_fini(&p);
}

/* Extreme, negative and zero values; invalid periods. */
static void test_values(void **state)
{
	static const int64_t values[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
	static const int64_t periods[] = { INT64_MIN, -1, 0, 1, 2, 524288, INT64_MAX };
	struct profile p;
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		for (size_t j = 0; j < sizeof(periods) / sizeof(*periods); j++) {
			make(&m);
			m.period_type = m.types[1];
			m.period_type.type = TEXTS - 1; /* set to "space" below */
			m.p.period_type = &m.period_type;
			m.texts[TEXTS - 1] = (char *)"space";
			m.p.period = periods[j];
			m.p.n_sample = 1;
			m.values[0][0] = values[i];
			m.values[0][1] = values[sizeof(values) / sizeof(*values) - 1 - i];
			p = parsed(&m);
			assert_true(p.difference == (values[i] != 0));
			assert_true(p.period == (periods[j] > 1 ? (uint64_t)periods[j] : 1));
			for (int t = 0; t <= PROFILE_INUSE_SPACE && p.n_stacks; t++) {
				assert_true(isfinite(p.stacks[0].sampled[t]));
				assert_true(isfinite(p.stacks[0].variance[t]));
				assert_true(p.stacks[0].variance[t] >= 0);
			}
			profile_fini(&p);
		}
	}
}

/* Only allocated bytes are known: their variance follows from the period. */
static void test_alloc_space(void **state)
{
	struct profile p;
	struct made m;

	(void)state;
	make(&m);
	m.types[0].type = T_THREAD;
	m.types[1].type = T_ALLOC;
	m.period_type = m.types[1];
	m.period_type.type = T_NAME;
	m.texts[T_NAME] = (char *)"space";
	m.p.period_type = &m.period_type;
	m.p.period = 1024;
	p = parsed(&m);
	assert_true(p.facts.only_alloc_space);
	assert_int_equal(p.facts.sample_bytes, 1024);
	assert_int_equal(p.period, 1024);
	assert_true(profile_knows(&p, PROFILE_ALLOC_SPACE));
	assert_false(profile_knows(&p, PROFILE_ALLOC_OBJECTS));
	assert_true(p.stacks[0].value[PROFILE_ALLOC_SPACE] == 100);
	assert_true(p.stacks[0].variance[PROFILE_ALLOC_SPACE] == 100 * 1024);
	profile_fini(&p);
	m.types[0].type = T_OBJECTS;
	p = parsed(&m);
	assert_false(p.facts.only_alloc_space);
	assert_int_equal(p.facts.sample_bytes, 0);
	profile_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deep),	  cmocka_unit_test(test_cut),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_threads),
		cmocka_unit_test(test_values),	  cmocka_unit_test(test_alloc_space),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
