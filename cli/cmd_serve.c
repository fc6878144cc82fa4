// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/guarding.h"
#include "cli/out.h"
#include "io/config.h"
#include "serve/serve.h"
#include "serve/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP 100
#define KEEP_BYTES (UINT64_C(4) << 30)

/* In the order of enum wire_words, without our own API. */
static const char *const words_of_others[] = { "mesos", "mtev", "tikv", NULL };

static const struct option_def options_of_serve[] = {
	{ "socket", 0, VALUE(FILE, socket), "PATH",
	  "listen there (/run/jeprof-ctl/http.sock; for users below XDG_RUNTIME_DIR); none: do not",
	  NULL },
	{ "group", 0, VALUE(STRING, group), "NAME", "also let members of this group connect",
	  NULL },
	{ "listen", 0, VALUE(TEXTS, ports), "ADDRESS:PORT",
	  "also listen there, for clients with a token or certificate; may be repeated", NULL },
	{ "token-file", 0, VALUE(FILE, tokens), "FILE",
	  "the known tokens: a line ROLE SHA256 [NAME] for each", NULL },
	{ "new-token", 0, VALUE(STRING, new_token), "ROLE[:NAME]",
	  "add a token to that file, print it, and exit: read, profile or control", NULL },
	{ "tls-cert", 0, VALUE(FILE, tls_cert), "FILE",
	  "use TLS on the ports, with this certificate and its intermediate certificates", NULL },
	{ "tls-key", 0, VALUE(FILE, tls_key), "FILE", "the private key of the certificate", NULL },
	{ "client-ca", 0, VALUE(FILE, client_ca), "FILE",
	  "also accept clients with a certificate of these authorities", NULL },
	{ "client-crl", 0, VALUE(FILE, client_crl), "FILE",
	  "except those revoked by these lists of the authorities", NULL },
	{ "client-role", 0, VALUE(STRING, client_role), "ROLE",
	  "the role of these clients: read, profile or control (read)", NULL },
	{ "host", 0, VALUE(TEXTS, hosts), "NAME",
	  "a name that clients use for this host, besides localhost; may be repeated", NULL },
	{ "advertise", 0, VALUE(STRING, advertise), "HOST:PORT",
	  "the address of profiles that /sd reports (the first --listen)", NULL },
	{ "node", 0, VALUE(STRING, node), "NAME",
	  "the name of this host that /sd reports (its host name)", NULL },
	{ "read-only", 0, VALUE(FLAG, read_only), NULL,
	  "serve profiles and statistics, but change no process", NULL },
	{ "watch", 0, VALUE(FLAG, watch), NULL,
	  "report every dump on this machine as an event, as watch --all does", NULL },
	{ "compat", 0, VALUE(STRING, compat), "LIST",
	  "also serve the paths of these services, some of which change a process by GET: mesos, "
	  "mtev, tikv; with --pid or --comm also without /pid/PID",
	  words_of_others },
	{ "runs", 0, VALUE(FILE, runs), "FOLDER",
	  "keep runs there (/var/lib/jeprof-ctl/runs; for users in ~/.local/state); "
	  "none: keep nothing",
	  NULL },
	{ "keep", 0, VALUE(INT, kept), "N", "keep the newest N of these; 0: all (100)", NULL },
	{ "max-bytes", 0, VALUE(SIZE, max_bytes), "SIZE", "keep the newest, up to SIZE in all (4G)",
	  NULL },
	{ "rules", 0, VALUE(FILE, rules), "FILE",
	  "take profiles by these rules, as guard does: a line NAME: OPTIONS for each, with "
	  "options of guard",
	  NULL },
	{ "workers", 0, VALUE(INT, workers), "N", "run N operations at once, up to 16 (2)", NULL },
	OPTION_MAX_SIZE("a profile", "1G"),
	{ .name = NULL },
};

/* --- rules --- */

