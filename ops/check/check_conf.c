// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/text.h"
#include "ops/check/parts.h"
#include "ops/target/look.h"
#include "process/procfs.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* The environment of a process, even if its own title has overwritten it. */

enum environ_found {
	ENVIRON_UNREADABLE,
	ENVIRON_ABSENT,
	ENVIRON_INITIAL, /* set at its start */
	ENVIRON_NOW,	 /* set now; what it was at the start is no longer known */
};

/* --- the environment --- */

#define VARIABLES_MAX 4096
#define NAME_SIZE 128

/* Of a statically linked program, or one with a copy of the variable; else the C library's. */
static uint64_t find_environ(const struct session *s)
{
	struct image *libc = images_by_name(&s->images, "libc.so");
	struct symbol sym;

	if (!libc)
		libc = images_by_name(&s->images, "ld-musl-");
	for (size_t i = 0; i < s->images.n; i++) {
		struct image *img = &s->images.v[i];

		if (img->is_main && image_symbol(img, "environ", &sym) && sym.type == STT_OBJECT)
			return sym.addr;
	}
	return libc && image_symbol(libc, "environ", &sym) ? sym.addr : 0;
}

/* If this string is the variable, its value is put in `buf`. */
static bool is_variable(const struct session *s, uint64_t addr, const char *name, char *buf,
			size_t size)
{
	size_t len = strlen(name);
	char start[NAME_SIZE];
	struct err ignored;

	return len + 2 <= sizeof(start) &&
	       !proc_read_string(s->proc.mm_pid, addr, start, len + 2, &ignored) &&
	       !strncmp(start, name, len) && start[len] == '=' &&
	       !proc_read_string(s->proc.mm_pid, addr + len + 1, buf, size, &ignored);
}

static bool find_now(const struct session *s, const char *name, char *buf, size_t size)
{
	uint64_t at = find_environ(s), text;
	struct err ignored;

	if (!at || proc_read(s->proc.mm_pid, at, &at, sizeof(at), &ignored) || !at)
		return false;
	for (size_t i = 0; i < VARIABLES_MAX; i++, at += sizeof(text)) {
		if (proc_read(s->proc.mm_pid, at, &text, sizeof(text), &ignored) || !text)
			return false;
		if (is_variable(s, text, name, buf, size))
			return true;
	}
	return false;
}

/*
 * The variable `name`, truncated to size - 1 bytes: from the initial environment, else from what
 * the C library's `environ` points to now. Programs that show their state in their title
 * (setproctitle(3)) overwrite the initial one and keep a copy. Reads memory only. `sys`: the errno
 * if it is unreadable.
 */
static enum environ_found environ_get(const struct session *s, const char *name, char *buf,
				      size_t size, int *sys)
{
	struct err err = ERR_INIT;

	if (!proc_getenv(s->proc.mm_pid, name, buf, size, &err))
		return ENVIRON_INITIAL;
	*sys = err.sys;
	if (!err.own && find_now(s, name, buf, size))
		return ENVIRON_NOW;
	return err.sys ? ENVIRON_UNREADABLE : ENVIRON_ABSENT;
}

/* --- MALLOC CONF --- */

/*
 * Where jemalloc got its options from: it reads these places once, when the program starts, in this
 * order, and the last one that sets an option wins. They are inspected as they are now; if that
 * does not explain the value of opt.prof, the check says so.
 */

#define CONF_SIZE 8192
#define QUOTED_SIZE 256

struct source {
	bool known; /* otherwise it could not be read */
	bool set;
	char text[CONF_SIZE];
};

struct sources {
	int version;
	char env_name[80];
	struct source v[CONF_SOURCES];
};

static const char *quoted(const char *text, char *buf)
{
	return output_safe(text, buf, QUOTED_SIZE);
}

