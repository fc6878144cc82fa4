// SPDX-License-Identifier: Apache-2.0
#include "bpf/watch.h"

#include "base/cleanup.h"
#include "bpf/origin.h"
#include "bpf/trial.h"
#include "bpf/watch.skel.h"
#include "bpf/why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define LINKS_MAX 4096
#define FIRST_PIDNS 0xEFFFFFFCu /* PROC_PID_INIT_INO: the initial namespace */
#define DEV_MINOR_BITS 20	/* of the kernel's dev_t */

struct watch {
	struct watch_bpf *skel;
	struct ring_buffer *ring, *begins;
	struct watch_handlers handlers;
	struct bpf_link *links[LINKS_MAX];
	size_t n_links, n_files;
	bool listens_to_writes;
};

static int hand_over_begin(void *ctx, void *data, size_t size)
{
	const struct watch *w = ctx;

	if (size >= sizeof(struct watch_begin))
		w->handlers.begin(w->handlers.ctx, data);
	return 0;
}

static int hand_over(void *ctx, void *data, size_t size)
{
	const struct watch *w = ctx;
	const struct watch_dump *dump = data;
	const struct watch_process *process = data;
	const struct watch_handlers *h = &w->handlers;

	if (dump->type == WATCH_RECORD_DUMP && size >= offsetof(struct watch_dump, name)) {
		ring_buffer__consume(w->begins); /* including its own */
		h->dump(h->ctx, dump);
	} else if (dump->type == WATCH_RECORD_PROCESS && size >= sizeof(*process)) {
		h->process(h->ctx, (pid_t)process->pid);
	}
	return 0;
}

static int keep(struct watch *w, struct bpf_link *link, const char *what, struct err *err)
{
	if (!link)
		return why_not_attached(errno, what, err);
	w->links[w->n_links++] = link;
	return 0;
}

/* arm64 lacks creat(2) and open(2), so that nothing is missed there. */
static int listen_to(struct watch *w, struct bpf_program *prog, bool needed, struct err *err)
{
	struct bpf_link *link = bpf_program__attach(prog);

	if (!link && !needed && errno == ENOENT)
		return 0;
	return keep(w, link, bpf_program__section_name(prog), err);
}

static int listen_to_all(struct watch *w, bool all, struct err *err)
{
	const struct watch_bpf *s = w->skel;

	if (listen_to(w, s->progs.creat_begins, false, err) ||
	    listen_to(w, s->progs.creat_ends, false, err) ||
	    listen_to(w, s->progs.open_begins, false, err) ||
	    listen_to(w, s->progs.open_ends, false, err) ||
	    listen_to(w, s->progs.openat_begins, true, err) ||
	    listen_to(w, s->progs.openat_ends, true, err) ||
	    listen_to(w, s->progs.close_begins, true, err) ||
	    listen_to(w, s->progs.thread_ends, true, err))
		return -1;
	return all && (listen_to(w, s->progs.program_begins, true, err) ||
		       listen_to(w, s->progs.code_is_mapped, true, err))
		       ? -1
		       : 0;
}

static int load(struct watch *w, const struct watch_options *options, struct err *err)
{
	struct stat st;

	w->skel = watch_bpf__open();
	if (!w->skel)
		return why_not_loaded(errno, err);
	w->skel->rodata->watch_all = options->all;
	w->skel->rodata->copy_stacks = options->stacks;
	if (!stat("/proc/self/ns/pid", &st)) {
		w->skel->rodata->own_pidns = (__u32)st.st_ino;
		w->skel->rodata->any_pidns = st.st_ino == FIRST_PIDNS;
	}
	if (watch_bpf__load(w->skel))
		return why_not_loaded(errno, err);
	w->ring = ring_buffer__new(bpf_map__fd(w->skel->maps.records), hand_over, w, NULL);
	w->begins = ring_buffer__new(bpf_map__fd(w->skel->maps.begins), hand_over_begin, w, NULL);
	return w->ring && w->begins ? 0 : why_not_loaded(errno, err);
}

static void close_watch(struct watch **w)
{
	watch_close(*w);
}

int watch_open(struct watch **out, const struct watch_options *options,
	       const struct watch_handlers *handlers, struct err *err)
{
	_cleanup_(close_watch) struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return err_no_memory(err);
	why_listen();
	w->handlers = *handlers;
	if (why_impossible(err) || load(w, options, err) || listen_to_all(w, options->all, err))
		return -1;
	*out = take_ptr(w);
	return 0;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_links; i++)
		bpf_link__destroy(w->links[i]);
	ring_buffer__free(w->ring);
	ring_buffer__free(w->begins);
	watch_bpf__destroy(w->skel);
	free(w);
}

