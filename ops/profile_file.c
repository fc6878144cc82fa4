// SPDX-License-Identifier: Apache-2.0

#include "ops/profile_file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "io/archive.h"
#include "io/errand.h"
#include "ops/bundle.h"
#include "ops/dump_file_name.h"
#include "ops/explain.h"
#include "profile/combine.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define HEAD_MAX (64u << 10)
#define UNPACKED_MAX (UINT64_C(2) << 30) /* a small file may expand to a huge one */
#define PPROF_MAX (UINT64_C(512) << 20)	 /* uncompressed */
#define GZIP_WINDOW (15 + 16)

/* A file being read into memory. */
struct source {
	int fd;
	uint64_t left; /* bytes that may still be read */
	bool whole;    /* anything beyond them is ignored */
	size_t n_head, head_at;
	char head[HEAD_MAX + 1]; /* bytes read to detect the format, and a 0 */
};

static ssize_t read_some(struct source *s, char *buf, size_t room, struct err *err)
{
	ssize_t n;

	if (!s->left)
		return s->whole ? 0 : err_raise(err, ERROR_FILE_TOO_LONG);
	do
		n = read(s->fd, buf, room < s->left ? room : (size_t)s->left);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_raise_sys(err, ERROR_FILE_UNREADABLE, errno);
	s->left -= (uint64_t)n;
	return n;
}

static ssize_t next_bytes(void *ctx, char *buf, size_t room, struct err *err)
{
	struct source *s = ctx;
	size_t n = s->n_head - s->head_at;

	if (!n)
		return read_some(s, buf, room, err);
	n = n < room ? n : room;
	memcpy(buf, s->head + s->head_at, n);
	s->head_at += n;
	return (ssize_t)n;
}

/* A pipe may return one byte at a time. */
static int read_head(struct source *s, struct err *err)
{
	ssize_t n = 1;

	while (n && s->n_head < HEAD_MAX) {
		n = read_some(s, s->head + s->n_head, HEAD_MAX - s->n_head, err);
		if (n < 0)
			return -1;
		s->n_head += (size_t)n;
	}
	return 0;
}

static int no_program(const struct source *s, struct err *err)
{
	if (s->n_head < SELFMAG || memcmp(s->head, ELFMAG, SELFMAG) != 0)
		return 0;
	err_raise(err, ERROR_IS_PROGRAM);
	return err_advise(err, FIX_PASS_ONLY_PROFILES);
}

static int read_all(profile_more_fn *more, void *ctx, uint64_t max, char **bytes, size_t *len,
		    struct err *err)
{
	_cleanup_(cleanup_free) char *buf = NULL;
	size_t room = 0, used = 0;
	ssize_t n = 1;

	while (n) {
		if (used == room) {
			char *bigger = realloc(buf, room ? 2 * room : 2 * HEAD_MAX);

			if (!bigger)
				return err_raise(err, ERROR_FILE_TOO_LARGE_FOR_MEMORY);
			buf = bigger;
			room = room ? 2 * room : 2 * HEAD_MAX;
		}
		n = more(ctx, buf + used, room - used, err);
		if (n < 0)
			return -1;
		used += (size_t)n;
		if (used > max)
			return err_raise(err, ERROR_FILE_TOO_LONG);
	}
	*bytes = take_ptr(buf);
	*len = used;
	return 0;
}

enum { BUNDLED_PROFILE, BUNDLED_EXPLANATION, BUNDLED };

static void bundled_fini(struct bundle_file (*files)[BUNDLED])
{
	for (size_t i = 0; i < BUNDLED; i++)
		free((*files)[i].content);
}

/* Reads the profile in a bundle that contains its names. */
static int parse_bundle(struct source *s, const struct profile_options *options,
			struct profile *out, struct err *err)
{
	static const char *const profiles[] = { "profile.raw", "profile.heap", NULL };
	static const char *const explanations[] = { BUNDLE_EXPLAIN, NULL };
	_cleanup_(cleanup_free) char *packed = NULL, *text = NULL;
	_cleanup_(bundled_fini) struct bundle_file files[BUNDLED] = {
		[BUNDLED_PROFILE] = { .names = profiles, .max = UNPACKED_MAX },
		[BUNDLED_EXPLANATION] = { .names = explanations, .max = EXPLAIN_TEXT_MAX },
	};
	const struct bundle_file *profile = &files[BUNDLED_PROFILE];
	const struct bundle_file *explanation = &files[BUNDLED_EXPLANATION];
	struct profile_facts facts;
	size_t len;

