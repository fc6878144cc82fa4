// SPDX-License-Identifier: Apache-2.0
#include "jemalloc/conf.h"

#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- options --- */

/*
 * Every option of every version from 3.0 on. An option whose limits or type changed has several
 * rows, which do not overlap.
 */

#define V(major, minor, patch) CONF_VERSION(major, minor, patch)
#define FIRST 0
#define NOW 0
#define NO_MAX INT64_MAX
#define PAGE 4096
#define HUGEPAGE (2 << 20)
#define LARGE_MAX 0x7000000000000000
#define SECONDS_MAX 18446744072

const int conf_versions[] = {
	V(3, 6, 0), V(4, 0, 4), V(4, 4, 0), V(4, 5, 0), V(5, 0, 1), V(5, 1, 0),
	V(5, 2, 0), V(5, 2, 1), V(5, 3, 0), V(5, 3, 1), 0,
};
_Static_assert(sizeof(conf_versions) / sizeof(int) == CONF_VERSIONS + 1, "one for each family");

#define BOOL(name, since, until, flags, id)                          \
	{                                                            \
		name, CONF_BOOL, flags, since, until, 0, 1, NULL, id \
	}
#define SIZE(name, since, until, flags, min, max)                                    \
	{                                                                            \
		name, CONF_UNSIGNED, flags, since, until, min, max, NULL, CONF_OTHER \
	}
#define SIGNED(name, since, until, min, max)                                   \
	{                                                                      \
		name, CONF_SIGNED, 0, since, until, min, max, NULL, CONF_OTHER \
	}
#define WORDS(name, type, since, until, flags, words)                    \
	{                                                                \
		name, type, flags, since, until, 0, 0, words, CONF_OTHER \
	}
#define OTHER(name, type, since, flags, max)                            \
	{                                                               \
		name, type, flags, since, NOW, 0, max, NULL, CONF_OTHER \
	}