/* A program's own definition replaces the one in a shared jemalloc. */
static bool find_variable(const struct session *s, const char *name, uint64_t *addr)
{
	struct symbol sym;

	for (size_t i = 0; i < s->images.n && s->je->linkage != LINKAGE_STATIC; i++) {
		struct image *img = &s->images.v[i];

		if (img->is_main && image_symbol(img, name, &sym) && sym.dynamic) {
			*addr = sym.addr;
			return true;
		}
	}
	if (!image_symbol(s->je->image, name, &sym) || sym.type != STT_OBJECT)
		return false;
	*addr = sym.addr;
	return true;
}

static void read_variable(const struct session *s, const char *plain, struct source *src)
{
	char name[sizeof(s->je->prefix) + 32];
	struct err ignored;
	uint64_t addr, text;

	snprintf(name, sizeof(name), "%s%s", s->je->prefix, plain);
	if (!find_variable(s, name, &addr) ||
	    proc_read(s->proc.mm_pid, addr, &text, sizeof(text), &ignored))
		return;
	src->set = text != 0;
	src->known = !text || !proc_read_string(s->proc.mm_pid, text, src->text, sizeof(src->text),
						&ignored);
	src->set &= src->known && src->text[0];
}

static void read_symbols(const struct session *s, struct sources *all, struct ops_check *c)
{
	struct source *conf = &all->v[CONF_FROM_SYMBOL], *harder = &all->v[CONF_FROM_HARDER];
	char safe[QUOTED_SIZE], prefix[128];

	read_variable(s, "malloc_conf", conf);
	harder->known = true;
	if (all->version >= CONF_VERSION(5, 3, 0))
		read_variable(s, "malloc_conf_2_conf_harder", harder);
	output_safe(s->je->prefix, prefix, sizeof(prefix));
	if (harder->set)
		check_passed(
			c, "%smalloc_conf_2_conf_harder is \"%s\", which overrides everything else",
			prefix, quoted(harder->text, safe));
	else if (conf->set)
		check_passed(c, "%smalloc_conf is \"%s\"", prefix, quoted(conf->text, safe));
	else if (conf->known)
		check_passed(c, "%smalloc_conf is not set", prefix);
	else
		check_unknown(c, "no symbol %smalloc_conf can be read", prefix);
}

static void read_link(const struct session *s, struct source *src, struct ops_check *c)
{
	char name[sizeof(s->je->prefix) + 20], shown[sizeof(name) * 4], safe[QUOTED_SIZE];
	struct err err = ERR_INIT;

	/* With the prefix, if the image contains that text. */
	snprintf(name, sizeof(name), "/etc/%smalloc.conf", s->je->prefix);
	if (!image_search(s->je->image, PF_R, name, strlen(name) + 1))
		snprintf(name, sizeof(name), "/etc/malloc.conf");
	output_safe(name, shown, sizeof(shown));
	if (procfs_readlink_in_root(s->proc.mm_pid, "/etc", name + strlen("/etc/"), src->text,
				    sizeof(src->text), &src->set, &err)) {
		check_unread_for(c, &err);
		return;
	}
	src->known = true;
	if (src->set)
		check_passed(c, "%s links to \"%s\"", shown, quoted(src->text, safe));
	else
		check_passed(c, "%s is not a link", shown);
}

/* A variable that is meant for jemalloc, but is not the one that this jemalloc reads. */
static const char *misnamed(const struct session *s, const char *right)
{
	static const char *const names[] = { "MALLOC_CONF", "JE_MALLOC_CONF", "_RJEM_MALLOC_CONF" };
	char text[2];
	int ignored;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], right) != 0 &&
		    environ_get(s, names[i], text, sizeof(text), &ignored) >= ENVIRON_INITIAL)
			return names[i];
	}
	return NULL;
}