/*
 * A file of rules has a line NAME: OPTIONS for each, with options of `guard`. Words are split as in
 * a shell, with quotes but no expansion.
 */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
#define LINE_WORDS_MAX 256

/* Memory that a rule points to. */
struct owned {
	char *line; /* split into words in place */
	struct args args;
	struct guard_rule when[TEXTS_MAX];
	struct ops_filter filter;
};

struct rules {
	struct serve_rule v[SERVE_RULES_MAX];
	struct owned *of[SERVE_RULES_MAX];
	size_t n;
	bool read_only;
};

static void close_rules(struct rules **rules)
{
	for (size_t i = 0; *rules && i < SERVE_RULES_MAX; i++) {
		if ((*rules)->of[i])
			free((*rules)->of[i]->line);
		free((*rules)->of[i]);
	}
	free(*rules);
}

/* Split off the next word of *at in place; NULL: none, or `err` is set. */
static char *next_word(char **at, struct err *err)
{
	char *from = *at, *word, *to, quote = '\0';

	while (isspace((unsigned char)*from))
		from++;
	if (!*from || *from == '#') {
		*at = from + strlen(from);
		return NULL;
	}
	for (word = to = from; *from && (quote || !isspace((unsigned char)*from)); from++) {
		if (quote ? *from == quote : *from == '\'' || *from == '"')
			quote = quote ? '\0' : *from;
		else
			*to++ = *from;
	}
	if (quote)
		err_raise(err, ERROR_RULE_QUOTES);
	*at = *from ? from + 1 : from;
	*to = '\0';
	return word;
}

/* Options of guard that the service sets itself, or that are for a terminal. */
static int refuse_others(const struct args *a, struct err *err)
{
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{ a->output, "--output" },
		{ a->for_ms, "--for" },
		{ a->count, "--count" },
		{ a->kept >= 0, "--keep" },
		{ a->max_bytes, "--max-bytes" },
		{ a->on_event, "--on-profile" },
		{ a->pid, "--pid" },
		{ a->n_words, a->n_words ? a->words[0] : "" },
		{ a->json, "--json" },
		{ a->quiet, "--quiet" },
		{ a->verbose, "--verbose" },
		{ a->no_pager, "--no-pager" },
		{ a->help, "--help" },
		{ a->version, "--version" },
		{ a->color, "--color" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (others[i].given) {
			err_raise(err, ERROR_RULE_OPTION, .name = others[i].name);
			return err_advise(err, FIX_LEAVE_RULE_OPTION);
		}
	}
	return 0;
}

static int parse_options(const struct rules *rules, struct serve_rule *rule, struct owned *o,
			 char *at, struct err *err)
{
	char program[] = "jeprof-ctl", guard[] = "guard",
	     *argv[LINE_WORDS_MAX + 3] = { program, guard };
	const struct command *command;
	struct err why = ERR_INIT;
	int argc = 2;
	char *word;

	while (argc < LINE_WORDS_MAX + 2 && (word = next_word(&at, &why)))
		argv[argc++] = word;
	if (why.ids[0]) {
		*err = why;
		return -1;
	}
	if (argc == LINE_WORDS_MAX + 2)
		return err_raise(err, ERROR_TOO_MANY_WORDS, .limit = LINE_WORDS_MAX);
	if (args_parse(argc, argv, &o->args, &command, err) || refuse_others(&o->args, err) ||
	    guard_request(&o->args, o->when, &rule->guard, err) ||
	    guard_processes(&o->args, &o->filter, &rule->guard, err))
		return -1;
	args_options(&o->args, &rule->options);
	rule->options.progress = NULL;
	rule->by_default = !o->args.when.n;
	if (rules->read_only && o->args.turn_on)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "--activate", .what = "--read-only");
	if (rules->read_only && rule->guard.action != OPS_GUARD_DUMP)
		return err_raise(err, ERROR_EXCLUSIVE, .name = o->args.action,
				 .what = "--read-only");
	return 0;
}

