// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"
#include "profile/symbols.h"
#include "tests/unit/said.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAPS                                                                          \
	"\nMAPPED_LIBRARIES:\n"                                                       \
	"400000-401000 r--p 00000000 08:01 11                         /usr/bin/a b\n" \
	"401000-402000 r-xp 00001000 08:01 11                         /usr/bin/a b\n" \
	"7f0000000000-7f0000001000 r-xp 00000000 08:01 12 /lib/libx.so.1 (deleted)\n" \
	"7f0000001000-7f0000002000 rw-p 00000000 00:00 0\n"                           \
	"7ffff0000000-7ffff0001000 r-xp 00000000 00:00 0                      [vdso]\n"

static const char v2[] = "heap_v2/1024\n"
			 "  t*: 4: 4096 [8: 8192]\n"
			 "  t7: 3: 3072 [0: 0] worker two\n"
			 "  t0: 1: 1024 [0: 0]\n"
			 "@ 0x401010 0x402000 0x7f0000000010\n"
			 "  t*: 3: 3072 [6: 6144]\n"
			 "  t7: 3: 3072 [6: 6144]\n"
			 "@ 0x401010 0x402001\n"
			 "  t*: 1: 16 [0: 0]\n"
			 "  t0: 1: 16 [0: 0]\n" MAPS;

static const char v1[] = "heap profile:      3:    3072 [     6:     6144] @ heap_v2/1024\n"
			 "     3:    3072 [     6:     6144] @ 0x401010 0x402000\n" MAPS;

static const char everything[] = "heap profile: 1: 8 [0: 0] @ heapprofile\n"
				 "1: 8 [0: 0] @ 0x401010\n" MAPS;

static const char go[] = "heap profile: 3: 8192 [5: 9000] @ heap/8192\n"
			 "1: 4096 [2: 4904] @ 0x401010 0x402000 0x402000 0x403000\n"
			 "#\t0x40100f\tmain.(*T).hold+0x2e\t\t/src/a:b.go:6\n"
			 "#\t0x401fff\tmain.rec+0xed\t/src/h.go:7\n"
			 "#\t0x401fff\tmain.rec+0xed\t/src/h.go:7\n"
			 "\n"
			 "0: 0 [3: 4096] @ 0x400800 0x401010 0x402000\n"
			 "#\t0x40100f\tmain.other+0x2e\t/src/h.go:9\n"
			 "#\t0x55\tnowhere+0x1\t/src/h.go:1\n"
			 "#\t0x401fff\n"
			 "\n# runtime.MemStats\n# Alloc = 5\n# MaxRSS = 11534336\n";

static struct profile parsed(const char *text, const struct profile_options *options)
{
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	if (profile_parse(&p, text, strlen(text), options, &err))
		fail_msg("%s", said(&err));
	return p;
}

/* A source that returns a few bytes at a time, and fails after the last ones if requested. */
struct pieces {
	const char *at;
	size_t left, step;
	bool endless, fails;
};

static ssize_t next_bytes(void *ctx, char *buf, size_t room, struct err *err)
{
	struct pieces *s = ctx;
	size_t n = s->left < s->step ? s->left : s->step;

	n = n < room ? n : room;
	if (!n && s->endless) {
		memset(buf, 'a', room);
		return (ssize_t)room;
	}
	if (!n && s->fails)
		return err_raise_sys(err, ERROR_FILE_UNREADABLE, EIO);
	memcpy(buf, s->at, n);
	s->at += n;
	s->left -= n;
	return (ssize_t)n;
}

