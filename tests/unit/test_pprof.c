// SPDX-License-Identifier: Apache-2.0
#include "profile/format/format.h"
#include "profile/format/pprof.pb-c.h"
#include "tests/unit/made_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

static Pprof__Profile *unpacked(const uint8_t *bytes, size_t size)
{
	size_t room = 1 << 20;
	uint8_t *plain = malloc(room);
	z_stream z = { .next_in = (Bytef *)bytes, .avail_in = (uInt)size };
	Pprof__Profile *pprof;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_out = plain;
	z.avail_out = (uInt)room;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	pprof = pprof__profile__unpack(NULL, room - z.avail_out, plain);
	inflateEnd(&z);
	free(plain);
	assert_non_null(pprof);
	return pprof;
}

/* What Parca requires of a profile: ids from 1, in order, and no references to other ids. */
static void check_ids(const Pprof__Profile *p)
{
	assert_string_equal(p->string_table[0], "");
	for (size_t i = 0; i < p->n_mapping; i++)
		assert_int_equal(p->mapping[i]->id, i + 1);
	for (size_t i = 0; i < p->n_function; i++)
		assert_int_equal(p->function[i]->id, i + 1);
	for (size_t i = 0; i < p->n_location; i++) {
		const Pprof__Location *at = p->location[i];

		assert_int_equal(at->id, i + 1);
		assert_in_range(at->mapping_id, 0, p->n_mapping);
		for (size_t j = 0; j < at->n_line; j++)
			assert_in_range(at->line[j]->function_id, 1, p->n_function);
	}
	for (size_t i = 0; i < p->n_sample; i++)
		for (size_t j = 0; j < p->sample[i]->n_location_id; j++)
			assert_in_range(p->sample[i]->location_id[j], 1, p->n_location);
}

static Pprof__Profile *written(const struct profile *profile, bool keep_allocator)
{
	const struct profile_format_options options = { .keep_allocator = keep_allocator };
	Pprof__Profile *pprof;
	struct err err = ERR_INIT;
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	assert_int_equal(profile_write(profile, PROFILE_FORMAT_PPROF, &options, out, &err), 0);
	fclose(out);
	pprof = unpacked((const uint8_t *)bytes, size);
	free(bytes);
	check_ids(pprof);
	return pprof;
}

static const char *text(const Pprof__Profile *pprof, int64_t at)
{
	assert_in_range(at, 0, pprof->n_string_table - 1);
	return pprof->string_table[at];
}

/* The names of a sample's frames, as "inner<outer<". */
static const char *calls(const Pprof__Profile *pprof, size_t sample)
{
	static char names[4096];
	const Pprof__Sample *s = pprof->sample[sample];

	names[0] = '\0';
	for (size_t i = 0; i < s->n_location_id; i++) {
		const Pprof__Location *found = NULL;

		for (size_t j = 0; j < pprof->n_location; j++)
			if (pprof->location[j]->id == s->location_id[i])
				found = pprof->location[j];
		assert_non_null(found);
		for (size_t j = 0; j < found->n_line; j++)
			for (size_t k = 0; k < pprof->n_function; k++)
				if (pprof->function[k]->id == found->line[j]->function_id) {
					strcat(names, text(pprof, pprof->function[k]->name));
					strcat(names, "<");
				}
	}
	return names;
}

static const struct made_stack stacks[] = {
	{ "main;work+inlined;malloc", 2, 200.4, 4, 400 },
	{ "main;wrap+malloc", 1.5, 100.3, 2, 200 },
	{ "malloc", 1, 10.3, 0, 0 },
};

