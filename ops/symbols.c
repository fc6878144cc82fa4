// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "io/errand.h"
#include "io/memory_file.h"
#include "io/output.h"
#include "ops/ops.h"
#include "ops/render.h"
#include "ops/target/mapped.h"
#include "ops/target/open.h"
#include "profile/format/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct work {
	const struct proc *proc;
	const uint64_t *addresses;
	size_t n;
	struct ops_symbolize_options symbols;
};

/*
 * Writes a profile with one object per address, as if allocated by a call from there: the mappings
 * are then handled like those of jemalloc's profiles.
 */
static int write_text(FILE *f, const struct work *w, struct err *err)
{
	_cleanup_(cleanup_free) char *maps = NULL;
	size_t len;

	if (mapped_read(w->proc, &maps, &len, err))
		return -1;
	fputs("heap_v2/1\n  t*: 0: 0 [0: 0]\n", f);
	for (size_t i = 0; i < w->n; i++)
		if (w->addresses[i] != UINT64_MAX)
			fprintf(f, "@ 0x%" PRIx64 "\n  t*: 1: 1 [0: 0]\n", w->addresses[i] + 1);
	fputs("\nMAPPED_LIBRARIES:\n", f);
	fwrite(maps, 1, len, f);
	return 0;
}

static int make_profile(const struct work *w, struct profile *p, struct err *err)
{
	static const struct profile_options options = { 0 };
	_cleanup_(cleanup_free) char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int failed;

	if (!f)
		return err_no_memory(err);
	failed = write_text(f, w, err);
	if (fclose(f) && !failed)
		failed = err_no_memory(err);
	return failed || profile_parse(p, text, len, &options, err) ? -1 : 0;
}

static int write_names(FILE *out, const void *ctx, struct err *err)
{
	(void)err;
	profile_write_symbols(ctx, out);
	return 0;
}

static void name_confined(void *ctx)
{
	const struct work *w = ctx;
	_cleanup_(profile_fini) struct profile p = { 0 };
	struct err err = ERR_INIT;
	uint64_t bytes;
	int fd = -1;

	if (make_profile(w, &p, &err) || ops_symbolize(&p, &w->symbols, &err) ||
	    memory_file_write(write_names, &p, &fd, &bytes, &err))
		confined_reply(true, &err, NULL, -1);
	else
		errand_done(NULL, fd);
}

int ops_symbols(pid_t pid, const uint64_t *addresses, size_t n, const struct ops_options *options,
		int fd, struct err *err)
{
	_cleanup_(session_close) struct session s = SESSION_INIT;
	_cleanup_(cleanup_close) int names = -1;
	struct work w = { .proc = &s.proc, .addresses = addresses, .n = n };
	struct render_apart apart = {
		.what = "name addresses",
		.bytes = n * sizeof(*addresses),
		.symbols = &w.symbols,
		.fn = name_confined,
		.ctx = &w,
		.stop_fd = options->stop_fd,
	};
	uint64_t bytes, program;

	if (n > OPS_ADDRESSES_MAX)
		return err_raise(err, ERROR_TOO_MANY_ADDRESSES, .number = (int64_t)n,
				 .limit = OPS_ADDRESSES_MAX);
	if (session_open_proc(&s, pid, options, err))
		return -1;
	/* A name must not depend on the other addresses of the request. */
	w.symbols = (struct ops_symbolize_options){
		.pid = s.proc.pid,
		.pidfd = s.proc.pidfd,
		.debuginfod = options->debuginfod,
		.as_found = true,
	};
	program = proc_program(s.proc.mm_pid);
	apart.deadline_ms = s.timeout_ms;
	if (render_apart(&apart, &names, &bytes, err))
		return session_failed(&s, err);
	if (!proc_alive(&s.proc))
		return err_raise(err, ERROR_TARGET_ENDED, SESSION_ARGS(&s));
	/* A mix of names from two programs would be wrong. */
	if (proc_program_changed(s.proc.mm_pid, program))
		return err_raise(err, ERROR_TARGET_REPLACED, SESSION_ARGS(&s));
	return output_copy(fd, "the names", names, bytes, s.timeout_ms, err);
}