/* However the text is split into pieces, the profile or the error is the same. */
static void assert_same_in_pieces(const char *text, size_t len)
{
	static const size_t steps[] = { 1, 2, 7, 64, 1000000 };
	struct profile whole = { 0 };
	struct err why = ERR_INIT;
	int failed = profile_parse(&whole, text, len, NULL, &why);
	char words[ERR_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct pieces s = { .at = text, .left = len, .step = steps[i] };
		struct profile p = { 0 };
		struct err err = ERR_INIT;

		assert_int_equal(profile_parse_pieces(&p, next_bytes, &s, NULL, &err), failed);
		assert_string_equal(said(&err), err_text(&why, words, sizeof(words)));
		assert_int_equal(p.n_stacks, whole.n_stacks);
		assert_int_equal(p.n_mappings, whole.n_mappings);
		assert_int_equal(!p.symbols, !whole.symbols);
		assert_int_equal(p.n_frames, whole.n_frames);
		if (p.n_frames)
			assert_memory_equal(p.frames, whole.frames, p.n_frames * sizeof(*p.frames));
		if (p.symbols)
			assert_int_equal(p.symbols->n_lines, whole.symbols->n_lines);
		profile_fini(&p);
	}
	profile_fini(&whole);
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Go's text: half the rate that it names, and stacks followed by the names of their calls. */
static void test_go(void **state)
{
	static const char *const wanted[] = { "main.(*T).hold", "main.rec", "main.rec" };
	struct profile p = parsed(go, NULL);
	struct profile_line lines[8];

	(void)state;
	assert_int_equal(p.period, 4096);
	assert_int_equal(p.n_stacks, 2);
	assert_true(fabs(p.stacks[0].value[PROFILE_INUSE_SPACE] - 4096 / (1 - exp(-1))) < 1e-6);
	assert_true(fabs(p.stacks[0].value[PROFILE_INUSE_OBJECTS] - 1 / (1 - exp(-1))) < 1e-9);
	assert_true(p.has_alloc);
	assert_non_null(p.symbols);
	assert_int_equal(profile_stack_lines(&p, &p.stacks[0], true, lines, 8), 4);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(p.symbols->functions[lines[i].function].name, wanted[i]);
	assert_string_equal(p.symbols->functions[lines[0].function].file, "/src/a:b.go");
	assert_int_equal(lines[0].line, 6);
	/* Innermost calls without a name belong to the allocator; outermost ones do not. */
	assert_int_equal(profile_stack_lines(&p, &p.stacks[1], false, lines, 8), 2);
	assert_int_equal(profile_stack_lines(&p, &p.stacks[0], false, lines, 8), 4);
	profile_fini(&p);
	p = parsed("heap profile: 2: 64 [2: 64] @ heap/2\n2: 64 [2: 64] @ 0x10\n", NULL);
	assert_int_equal(p.period, 1);
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == 64);
	assert_null(p.symbols);
	profile_fini(&p);
}

static void test_v2(void **state)
{
	struct profile p = parsed(v2, NULL);

	(void)state;
	assert_int_equal(p.period, 1024);
	assert_true(p.has_alloc);
	assert_int_equal(p.n_stacks, 2);
	assert_int_equal(p.stacks[0].depth, 3);
	assert_int_equal(p.stacks[1].first, 3);
	assert_int_equal(p.stacks[0].thread, PROFILE_NONE);
	assert_int_equal(p.n_addresses, 4);
	assert_int_equal(p.frames[3], p.frames[0]);
	assert_int_equal(p.addresses[p.frames[1]].pc, 0x402000);
	assert_int_equal(p.n_mappings, 3);
	assert_int_equal(p.addresses[0].mapping, 0);
	assert_int_equal(p.addresses[1].mapping, 0); /* the call ends the mapping */
	assert_int_equal(p.addresses[2].mapping, 1);
	assert_int_equal(p.addresses[3].mapping, PROFILE_NONE);
	assert_string_equal(p.mappings[0].path, "/usr/bin/a b");
	assert_false(p.mappings[0].deleted);
	assert_int_equal(p.mappings[0].offset, 0x1000);
	assert_string_equal(p.mappings[1].path, "/lib/libx.so.1");
	assert_true(p.mappings[1].deleted);
	assert_int_equal(p.n_threads, 2);
	assert_int_equal(p.threads[1].id, 7);
	assert_string_equal(p.threads[1].name, "worker two");
	assert_string_equal(p.threads[0].name, "");
	profile_fini(&p);
}