	if (read_all(next_bytes, s, PROFILE_FILE_MAX, &packed, &len, err) ||
	    bundle_find(packed, len, files, BUNDLED, err) ||
	    profile_parse(out, profile->content, profile->len, options, err))
		return -1;
	/* Where the memory was: the profile is complete without it. */
	if (!explanation->content)
		return 0;
	facts = out->facts;
	facts.explain = text = strndup(explanation->content, explanation->len);
	return text ? profile_keep_facts(out, &facts, err) : err_no_memory(err);
}

/* Our dumps contain their time; for others it is that of the file, and unknown for a pipe. */
static void set_written(struct profile *p, int fd)
{
	struct stat st;

	p->written_ns = p->facts.time_ns;
	if (!p->written_ns && !fstat(fd, &st) && S_ISREG(st.st_mode))
		p->written_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
}

/* --- gzip(1) files of a profile --- */

struct unpacking {
	struct source *from;
	z_stream z;
	uint64_t left; /* bytes that it may still expand to */
	bool ended;    /* one member of the file has ended; another may follow */
	uint8_t packed[HEAD_MAX];
};

/* profile_more_fn */
static ssize_t next_unpacked(void *ctx, char *buf, size_t room, struct err *err)
{
	struct unpacking *u = ctx;
	uInt most = (uInt)(room < HEAD_MAX ? room : HEAD_MAX);

	u->z.next_out = (uint8_t *)buf;
	u->z.avail_out = most;
	while (u->z.avail_out == most) {
		int status;

		if (!u->z.avail_in) {
			ssize_t n = next_bytes(u->from, (char *)u->packed, sizeof(u->packed), err);

			if (!n && !u->ended)
				return err_raise(err, ERROR_PACKED_CUT_SHORT);
			if (n <= 0)
				return n;
			u->z.next_in = u->packed;
			u->z.avail_in = (uInt)n;
		}
		if (u->ended)
			inflateReset(&u->z);
		status = inflate(&u->z, Z_NO_FLUSH);
		u->ended = status == Z_STREAM_END;
		if (status != Z_OK && status != Z_BUF_ERROR && !u->ended)
			return err_raise(err, ERROR_ARCHIVE_FAILED, .what = "unpack it",
					 .text = u->z.msg ? u->z.msg : zError(status));
	}
	most -= u->z.avail_out;
	if (most > u->left)
		return err_raise(err, ERROR_UNPACKED_TOO_LARGE, .max = (int64_t)UNPACKED_MAX);
	u->left -= most;
	return most;
}

enum content { CONTENT_TEXT, CONTENT_PPROF, CONTENT_BUNDLE };

#define TAR_MAGIC "ustar" /* POSIX.1-1988: ustar, pax; and GNU tar's own */
#define TAR_MAGIC_AT 257

static bool is_text(const char *begin)
{
	return text_begins(begin, "heap") || text_begins(begin, "--- ");
}

/*
 * May it be a message of pprof? Nothing identifies one: it begins with the tag of one of the 14
 * fields of a Profile, with a number or a length, and is not text.
 */
static bool is_pprof(const char *begin, size_t n)
{
	int field = n ? (unsigned char)begin[0] >> 3 : 0, wire = n ? begin[0] & 7 : 0;

	if (is_text(begin) || field < 1 || field > 14 || (wire != 0 && wire != 2))
		return false;
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)begin[i] < ' ' && !isspace((unsigned char)begin[i]))
			return true;
	}
	return false;
}