static void test_whole(void **state)
{
	struct made_profile *made = made_profile(stacks, N(stacks));
	Pprof__Profile *pprof = written(&made->profile, false);
	static const char *const types[] = { "inuse_objects", "inuse_space", "alloc_objects",
					     "alloc_space" };
	int64_t sum[4] = { 0 };

	(void)state;
	assert_string_equal(pprof->string_table[0], "");
	assert_int_equal(pprof->n_sample_type, 4);
	assert_int_equal(pprof->n_sample, 3);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(text(pprof, pprof->sample_type[i]->type), types[i]);
		assert_string_equal(text(pprof, pprof->sample_type[i]->unit),
				    i % 2 ? "bytes" : "count");
		for (size_t j = 0; j < 3; j++)
			sum[i] += pprof->sample[j]->value[i];
	}
	assert_int_equal(sum[0], 5);
	assert_int_equal(sum[1], 311);
	assert_int_equal(sum[3], 600);
	assert_string_equal(calls(pprof, 0), "inlined<work<main<");
	assert_string_equal(calls(pprof, 1), "wrap<main<");
	assert_string_equal(calls(pprof, 2), "");
	assert_string_equal(text(pprof, pprof->default_sample_type), "inuse_space");
	assert_string_equal(text(pprof, pprof->drop_frames), "malloc");
	assert_string_equal(text(pprof, pprof->period_type->type), "space");
	assert_string_equal(text(pprof, pprof->period_type->unit), "bytes");
	assert_int_equal(pprof->period, 524288);
	assert_int_equal(pprof->time_nanos, 1000);
	assert_string_equal(text(pprof, pprof->comment[0]), "process: made");
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