/* Like jeprof(1): each stack is scaled by the average size of its own objects. */
static void test_scale(void **state)
{
	double one = 1 / (1 - exp(-1.0)), small = 1 / (1 - exp(-1.0 / 64));
	struct profile p = parsed(v2, NULL);

	(void)state;
	assert_true(is_near(p.stacks[0].value[PROFILE_INUSE_SPACE], 3072 * one));
	assert_true(is_near(p.stacks[0].value[PROFILE_INUSE_OBJECTS], 3 * one));
	assert_true(is_near(p.stacks[0].value[PROFILE_ALLOC_SPACE], 6144 * one));
	assert_true(is_near(p.stacks[1].value[PROFILE_INUSE_SPACE], 16 * small));
	assert_true(is_near(p.stacks[0].sampled[PROFILE_INUSE_SPACE], 3072));
	assert_true(is_near(p.stacks[1].variance[PROFILE_INUSE_OBJECTS], small * (small - 1)));
	assert_true(fabs(p.stacks[1].variance[PROFILE_INUSE_SPACE] / (256 * small * (small - 1)) -
			 1) < 1e-9);
	assert_true(is_near(profile_total(&p, PROFILE_INUSE_SPACE), 3072 * one + 16 * small));
	profile_fini(&p);
}

static void test_threads(void **state)
{
	struct profile_options options = { .by_thread = true };
	struct profile p = parsed(v2, &options);

	(void)state;
	assert_int_equal(p.n_stacks, 2);
	assert_int_equal(p.threads[p.stacks[0].thread].id, 7);
	assert_int_equal(p.threads[p.stacks[1].thread].id, 0);
	profile_fini(&p);
	options = (struct profile_options){ .only_thread = true, .thread = 0 };
	p = parsed(v2, &options);
	assert_int_equal(p.n_stacks, 1);
	assert_int_equal(p.stacks[0].depth, 2);
	profile_fini(&p);
}

/* The parts of a stack add up to it, whatever their averages; excessive parts are dropped. */
static void test_parts(void **state)
{
	static const char text[] = "heap_v2/1024\n"
				   "  t*: 4: 4096 [0: 0]\n"
				   "@ 0x401010\n"
				   "  t*: 4: 4096 [0: 0]\n"
				   "  t1: 1: 2048 [0: 0]\n"
				   "  t2: 2: 1024 [0: 0]\n"
				   "@ 0x401020\n"
				   "  t*: 1: 10 [0: 0]\n"
				   "@ 0x401030\n"
				   "  t*: 1: 10 [0: 0]\n"
				   "  t1: 1: 11 [0: 0]\n" MAPS;
	const struct profile_options options = { .by_thread = true };
	struct profile p = parsed(text, &options), whole = parsed(text, NULL);

	(void)state;
	assert_int_equal(p.n_stacks, 5);
	assert_int_equal(p.stacks[0].thread, PROFILE_NONE);
	assert_true(is_near(p.stacks[0].value[PROFILE_INUSE_SPACE], 1024 / (1 - exp(-1.0))));
	assert_true(is_near(p.stacks[1].value[PROFILE_INUSE_SPACE], 2048 / (1 - exp(-1.0))));
	assert_true(is_near(p.stacks[2].value[PROFILE_INUSE_OBJECTS], 2 / (1 - exp(-1.0))));
	assert_int_equal(p.stacks[3].thread, PROFILE_NONE);
	assert_int_equal(p.stacks[4].thread, PROFILE_NONE);
	assert_true(is_near(profile_total(&p, PROFILE_INUSE_SPACE),
			    profile_total(&whole, PROFILE_INUSE_SPACE)));
	profile_fini(&p);
	profile_fini(&whole);
}

static void test_v1(void **state)
{
	struct profile p = parsed(v1, NULL);

	(void)state;
	assert_int_equal(p.period, 1024);
	assert_int_equal(p.n_stacks, 1);
	assert_int_equal(p.stacks[0].depth, 2);
	assert_true(is_near(p.stacks[0].value[PROFILE_INUSE_SPACE], 3072 / (1 - exp(-1.0))));
	profile_fini(&p);
	p = parsed(everything, NULL);
	assert_int_equal(p.period, 1);
	assert_true(p.stacks[0].value[PROFILE_INUSE_SPACE] == 8);
	assert_true(p.stacks[0].variance[PROFILE_INUSE_SPACE] == 0);
	profile_fini(&p);
}

#define ALLOCATED(facts)         \
	"heap_v2/1\n"            \
	"  t*: 0: 0 [5: 5000]\n" \
	"@ 0x401010 0x402000\n"  \
	"  t*: 0: 0 [3: 3072]\n" \
	"@ 0x401010 0x402001\n"  \
	"  t*: 7: 77 [2: 1]\n" MAPS "# pid 42\n" facts

