// SPDX-License-Identifier: Apache-2.0
#include "cli/apart.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/ink.h"
#include "base/spawn.h"
#include "base/text.h"
#include "cli/out.h"
#include "io/archive.h"
#include "io/memory_file.h"
#include "ops/apart/symbol_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536			    /* bytes printed at a time */
#define CPU_MAX_S 3600			    /* a profile of 16 GB takes minutes */
#define MAX_MS (UINT64_C(2000) * CPU_MAX_S) /* wall clock, for a child that sleeps */

#define SHELL "/bin/sh"
#define LESS "/usr/bin/less"

extern char **environ;

static bool to_terminal;

bool apart_to_terminal(void)
{
	return confined_inside() ? to_terminal : isatty(STDOUT_FILENO);
}

/* --- the pager --- */

/*
 * Output longer than the terminal is shown in a pager, as in git(1): JEPROF_CTL_PAGER, PAGER, or
 * less(1). With elevated rights (sudo, set-user-ID) it is always less, in a mode that can neither
 * start programs nor write files, as in systemctl(1): the user must not gain these rights.
 */
struct pager {
	pid_t pid;  /* 0: there is none */
	int stdout; /* the original stdout */
};
#define PAGER_INIT    \
	{             \
		0, -1 \
	}

enum pager_end {
	PAGER_NONE,	     /* it was not started */
	PAGER_SHOWED,	     /* to the end, or until the user quit */
	PAGER_SHOWED_NOTHING /* the command could not be run */
};

/* Does it take more lines than the terminal has? */
static bool is_long(int fd, uint64_t bytes, struct out_size terminal)
{
	static char text[PIECE];
	size_t lines = 0, column = 0;

	for (uint64_t at = 0; at < bytes && lines + 1 < terminal.lines;) {
		ssize_t n = pread(fd, text, sizeof(text), (off_t)at);

		if (n <= 0)
			return false;
		at += (uint64_t)n;
		for (ssize_t i = 0; i < n; i++) {
			bool wraps = column == terminal.columns;

			lines += wraps || text[i] == '\n';
			column = text[i] == '\n' ? 0
				 : wraps	 ? 1
						 : column + ((text[i] & 0xc0) != 0x80);
		}
	}
	return lines + 1 >= terminal.lines;
}

/* Are these not the rights of the login user? By sudo(8) or the like, or a set-user-ID bit. */
static bool has_borrowed_rights(void)
{
	static const char *const lenders[] = { "SUDO_UID", "DOAS_USER", "PKEXEC_UID" };
	const char *told = getenv("JEPROF_CTL_PAGERSECURE");
	char login[16] = "";
	int fd;

	if (told && *told)
		return strcmp(told, "0") != 0;
	if (getauxval(AT_SECURE) || geteuid() != getuid())
		return true;
	for (size_t i = 0; i < sizeof(lenders) / sizeof(*lenders); i++)
		if (getenv(lenders[i]))
			return true;
	fd = open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!read(fd, login, sizeof(login) - 1);
		close(fd);
	}
	/* (uid_t)-1: there was no login, as in a container. */
	return *login && strcmp(login, "4294967295") != 0 &&
	       strtoul(login, NULL, 10) != (unsigned long)getuid();
}

/* The pager; NULL: none. */
static const char *pager_command(void)
{
	const char *name = getenv("JEPROF_CTL_PAGER"), *term = getenv("TERM");

	if (!name)
		name = getenv("PAGER");
	if (!term || !strcmp(term, "dumb"))
		return NULL;
	if (!name)
		return "less";
	return *name && strcmp(name, "cat") != 0 ? name : NULL;
}

/*
 * If the first `bytes` of `fd` do not fit the terminal, and a pager is wanted, start one: stdout
 * then goes to it until pager_end().
 */