static void test_places(void **state)
{
	struct made_profile *made = made_profile(stacks, N(stacks));
	Pprof__Profile *pprof = written(&made->profile, false);
	const Pprof__Mapping *mapping = pprof->mapping[0];

	(void)state;
	assert_int_equal(pprof->n_mapping, 1);
	assert_string_equal(text(pprof, mapping->filename), "/usr/bin/made");
	assert_string_equal(text(pprof, mapping->build_id), "0123456789abcdef");
	assert_true(mapping->has_functions && mapping->has_filenames && mapping->has_line_numbers &&
		    mapping->has_inline_frames);
	for (size_t i = 0; i < pprof->n_location; i++) {
		assert_int_equal(pprof->location[i]->mapping_id, mapping->id);
		assert_int_equal(pprof->location[i]->address % 16, 0);
		assert_true(pprof->location[i]->line[0]->line >= 10);
	}
	for (size_t i = 0; i < pprof->n_function; i++) {
		assert_string_equal(text(pprof, pprof->function[i]->filename), "made.c");
		assert_int_equal(pprof->function[i]->name, pprof->function[i]->system_name);
	}
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

static void test_allocator(void **state)
{
	struct made_profile *made = made_profile(stacks, N(stacks));
	Pprof__Profile *pprof = written(&made->profile, true);

	(void)state;
	assert_string_equal(calls(pprof, 0), "malloc<inlined<work<main<");
	assert_string_equal(calls(pprof, 1), "malloc<wrap<main<");
	assert_string_equal(calls(pprof, 2), "malloc<");
	assert_string_equal(text(pprof, pprof->drop_frames), "");
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

static void test_threads(void **state)
{
	struct profile_thread threads[] = { { 0, "" }, { 7, "work\xff" } };
	struct made_profile *made = made_profile(stacks, N(stacks));
	Pprof__Profile *pprof;

	(void)state;
	made->profile.threads = threads;
	made->profile.n_threads = 2;
	made->profile.has_alloc = false;
	made->stacks[0].thread = 0;
	made->stacks[1].thread = 1;
	pprof = written(&made->profile, false);
	assert_int_equal(pprof->n_sample_type, 2);
	assert_int_equal(pprof->sample[0]->n_label, 1);
	assert_int_equal(pprof->sample[1]->n_label, 2);
	assert_int_equal(pprof->sample[2]->n_label, 0);
	assert_string_equal(text(pprof, pprof->sample[1]->label[0]->key), "thread_id");
	assert_int_equal(pprof->sample[1]->label[0]->num, 7);
	assert_string_equal(text(pprof, pprof->sample[0]->label[0]->num_unit), "id");
	assert_string_equal(text(pprof, pprof->sample[1]->label[1]->str), "work\\xff");
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

/* A profile that knows only one type has one sample type, and no size labels. */
static void test_alloc_space(void **state)
{
	struct made_profile *made = made_profile(stacks, N(stacks));
	Pprof__Profile *pprof;

	(void)state;
	made->profile.facts.only_alloc_space = true;
	made->stacks[0].sampled[PROFILE_ALLOC_OBJECTS] = 4;
	made->stacks[0].sampled[PROFILE_ALLOC_SPACE] = 400;
	pprof = written(&made->profile, false);
	assert_int_equal(pprof->n_sample_type, 1);
	assert_string_equal(text(pprof, pprof->sample_type[0]->type), "alloc_space");
	assert_string_equal(text(pprof, pprof->sample_type[0]->unit), "bytes");
	assert_string_equal(text(pprof, pprof->default_sample_type), "alloc_space");
	assert_int_equal(pprof->n_sample, 2);
	assert_int_equal(pprof->sample[0]->n_value, 1);
	assert_int_equal(pprof->sample[0]->value[0], 400);
	assert_int_equal(pprof->sample[0]->n_label, 0);
	assert_int_equal(pprof->period, 524288);
	pprof__profile__free_unpacked(pprof, NULL);
	made->profile.facts.only_alloc_space = false;
	pprof = written(&made->profile, false);
	assert_int_equal(pprof->sample[0]->n_label, 1);
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

/* drop_frames has at most 16 KB, even with hostile names; stacks that cancelled out are omitted. */
static void test_hostile(void **state)
{
	static const struct made_stack odd[] = { { "a;operator new[](int)", 1, 5, 0, 0 },
						 { "gone", 0, 0, 0, 0 },
						 { "lost", -1, -7, 0, 0 } };
	struct made_profile *made = made_profile(odd, N(odd));
	Pprof__Profile *pprof;
	char *name = malloc(100000);

	(void)state;
	made->functions[0].allocator = true;
	pprof = written(&made->profile, false);
	assert_string_equal(text(pprof, pprof->drop_frames), "operator new\\[\\]");
	assert_int_equal(pprof->n_sample, 2);
	assert_int_equal(pprof->sample[1]->value[1], -7);
	pprof__profile__free_unpacked(pprof, NULL);
	memset(name, '*', 99999);
	name[99999] = '\0';
	free((char *)made->functions[0].name);
	made->functions[0].linkage = made->functions[0].name = name;
	pprof = written(&made->profile, false);
	assert_string_equal(text(pprof, pprof->drop_frames), "");
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

/* A difference omits stacks that did not change, and facts about the whole heap. */
static void test_difference(void **state)
{
	static const struct made_stack both[] = { { "main;same", 0, 0, 0, 0 },
						  { "main;less", -2, -200, 0, 0 } };
	struct made_profile *made = made_profile(both, N(both));
	Pprof__Profile *pprof;

	(void)state;
	made->profile.difference = true;
	made->profile.facts.allocated = 4711;
	made->profile.facts.opt_active = "true";
	made->profile.facts.duration_ns = 5000;
	pprof = written(&made->profile, false);
	assert_int_equal(pprof->n_sample, 1);
	assert_int_equal(pprof->n_location, 2);
	assert_int_equal(pprof->n_function, 2);
	assert_int_equal(pprof->sample[0]->value[0], -2);
	assert_int_equal(pprof->sample[0]->value[1], -200);
	assert_int_equal(pprof->duration_nanos, 5000);
	for (size_t i = 0; i < pprof->n_comment; i++)
		assert_null(strstr(text(pprof, pprof->comment[i]), "4711"));
	assert_int_equal(pprof->n_comment, 2);
	pprof__profile__free_unpacked(pprof, NULL);
	made->profile.difference = false;
	pprof = written(&made->profile, false);
	assert_int_equal(pprof->n_comment, 4);
	pprof__profile__free_unpacked(pprof, NULL);
	made_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	   cmocka_unit_test(test_places),
		cmocka_unit_test(test_allocator),  cmocka_unit_test(test_threads),
		cmocka_unit_test(test_hostile),	   cmocka_unit_test(test_alloc_space),
		cmocka_unit_test(test_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