static int add_rule(struct rules *rules, const char *line, struct err *err)
{
	struct serve_rule *rule = &rules->v[rules->n];
	struct owned *o;
	size_t len;
	char *at;

	if (rules->n == SERVE_RULES_MAX)
		return err_raise(err, ERROR_TOO_MANY_RULES, .limit = SERVE_RULES_MAX);
	o = rules->of[rules->n] = calloc(1, sizeof(*o));
	if (!o || !(o->line = strdup(line)))
		return err_no_memory(err);
	at = o->line;
	len = strspn(at, LETTERS);
	if (!len || len > SERVE_NAME_SIZE || at[len] != ':') {
		err_raise(err, ERROR_RULE_MALFORMED, .limit = SERVE_NAME_SIZE);
		return err_advise(err, FIX_WRITE_A_RULE);
	}
	memcpy(rule->name, at, len);
	rule->name[len] = '\0';
	at += len + 1;
	for (size_t i = 0; i < rules->n; i++) {
		if (!strcmp(rules->v[i].name, rule->name))
			return err_raise(err, ERROR_RULE_TWICE, .name = rule->name);
	}
	if (parse_options(rules, rule, o, at, err))
		return -1;
	rules->n++;
	return 0;
}

/*
 * ERR_FAILED: it cannot be read, or other users may write to it; ERR_USAGE: a line is wrong.
 * `read_only`: refuse rules that change a process.
 */
static int read_rules(const char *path, bool read_only, struct rules **out, struct err *err)
{
	static const struct config_kind kind = { ERROR_RULES_UNREADABLE, ERROR_RULES_NOT_OURS,
						 FIX_CHMOD_CONFIG };
	_cleanup_(cleanup_fclose) FILE *f = config_fopen(path, &kind, err);
	_cleanup_(close_rules) struct rules *rules = NULL;
	_cleanup_(cleanup_free) char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!f)
		return -1;
	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return err_no_memory(err);
	rules->read_only = read_only;
	for (int n = 1; (len = getline(&line, &room, f)) >= 0; n++) {
		const char *at = line + strspn(line, " \t\r\n");
		bool whole = strlen(line) == (size_t)len;

		if (((*at && *at != '#') || !whole) && add_rule(rules, whole ? at : "", err))
			return err_within(err, ERROR_IN_RULES_LINE, .path = path, .number = n);
	}
	if (ferror(f))
		return err_raise_sys(err, ERROR_RULES_UNREADABLE, EIO, .path = path);
	if (!rules->n) {
		err_raise(err, ERROR_NO_RULES, .path = path);
		return err_advise(err, FIX_WRITE_A_RULE);
	}
	*out = take_ptr(rules);
	return 0;
}

/* --- what it reports --- */

static int on_ready(void *ctx, const char *where, struct err *err)
{
	const struct args *args = ctx;

	(void)err;
	if (!args->quiet && out_is_read(STDERR_FILENO, PIPE_BUF))
		fprintf(stderr, "serving on %s\n", where);
	return 0;
}

static void on_watching(void *ctx, const struct serve_rule *rule, uint64_t processes)
{
	const struct args *args = ctx;

	if (args->quiet || !out_is_read(STDERR_FILENO, PIPE_BUF))
		return;
	if (rule)
		fprintf(stderr,
			"rule %s: guarding %" PRIu64 " process%s, and any that start later\n",
			rule->name, processes, processes == 1 ? "" : "es");
	else
		fprintf(stderr, "watching %" PRIu64 " process%s, and any that start later\n",
			processes, processes == 1 ? "" : "es");
}

/* For use between quotation marks. */
static const char *quoted(const char *raw, char *buf, size_t size)
{
	output_safe(raw, buf, size);
	for (char *at = buf; (at = strpbrk(at, "\"\\")); at++)
		*at = '_';
	return buf;
}