static void pager_begin(struct pager *pager, const struct args *args, int fd, uint64_t bytes)
{
	static const char *const against[] = { "LESSOPEN",	   "LESSCLOSE",
					       "LESSEDIT",	   "LESSKEY",
					       "LESSKEYIN",	   "LESSKEY_SYSTEM",
					       "LESSKEYIN_SYSTEM", "LESS_SHELL_LINES",
					       "LESSHISTFILE" };
	struct out_size terminal = out_size();
	const char *name = pager_command();
	char *const shell[] = { (char *)"sh", (char *)"-c", (char *)name, NULL };
	char *const less[] = { (char *)"less", NULL };
	struct spawn s = {
		.program = "less", .argv = less, .out = STDOUT_FILENO, .err = STDERR_FILENO
	};
	int ends[2];
	bool secure;
	pid_t pid;

	if (!terminal.lines || args->no_pager || !name || !is_long(fd, bytes, terminal) ||
	    pipe2(ends, O_CLOEXEC))
		return;
	secure = has_borrowed_rights();
	setenv("LESS", "FRX", secure);
	setenv("LV", "-c", 0);
	if (secure) {
		setenv("LESSSECURE", "1", 1);
		for (size_t i = 0; i < sizeof(against) / sizeof(*against); i++)
			unsetenv(against[i]);
		s.program = LESS;
	} else if (strcmp(name, "less") != 0) {
		s.program = SHELL;
		s.argv = shell;
	}
	s.env = environ;
	s.in = ends[0];
	pager->stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager->stdout >= 0 && !spawn(&s, &pid)) {
		pager->pid = pid;
		/* Ctrl-C is for the pager: if we exited first, it would still have the terminal. */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		dup2(ends[1], STDOUT_FILENO);
	}
	close(ends[0]);
	close(ends[1]);
}

/* Wait until the user quits it. */
static enum pager_end pager_end(struct pager *pager)
{
	pid_t pid = pager->pid;
	int status = 0;

	if (pager->stdout < 0)
		return PAGER_NONE;
	__fpurge(stdout); /* what the pager did not read before it exited */
	clearerr(stdout);
	dup2(pager->stdout, STDOUT_FILENO);
	close(pager->stdout);
	*pager = (struct pager)PAGER_INIT;
	if (!pid)
		return PAGER_NONE;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	/* The exit statuses of a shell for a command that was not found, or could not be run. */
	return WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)
		       ? PAGER_SHOWED_NOTHING
		       : PAGER_SHOWED;
}

/* --- in the child --- */

struct work {
	const struct apart *apart;
	bool packed; /* an input may be a bundle */
};

/* Load libraries while files can still be opened. */
static int load(void *ctx, struct err *err)
{
	const struct work *w = ctx;
	const struct libarchive *ignored;
	struct err none;

	(void)err;
	if (w->packed)
		(void)!libarchive_load(&ignored, &none);
	return 0;
}

static void run(void *ctx)
{
	const struct work *w = ctx;
	struct err err = ERR_INIT;

	if (w->apart->run(w->apart->ctx, &err) || out_flush(&err))
		confined_reply(true, &err, NULL, -1);
	else
		errand_done(NULL, -1);
}

/* --- the controller --- */

struct outputs {
	struct output *v;
	size_t n;
};

static void close_outputs(struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		output_close(&o->v[i]);
	free(o->v);
}

static int open_outputs(const struct args *args, const struct apart *a, struct outputs *o,
			struct err *err)
{
	o->v = calloc(a->n_outputs + 1, sizeof(*o->v));
	if (!o->v)
		return err_no_memory(err);
	for (; o->n < a->n_outputs; o->n++) {
		o->v[o->n] = (struct output)OUTPUT_INIT;
		if (output_open(&o->v[o->n], a->outputs[o->n], args->force, err)) {
			output_close(&o->v[o->n]);
			return -1;
		}
	}
	return 0;
}

/* The bytes to read, and whether some of them may be compressed. */
static uint64_t look_at(const char *path, bool *packed)
{
	_cleanup_(cleanup_close) int fd = -1;
	char head[2];
	struct stat st;

	if (strcmp(path, "-") != 0 ? stat(path, &st) : fstat(STDIN_FILENO, &st))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		*packed = true;
		return 0;
	}
	fd = errand_open(path);
	*packed |= fd >= 0 && pread(fd, head, 2, 0) == 2 && bundle_is(head, sizeof(head) + 1);
	return (uint64_t)st.st_size;
}

/* Print up to the next color, or the color itself. Returns the length consumed; 0: failed. */
static size_t show_piece(const char *text, size_t n, bool end, bool color, struct err *err)
{
	static char safe[OUTPUT_SAFE_SIZE(PIECE)];
	size_t ink = color ? ink_length(text) : 0, len = n;
	const char *next = color && !ink ? memchr(text + 1, '\033', n - 1) : NULL;

	if (ink)
		return out_write(text, ink, err) ? 0 : ink;
	n = output_safe_lines(text, next ? (size_t)(next - text) : n, end || next, safe, &len);
	return out_write(safe, len, err) ? 0 : n;
}