/* The content of a compressed file. */
static enum content packed_content(const struct source *s)
{
	char begin[TAR_MAGIC_AT + sizeof(TAR_MAGIC)] = { 0 };
	z_stream z = { .next_in = (uint8_t *)s->head, .avail_in = (uInt)s->n_head };

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return CONTENT_BUNDLE;
	z.next_out = (uint8_t *)begin;
	z.avail_out = sizeof(begin);
	while (inflate(&z, Z_SYNC_FLUSH) == Z_STREAM_END && z.avail_in && z.avail_out)
		inflateReset(&z);
	inflateEnd(&z);
	if (text_begins(begin + TAR_MAGIC_AT, TAR_MAGIC))
		return CONTENT_BUNDLE;
	if (is_text(begin))
		return CONTENT_TEXT;
	return is_pprof(begin, sizeof(begin) - z.avail_out) ? CONTENT_PPROF : CONTENT_BUNDLE;
}

/* pprof's format is a single message, which is read completely. */
static int parse_pprof(profile_more_fn *more, void *ctx, const struct profile_options *options,
		       struct profile *out, struct err *err)
{
	_cleanup_(cleanup_free) char *bytes = NULL;
	size_t len;

	return read_all(more, ctx, PPROF_MAX, &bytes, &len, err) ||
			       profile_parse_pprof(out, bytes, len, options, err)
		       ? -1
		       : 0;
}

static int parse_packed(struct source *s, enum content content,
			const struct profile_options *options, struct profile *out, struct err *err)
{
	_cleanup_(cleanup_free) struct unpacking *u = calloc(1, sizeof(*u));
	int failed;

	if (!u || inflateInit2(&u->z, GZIP_WINDOW) != Z_OK)
		return err_no_memory(err);
	u->from = s;
	u->left = UNPACKED_MAX;
	failed = content == CONTENT_PPROF
			 ? parse_pprof(next_unpacked, u, options, out, err)
			 : profile_parse_pieces(out, next_unpacked, u, options, err);
	inflateEnd(&u->z);
	return failed;
}

static int read_path(const char *path, const struct profile_options *options, struct profile *out,
		     struct err *err)
{
	_cleanup_(cleanup_close) int fd = -1;
	struct source s = { .left = PROFILE_FILE_MAX };
	enum content content;
	int failed;

	fd = errand_open(path);
	if (fd < 0)
		return err_raise_sys(
			err, errno == EISDIR ? ERROR_FILE_UNREADABLE : ERROR_FILE_UNOPENED, errno);
	s.fd = fd;
	if (read_head(&s, err) || no_program(&s, err))
		return -1;
	if (is_pprof(s.head, s.n_head))
		failed = parse_pprof(next_bytes, &s, options, out, err);
	else if (!bundle_is(s.head, s.n_head))
		failed = profile_parse_pieces(out, next_bytes, &s, options, err);
	else if ((content = packed_content(&s)) == CONTENT_BUNDLE)
		failed = parse_bundle(&s, options, out, err);
	else
		failed = parse_packed(&s, content, options, out, err);
	if (failed)
		return -1;
	set_written(out, fd);
	return 0;
}

int profile_file_read(const char *path, const struct profile_options *options, struct profile *out,
		      struct err *err)
{
	if (read_path(path, options, out, err))
		return err_within(err, ERROR_IN_FILE, .path = path);
	return 0;
}

int profile_file_read_fd(int fd, uint64_t bytes, const struct profile_options *options,
			 struct profile *out, struct err *err)
{
	struct source s = { .fd = fd, .left = bytes, .whole = true };

	if (bytes >= PROFILE_FILE_MAX || lseek(fd, 0, SEEK_SET) < 0)
		return err_raise(err, ERROR_PROFILE_UNREADABLE);
	if (read_head(&s, err) || no_program(&s, err))
		return -1;
	if (bundle_is(s.head, s.n_head)) {
		err_raise(err, ERROR_IS_PACKED);
		return err_advise(err, FIX_REPORT_READS_BUNDLES);
	}
	if (profile_parse_pieces(out, next_bytes, &s, options, err))
		return -1;
	set_written(out, fd);
	return 0;
}

/* --- several --- */

/* The process of a profile in a file, as far as its content or name says. */
struct origin {
	int64_t pid; /* in the profile; 0: unknown */
	char *host;  /* raw; NULL: unknown */
	const char *path;
	size_t stem_len; /* of `path` up to its pid; 0: it has no pid */
};