/* One line for each operation: the client, the operation, and its cost (logfmt). */
static void print_event(FILE *out, const struct serve_event *e)
{
	char when[32], comm[PROC_COMM_SIZE * 4], subject[SERVE_NAME_SIZE * 4], text[ERR_TEXT_SIZE],
		safe[ERR_TEXT_SIZE];
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&e->time.tv_sec, &tm));
	fprintf(out, "time=%s op=%s result=%s", when, e->op, serve_verdict(e));
	if (e->rule)
		fprintf(out, " rule=%s", e->rule);
	else if (e->peer.transport == WIRE_UNIX)
		fprintf(out, " uid=%u client=%d", e->peer.uid, e->peer.pid);
	else
		fprintf(out, " address=%s token=%s", e->peer.address,
			e->peer.name[0] ? e->peer.name : "-");
	if (e->peer.transport == WIRE_TLS)
		fprintf(out, " certificate=%s", e->peer.certified ? "verified" : "-");
	if (e->peer.certified)
		fprintf(out, " subject=\"%s\"", quoted(e->peer.subject, subject, sizeof(subject)));
	if (e->pid)
		fprintf(out, " pid=%d comm=\"%s\"", e->pid, quoted(e->comm, comm, sizeof(comm)));
	if (e->run)
		fprintf(out, " run=%" PRIu64, e->run);
	if (!e->refusal && !e->rule)
		fprintf(out,
			" bytes=%" PRIu64 " stops=%u pause_us=%" PRIu64 " ms=%" PRIu64 " shared=%u",
			e->bytes, e->stops, e->pause_us, e->took_ms, e->shared);
	if (!e->refusal && !e->ok && !e->rule)
		fprintf(out, " error=\"%s\"",
			quoted(err_text(e->err, text, sizeof(text)), safe, sizeof(safe)));
	fputc('\n', out);
}

/* Drop lines rather than wait for a reader. */
static int on_event(void *ctx, const struct serve_event *e, struct err *err)
{
	static uint64_t dropped;
	_cleanup_(cleanup_free) char *line = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&line, &len);

	(void)ctx;
	if (!f)
		return err_no_memory(err);
	print_event(f, e);
	if (fclose(f))
		return err_no_memory(err);
	if (!out_is_read(STDERR_FILENO, len)) {
		dropped++;
		return 0;
	}
	if (dropped && out_is_read(STDERR_FILENO, PIPE_BUF))
		fprintf(stderr, "%" PRIu64 " line%s dropped\n", dropped,
			dropped == 1 ? " was" : "s were");
	dropped = 0;
	fwrite(line, 1, len, stderr);
	return 0;
}

static void on_warning(void *ctx, const struct err *warning)
{
	if (out_is_read(STDERR_FILENO, PIPE_BUF))
		out_warning(ctx, warning);
}

/* --- the command line --- */

static int need(const char *name, const char *what, struct err *err)
{
	return err_raise(err, ERROR_OPTION_NEEDS, .name = name, .what = what);
}

static int make_token(const struct args *args, struct err *err)
{
	char role[16], text[TOKEN_TEXT_SIZE];
	const char *colon = strchr(args->new_token, ':');

	snprintf(role, sizeof(role), "%.*s", (int)strcspn(args->new_token, ":"), args->new_token);
	if (!args->tokens)
		return need("--new-token", "--token-file", err);
	if (token_role(role) == WIRE_ROLE_NONE)
		return err_raise(err, ERROR_TOKEN_ROLE, .name = role);
	return token_make(args->tokens, token_role(role), colon ? colon + 1 : NULL, text, err)
		       ? -1
		       : out_line(err, "%s", text);
}

