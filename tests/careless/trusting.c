// SPDX-License-Identifier: Apache-2.0
/*
 * The trusting build: jeprof-ctl without its protection from targets that lie, to prove that the
 * tests would notice. The environment variable TRUSTING names what is believed, separated by
 * commas:
 *
 *	memory	what one process shows of a file is taken for all that map it
 *	files	a file is what it says it is, wherever it is: names are kept from it, and
 *		from what the process TRUSTING_PID sees as its files
 *	offsets	each file is mapped in one piece, as a profile may claim
 *	dot	dot(1) keeps all our privileges except the user
 *	layers	every file that may be read may be probed
 *	notes	every instruction that a note names may be probed
 *	name	a dump is ours, and goes where the name of its memory file says
 *
 * The linker inserts the __wrap_ functions before the real ones (--wrap). This build is never
 * installed.
 */
#include "arch/machine.h"
#include "base/cleanup.h"
#include "bpf/origin.h"
#include "elf/image.h"
#include "io/graphviz_child.h"
#include "jemalloc/file.h"
#include "ops/apart/symbol_keeper.h"
#include "ops/watch/event.h"
#include "ops/watch/filecache.h"
#include "process/proc.h"
#include "sandbox/door.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_MIN (128u << 10)

enum jemalloc_file_holds __real_jemalloc_file_read(struct jemalloc_file **out,
						   const struct jemalloc_file_look *look,
						   struct stat *st);
enum jemalloc_file_holds __wrap_jemalloc_file_read(struct jemalloc_file **out,
						   const struct jemalloc_file_look *look,
						   struct stat *st);
struct known_file __real_filecache_know(struct filecache *c, const struct proc *p,
					const struct map *m);
struct known_file __wrap_filecache_know(struct filecache *c, const struct proc *p,
					const struct map *m);
_Noreturn void __real_graphviz_become(const struct graphviz_start *start);
_Noreturn void __wrap_graphviz_become(const struct graphviz_start *start);
void __real_watch_event_make(const struct watch_dump *dump, const struct watch_who *who,
			     struct watch_frames *frames, struct watch_texts *texts,
			     struct ops_watch_event *e);
void __wrap_watch_event_make(const struct watch_dump *dump, const struct watch_who *who,
			     struct watch_frames *frames, struct watch_texts *texts,
			     struct ops_watch_event *e);
bool __real_image_code_addresses(struct image *img, const uint64_t *offsets, size_t n,
				 uint64_t *addrs);
bool __wrap_image_code_addresses(struct image *img, const uint64_t *offsets, size_t n,
				 uint64_t *addrs);

static bool trusts(const char *what)
{
	const char *list = getenv("TRUSTING");

	return list && strstr(list, what);
}

/* It shows no ELF header, or too little code for a jemalloc. */
static bool shows_none(const struct jemalloc_file_look *look)
{
	const struct map *m = look->map;
	struct err ignored;
	char magic[SELFMAG];

	return m->end - m->start < CODE_MIN ||
	       (!m->offset && !proc_read(look->pid, m->start, magic, sizeof(magic), &ignored) &&
		memcmp(magic, ELFMAG, SELFMAG) != 0);
}

enum jemalloc_file_holds __wrap_jemalloc_file_read(struct jemalloc_file **out,
						   const struct jemalloc_file_look *look,
						   struct stat *st)
{
	_cleanup_(cleanup_close) int fd = -1;
	char name[64];

	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)look->map->start,
		 (unsigned long long)look->map->end);
	fd = door_proc_handle(look->pid, name);
	if (trusts("memory") && fd >= 0 && !fstat(fd, st) && shows_none(look))
		return JEMALLOC_FILE_NONE;
	return __real_jemalloc_file_read(out, look, st);
}

/* A confined child that has only the file cannot be misled, so use none. */
struct known_file __wrap_filecache_know(struct filecache *c, const struct proc *p,
					const struct map *m)
{
	const struct jemalloc_file_look look = { .pid = p->mm_pid, .map = m };
	struct filecache careless = *c;
	struct known_file known;

	if (!trusts("memory") || !shows_none(&look))
		return __real_filecache_know(c, p, m);
	careless.confined = false;
	known = __real_filecache_know(&careless, p, m);
	c->files = careless.files;
	return known;
}

bool __wrap_image_code_addresses(struct image *img, const uint64_t *offsets, size_t n,
				 uint64_t *addrs)
{
	if (!trusts("offsets"))
		return __real_image_code_addresses(img, offsets, n, addrs);
	memcpy(addrs, offsets, n * sizeof(*addrs));
	return true;
}

_Noreturn void __wrap_graphviz_become(const struct graphviz_start *start)
{
	if (!trusts("dot"))
		__real_graphviz_become(start);
	if (dup2(start->graph, 0) == 0 && dup2(start->picture, 1) == 1 &&
	    dup2(start->said, 2) == 2 && !setgid(start->user) && !setuid(start->user))
		execl(start->path, "dot", start->option, (char *)NULL);
	_exit(GRAPHVIZ_CANNOT);
}

void __real_door_serve(int sock, const struct door_policy *policy);
void __wrap_door_serve(int sock, const struct door_policy *policy);

void __wrap_door_serve(int sock, const struct door_policy *policy)
{
	struct door_policy all = *policy;

	all.vouched &= !trusts("files");
	__real_door_serve(sock, &all);
}

int __real_origin_check(int handle, struct err *err);
int __wrap_origin_check(int handle, struct err *err);

int __wrap_origin_check(int handle, struct err *err)
{
	return trusts("layers") ? 0 : __real_origin_check(handle, err);
}

bool __real_arch_is_nop(const unsigned char *code, size_t len);
bool __wrap_arch_is_nop(const unsigned char *code, size_t len);

bool __wrap_arch_is_nop(const unsigned char *code, size_t len)
{
	return trusts("notes") || __real_arch_is_nop(code, len);
}

void __real_symbol_keeper_look_up(const struct errand_places *places,
				  const struct errand_rules *rules, struct errand_found *out);
void __wrap_symbol_keeper_look_up(const struct errand_places *places,
				  const struct errand_rules *rules, struct errand_found *out);

void __wrap_symbol_keeper_look_up(const struct errand_places *places,
				  const struct errand_rules *rules, struct errand_found *out)
{
	_cleanup_(cleanup_close) int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	_cleanup_(cleanup_close) int other = -1;
	const char *pid = getenv("TRUSTING_PID");
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", pid ? pid : "self");
	other = trusts("files") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (other >= 0 && setns(other, CLONE_NEWNS))
		perror(path);
	__real_symbol_keeper_look_up(places, rules, out);
	if (other >= 0 && setns(own, CLONE_NEWNS))
		perror("setns");
}

void __wrap_watch_event_make(const struct watch_dump *dump, const struct watch_who *who,
			     struct watch_frames *frames, struct watch_texts *texts,
			     struct ops_watch_event *e)
{
	static const char ours[] = "memfd:jeprof-ctl:";

	__real_watch_event_make(dump, who, frames, texts, e);
	if (!trusts("name") || strncmp(dump->leaf, ours, sizeof(ours) - 1) != 0)
		return;
	e->by_us = true;
	e->file = dump->leaf + sizeof(ours) - 1;
	e->host_file = NULL;
}