/* Bytes allocated during some time: only alloc_space is known, and it is not scaled. */
static void test_alloc_space(void **state)
{
	struct profile p = parsed(ALLOCATED("# counts alloc_space\n# sample_bytes 1024\n"), NULL);

	(void)state;
	assert_true(p.facts.only_alloc_space);
	assert_int_equal(p.facts.sample_bytes, 1024);
	assert_int_equal(p.period, 1024);
	for (int t = 0; t < PROFILE_TYPES; t++) {
		bool space = t == PROFILE_ALLOC_SPACE;

		assert_int_equal(profile_knows(&p, (enum profile_type)t), space);
		assert_true(p.stacks[0].value[t] == (space ? 3072 : 0));
		assert_true(p.stacks[0].variance[t] == (space ? 3072 * 1024 : 0));
		/* Objects of half a byte would be scaled by 2.5. */
		assert_true(p.stacks[1].value[t] == (space ? 1 : 0));
	}
	assert_int_equal(profile_default_type(&p), PROFILE_ALLOC_SPACE);
	assert_true(p.stacks[0].sampled[PROFILE_ALLOC_OBJECTS] == 3);
	assert_true(p.stacks[1].sampled[PROFILE_INUSE_SPACE] == 0);
	profile_fini(&p);
	p = parsed("heap_v2/1\n\nMAPPED_LIBRARIES:\n# counts alloc_space\n", NULL);
	assert_true(profile_knows(&p, PROFILE_ALLOC_SPACE));
	assert_int_equal(p.period, 1);
	profile_fini(&p);
}

