// SPDX-License-Identifier: Apache-2.0
#include "ops/report.h"

#include "base/cleanup.h"
#include "ops/output.h"
#include "ops/profile_file.h"
#include "profile/combine.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

void ops_report_fini(struct ops_report *report)
{
	profile_fini(&report->profile);
	*report = (struct ops_report){ 0 };
}

static int check_thread(const struct profile *p, const struct profile_options *options,
			struct err *err)
{
	if (!options->only_thread)
		return 0;
	for (size_t i = 0; i < p->n_threads; i++) {
		if (p->threads[i].id == options->thread)
			return 0;
	}
	return err_set(err, ERR_FAILED, "the profile has no thread %llu",
		       (unsigned long long)options->thread);
}

static int name_and_select(const struct ops_report_request *r, struct profile *p, struct err *err)
{
	if (!p->symbols && !p->n_mappings && p->n_stacks && r->symbols.tell)
		r->symbols.tell(
			"the profile has no MAPPED_LIBRARIES, without which no address gets "
			"a name: it may have been cut short");
	if (!p->symbols && ops_symbolise(p, &r->symbols, err))
		return -1;
	if (r->jeprof)
		return profile_names_jeprof(p, err) || profile_filter(p, &r->filter, err) ||
				       profile_regroup_jeprof(p, r->grain, err)
			       ? -1
			       : 0;
	if (profile_filter(p, &r->filter, err))
		return -1;
	return r->whole ? 0 : profile_regroup(p, r->grain, err);
}

int ops_report(const struct ops_report_request *request, struct ops_report *out, struct err *err)
{
	_cleanup_(ops_report_fini) struct ops_report got = { 0 };
	struct profile *p = &got.profile;

	if (profile_file_read_all(request->files, request->n_files, request->base,
				  &request->options, p, err) ||
	    check_thread(p, &request->options, err))
		return -1;
	if (request->drop_negative)
		profile_drop_negative(p);
	for (int t = 0; t < PROFILE_TYPES; t++)
		got.total[t] = profile_total(p, (enum profile_type)t);
	if (name_and_select(request, p, err))
		return -1;
	*out = got;
	got = (struct ops_report){ 0 };
	return 0;
}

/* Into a memory file: what the disk gets is complete, and has room there. */
static int fill(int fd, int (*write)(FILE *out, const void *ctx, struct err *err), const void *ctx,
		struct err *err)
{
	_cleanup_(cleanup_fclose) FILE *f = NULL;
	int copy = dup(fd);

	f = copy < 0 ? NULL : fdopen(copy, "w");
	if (!f) {
		if (copy >= 0)
			close(copy);
		return err_sys(err, ERR_FAILED, errno, "cannot open a memory file");
	}
	if (write(f, ctx, err))
		return -1;
	return fflush(f) ? err_sys(err, ERR_OUTPUT, errno, "cannot fill a memory file") : 0;
}

int ops_write_file(const char *path, bool force,
		   int (*write)(FILE *out, const void *ctx, struct err *err), const void *ctx,
		   struct err *err)
{
	_cleanup_(output_close) struct output output = OUTPUT_INIT;
	_cleanup_(cleanup_close) int fd = -1;
	struct stat st;

	if (output_open(&output, path, force, err))
		return -1;
	fd = memfd_create("report", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(err, ERR_FAILED, errno, "cannot make a memory file");
	if (fill(fd, write, ctx, err))
		return -1;
	if (fstat(fd, &st))
		return err_sys(err, ERR_FAILED, errno, "cannot look at a memory file");
	if (output_room(&output, (uint64_t)st.st_size, err))
		return -1;
	return output_commit(&output, fd, (uint64_t)st.st_size, err);
}