/* A terminal interprets escape sequences: pass on colors only. */
static int show(int fd, uint64_t bytes, bool color, struct err *err)
{
	static char text[PIECE + 1];

	for (uint64_t at = 0; at < bytes;) {
		ssize_t n = pread(fd, text, PIECE, (off_t)at);
		size_t shown = 0, some = 1;

		if (n <= 0)
			return err_raise_sys(err, ERROR_OUTPUT_PIPE_BROKEN, n ? errno : EIO);
		text[n] = '\0';
		/* A character or color that crosses the end of the piece is read again. */
		while (some && shown < (size_t)n && (n < PIECE || n - (ssize_t)shown > INK_MAX)) {
			some = show_piece(text + shown, (size_t)n - shown, n < PIECE, color, err);
			shown += some;
		}
		if (!some)
			return -1;
		at += shown;
	}
	return 0;
}

static int pass_on(const struct args *args, bool paged, const struct errand_rules *rules, int fd,
		   struct err *err)
{
	bool color = out_has_color(args, STDOUT_FILENO);
	struct pager pager = PAGER_INIT;
	uint64_t bytes;
	int failed;

	if (errand_check(fd, rules, &bytes, err))
		return -1;
	if (!to_terminal)
		return output_copy(STDOUT_FILENO, "stdout", fd, bytes, rules->deadline_ms, err);
	if (!paged || args->json)
		return show(fd, bytes, color, err);
	pager_begin(&pager, args, fd, bytes);
	failed = show(fd, bytes, color, err) || out_flush(err) ? -1 : 0;
	switch (pager_end(&pager)) {
	case PAGER_SHOWED: /* the user quit before the end */
		return failed && err->sys != EPIPE ? -1 : 0;
	case PAGER_SHOWED_NOTHING:
		return show(fd, bytes, color, err);
	case PAGER_NONE:
		break;
	}
	return failed;
}

int apart_run(const struct args *args, const struct apart *a, struct err *err)
{
	_cleanup_(confined_end) struct confined c = CONFINED_INIT;
	_cleanup_(close_outputs) struct outputs outputs = { 0 };
	_cleanup_(cleanup_close) int out = -1;
	struct work w = { .apart = a };
	struct unpack answer;
	uint64_t bytes;
	struct stat st;
	_cleanup_(symbol_keeper_end) struct symbol_keeper keeper = SYMBOL_KEEPER_INIT;
	struct errand_rules rules = {
		.look_up = symbol_keeper_look_up,
		.keeper = &keeper,
		.inputs = a->inputs,
		.n_inputs = a->n_inputs,
		.base = a->base,
		.memory = a->memory,
		.debuginfod = a->symbols->debuginfod,
		.on_warning = a->symbols->on_warning,
		.ctx = a->symbols->ctx,
		.deadline_ms = now_ms() + (args->timeout_ms ? args->timeout_ms : MAX_MS),
	};
	struct confined_options options = {
		.what = "read the profile",
		.policy = { .root = a->symbols->root,
			    .debuginfod = a->symbols->debuginfod,
			    .sources = a->sources,
			    .no_memory = true },
		.enter = load,
		.cpu_max_s = CPU_MAX_S,
	};

	if (open_outputs(args, a, &outputs, err) || memory_file_make(&out, err) || out_flush(err))
		return -1;
	rules.outputs = outputs.v;
	rules.n_outputs = outputs.n;
	options.out = out;
	bytes = a->base ? look_at(a->base, &w.packed) : 0;
	for (size_t i = 0; i < a->n_inputs; i++) {
		if (!a->memory)
			bytes += look_at(a->inputs[i], &w.packed);
		else if (!fstat(a->memory[i], &st))
			bytes += (uint64_t)st.st_size;
	}
	options.memory_max_bytes = errand_memory(bytes);
	options.file_max_bytes = options.policy.temporary_max_bytes = errand_file_max(bytes);
	to_terminal = isatty(STDOUT_FILENO);
	if (confined_start(&c, &options, run, &w, err) ||
	    errand_run(&c, &rules, &answer, NULL, err) || pass_on(args, a->paged, &rules, out, err))
		return -1;
	symbol_keeper_finish(&keeper, &c);
	return 0;
}