struct origins {
	struct origin *v;
	size_t n;
};

static void close_origins(struct origins *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->v[i].host);
	free(o->v);
}

static bool are_one_process(const struct origin *a, const struct origin *b)
{
	if (a->pid && b->pid)
		return a->pid == b->pid && !strcmp(a->host ? a->host : "", b->host ? b->host : "");
	return a->stem_len && a->stem_len == b->stem_len && !memcmp(a->path, b->path, a->stem_len);
}

/* Memory that is live in two dumps would count twice. */
static int refuse_snapshot(struct origins *origins, const char *path,
			   const struct profile_facts *facts, struct err *err)
{
	struct origin *o = &origins->v[origins->n];
	struct dump_file_name name = { 0 };

	(void)dump_file_name_parse(path, &name);
	*o = (struct origin){ facts->pid, NULL, path, name.stem_len };
	if (facts->host && !(o->host = strdup(facts->host)))
		return err_no_memory(err);
	for (size_t i = 0; i < origins->n; i++) {
		if (!are_one_process(&origins->v[i], o))
			continue;
		free(o->host);
		err_raise(err, ERROR_SNAPSHOTS, .file = origins->v[i].path, .path = path);
		return err_advise(err, FIX_COMPARE_SNAPSHOTS);
	}
	origins->n++;
	return 0;
}

/* Facts about the sum: only those on which all agree. */
static void join_facts(struct profile_facts *facts, const struct profile_facts *other)
{
	const char **texts[PROFILE_FACT_TEXTS], **others[PROFILE_FACT_TEXTS];
	struct profile_facts theirs = *other;

	profile_fact_texts(facts, texts);
	profile_fact_texts(&theirs, others);
	if (facts->pid != other->pid)
		facts->pid = 0;
	/* One after the other, or in parallel: no rate would be right for both. */
	if (facts->only_alloc_space)
		facts->duration_ns = 0;
	facts->allocated = facts->allocated && other->allocated <= INT64_MAX - facts->allocated
				   ? facts->allocated + other->allocated
				   : 0;
	if (!other->allocated)
		facts->allocated = 0;
	for (size_t i = 0; i < PROFILE_FACT_TEXTS; i++) {
		if (!*texts[i] || !*others[i] || strcmp(*texts[i], *others[i]) != 0)
			*texts[i] = NULL;
	}
}

static int add(struct profile *sum, size_t i, const struct profile_set *set,
	       struct origins *origins, struct err *err)
{
	_cleanup_(profile_fini) struct profile other = { 0 };
	const char *path = set->paths[i];

	if (profile_file_read(path, &set->options, &other, err) ||
	    (!set->add_snapshots && refuse_snapshot(origins, path, &other.facts, err)))
		return -1;
	if (!i) {
		*sum = other;
		other = (struct profile){ 0 };
		return 0;
	}
	if (ops_symbolize_pair(sum, &other, set->symbols, err))
		return -1;
	if (profile_merge(sum, &other, err))
		return err_within(err, ERROR_IN_FILE, .path = path);
	join_facts(&sum->facts, &other.facts);
	return 0;
}

int profile_file_read_all(const struct profile_set *set, struct profile *out, struct err *err)
{
	_cleanup_(close_origins) struct origins origins = { .v = calloc(set->n_paths + 1,
									sizeof(*origins.v)) };
	_cleanup_(profile_fini) struct profile got = { 0 };
	_cleanup_(profile_fini) struct profile base = { 0 };

	if (!origins.v)
		return err_no_memory(err);
	for (size_t i = 0; i < set->n_paths; i++) {
		if (add(&got, i, set, &origins, err))
			return -1;
	}
	if (set->base && (profile_file_read(set->base, &set->options, &base, err) ||
			  ops_symbolize_pair(&got, &base, set->symbols, err)))
		return -1;
	if (set->base && profile_subtract(&got, &base, err))
		return err_within(err, ERROR_IN_FILE, .path = set->base);
	*out = got;
	got = (struct profile){ 0 };
	return 0;
}