static void read_environment(const struct session *s, struct sources *all, struct ops_check *c)
{
	struct source *src = &all->v[CONF_FROM_ENVIRONMENT];
	char safe[QUOTED_SIZE], name[160];
	enum environ_found found;
	uint64_t secure = 0;
	const char *wrong;
	int sys = 0;

	output_safe(all->env_name, name, sizeof(name));
	found = environ_get(s, all->env_name, src->text, sizeof(src->text), &sys);
	src->known = found != ENVIRON_UNREADABLE;
	if (found >= ENVIRON_INITIAL) {
		/* From 4.0 on, a program with more rights than its user ignores its options. */
		src->set = all->version < CONF_VERSION(4, 0, 0) ||
			   !proc_auxval(s->proc.mm_pid, AT_SECURE, &secure) || !secure;
		check_passed(c, "%s is \"%s\"%s%s", name, quoted(src->text, safe),
			     found == ENVIRON_NOW ? " now" : "",
			     src->set ? "" : ", which is ignored in a set-uid program");
		return;
	}
	if (!src->known) {
		check_unknown(c, "the environment cannot be read: %s", strerror(sys));
		return;
	}
	check_passed(c, "%s is not set", name);
	wrong = misnamed(s, all->env_name);
	if (wrong) {
		check_passed(c, "%s is not set; %s is, but this jemalloc does not read it", name,
			     wrong);
		err_advise(&c->err, FIX_USE_ITS_VARIABLE, .conf = name, .text = wrong);
	}
}

static const char *source_name(const struct sources *all, enum conf_source source)
{
	static const char *const names[CONF_SOURCES] = {
		[CONF_FROM_DEFAULT] = "default",
		[CONF_FROM_BUILD] = "the compiled-in options",
		[CONF_FROM_SYMBOL] = "the variable malloc_conf",
		[CONF_FROM_LINK] = "the link in /etc",
		[CONF_FROM_HARDER] = "the variable malloc_conf_2_conf_harder",
	};

	return source == CONF_FROM_ENVIRONMENT ? all->env_name : names[source];
}

static void check_winner(const struct sources *all, const struct conf_state *state,
			 enum tristate opt_prof, struct ops_check *c)
{
	const char *value = state->v[CONF_PROF].n ? "true" : "false", *unread = NULL;
	char by[160];

	output_safe(source_name(all, state->v[CONF_PROF].source), by, sizeof(by));
	for (enum conf_source i = CONF_FROM_BUILD; i < CONF_SOURCES; i++)
		if (!all->v[i].known && i > state->v[CONF_PROF].source)
			unread = source_name(all, i);
	if (state->with_prof == TRI_NO)
		check_unknown(c, "there is no opt.prof to set");
	else if (opt_prof == TRI_UNKNOWN && unread)
		check_unknown(c, "opt.prof is %s by %s, unless %s overrides it", value, by, unread);
	else if (opt_prof != TRI_UNKNOWN && opt_prof != (state->v[CONF_PROF].n != 0) && unread)
		check_unknown(c, "opt.prof is %s, perhaps by %s, which cannot be read",
			      opt_prof == TRI_YES ? "true" : "false", unread);
	else if (opt_prof != TRI_UNKNOWN && opt_prof != (state->v[CONF_PROF].n != 0))
		check_unknown(c,
			      "opt.prof is %s, but would be %s by %s: the options were changed "
			      "since the start, or come from elsewhere",
			      opt_prof == TRI_YES ? "true" : "false", value, by);
	else
		check_passed(c, "opt.prof is %s by %s", value, by);
}

/* The worst finding, and how many there are. Informational findings are left out. */
static void report(const struct conf_lint *lint, struct ops_check *c)
{
	size_t errors = conf_lint_count(lint, CONF_ERROR);
	size_t warnings = conf_lint_count(lint, CONF_WARNING);
	enum conf_level worst = errors ? CONF_ERROR : CONF_WARNING;
	char safe[OPS_TEXT_SIZE / 2];

	if (!errors && !warnings) {
		check_passed(c, "none");
		return;
	}
	for (size_t i = 0; i < lint->n; i++) {
		if (lint->v[i].level != worst)
			continue;
		check_passed(c, "%zu error%s, %zu warning%s: %s", errors, errors == 1 ? "" : "s",
			     warnings, warnings == 1 ? "" : "s",
			     output_safe(lint->v[i].text, safe, sizeof(safe)));
		err_advise(&c->err, lint->v[i].fix[0] ? FIX_OF_LINT : FIX_SEE_CONF,
			   .text = lint->v[i].fix);
		return;
	}
}

