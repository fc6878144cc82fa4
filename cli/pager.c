// SPDX-License-Identifier: Apache-2.0
#include "cli/pager.h"

#include "base/spawn.h"
#include "cli/out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL "/bin/sh"
#define LESS "/usr/bin/less"
#define PIECE 65536

extern char **environ;

/* --- is one wanted? --- */

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
static const char *command(void)
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

/* --- running it --- */

static void set_less(bool secure)
{
	static const char *const against[] = { "LESSOPEN",	   "LESSCLOSE",
					       "LESSEDIT",	   "LESSKEY",
					       "LESSKEYIN",	   "LESSKEY_SYSTEM",
					       "LESSKEYIN_SYSTEM", "LESS_SHELL_LINES",
					       "LESSHISTFILE" };

	setenv("LESS", "FRX", secure);
	setenv("LV", "-c", 0);
	if (!secure)
		return;
	setenv("LESSSECURE", "1", 1);
	for (size_t i = 0; i < sizeof(against) / sizeof(*against); i++)
		unsetenv(against[i]);
}

static int start(const char *name, bool secure, int input, pid_t *pid)
{
	char *const shell[] = { (char *)"sh", (char *)"-c", (char *)name, NULL };
	char *const less[] = { (char *)"less", NULL };
	struct spawn s = { "less", less, environ, input, STDOUT_FILENO, STDERR_FILENO, 0 };

	if (secure) {
		s.program = LESS;
	} else if (strcmp(name, "less") != 0) {
		s.program = SHELL;
		s.argv = shell;
	}
	return spawn(&s, pid);
}

void pager_begin(struct pager *pager, const struct args *args, int fd, uint64_t bytes)
{
	struct out_size terminal = out_size();
	bool secure = has_borrowed_rights();
	const char *name = command();
	int ends[2];
	pid_t pid;

	if (!terminal.lines || args->no_pager || !name || !is_long(fd, bytes, terminal) ||
	    pipe2(ends, O_CLOEXEC))
		return;
	set_less(secure);
	pager->stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager->stdout >= 0 && !start(name, secure, ends[0], &pid)) {
		pager->pid = pid;
		/* Ctrl-C is for the pager: if we exited first, it would still have the terminal. */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		dup2(ends[1], STDOUT_FILENO);
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_close(struct pager *pager)
{
	pager_end(pager);
}

enum pager_end pager_end(struct pager *pager)
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
