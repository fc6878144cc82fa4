// SPDX-License-Identifier: Apache-2.0
#include "ops/record/files.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ops/dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".heap"
#define CHECKED 1000 /* of a series, before it begins */

static int no_memory(struct err *err)
{
	return err_sys(err, ERR_FAILED, ENOMEM, "cannot keep the name of the output");
}

static char *with_part(const char *stem, const char *part)
{
	char *name = NULL;

	return asprintf(&name, "%s.%s" SUFFIX, stem, part) < 0 ? NULL : name;
}

/* Names that were not given have a time in them, and are new. */
static int check_series(const struct record_files *f, const struct ops_record_request *r,
			struct err *err)
{
	uint64_t n = 0;

	if (r->file && r->interval_ms && r->duration_ms)
		n = (r->duration_ms - 1) / r->interval_ms;
	for (unsigned int i = 1; i <= n && i <= CHECKED; i++) {
		_cleanup_(output_close) struct output o = OUTPUT_INIT;
		_cleanup_(cleanup_free) char *name = record_files_name(f, i);

		if (!name)
			return no_memory(err);
		if (output_open(&o, name, f->force, err))
			return -1;
	}
	return 0;
}

int record_files_open(struct record_files *f, const struct proc *p,
		      const struct ops_record_request *r, struct err *err)
{
	_cleanup_(cleanup_free) char *last = r->file ? strdup(r->file) : dump_name(p);
	_cleanup_(cleanup_free) char *first = NULL;

	f->force = r->force;
	f->stem = last ? strndup(last, text_stem(last, SUFFIX)) : NULL;
	first = f->stem ? with_part(f->stem, "base") : NULL;
	if (!first)
		return no_memory(err);
	if (output_open(&f->first, first, r->force, err) ||
	    output_open(&f->last, last, r->force, err))
		return -1;
	return check_series(f, r, err);
}

void record_files_close(struct record_files *f)
{
	output_close(&f->first);
	output_close(&f->last);
	free(f->stem);
	f->stem = NULL;
}

int record_files_room(const struct record_files *f, struct err *err)
{
	return output_room(&f->last, 2 * f->largest, err);
}

int record_files_put(struct record_files *f, struct output *o, int fd, uint64_t bytes,
		     uint64_t deadline_ms, struct err *err)
{
	if (bytes > f->largest)
		f->largest = bytes;
	return output_commit(o, fd, bytes, deadline_ms, err);
}

char *record_files_name(const struct record_files *f, unsigned int i)
{
	char part[16];

	snprintf(part, sizeof(part), "%04u", i);
	return with_part(f->stem, part);
}

unsigned int record_files_oldest(const struct record_files *f)
{
	return f->keep && f->n_series > f->keep ? f->n_series - f->keep + 1 : 1;
}

void record_files_left(const struct record_files *f, struct err *err)
{
	unsigned int n = f->n_series - record_files_oldest(f) + 1;
	_cleanup_(cleanup_free) char *newest = record_files_name(f, f->n_series);
	char safe[2][200];

	if (!f->largest || !newest)
		return;
	output_safe(f->first.path, safe[0], sizeof(safe[0]));
	if (!f->n_series)
		err_fix(err, "there is only the profile of the beginning, %s", safe[0]);
	else
		err_fix(err, "see what was dumped until then: %s, and %u up to %s", safe[0], n,
			output_safe(newest, safe[1], sizeof(safe[1])));
}

static void remove_oldest(const struct record_files *f)
{
	_cleanup_(cleanup_free) char *name = NULL;

	if (!f->keep || f->n_series <= f->keep)
		return;
	name = record_files_name(f, f->n_series - f->keep);
	if (name)
		unlink(name);
}

int record_files_next(struct record_files *f, int fd, uint64_t bytes, uint64_t deadline_ms,
		      struct err *err)
{
	_cleanup_(output_close) struct output o = OUTPUT_INIT;
	_cleanup_(cleanup_free) char *name = record_files_name(f, f->n_series + 1);

	if (!name)
		return no_memory(err);
	if (output_open(&o, name, f->force, err) ||
	    record_files_put(f, &o, fd, bytes, deadline_ms, err))
		return -1;
	f->n_series++;
	remove_oldest(f);
	return 0;
}