static int check_options(const struct args *args, struct err *err)
{
	if (args->tls_cert && !args->tls_key)
		return need("--tls-cert", "--tls-key", err);
	if (args->tls_key && !args->tls_cert)
		return need("--tls-key", "--tls-cert", err);
	if (args->client_ca && !args->tls_cert)
		return need("--client-ca", "--tls-cert", err);
	if (args->client_crl && !args->client_ca)
		return need("--client-crl", "--client-ca", err);
	if (args->client_role && !args->client_ca)
		return need("--client-role", "--client-ca", err);
	if (args->client_role && token_role(args->client_role) == WIRE_ROLE_NONE)
		return err_raise(err, ERROR_TOKEN_ROLE, .name = args->client_role);
	/* Only --pid and --comm can select the process. */
	if (args->cgroup || args->children)
		return err_raise(err, ERROR_EXCLUSIVE, .name = "serve",
				 .what = args->cgroup ? "--cgroup" : "--children");
	if (args_name_process(args) && !args->compat)
		return need(args->pid ? "--pid" : "--comm", "--compat", err);
	return 0;
}

/* "mesos,mtev" */
static int read_words(const char *list, unsigned int *words, struct err *err)
{
	while (list) {
		size_t len = strcspn(list, ",");
		unsigned int i = 0;

		while (words_of_others[i] && (strlen(words_of_others[i]) != len ||
					      strncmp(list, words_of_others[i], len) != 0))
			i++;
		if (!words_of_others[i])
			return err_raise(err, ERROR_CHOICE_UNKNOWN, .name = "compat", .text = list,
					 .what = "mesos, mtev, tikv");
		*words |= 1u << (WIRE_MESOS + i);
		list = list[len] ? list + len + 1 : NULL;
	}
	return 0;
}

static int run(const struct args *args, struct err *err)
{
	_cleanup_(close_rules) struct rules *rules = NULL;
	_cleanup_(signals_close) struct signals stop = SIGNALS_INIT;
	struct serve_request request = {
		.socket = args->socket && !strcmp(args->socket, "none") ? "" : args->socket,
		.ports = args->ports.v,
		.n_ports = args->ports.n,
		.tokens = args->tokens,
		.certificate = args->tls_cert,
		.key = args->tls_key,
		.client_ca = args->client_ca,
		.client_crl = args->client_crl,
		.client_role = args->client_role ? token_role(args->client_role) : WIRE_ROLE_READ,
		.hosts = args->hosts.v,
		.n_hosts = args->hosts.n,
		.advertise = args->advertise,
		.node = args->node,
		.group = args->group,
		.read_only = args->read_only,
		.watch = args->watch,
		.one_pid = (pid_t)args->pid,
		.one_comm = args->comm,
		.runs = args->runs && !strcmp(args->runs, "none") ? "" : args->runs,
		.keep = args->kept < 0 ? KEEP : (unsigned int)args->kept,
		.keep_bytes = args->max_bytes ? args->max_bytes : KEEP_BYTES,
		.workers = args->workers ? (unsigned int)args->workers : SERVE_WORKERS,
		.waiting = SERVE_WAITING,
		.log_fd = STDERR_FILENO,
		.ready = on_ready,
		.event = on_event,
		.watching = on_watching,
		.on_warning = on_warning,
		.ctx = (void *)args,
	};
	struct ops_options options;

	if (args->new_token)
		return make_token(args, err);
	if (check_options(args, err) || read_words(args->compat, &request.words, err))
		return -1;
	if (args->workers > SERVE_WORKERS_MAX)
		return err_raise(err, ERROR_NOT_IN_RANGE, .number = 1, .limit = SERVE_WORKERS_MAX,
				 .text = "--workers");
	args_options(args, &options);
	if (args->rules && read_rules(args->rules, args->read_only, &rules, err))
		return -1;
	if (rules) {
		request.rules = rules->v;
		request.n_rules = rules->n;
	}
	if (signals_open(&stop, err))
		return -1;
	options.stop_fd = stop.fd;
	return serve(&request, &options, err);
}

const struct command cmd_serve = {
	.name = "serve",
	.words = "",
	.help = "offer these operations over HTTP, on a Unix socket",
	.options = options_of_serve,
	.pid_by_option = true,
	.stays = true,
	.run = run,
};