static int add_pid(const struct bpf_map *map, pid_t pid, struct err *err)
{
	const unsigned char yes = 1;
	const __u32 key = (__u32)pid;

	if (bpf_map__update_elem(map, &key, sizeof(key), &yes, sizeof(yes), BPF_ANY))
		return err_raise_sys(err, ERROR_UNWATCHED, errno, .pid = pid);
	return 0;
}

int watch_add_process(struct watch *w, pid_t pid, struct err *err)
{
	return add_pid(w->skel->maps.wanted, pid, err);
}

int watch_add_unprobed(struct watch *w, pid_t pid, struct err *err)
{
	if (!w->listens_to_writes && listen_to(w, w->skel->progs.write_begins, true, err))
		return -1;
	w->listens_to_writes = true;
	if (add_pid(w->skel->maps.unprobed, pid, err))
		return -1;
	w->skel->bss->unprobed_any = true;
	return 0;
}

static struct bpf_link *probe(const struct bpf_program *prog, const char *path, uint64_t offset,
			      uint64_t cookie, bool at_return)
{
	struct bpf_uprobe_opts opts = { .sz = sizeof(opts),
					.bpf_cookie = cookie,
					.retprobe = at_return };
	struct bpf_link *link = bpf_program__attach_uprobe_opts(prog, -1, path, offset, &opts);

	/* libbpf's error if the kernel does not support cookies. */
	if (link || errno != EOPNOTSUPP)
		return link;
	opts.bpf_cookie = 0;
	return bpf_program__attach_uprobe_opts(prog, -1, path, offset, &opts);
}

int watch_add_file(struct watch *w, int handle, uint64_t offset, enum watch_convention c,
		   struct err *err)
{
	uint64_t cookie = ((w->n_files + 1) * (WATCH_CONVENTION_MASK + 1)) | c;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	if (origin_check(handle, err))
		return -1;
	if (w->n_links + 2 > LINKS_MAX)
		return err_raise(err, ERROR_TOO_MANY_FILES_TO_PROBE, .limit = LINKS_MAX / 2);
	/*
	 * The return probe first: a dump that begins between the two is missed completely, not
	 * half.
	 */
	if (keep(w, probe(w->skel->progs.dump_ends, path, offset, cookie, true), path, err) ||
	    keep(w, probe(w->skel->progs.dump_begins, path, offset, cookie, false), path, err))
		return -1;
	w->n_files++;
	return 0;
}

void watch_know_file(struct watch *w, uint32_t dev_major, uint32_t dev_minor, uint64_t inode)
{
	const struct {
		__u64 dev, inode;
	} key = { ((uint64_t)dev_major << DEV_MINOR_BITS) | dev_minor, inode };
	const unsigned char yes = 1;

	/* If the map is full, it is reported again: nothing is missed. */
	(void)bpf_map__update_elem(w->skel->maps.files, &key, sizeof(key), &yes, sizeof(yes),
				   BPF_ANY);
}

static bool version_may_probe(void)
{
	struct utsname u;
	int major = 0, minor = 0, patch = 0;

	if (uname(&u) || sscanf(u.release, "%d.%d.%d", &major, &minor, &patch) < 2 || major != 6)
		return true;
	return minor < 11 || minor > 13 || (minor == 12 && patch >= 20);
}

bool watch_may_probe(void)
{
	static _Atomic enum { NOT_ASKED, YES, NO } answer; /* the same for all callers */

	if (answer == NOT_ASKED) {
		enum trial got = trial_run(trial_probed);

		answer = got == TRIAL_LIVES || (got == TRIAL_UNKNOWN && version_may_probe()) ? YES
											     : NO;
	}
	return answer == YES;
}

int watch_fd(const struct watch *w)
{
	return ring_buffer__epoll_fd(w->ring);
}

int watch_begins_fd(const struct watch *w)
{
	return ring_buffer__epoll_fd(w->begins);
}

int watch_read(struct watch *w, struct err *err)
{
	int n = ring_buffer__consume(w->begins);

	if (n >= 0)
		n = ring_buffer__consume(w->ring);
	return n < 0 ? err_raise_sys(err, ERROR_KERNEL_EVENTS_UNREADABLE, -n) : 0;
}

uint64_t watch_lost(const struct watch *w)
{
	return __atomic_load_n(&w->skel->bss->lost, __ATOMIC_RELAXED);
}