static void judge(struct session *s, const struct check_values *values, struct ops_check *rows)
{
	_cleanup_(cleanup_free) struct sources *all = calloc(1, sizeof(*all));
	_cleanup_(cleanup_free) struct conf_lint *lint = NULL;
	enum tristate with_prof = rows[CHECK_CONFIG_PROF].ok;
	struct conf_state state;
	char safe[QUOTED_SIZE];
	struct source *build;

	if (!all)
		return;
	build = &all->v[CONF_FROM_BUILD];
	all->version = conf_version_parse(s->version);
	if (!all->version)
		all->version = conf_versions[CONF_VERSIONS - 1];
	snprintf(all->env_name, sizeof(all->env_name), "%s", jemalloc_conf_name(s->je));
	build->known = values->has_malloc_conf;
	build->set = build->known && values->malloc_conf[0];
	if (build->known)
		snprintf(build->text, sizeof(build->text), "%s", values->malloc_conf);
	if (build->set)
		check_passed(&rows[CHECK_CONF_BUILD], "\"%s\"", quoted(build->text, safe));
	else if (build->known)
		check_passed(&rows[CHECK_CONF_BUILD], "nothing");
	else
		check_unknown(&rows[CHECK_CONF_BUILD], "config.malloc_conf was not read");
	read_symbols(s, all, &rows[CHECK_CONF_SYMBOL]);
	read_link(s, &all->v[CONF_FROM_LINK], &rows[CHECK_CONF_LINK]);
	read_environment(s, all, &rows[CHECK_CONF_ENVIRONMENT]);

	if (with_prof == TRI_UNKNOWN)
		with_prof = s->je->config_prof;
	lint = calloc(1, sizeof(*lint));
	conf_state_init(&state, all->version, with_prof);
	for (enum conf_source i = CONF_FROM_BUILD; i < CONF_SOURCES; i++) {
		if (!all->v[i].set)
			continue;
		conf_state_apply(&state, all->v[i].text, i);
		if (lint)
			conf_lint_pairs(all->v[i].text, all->version, with_prof, lint);
	}
	if (lint) {
		conf_rules(&state, false, lint);
		report(lint, &rows[CHECK_CONF_LINT]);
	}
	conf_state_finish(&state);
	check_winner(all, &state, rows[CHECK_OPT_PROF].ok, &rows[CHECK_CONF]);
}

int check_conf_answer(struct session *s, struct unpack *question, struct pack *answer,
		      struct err *err)
{
	_cleanup_(cleanup_free) struct check_values *values = malloc(sizeof(*values));
	static struct ops_check rows[CHECKS];

	if (!values)
		return err_no_memory(err);
	unpack_bytes(question, values, sizeof(*values));
	unpack_bytes(question, rows, sizeof(rows));
	judge(s, values, rows);
	for (size_t i = 0; i < CHECKS; i++)
		check_row_pack(&rows[i], answer);
	return 0;
}

int check_conf(struct session *s, const struct check_values *values, struct ops_check *rows,
	       struct err *err)
{
	_cleanup_(pack_fini) struct pack question = { 0 };
	struct ops_check got[CHECKS];
	struct unpack answer;

	pack_bytes(&question, values, sizeof(*values));
	pack_bytes(&question, rows, sizeof(got));
	if (look_ask(s, &question, &answer, err))
		return -1;
	for (size_t i = 0; i < CHECKS; i++)
		check_row_unpack(&got[i], &rows[i], &answer);
	if (!unpack_done(&answer))
		return err_raise(err, ERROR_CONF_MALFORMED);
	memcpy(rows, got, sizeof(got));
	return 0;
}
