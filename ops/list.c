// SPDX-License-Identifier: Apache-2.0
/*
 * One confined child inspects all processes, one after the other. It is handed the files that it
 * reads of each (mappings, memory, program and environment), so that most need no question to the
 * opener. The next few are queued while it works. If it hangs or crashes on a process, only the
 * child is lost, not the list: another child continues with the next process.
 */
#include "ops/ops.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/image.h"
#include "ops/list_row.h"
#include "ops/match.h"
#include "ops/record/journal.h"
#include "ops/target/container.h"
#include "ops/target/handed.h"
#include "ops/target/pids.h"
#include "ops/watch/filecache.h"
#include "process/limit.h"
#include "process/maps.h"
#include "sandbox/confined.h"
#include "sandbox/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)1 << 20)
#define AHEAD 16 /* processes queued for the child */

/*
 * How long one process may take: the largest stripped program that was tried, of 499 MB, takes 1.0
 * s. After each process that hangs, the time is halved.
 */
#define PATIENCE_MS 5000
#define PATIENCE_MIN_MS 250
#define PATIENCE_DEBUGINFOD_MS 120000

/* --- in the child --- */

struct looker {
	bool debuginfod, command, labels;
	struct filecache files;
};

static void pack_row(const struct looker *l, struct pack *out, const struct proc *p,
		     const struct jemalloc *je, const char *image, enum tristate emits)
{
	struct jemalloc_values values = { .prof_active = TRI_UNKNOWN };
	char command[OPS_COMMAND_SIZE];
	struct ops_process row;
	struct err ignored;

	if (je->linkage != LINKAGE_NONE)
		jemalloc_peek_values(je, p, &values);
	row = (struct ops_process){ .pid = p->pid,
				    .linkage = je->linkage,
				    .config_prof = je->config_prof,
				    .opt_prof = jemalloc_value_is(&values, OPT_PROF),
				    .prof_active = values.prof_active,
				    .emits = emits };
	for (unsigned int i = 0; i < JEMALLOC_OPTS; i++) {
		row.opts[i].known = values.opt[i].known;
		row.opts[i].value = values.opt[i].value;
	}
	snprintf(row.image, sizeof(row.image), "%s", image);
	memcpy(row.version, je->version, sizeof(row.version));
	memcpy(row.prefix, je->prefix, sizeof(row.prefix));
	if (l->command) {
		/* The arguments, separated by blanks: memory of the target, cut if too long. */
		_cleanup_(cleanup_close) int fd = door_proc(p->mm_pid, 0, "cmdline");
		ssize_t len = fd < 0 ? -1 : read(fd, command, sizeof(command) - 1);

		while (len > 0 && !command[len - 1])
			len--;
		for (ssize_t i = 0; i < len; i++)
			command[i] = command[i] ? command[i] : ' ';
		command[len > 0 ? len : 0] = '\0';
		row.command = command;
	}
	/* Only this variable: others may hold secrets. */
	if (l->labels && proc_getenv(p->mm_pid, "OTEL_SERVICE_NAME", row.service_name,
				     sizeof(row.service_name), &ignored))
		row.service_name[0] = '\0';
	list_row_pack(&row, out);
}

static int look_for_jemalloc(struct looker *l, const struct proc *p, const struct maps *maps,
			     enum tristate emits, struct pack *out, struct err *err)
{
	_cleanup_(images_fini) struct images images = { 0 };
	_cleanup_(cleanup_free) struct jemalloc *found = NULL;
	struct jemalloc je;
	const char *image;
	size_t n;