const struct conf_option conf_options[] = {
	/* Options that may be abbreviated come first, in jemalloc's order. */
	WORDS("metadata_thp", CONF_WORD_CUT, V(5, 1, 0), NOW, CONF_CUT_KEY, "disabled auto always"),
	WORDS("dss", CONF_WORD_CUT, V(3, 1, 0), NOW, CONF_CUT_KEY, "disabled primary secondary"),
	WORDS("purge", CONF_WORD_CUT, V(4, 1, 0), V(5, 0, 0), CONF_CUT_KEY, "ratio decay"),
	WORDS("percpu_arena", CONF_WORD_CUT, V(5, 0, 0), NOW, CONF_CUT_KEY,
	      "percpu phycpu disabled"),
	WORDS("hpa_hugify_style", CONF_WORD_CUT, V(5, 3, 1), NOW, CONF_CUT_KEY,
	      "auto none eager lazy"),

	/* Profiling. */
	BOOL("prof", FIRST, NOW, CONF_PROFILING, CONF_PROF),
	{ "prof_prefix", CONF_TEXT, CONF_PROFILING, FIRST, NOW, 0, 4096, NULL, CONF_PREFIX },
	BOOL("prof_active", FIRST, NOW, CONF_PROFILING, CONF_PROF_ACTIVE),
	BOOL("prof_thread_active_init", V(4, 0, 0), NOW, CONF_PROFILING, CONF_THREAD_INIT),
	{ "lg_prof_sample", CONF_SIGNED, CONF_PROFILING, FIRST, V(4, 0, 0), 0, 63, NULL,
	  CONF_LG_SAMPLE },
	{ "lg_prof_sample", CONF_UNSIGNED, CONF_PROFILING | CONF_CLIP, V(4, 0, 0), NOW, 0, 63, NULL,
	  CONF_LG_SAMPLE },
	BOOL("prof_accum", FIRST, NOW, CONF_PROFILING, CONF_OTHER),
	SIZE("prof_bt_max", V(5, 3, 1), NOW, CONF_PROFILING | CONF_CLIP, 1, UINT32_MAX),
	{ "lg_prof_interval", CONF_SIGNED, CONF_PROFILING, FIRST, NOW, -1, 63, NULL,
	  CONF_LG_INTERVAL },
	BOOL("prof_gdump", FIRST, NOW, CONF_PROFILING, CONF_GDUMP),
	BOOL("prof_final", FIRST, NOW, CONF_PROFILING, CONF_FINAL),
	BOOL("prof_leak", FIRST, NOW, CONF_PROFILING, CONF_LEAK),
	BOOL("prof_leak_error", V(5, 3, 0), NOW, CONF_PROFILING, CONF_LEAK_ERROR),
	BOOL("prof_log", V(5, 2, 0), NOW, CONF_PROFILING, CONF_OTHER),
	BOOL("prof_pid_namespace", V(5, 3, 1), NOW, CONF_PROFILING, CONF_OTHER),
	{ "prof_recent_alloc_max", CONF_SIGNED, CONF_PROFILING, V(5, 3, 0), NOW, -1, NO_MAX, NULL,
	  CONF_OTHER },
	BOOL("prof_stats", V(5, 3, 0), NOW, CONF_PROFILING, CONF_OTHER),
	BOOL("prof_sys_thread_name", V(5, 3, 0), NOW, CONF_PROFILING, CONF_OTHER),
	WORDS("prof_time_resolution", CONF_WORD, V(5, 3, 0), NOW, CONF_PROFILING, "default high"),
	BOOL("prof_unbias", V(5, 3, 0), NOW, CONF_PROFILING, CONF_OTHER),

	/* The configuration itself, and reports. */
	BOOL("abort", FIRST, NOW, 0, CONF_OTHER),
	BOOL("abort_conf", V(5, 0, 0), NOW, 0, CONF_ABORT_CONF),
	BOOL("confirm_conf", V(5, 2, 1), NOW, 0, CONF_CONFIRM),
	BOOL("stats_print", FIRST, NOW, 0, CONF_OTHER),
	OTHER("stats_print_opts", CONF_TEXT, V(5, 0, 0), 0, NO_MAX),
	SIGNED("stats_interval", V(5, 3, 0), NOW, -1, NO_MAX),
	OTHER("stats_interval_opts", CONF_TEXT, V(5, 3, 0), 0, NO_MAX),
	OTHER("log", CONF_TEXT, V(5, 1, 0), CONF_SPECIAL, 999),

	/* Arenas, decay, thread caches. */
	SIZE("narenas", FIRST, V(5, 3, 0), 0, 1, NO_MAX),
	{ "narenas", CONF_NARENAS, 0, V(5, 3, 0), NOW, 1, NO_MAX, NULL, CONF_OTHER },
	OTHER("narenas_ratio", CONF_RATIO, V(5, 3, 0), 0, NO_MAX),
	BOOL("retain", V(5, 0, 0), NOW, 0, CONF_OTHER),
	SIGNED("lg_dirty_mult", FIRST, V(5, 0, 0), -1, 63),
	SIGNED("decay_time", V(4, 1, 0), V(5, 0, 0), -1, SECONDS_MAX),
	SIGNED("dirty_decay_ms", V(5, 0, 0), NOW, -1, SECONDS_MAX * 1000),
	SIGNED("muzzy_decay_ms", V(5, 0, 0), NOW, -1, SECONDS_MAX * 1000),
	BOOL("background_thread", V(5, 0, 0), NOW, 0, CONF_OTHER),
	SIZE("max_background_threads", V(5, 1, 0), NOW, CONF_CLIP, 1, 4096),
	BOOL("tcache", FIRST, NOW, 0, CONF_OTHER),
	{ "lg_tcache_max", CONF_SIGNED, 0, FIRST, V(5, 3, 0), -1, 63, NULL, CONF_LG_TCACHE_MAX },
	SIZE("lg_tcache_max", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, 0, 23),
	SIZE("lg_tcache_max", V(5, 3, 1), NOW, CONF_CLIP, 0, 15),
	SIZE("tcache_max", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, 0, 8 << 20),
	SIZE("tcache_max", V(5, 3, 1), NOW, CONF_CLIP, 0, 32 << 10),
	OTHER("tcache_ncached_max", CONF_RANGES, V(5, 3, 1), 0, NO_MAX),
	SIGNED("lg_tcache_nslots_mul", V(5, 3, 0), NOW, -16, 16),
	SIZE("tcache_nslots_small_min", V(5, 3, 0), NOW, CONF_CLIP, 1, 2048),
	SIZE("tcache_nslots_small_max", V(5, 3, 0), NOW, CONF_CLIP, 1, 2048),
	SIZE("tcache_nslots_large", V(5, 3, 0), NOW, CONF_CLIP, 1, 2048),
	SIZE("tcache_gc_incr_bytes", V(5, 3, 0), NOW, CONF_CLIP, 1024, NO_MAX),
	SIZE("tcache_gc_delay_bytes", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	SIZE("lg_tcache_flush_small_div", V(5, 3, 0), NOW, CONF_CLIP, 1, 16),
	SIZE("lg_tcache_flush_large_div", V(5, 3, 0), NOW, CONF_CLIP, 1, 16),
	SIGNED("mutex_max_spin", V(5, 3, 0), NOW, -1, NO_MAX),

	/* Size classes and the memory below. */
	SIZE("lg_chunk", FIRST, V(4, 0, 0), CONF_CLIP, 14, 63),
	SIZE("lg_chunk", V(4, 0, 0), V(5, 0, 0), CONF_CLIP, 16, 63),
	BOOL("thp", V(4, 5, 0), V(5, 0, 0), 0, CONF_OTHER),
	WORDS("thp", CONF_WORD_CUT, V(5, 1, 0), NOW, 0, "default always never"),
	SIZE("lg_extent_max_active_fit", V(5, 1, 0), NOW, 0, 0, 64),
	SIZE("oversize_threshold", V(5, 2, 0), NOW, 0, 0, LARGE_MAX),
	OTHER("bin_shards", CONF_RANGES, V(5, 2, 0), 0, NO_MAX),
	WORDS("slab_sizes", CONF_RANGES, V(5, 2, 0), V(5, 3, 0), 0, NULL),
	WORDS("slab_sizes", CONF_RANGES, V(5, 3, 0), NOW, 0, "default"),
	BOOL("trust_madvise", V(5, 3, 0), NOW, 0, CONF_OTHER),
	BOOL("cache_oblivious", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("huge_arena_pac_thp", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("disable_large_size_classes", V(5, 3, 1), NOW, 0, CONF_OTHER),
	OTHER("process_madvise_max_batch", CONF_UNSIGNED, V(5, 3, 1), CONF_CLIP, 128),
	SIZE("calloc_madvise_threshold", V(5, 3, 1), NOW, 0, 0, LARGE_MAX),
	BOOL("experimental_tcache_gc", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("hpa", V(5, 3, 0), NOW, 0, CONF_OTHER),
	SIZE("hpa_slab_max_alloc", V(5, 3, 0), NOW, CONF_CLIP, PAGE, HUGEPAGE),
	SIZE("hpa_hugification_threshold", V(5, 3, 0), NOW, CONF_CLIP, PAGE, HUGEPAGE),
	OTHER("hpa_hugification_threshold_ratio", CONF_RATIO, V(5, 3, 0), 0, 1),
	SIZE("hpa_hugify_delay_ms", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	BOOL("hpa_hugify_sync", V(5, 3, 1), NOW, 0, CONF_OTHER),
	SIZE("hpa_min_purge_interval_ms", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	SIZE("hpa_min_purge_delay_ms", V(5, 3, 1), NOW, 0, 0, NO_MAX),
	SIZE("hpa_purge_threshold", V(5, 3, 1), NOW, CONF_CLIP, PAGE, HUGEPAGE),
	OTHER("hpa_purge_threshold_ratio", CONF_RATIO, V(5, 3, 1), 0, 1),
	OTHER("hpa_dirty_mult", CONF_RATIO_OFF, V(5, 3, 0), 0, NO_MAX),
	SIZE("hpa_sec_nshards", V(5, 3, 0), NOW, CONF_CLIP, 0, NO_MAX),
	SIZE("hpa_sec_max_alloc", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, PAGE, NO_MAX),
	SIZE("hpa_sec_max_alloc", V(5, 3, 1), NOW, CONF_CLIP, PAGE, 32 << 10),
	SIZE("hpa_sec_max_bytes", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, PAGE, NO_MAX),
	SIZE("hpa_sec_max_bytes", V(5, 3, 1), NOW, CONF_CLIP, 256 << 10, NO_MAX),
	SIZE("hpa_sec_bytes_after_flush", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, PAGE, NO_MAX),
	SIZE("hpa_sec_batch_fill_extra", V(5, 3, 0), V(5, 3, 1), CONF_CLIP, 0, 512),
	SIZE("hpa_sec_batch_fill_extra", V(5, 3, 1), NOW, CONF_CLIP, 1, 512),
	SIGNED("experimental_hpa_max_purge_nhp", V(5, 3, 1), NOW, -1, NO_MAX),
	BOOL("experimental_hpa_start_huge_if_thp_always", V(5, 3, 1), NOW, 0, CONF_OTHER),
	BOOL("experimental_hpa_enforce_hugify", V(5, 3, 1), NOW, 0, CONF_OTHER),

	/* Filling, debugging. */
	BOOL("junk", FIRST, V(4, 0, 0), 0, CONF_OTHER),
	WORDS("junk", CONF_WORD, V(4, 0, 0), NOW, 0, "true false alloc free"),
	BOOL("zero", FIRST, NOW, 0, CONF_OTHER),
	SIZE("quarantine", FIRST, V(5, 0, 0), 0, 0, NO_MAX),
	BOOL("redzone", FIRST, V(5, 0, 0), 0, CONF_OTHER),
	BOOL("utrace", FIRST, NOW, CONF_SPECIAL, CONF_OTHER),
	BOOL("valgrind", FIRST, V(4, 0, 0), CONF_SPECIAL, CONF_OTHER),
	BOOL("xmalloc", FIRST, NOW, CONF_SPECIAL, CONF_OTHER),
	BOOL("experimental_infallible_new", V(5, 3, 0), NOW, 0, CONF_OTHER),
	WORDS("zero_realloc", CONF_WORD, V(5, 3, 0), NOW, 0, "alloc free abort"),
	OTHER("debug_double_free_max_scan", CONF_UNSIGNED, V(5, 3, 1), 0, NO_MAX),
	{ "lg_san_uaf_align", CONF_SIGNED, CONF_SPECIAL, V(5, 3, 0), NOW, -1, NO_MAX, NULL,
	  CONF_OTHER },
	SIZE("san_guard_small", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	SIZE("san_guard_large", V(5, 3, 0), NOW, 0, 0, NO_MAX),
	{ .name = NULL },
};

int conf_version_parse(const char *text)
{
	unsigned int major, minor, patch = 0;

	if (sscanf(text, "%2u.%2u.%2u", &major, &minor, &patch) < 2 || major < 3)
		return 0;
	return (int)CONF_VERSION(major, minor, patch);
}

const char *conf_version_text(int version, char *buf, size_t size)
{
	snprintf(buf, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return buf;
}

/* Compares like jemalloc: strncmp() with the length of the key. */
static bool matches(const struct conf_option *o, const char *key, size_t len)
{
	size_t whole = strlen(o->name);

	return (len == whole || (len < whole && (o->flags & CONF_CUT_KEY))) &&
	       !memcmp(o->name, key, len);
}

/* The option that this version recognizes in the `len` bytes at `key`, or NULL. */
static const struct conf_option *conf_option_find(const char *key, size_t len, int version)
{
	for (const struct conf_option *o = conf_options; o->name; o++) {
		if (o->since <= version && (!o->until || version < o->until) &&
		    matches(o, key, len))
			return o;
	}
	return NULL;
}

const struct conf_option *conf_option_named(const char *key, size_t len)
{
	const struct conf_option *found = NULL;

	for (const struct conf_option *o = conf_options; o->name; o++) {
		if (strlen(o->name) == len && !memcmp(o->name, key, len) &&
		    (!found || o->since >= found->since))
			found = o;
	}
	return found;
}

const char *conf_option_near(const char *key, size_t len)
{
	char word[TEXT_DISTANCE_MAX + 1];
	struct text_near near;

	if (len > TEXT_DISTANCE_MAX)
		return NULL;
	for (size_t i = 0; i < len; i++)
		word[i] = (char)tolower((unsigned char)key[i]);
	word[len] = '\0';
	text_near_begin(&near, word);
	for (const struct conf_option *o = conf_options; o->name; o++)
		text_near_try(&near, o->name);
	return near.best;
}

/* --- reading --- */

static bool in_name(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

enum conf_step conf_next(const char **at, struct conf_pair *pair, const char **bad)
{
	const char *c = *at;

	*pair = (struct conf_pair){ .key = c };
	*bad = NULL;
	if (!*c)
		return CONF_END;
	while (in_name(*c))
		c++;
	if (!*c)
		return CONF_ENDS_WITH_KEY;
	if (*c != ':') {
		*bad = c;
		return CONF_MALFORMED;
	}
	pair->key_len = (size_t)(c - pair->key);
	pair->value = c + 1;
	pair->value_len = strcspn(pair->value, ",");
	*at = pair->value + pair->value_len;
	if (**at == ',') {
		++*at;
		pair->last_comma = !**at;
	}
	return CONF_PAIR;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/*
 * Parse a number like malloc_strtoumax() with base 0: leading blanks and a sign, 0x and 0, and its
 * own overflow check, which misses some cases. Returns the end of the number: `text` when there is
 * none, NULL when it is too large.
 */
static const char *read_number(const char *text, uint64_t *n)
{
	const char *c = text, *first;
	bool negative = false;
	unsigned int base = 10;

	while (*c && strchr("\t\n\v\f\r ", *c))
		c++;
	if (*c == '-' || *c == '+')
		negative = *c++ == '-';
	first = c;
	*n = 0;
	if (*c == '0') {
		if ((c[1] == 'x' || c[1] == 'X') && isxdigit((unsigned char)c[2])) {
			base = 16;
			c += 2;
		} else if (c[1] >= '0' && c[1] <= '7') {
			base = 8;
			c++;
		} else if (c[1] != 'x' && c[1] != 'X') {
			return c + 1;
		}
	}
	for (; digit_value(*c) < (int)base; c++) {
		uint64_t next = *n * base + (uint64_t)digit_value(*c);

		if (next < *n)
			return NULL;
		*n = next;
	}
	if (negative)
		*n = -*n;
	return c == first ? text : c;
}

static struct conf_verdict verdict(enum conf_outcome outcome, const struct conf_option *o,
				   int64_t n)
{
	return (struct conf_verdict){ .outcome = outcome, .option = o, .n = n };
}

static struct conf_verdict ranged(const struct conf_option *o, int64_t n, bool low, bool high)
{
	if (!low && !high)
		return verdict(CONF_TAKEN, o, n);
	if (!(o->flags & CONF_CLIP))
		return verdict(CONF_OUT_OF_RANGE, o, 0);
	return verdict(CONF_CLIPPED, o, low ? o->min : o->max);
}

static struct conf_verdict judge_unsigned(const struct conf_option *o, const struct conf_pair *pair)
{
	uint64_t n;

	if (read_number(pair->value, &n) != pair->value + pair->value_len || !pair->value_len)
		return verdict(CONF_INVALID_VALUE, o, 0);
	return ranged(o, (int64_t)n, n < (uint64_t)o->min,
		      o->max != INT64_MAX && n > (uint64_t)o->max);
}

/*
 * Up to 5.2.1 it was strtol(3), which accepts no digits as 0 without an error, and detects overflow
 * of signed numbers.
 */
static struct conf_verdict judge_signed(const struct conf_option *o, const struct conf_pair *pair,
					int version)
{
	bool by_strtol = version < CONF_VERSION(5, 3, 0);
	uint64_t n = 0;

	if (!pair->value_len)
		return by_strtol ? ranged(o, 0, o->min > 0, false)
				 : verdict(CONF_INVALID_VALUE, o, 0);
	if (read_number(pair->value, &n) != pair->value + pair->value_len)
		return verdict(CONF_INVALID_VALUE, o, 0);
	if (by_strtol && n > INT64_MAX && !memchr(pair->value, '-', pair->value_len))
		return verdict(CONF_INVALID_VALUE, o, 0);
	return ranged(o, (int64_t)n, (int64_t)n<o->min, (int64_t)n> o->max);
}

static struct conf_verdict judge_word(const struct conf_option *o, const struct conf_pair *pair)
{
	const char *word = o->words;

	for (int64_t i = 0; *word; i++) {
		size_t len = strcspn(word, " ");
		bool fits = o->type == CONF_WORD ? len == pair->value_len : len >= pair->value_len;

		if (fits && !memcmp(word, pair->value, pair->value_len)) {
			struct conf_verdict v = verdict(CONF_TAKEN, o, i);

			v.word = word;
			v.word_len = len;
			return v;
		}
		word += len + strspn(word + len, " ");
	}
	return verdict(CONF_INVALID_VALUE, o, 0);
}

static bool value_is(const struct conf_pair *pair, const char *text)
{
	return strlen(text) == pair->value_len && !memcmp(text, pair->value, pair->value_len);
}

/* As fxp_parse(): 16 bits before the point, any number of digits after it. */
static struct conf_verdict judge_ratio(const struct conf_option *o, const struct conf_pair *pair)
{
	const char *c = pair->value;
	bool fraction = false;
	uint32_t whole = 0;

	if (o->type == CONF_RATIO_OFF && value_is(pair, "-1"))
		return verdict(CONF_TAKEN, o, -1);
	if (*c != '.' && !isdigit((unsigned char)*c))
		return verdict(CONF_INVALID_VALUE, o, 0);
	for (; isdigit((unsigned char)*c); c++) {
		whole = whole * 10 + (uint32_t)(*c - '0');
		if (whole >= 1u << 16)
			return verdict(CONF_INVALID_VALUE, o, 0);
	}
	if (*c == '.') {
		if (!isdigit((unsigned char)*++c))
			return verdict(CONF_INVALID_VALUE, o, 0);
		for (; isdigit((unsigned char)*c); c++)
			fraction |= *c != '0';
	}
	if (c != pair->value + pair->value_len || whole > o->max || (whole == o->max && fraction))
		return verdict(CONF_INVALID_VALUE, o, 0);
	return verdict(CONF_TAKEN, o, whole);
}

/* "FROM-TO:N", separated by "|". The valid numbers depend on the size classes. */
static struct conf_verdict judge_ranges(const struct conf_option *o, const struct conf_pair *pair)
{
	static const char marks[] = { '-', ':', '|' };
	const char *c = pair->value, *end = pair->value + pair->value_len;

	if (o->words && value_is(pair, o->words))
		return verdict(CONF_TAKEN, o, 0);
	do {
		for (size_t i = 0; i < sizeof(marks); i++) {
			uint64_t n;
			const char *stop = read_number(c, &n);

			if (!stop || stop == c || (i < 2 && *stop != marks[i]))
				return verdict(CONF_INVALID_SETTINGS, o, 0);
			c = i < 2 || *stop == marks[i] ? stop + 1 : stop;
		}
	} while (c < end);
	return verdict(CONF_TAKEN, o, 0);
}

struct conf_verdict conf_judge(const struct conf_pair *pair, int version, enum tristate with_prof)
{
	const struct conf_option *o = conf_option_find(pair->key, pair->key_len, version);
	int64_t len = (int64_t)pair->value_len;

	if (!o || ((o->flags & CONF_PROFILING) && with_prof == TRI_NO))
		return verdict(CONF_INVALID_PAIR, NULL, 0);
	switch (o->type) {
	case CONF_BOOL:
		if (value_is(pair, "true") || value_is(pair, "false"))
			return verdict(CONF_TAKEN, o, value_is(pair, "true"));
		return verdict(CONF_INVALID_VALUE, o, 0);
	case CONF_NARENAS:
		if (value_is(pair, "default"))
			return verdict(CONF_TAKEN, o, 0);
		return judge_unsigned(o, pair);
	case CONF_UNSIGNED:
		return judge_unsigned(o, pair);
	case CONF_SIGNED:
		return judge_signed(o, pair, version);
	case CONF_WORD:
	case CONF_WORD_CUT:
		return judge_word(o, pair);
	case CONF_RATIO:
	case CONF_RATIO_OFF:
		return judge_ratio(o, pair);
	case CONF_RANGES:
		return judge_ranges(o, pair);
	case CONF_TEXT:
		break;
	}
	return len <= o->max ? verdict(CONF_TAKEN, o, len) : verdict(CONF_CUT, o, o->max);
}

const char *conf_outcome_message(enum conf_outcome outcome)
{
	static const char *const messages[] = {
		[CONF_TAKEN] = NULL,
		[CONF_CLIPPED] = NULL,
		[CONF_CUT] = NULL,
		[CONF_INVALID_PAIR] = "Invalid conf pair",
		[CONF_INVALID_VALUE] = "Invalid conf value",
		[CONF_OUT_OF_RANGE] = "Out-of-range conf value",
		[CONF_INVALID_SETTINGS] = "Invalid settings",
	};

	return messages[outcome];
}

static bool names(const char *text, const struct conf_pair *of)
{
	struct conf_pair pair;
	const char *bad;

	while (conf_next(&text, &pair, &bad) == CONF_PAIR)
		if (pair.key_len == of->key_len && !memcmp(pair.key, of->key, of->key_len))
			return true;
	return false;
}

bool conf_merge(const char *had, const char *wanted, char *buf, size_t size)
{
	struct conf_pair pair;
	enum conf_step step;
	const char *bad;
	size_t used = 0;

	while ((step = conf_next(&had, &pair, &bad)) == CONF_PAIR && used < size) {
		if (!names(wanted, &pair))
			used += (size_t)snprintf(buf + used, size - used, "%.*s:%.*s,",
						 (int)pair.key_len, pair.key, (int)pair.value_len,
						 pair.value);
	}
	return step == CONF_END && used < size &&
	       (size_t)snprintf(buf + used, size - used, "%s", wanted) < size - used;
}

void conf_state_init(struct conf_state *state, int version, enum tristate with_prof)
{
	*state = (struct conf_state){ .version = version, .with_prof = with_prof };
	state->v[CONF_PROF_ACTIVE].n = 1;
	state->v[CONF_THREAD_INIT].n = 1;
	state->v[CONF_LG_SAMPLE].n = 19;
	state->v[CONF_LG_INTERVAL].n = -1;
	state->v[CONF_PREFIX].n = sizeof("jeprof") - 1;
	state->v[CONF_FINAL].n = version < CONF_VERSION(4, 0, 0);
}

static bool key_starts(const struct conf_pair *pair, const char *text)
{
	return pair->key_len >= strlen(text) && !memcmp(pair->key, text, strlen(text));
}

/* Unknown options of these kinds do not make jemalloc abort. */
static bool tolerated(const struct conf_pair *pair, int version)
{
	return (version >= CONF_VERSION(5, 2, 0) && key_starts(pair, "experimental_")) ||
	       (version >= CONF_VERSION(5, 3, 1) && key_starts(pair, "hpa_sec_bytes_after_flush"));
}

static void apply_pair(struct conf_state *state, const struct conf_pair *pair,
		       enum conf_source source)
{
	bool is_switch = key_starts(pair, "abort") && (pair->key_len == 5 || pair->key_len == 10);
	struct conf_verdict v = conf_judge(pair, state->version, state->with_prof);
	bool wrong = conf_outcome_message(v.outcome) && !tolerated(pair, state->version);

	state->had_error |= wrong;
	if (!conf_outcome_message(v.outcome)) {
		state->v[v.option->id].source = source;
		state->v[v.option->id].n = v.n;
	}
	if (state->version >= CONF_VERSION(5, 3, 0))
		state->had_error |= pair->last_comma;
	/*
	 * 5.0 aborts the program at the wrong pair, or at the next one that does not set abort or
	 * abort_conf; later versions abort after reading a source. Older ones have no abort_conf.
	 */
	if (state->version < CONF_VERSION(5, 1, 0) && state->v[CONF_ABORT_CONF].n)
		state->aborts |= wrong || (state->had_error && !is_switch);
}

void conf_state_apply(struct conf_state *state, const char *text, enum conf_source source)
{
	struct conf_pair pair;
	enum conf_step step;
	const char *bad;

	while (!state->aborts && (step = conf_next(&text, &pair, &bad)) != CONF_END) {
		if (step != CONF_PAIR) {
			state->had_error |= state->version >= CONF_VERSION(5, 3, 0);
			break;
		}
		apply_pair(state, &pair, source);
	}
	if (state->version >= CONF_VERSION(5, 1, 0) && state->v[CONF_ABORT_CONF].n)
		state->aborts |= state->had_error;
}

void conf_state_finish(struct conf_state *state)
{
	bool leak_error = state->v[CONF_LEAK_ERROR].n;

	if (leak_error && !state->v[CONF_FINAL].n && state->v[CONF_ABORT_CONF].n)
		state->aborts = true;
	if (leak_error)
		state->v[CONF_LEAK].n = 1;
	if (state->v[CONF_LEAK].n && !state->v[CONF_PROF].n) {
		state->v[CONF_PROF].n = 1;
		state->v[CONF_PROF].source = state->v[CONF_LEAK].source;
		state->v[CONF_GDUMP].n = 0;
		state->v[CONF_LG_INTERVAL].n = -1;
	}
}