/* Unknown counts are ignored, and the profile is read as usual. */
static void test_other_counts(void **state)
{
	static const char *const texts[] = {
		ALLOCATED(""),
		ALLOCATED("# sample_bytes 1024\n"),
		ALLOCATED("# counts alloc_spaces\n# sample_bytes 1024\n"),
		ALLOCATED("# counts inuse_space\n# sample_bytes 1024\n"),
		ALLOCATED("# counts\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct profile p = parsed(texts[i], NULL);

		assert_false(p.facts.only_alloc_space);
		assert_int_equal(p.period, 1);
		for (int t = 0; t < PROFILE_TYPES; t++)
			assert_true(profile_knows(&p, (enum profile_type)t));
		assert_int_equal(profile_default_type(&p), PROFILE_INUSE_SPACE);
		assert_true(is_near(p.stacks[1].value[PROFILE_ALLOC_SPACE], 1 / (1 - exp(-0.5))));
		profile_fini(&p);
	}
}

static const char symbolized[] = "--- symbol\n"
				 "binary=/usr/bin/a\n"
				 "0x0000000000401010 leaf\n"
				 "0x401fff outer--middle--inner\n"
				 "0x7f000000000f 0x00007f000000000f\n"
				 "#0x402001 12\t/src/a.c\t_Z1fv\tf()\n"
				 "#0x402001 0\t?\tmain\tmain\n"
				 "---\n"
				 "--- heap\n";

static void test_symbolized(void **state)
{
	char text[sizeof(symbolized) + sizeof(v2)];
	const struct profile_symbols *s;
	const struct profile_line *lines;
	struct profile p;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", symbolized, v2);
	p = parsed(text, NULL);
	s = p.symbols;
	assert_non_null(s);
	assert_int_equal(s->n_locations, 4);
	lines = s->lines + s->locations[0].first;
	assert_string_equal(s->functions[lines->function].name, "leaf");
	assert_int_equal(s->locations[1].n, 3);
	lines = s->lines + s->locations[1].first;
	assert_string_equal(s->functions[lines[0].function].name, "inner");
	assert_string_equal(s->functions[lines[2].function].name, "outer");
	lines = s->lines + s->locations[2].first;
	assert_false(s->functions[lines->function].known);
	lines = s->lines + s->locations[3].first;
	assert_int_equal(s->locations[3].n, 2);
	assert_string_equal(s->functions[lines[0].function].name, "f()");
	assert_string_equal(s->functions[lines[0].function].linkage, "_Z1fv");
	assert_string_equal(s->functions[lines[0].function].file, "/src/a.c");
	assert_int_equal(lines[0].line, 12);
	assert_null(s->functions[lines[1].function].file);
	profile_fini(&p);
}

static void test_facts(void **state)
{
	char text[sizeof(v2) + 256];
	struct profile p;

	(void)state;
	snprintf(text, sizeof(text),
		 "%s# pid 4242\n# comm a\\x0ab\\x5c\n# host \n# time_ns 12\n# later x\n"
		 "# build-id 401000-402000 00fF\n",
		 v2);
	p = parsed(text, NULL);
	assert_int_equal(p.facts.pid, 4242);
	assert_int_equal(p.facts.time_ns, 12);
	assert_string_equal(p.facts.comm, "a\nb\\");
	assert_null(p.facts.version);
	assert_string_equal(p.mappings[0].build_id, "00ff");
	assert_null(p.mappings[1].build_id);
	profile_fini(&p);
}

#define CODE "heap_v2/1\nMAPPED_LIBRARIES:\n1000-2000 r-xp 0 0:0 1 /a\n"
#define X64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *text, *said;
} refused[] = {
	{ "", "it is empty" },
	{ "\n", "line 1, byte 0: not a heap profile" },
	{ "ELF\x7f\x01\x02", "line 1, byte 0: not a heap profile" },
	{ "heap_v2/x\n", "not a heap profile" },
	{ "heap_v2/99999999999999999999\n", "not a heap profile" },
	{ "heap_v2/1024", "the last line has no newline" },
	{ "heap_v2/1024\n@ 0x1\n", "line 2, byte 13: no counts follow" },
	{ "heap_v2/1024\n@ 0x1\n@ 0x2\n t*: 1: 1 [0: 0]\n", "line 3, byte 19: no counts" },
	{ "heap_v2/1024\n@ 0xg\n", "line 2, byte 13: not an address" },
	{ "heap_v2/1024\n@ 0x1ffffffffffffffff\n", "not an address" },
	{ "heap_v2/1024\n@ 0x1\n t*: 1: 99999999999999999999 [0: 0]\n", "not the counts" },
	{ "heap_v2/1024\n@ 0x1\n t*: -1: 1 [0: 0]\n", "not the counts" },
	{ "heap_v2/1024\n@ 0x1\n t*: 1: 0 [0: 0]\n", "objects without a size" },
	{ "heap_v2/1024\n@ 0x1\n t*: 1: 1 [0: ", "(it is truncated)" },
	{ "heap_v2/1024\n@ 0x1\n t*: 1: 1 [0: 0] x\n", "unexpected text after the counts" },
	{ "heap_v2/1024\nhello\n", "line 2, byte 13: not a line of a heap profile" },
	{ "heap profile: 1: 8 [0: 0] @ heap_v3/1024\n", "not a heap profile of jemalloc" },
	{ "heap profile: 1: 8 [0: 0] @ heap_v2/1\nx\n", "line 2, byte 38: not a line" },
	{ "--- symbol\n0x1 a\n", "line 2, byte 11: the file ends before the profile" },
	{ "--- symbol\n0x1 a\n---\n--- heap\n", "line 4, byte 21: the file ends before" },
	{ "--- symbol\n0x1\n---\nheap_v2/1\n", "line 2, byte 11: not an address and" },
	{ "--- symbol\n#0x1 a\n---\nheap_v2/1\n", "line 2, byte 11: not a call" },
	{ "heap_v2/0\n", "not a heap profile" },
	{ "heap profile: 1: 8 [0: 0] @ heap/\n", "not a heap profile" },
	{ "heap profile: 1: 8 [0: 0] @ heap/2x\n", "not a heap profile" },
	{ "heap profile: 1: 8 [0: 0] heap/2\n", "not a heap profile" },
	{ "heap profile: 1: 8 [0: 0] @ heap/2\n1: 8 [0: 0] @ 0x\n", "not an address" },
	{ "heap profile: 1: 8 [0: 0] @ heap/2\n1: 8 [0: 0] 0x1\n", "not a line" },
	/* Such a small part of a sample would stand for infinitely many objects. */
	{ "heap_v2/18446744073709551615\n@ 0x1\n t*: 18446744073709551615: 1 [0: 0]\n",
	  "objects without a size" },
	{ "heap_v2/1\n@ 0x1\n tx: 1: 1 [0: 0]\n", "not the counts of a thread" },
	{ "heap_v2/1\nMAPPED_LIBRARIES:\n# pid x\n", "line 3, byte 28: not a number" },
	{ "heap_v2/1\nMAPPED_LIBRARIES:\n# pid 9223372036854775808\n", "not a number" },
	{ CODE "# build-id 1000\n", "not the build id of a mapping" },
	{ CODE "# build-id 1000-2000\n", "not the build id of a mapping" },
	{ CODE "# build-id 1000-2000 00fg\n", "not a build id" },
	{ CODE "# build-id 1000-2000 " X64 X64 "0\n", "not a build id" },
	{ CODE "1fff-3000 r-xp 0 0:0 1 /b\n", "line 4, byte 54: a mapping that is not above" },
	{ CODE "0-1000 r-xp 0 0:0 1 /b\n", "a mapping that is not above the last" },
	{ CODE "2000-2000 r-xp 0 0:0 1 /b\n", "not a line of" },
	{ CODE "2000-3000 r-xp 0 0:0 /b\n", "not a line of" },
	{ CODE "2000-3000 r-x\n", "not a line of" },
	{ "heap_v2/1\nMAPPED_LIBRARIES:\n2000-1000 r-xp 0 0:0 0\n",
	  "line 3, byte 28: not a line of" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct profile p = { .period = 77 };
		struct err err = ERR_INIT;

		if (!profile_parse(&p, refused[i].text, strlen(refused[i].text), NULL, &err))
			fail_msg("'%s' is not refused", refused[i].text);
		assert_int_equal(err.code, ERR_FAILED);
		if (!strstr(said(&err), refused[i].said))
			fail_msg("'%s' says '%s', not '%s'", refused[i].text, said(&err),
				 refused[i].said);
		assert_int_equal(p.period, 77);
		assert_same_in_pieces(refused[i].text, strlen(refused[i].text));
	}
}