	switch (filecache_ask(&l->files, p, maps, &je, &image)) {
	case FILES_PLAIN:
		return 0;
	case FILES_JEMALLOC:
		pack_row(l, out, p, &je, image, emits);
		return 0;
	case FILES_UNKNOWN:
		break;
	}
	if (images_read(&images, p->mm_pid, maps, err))
		return -1;
	images.ask_debuginfod = l->debuginfod;
	filecache_mark_plain(&l->files, p, &images, maps);
	images_open_ahead(&images);
	if (jemalloc_find(p, &images, &found, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++)
		jemalloc_find_opts(&found[i], p->mm_pid);
	for (size_t i = 0; i < n && i < LIST_ROWS_MAX; i++)
		pack_row(l, out, p, &found[i], found[i].image->path, emits);
	return 0;
}

static int look_at(struct looker *l, const struct proc *p, struct pack *out, struct err *err)
{
	static const struct jemalloc none = { .linkage = LINKAGE_NONE, .config_prof = TRI_UNKNOWN };
	_cleanup_(maps_fini) struct maps maps = { 0 };
	const struct map *emitter;
	enum tristate emits = TRI_UNKNOWN;
	int failed;

	if (maps_read(&maps, p->mm_pid, err))
		return -1;
	emitter = filecache_emitter(&l->files, p, &maps);
	if (l->files.emitters)
		emits = emitter ? TRI_YES : TRI_NO;
	failed = look_for_jemalloc(l, p, &maps, emits, out, err);
	if (!emitter || out->len)
		return failed;
	pack_row(l, out, p, &none, emitter->path, emits);
	return 0;
}

static void serve(void *ctx)
{
	struct looker *l = ctx;
	int fds[CONFINED_FDS_MAX];
	struct unpack u;
	size_t n;

	while (confined_next_with(&u, fds, &n)) {
		_cleanup_(pack_fini) struct pack out = { 0 };
		struct err err = ERR_INIT;
		struct proc p;
		int failed;

		unpack_bytes(&u, &p, sizeof(p));
		handed_use(&p, fds, n);
		failed = look_at(l, &p, &out, &err);
		confined_reply(failed, &err, &out, -1);
		handed_forget();
	}
	filecache_fini(&l->files);
}

/* --- in the controller --- */

struct asked {
	size_t index;		    /* in the list of pids */
	struct err recording;	    /* ERROR_NONE: none */
	struct ops_process outside; /* what is known from outside its memory */
	char service[256];
};

struct look {
	const struct ops_list_request *request;
	pid_t *pids;
	size_t n_pids, next; /* the first one not asked about yet */
	pid_t *recorded;     /* those with a journal */
	size_t n_recorded;
	struct confined child;
	struct asked asked[AHEAD]; /* a ring: the child has `n_asked` of them, from `first` on */
	size_t first, n_asked;
	unsigned int patience_ms;
	struct ops_list list;
	size_t room;
};

static int start(struct look *look, struct err *err)
{
	const struct confined_options options = { .what = "look at the processes",
						  .policy = { .debuginfod =
								      look->request->debuginfod } };
	struct looker looker = { .debuginfod = look->request->debuginfod,
				 .command = look->request->command,
				 .labels = look->request->labels,
				 .files = { .debuginfod = look->request->debuginfod,
					    .emitters = look->request->emitters } };

	return confined_start(&look->child, &options, serve, &looker, err);
}

static void free_row(struct ops_process *row)
{
	free(row->command);
	free(row->exe);
	free(row->recording);
}

/* What most rows do not have is not part of them, so that long lists are small. */
static bool add_rare(struct ops_process *row, const struct asked *a, const char *exe)
{
	if (*exe && !(row->exe = strdup(exe)))
		return false;
	if (!a->recording.ids[0])
		return true;
	row->recording = malloc(sizeof(*row->recording));
	if (row->recording)
		*row->recording = a->recording;
	return row->recording;
}

#define SERVICE_NAME_MAX 128

static int add_rows(struct look *look, struct asked *a, struct unpack *u, struct err *err)
{
	bool labels = look->request->labels;
	struct ops_list *list = &look->list;
	char exe[OPS_TEXT_SIZE] = "";
	struct limit limit;
	struct err ignored;
	size_t rows = 0;

	if (labels && u->at != u->end) {
		struct ops_process *p = &a->outside;

		if (proc_exe(p->pid, exe, sizeof(exe), &ignored))
			exe[0] = '\0';
		p->limited = limit_of_cgroup(p->pid, &limit);
		p->limit_bytes = p->limited ? limit.limit : 0;
		p->used_bytes = p->limited ? limit.used : 0;
	}
	while (u->at != u->end && rows++ < LIST_ROWS_MAX) {
		char safe[SERVICE_NAME_MAX + 1];
		struct ops_process *row;
		const char *raw;

		if (!vec_grow(list->v, look->room, list->n))
			return err_no_memory(err);
		row = &list->v[list->n];
		*row = a->outside;
		list_row_unpack(row, u);
		if (u->bad) {
			free_row(row);
			list->unanswered++;
			return 0;
		}
		/* A name that a process gives itself is used if it is printable as it is. */
		raw = row->service_name;
		if (labels && (!*raw || strcmp(output_safe(raw, safe, sizeof(safe)), raw) != 0))
			snprintf(row->service_name, sizeof(row->service_name), "%s",
				 a->service[0] ? a->service : row->comm);
		list->n++;
		if (!add_rare(row, a, exe))
			return err_no_memory(err);
	}
	return 0;
}

static void miss(struct ops_list *list, const struct err *why)
{
	if (!why->own)
		return;
	list->missed++;
	list->why = *why;
}

/* The answer about the oldest queued process. */
static int take_answer(struct look *look, struct err *err)
{
	struct asked *a = &look->asked[look->first];
	struct err why = ERR_INIT;
	struct unpack u;
	int failed = confined_answer(&look->child, look->patience_ms, ANSWER_MAX, &u, NULL, &why);

	/*
	 * Without its opener it cannot read anything more: another child continues after the
	 * process at which it stopped.
	 */
	if (failed && (look->child.broken || why.sys == EPIPE)) {
		look->list.unanswered += !why.own;
		miss(&look->list, &why);
		look->next = a->index + 1;
		look->n_asked = 0;
		if (look->patience_ms > PATIENCE_MIN_MS)
			look->patience_ms /= 2;
		confined_end(&look->child);
		return start(look, err);
	}
	look->first = (look->first + 1) % AHEAD;
	look->n_asked--;
	if (!failed)
		return add_rows(look, a, &u, err);
	look->list.unreadable += why.code == ERR_PERM;
	miss(&look->list, &why);
	return 0;
}

static bool is_among(pid_t pid, const pid_t *v, size_t n)
{
	return vec_find(&pid, v, n, proc_by_pid);
}

static int ask_about(struct look *look, pid_t pid, struct err *err)
{
	struct asked *a = &look->asked[(look->first + look->n_asked) % AHEAD];
	struct ops_process *out = &a->outside;
	_cleanup_(proc_close) struct proc p = { 0 };
	_cleanup_(pack_fini) struct pack message = { 0 };
	char cgroup[PROC_CGROUP_SIZE];
	struct err ended = ERR_INIT, why = ERR_INIT;
	struct proc sent;
	int fds[CONFINED_FDS_MAX], failed;
	size_t n;

	err_forget();
	/* Nobody looks for them. */
	if (pid == look->child.child || pid == look->child.opener)
		return 0;
	if (proc_open(&p, pid, &ended)) {
		miss(&look->list, &ended);
		return 0;
	}
	proc_cgroup(pid, cgroup, sizeof(cgroup));
	if (!match_wants(&look->request->filter, &p, cgroup))
		return 0;
	n = handed_open(&p, fds);
	if (!n) {
		look->list.unreadable += errno == EACCES || errno == EPERM;
		err_explain(&why);
		miss(&look->list, &why);
		return 0;
	}
	a->index = look->next - 1;
	*out = (struct ops_process){ .pid = p.pid,
				     .start_time = p.start_time,
				     .ppid = p.status.ppid,
				     .uid = p.status.euid,
				     .rss_bytes = p.status.rss_bytes };
	memcpy(out->comm, p.status.comm, sizeof(out->comm));
	container_parse(cgroup, out->container, sizeof(out->container));
	container_id_parse(cgroup, out->container_id);
	pod_parse(cgroup, out->pod_uid, &out->qos_class);
	unit_parse(cgroup, out->unit, sizeof(out->unit));
	cgroup_pick(cgroup, out->cgroup, sizeof(out->cgroup));
	service_parse(cgroup, a->service, sizeof(a->service));
	a->recording = (struct err)ERR_INIT;
	if (is_among(p.pid, look->recorded, look->n_recorded))
		journal_look(&p, &a->recording);
	sent = p;
	sent.pidfd = -1;
	pack_bytes(&message, &sent, sizeof(sent));
	failed = confined_ask_with(&look->child, &message, fds, n, err);
	handed_close(fds, n);
	look->n_asked += !failed;
	return failed;
}

static int look_at_all(struct look *look, struct err *err)
{
	while (look->next < look->n_pids || look->n_asked) {
		int failed = look->next < look->n_pids && look->n_asked < AHEAD
				     ? ask_about(look, look->pids[look->next++], err)
				     : take_answer(look, err);

		if (failed)
			return -1;
		if (stop_asked(look->request->stop_fd))
			return err_raise(err, ERROR_INTERRUPTED);
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct ops_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Finds the nearest ancestor that is listed. */
static int find_above(struct ops_list *list, struct err *err)
{
	_cleanup_(pid_tree_fini) struct pid_tree tree = { 0 };

	if (!list->n)
		return 0;
	if (pid_tree_read(&tree, err))
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		struct ops_process key = { .pid = list->v[i].pid };

		/* Data that changed while it was read may contain cycles. */
		for (size_t steps = 0; steps < tree.n && !list->v[i].above; steps++) {
			key.pid = pid_tree_parent(&tree, key.pid);
			if (!key.pid)
				break;
			if (vec_find(&key, list->v, list->n, compare_rows))
				list->v[i].above = key.pid;
		}
	}
	return 0;
}

int ops_list(const struct ops_list_request *request, struct ops_list *out, struct err *err)
{
	struct look look = { .request = request,
			     .child = CONFINED_UNTIL(request->stop_fd),
			     .patience_ms =
				     request->debuginfod ? PATIENCE_DEBUGINFOD_MS : PATIENCE_MS };
	struct err ignored;
	size_t n = 0;
	int ret;

	/* Without recordings, the rest of the list is the same. */
	if (journal_list(&look.recorded, &look.n_recorded, &ignored))
		look.n_recorded = 0;
	if (match_pids(request->filter.children, &look.pids, &look.n_pids, err)) {
		free(look.recorded);
		return -1;
	}
	/* Reduces the existing pids to the requested ones. */
	for (size_t i = 0; request->only && i < look.n_pids; i++) {
		if (is_among(look.pids[i], request->only, request->n_only))
			look.pids[n++] = look.pids[i];
	}
	if (request->only)
		look.n_pids = n;
	ret = start(&look, err) || look_at_all(&look, err) ||
	      (request->tree && find_above(&look.list, err));
	confined_end(&look.child);
	free(look.pids);
	free(look.recorded);
	if (ret) {
		ops_list_fini(&look.list);
		return -1;
	}
	*out = look.list;
	return 0;
}

void ops_list_fini(struct ops_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free_row(&list->v[i]);
	free(list->v);
	*list = (struct ops_list){ 0 };
}