/* A NUL byte ends a string in C, so it cannot be part of one. */
static void test_no_text(void **state)
{
	static const struct {
		const char *text, *said;
		size_t len;
	} bad[] = {
#define WITH(text, said) { text, said, sizeof(text) - 1 }
		WITH("heap_v2/1\n t7: 1: 1 [0: 0] a\0b\n", "a thread name that is not text"),
		WITH(CODE "# comm a\0b\n", "not text"),
		WITH(CODE "2000-3000 r-xp 0 0:0 1 /a\0b\n", "not a line of /proc/PID/maps"),
		WITH("--- symbol\n0x1 a\0b\n---\nheap_v2/1\n", "not an address and"),
		WITH("--- symbol\n#0x1 1\ta\0\tb\tc\n---\nheap_v2/1\n", "not a call"),
#undef WITH
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct profile p = { .period = 77 };
		struct err err = ERR_INIT;

		assert_int_equal(profile_parse(&p, bad[i].text, bad[i].len, NULL, &err), -1);
		if (!strstr(said(&err), bad[i].said))
			fail_msg("%zu: '%s', not '%s'", i, said(&err), bad[i].said);
		assert_int_equal(p.period, 77);
		assert_same_in_pieces(bad[i].text, bad[i].len);
	}
}

/* Text that is escaped as \xNN, and text that only looks like it. */
static void test_escaped(void **state)
{
	static const char *const texts[][2] = {
		{ "a\\x0ab", "a\nb" },	 { "\\xff\\xFe", "\xff\\xFe" },
		{ "\\x00", "\\x00" },	 { "\\x0", "\\x0" },
		{ "\\x5cx41", "\\x41" }, { "\\y41\\x4g", "\\y41\\x4g" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[256];
		struct profile p;

		snprintf(text, sizeof(text), CODE "# comm %s\n", texts[i][0]);
		p = parsed(text, NULL);
		assert_string_equal(p.facts.comm, texts[i][1]);
		profile_fini(&p);
	}
}

/* All threads with a given name; their parts stay separate. */
static void test_thread_name(void **state)
{
	static const char text[] = "heap_v2/1024\n"
				   "  t*: 6: 6144 [0: 0]\n"
				   "  t1: 1: 1024 [0: 0] work\n"
				   "  t2: 2: 2048 [0: 0] worker\n"
				   "  t3: 3: 3072 [0: 0] work\n"
				   "@ 0x401010\n"
				   "  t*: 6: 6144 [0: 0]\n"
				   "  t1: 1: 1024 [0: 0]\n"
				   "  t2: 2: 2048 [0: 0]\n"
				   "  t3: 3: 3072 [0: 0]\n"
				   "  t4: 1: 1024 [0: 0]\n" MAPS;
	struct profile_options options = { .only_thread = true, .thread_name = "work" };
	struct profile p = parsed(text, &options);

	(void)state;
	assert_int_equal(p.n_stacks, 2);
	assert_int_equal(p.threads[p.stacks[0].thread].id, 1);
	assert_int_equal(p.threads[p.stacks[1].thread].id, 3);
	assert_true(p.stacks[1].sampled[PROFILE_INUSE_SPACE] == 3072);
	profile_fini(&p);
	options.thread_name = "";
	p = parsed(text, &options);
	assert_int_equal(p.n_stacks, 0);
	profile_fini(&p);
}

/* A truncated profile is either rejected, or complete up to its end. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(v2) - 1; len++) {
		char *part = malloc(len ? len : 1);
		struct profile p = { 0 };
		struct err err = ERR_INIT;

		memcpy(part, v2, len);
		if (profile_parse(&p, part, len, NULL, &err) == 0)
			assert_int_equal(part[len - 1], '\n');
		assert_same_in_pieces(part, len);
		profile_fini(&p);
		free(part);
	}
}

static void test_deep(void **state)
{
	enum { DEPTH = 4097 };
	char *text = malloc(64 + 8 * DEPTH), *at = text;
	struct profile p = { 0 };
	struct err err = ERR_INIT;

	(void)state;
	at += sprintf(at, "heap_v2/1024\n@");
	for (int i = 0; i < DEPTH; i++)
		at += sprintf(at, " 0x%x", i + 16);
	at += sprintf(at, "\n t*: 1: 1 [0: 0]\n");
	assert_int_equal(profile_parse(&p, text, (size_t)(at - text), NULL, &err), -1);
	assert_non_null(strstr(said(&err), "more than 4096 calls"));
	free(text);
}

static void test_pieces(void **state)
{
	char text[sizeof(symbolized) + sizeof(v2)];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", symbolized, v2);
	assert_same_in_pieces(text, strlen(text));
	assert_same_in_pieces(v1, strlen(v1));
	assert_same_in_pieces(everything, strlen(everything));
}

/* A line longer than a piece. */
static void test_long_line(void **state)
{
	enum { LONG = 1 << 20 };
	char *text = malloc(sizeof(v2) + LONG + 1);

	(void)state;
	strcpy(text, v2);
	memset(text + sizeof(v2) - 1, 'x', LONG);
	strcpy(text + sizeof(v2) - 1 + LONG, "\n");
	assert_same_in_pieces(text, strlen(text));
	free(text);
}

static void test_pieces_fail(void **state)
{
	struct pieces broken = { .at = v2, .left = sizeof(v2) - 1, .step = 50, .fails = true };
	struct pieces endless = { .at = v2, .left = 13, .step = 50, .endless = true };
	struct profile p = { .period = 77 };
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(profile_parse_pieces(&p, next_bytes, &broken, NULL, &err), -1);
	assert_int_equal(err.ids[0], ERROR_FILE_UNREADABLE);
	assert_int_equal(profile_parse_pieces(&p, next_bytes, &endless, NULL, &err), -1);
	assert_int_equal(err.ids[0], ERROR_LINE_TOO_LONG);
	assert_int_equal(p.period, 77);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go),	    cmocka_unit_test(test_v2),
		cmocka_unit_test(test_scale),	    cmocka_unit_test(test_threads),
		cmocka_unit_test(test_parts),	    cmocka_unit_test(test_v1),
		cmocka_unit_test(test_symbolized),  cmocka_unit_test(test_facts),
		cmocka_unit_test(test_bad),	    cmocka_unit_test(test_cut),
		cmocka_unit_test(test_deep),	    cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_long_line),   cmocka_unit_test(test_pieces_fail),
		cmocka_unit_test(test_alloc_space), cmocka_unit_test(test_other_counts),
		cmocka_unit_test(test_no_text),	    cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_thread_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
