// SPDX-License-Identifier: Apache-2.0
#include "ops/target/memory.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/image_head.h"
#include "process/procfs.h"
#include "process/thread.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Running threads are asked again for their stack: after this pause, and for this long in total. */
#define STACK_PAUSE_NS 5000000
#define STACK_MS 100
/* Anything larger holds stacks of coroutines, beside whatever else the program allocated there. */
#define STACK_SIZE_MAX (UINT64_C(64) << 20)

/* One mapping and its counts. */
struct mapping {
	const struct map *map;
	struct memory_part sum;
	uint64_t anonymous; /* bytes of sum.rss without a file */
	uint64_t stacks;    /* number of stack pointers in it */
	enum memory_kind kind;
};

/* --- what each one is --- */

static bool is_shared_memory(const struct map *map)
{
	static const char *const names[] = { "/dev/shm/", "/memfd:", "/SYSV", "/dev/zero",
					     "[anon_shmem:" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text_begins(map->path, names[i]))
			return true;
	return false;
}

static bool is_accessible(const struct map *map)
{
	return map->prot & (MAP_R | MAP_W | MAP_X);
}

static enum memory_kind kind_of(const struct map *map)
{
	const char *path = map->path;

	if (is_shared_memory(map))
		return MEMORY_SHARED;
	if (text_begins(path, "[anon:jemalloc_pg"))
		return MEMORY_JEMALLOC;
	if (!strcmp(path, "[heap]"))
		return MEMORY_HEAP;
	if (text_begins(path, "[stack"))
		return MEMORY_STACK;
	if (!*path || text_begins(path, "[anon:"))
		return MEMORY_ANONYMOUS;
	return MEMORY_FILE;
}

/* Go's arenas begin here (runtime/malloc.go, arenaBaseOffset of 64-bit machines). */
#define GO_ARENA UINT64_C(0xc000000000)

static bool is_go(const struct map *map)
{
	return map->start == GO_ARENA && !*map->path;
}

/* --- the runtime --- */

static enum memory_runtime runtime_of(const struct map *map)
{
	static const struct {
		const char *pattern; /* for the last component of the path, fnmatch(3) */
		enum memory_runtime runtime;
	} files[] = {
		{ "libpython[0-9]*", RUNTIME_PYTHON }, { "python[0-9]*", RUNTIME_PYTHON },
		{ "libjvm.so", RUNTIME_JAVA },	       { "node", RUNTIME_V8 },
		{ "libnode.so*", RUNTIME_V8 },	       { "libv8.so*", RUNTIME_V8 },
		{ "libcoreclr.so", RUNTIME_DOTNET },   { "libruby*.so*", RUNTIME_RUBY },
		{ "php[0-9]*", RUNTIME_PHP },	       { "php-fpm*", RUNTIME_PHP },
		{ "libphp*.so", RUNTIME_PHP },	       { "beam.smp", RUNTIME_ERLANG },
		{ "mariadbd", RUNTIME_INNODB },	       { "mysqld", RUNTIME_INNODB },
		{ "libluajit*.so*", RUNTIME_LUAJIT },
	};

	char name[PATH_MAX];

	if (is_go(map))
		return RUNTIME_GO;
	if (map->path[0] != '/' || !(map->prot & MAP_X))
		return RUNTIME_NONE;
	snprintf(name, sizeof(name), "%.*s", (int)text_stem(map->path, " (deleted)"), map->path);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!fnmatch(files[i].pattern, text_file_name(name), 0))
			return files[i].runtime;
	return RUNTIME_NONE;
}

/* --- the sum --- */

static void add(struct memory_part *to, const struct memory_part *part)
{
	to->rss += part->rss;
	to->size += part->size;
	to->mappings += part->mappings;
}

/* Written pages of a private mapping are its own. */
static void move(struct memory *m, enum memory_kind from, enum memory_kind to, uint64_t bytes)
{
	m->kinds[from].rss -= bytes;
	m->kinds[from].size -= bytes;
	m->kinds[to].rss += bytes;
	m->kinds[to].size += bytes;
}

static void count(struct memory *m, const struct mapping *one)
{
	m->rss += one->sum.rss;
	if (!m->runtime)
		m->runtime = runtime_of(one->map);
	add(&m->kinds[one->kind], &one->sum);
	if (one->kind == MEMORY_FILE)
		move(m, MEMORY_FILE, MEMORY_DATA, one->anonymous);
	if (one->kind == MEMORY_SHARED) /* a private mapping of it, such as /dev/zero */
		move(m, MEMORY_SHARED, MEMORY_ANONYMOUS, one->anonymous);
	if (one->kind == MEMORY_ANONYMOUS && !is_accessible(one->map))
		m->barred += one->sum.size;
}

static int by_name(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;
	int order = strcmp(x->map->path, y->map->path);

	return order ? order : x->map->start < y->map->start ? -1 : 1;
}

static int by_rss(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	if (x->sum.rss != y->sum.rss)
		return x->sum.rss > y->sum.rss ? -1 : 1;
	return x->map->start < y->map->start ? -1 : 1;
}

/* Reorders `v`. */
static void find_largest(struct memory *m, struct mapping *v, size_t n)
{
	size_t kept = 0;

	/* Joins the mappings of one name. */
	vec_sort(v, n, by_name);
	for (size_t i = 0; i < n; i++) {
		struct mapping *last = kept ? &v[kept - 1] : NULL;

		if (last && v[i].map->path[0] && !strcmp(last->map->path, v[i].map->path))
			add(&last->sum, &v[i].sum);
		else
			v[kept++] = v[i];
	}
	vec_sort(v, kept, by_rss);
	for (size_t i = 0; i < kept && i < MEMORY_ITEMS && v[i].sum.rss; i++) {
		struct memory_item *item = &m->items[m->n_items++];
		size_t len = strlen(v[i].map->path), room = sizeof(item->path) - 1;

		item->kind = v[i].kind;
		item->start = v[i].map->start;
		item->sum = v[i].sum;
		strcpy(item->path, v[i].map->path + (len > room ? len - room : 0));
	}
}

int memory_sum(struct memory *m, const struct maps *maps, const struct memory_use *use,
	       const struct memory_stacks *stacks, struct err *err)
{
	_cleanup_(cleanup_free) struct mapping *v = calloc(maps->n + 1, sizeof(*v));

	*m = (struct memory){ .rss = 0 };
	if (!v)
		return err_no_memory(err);
	for (size_t i = 0; i < maps->n; i++) {
		const struct map *map = &maps->v[i];

		v[i] = (struct mapping){
			.map = map,
			.sum = { .rss = use[i].present,
				 .size = map->end - map->start,
				 .mappings = 1 },
			.anonymous = use[i].present - use[i].shared,
			.kind = kind_of(map),
		};
		m->swap += use[i].swapped;
	}
	for (size_t i = 0; i < stacks->n; i++) {
		const struct map *map = maps_find(maps, stacks->v[i]);

		if (map)
			v[map - maps->v].stacks++;
	}
	/* Go allocates stacks from its heap. */
	for (size_t i = 0; i < maps->n; i++)
		if (v[i].kind == MEMORY_ANONYMOUS && v[i].stacks && !is_go(v[i].map) &&
		    v[i].sum.size / v[i].stacks <= STACK_SIZE_MAX)
			v[i].kind = MEMORY_STACK;
	for (size_t i = 0; i < maps->n; i++)
		count(m, &v[i]);
	find_largest(m, v, maps->n);
	return 0;
}

/* --- reading --- */

#define PAGES_AT_ONCE 65536

/* Bits of an entry (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)
#define PAGE_EXCLUSIVE (UINT64_C(1) << 56)

/* Is it part of RSS? The kernel's own pages and reserved huge pages are not. */
static bool is_counted(const struct map *map)
{
	static const char *const left_out[] = { "[v", "/anon_hugepage", "/dev/hugepages/" };

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		if (text_begins(map->path, left_out[i]))
			return false;
	return is_accessible(map);
}

static int read_use(int fd, const struct map *map, uint64_t *entries, struct memory_use *use)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const bool anonymous = !map->inode && !is_shared_memory(map);

	for (uint64_t at = map->start; at < map->end;) {
		uint64_t want = (map->end - at) / page;
		ssize_t got =
			pread(fd, entries,
			      (want < PAGES_AT_ONCE ? want : PAGES_AT_ONCE) * sizeof(*entries),
			      (off_t)(at / page * sizeof(*entries)));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		/* It has ended, or this mapping is the kernel's. */
		if (got < (ssize_t)sizeof(*entries))
			return 0;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++) {
			bool file = entries[i] & PAGE_OF_FILE;
			/* Without a file, that is the huge zero page: see subtract_zeros() */
			bool present = (entries[i] & PAGE_PRESENT) && !(anonymous && file);

			use->present += present ? page : 0;
			use->shared += present && file ? page : 0;
			use->common +=
				present && !file && !(entries[i] & PAGE_EXCLUSIVE) ? page : 0;
			use->swapped += entries[i] & PAGE_SWAPPED ? page : 0;
		}
		at += (size_t)got / sizeof(*entries) * page;
	}
	return 0;
}

static int read_all(const struct maps *maps, pid_t pid, struct memory_use *use, struct err *err)
{
	_cleanup_(cleanup_free) uint64_t *entries = NULL;
	_cleanup_(cleanup_close) int fd = procfs_open(pid, 0, "pagemap");
	uint64_t space = 0;

	if (fd < 0)
		return procfs_fail(pid, "pagemap", errno, err);
	entries = calloc(PAGES_AT_ONCE, sizeof(*entries));
	if (!entries)
		return err_no_memory(err);
	for (size_t i = 0; i < maps->n; i++) {
		if (!is_counted(&maps->v[i]))
			continue;
		space += maps->v[i].end - maps->v[i].start;
		if (space > MEMORY_SPACE_MAX)
			return err_raise(err, ERROR_ADDRESS_SPACE_TOO_LARGE, .pid = pid,
					 .max = MEMORY_SPACE_MAX);
		if (read_use(fd, &maps->v[i], entries, &use[i]))
			return procfs_fail(pid, "pagemap", errno, err);
	}
	return 0;
}

/*
 * Memory that was read but never written is the kernel's zero page: present, but not part of RSS.
 * It looks like a page that is shared since a fork(2): as many of these as exceed the kernel's own
 * count (RssAnon) are subtracted.
 */
static void subtract_zeros(struct memory_use *use, size_t n, uint64_t rss_anon)
{
	uint64_t anonymous = 0, common = 0, zeros;

	for (size_t i = 0; i < n; i++) {
		anonymous += use[i].present - use[i].shared;
		common += use[i].common;
	}
	zeros = anonymous > rss_anon ? anonymous - rss_anon : 0;
	if (zeros > common)
		zeros = common;
	for (size_t i = 0; i < n && common; i++)
		use[i].present -=
			(uint64_t)((double)use[i].common * (double)zeros / (double)common);
}

/* --- .bss --- */

#define HEAD_SIZE 4096 /* enough for the program headers of any linker's output */

/* Where the memory of an ELF file ends whose beginning is mapped at `start`; 0: unknown. */
static uint64_t image_end(int mem, uint64_t start)
{
	char bytes[HEAD_SIZE];
	struct image_head head;
	ssize_t len = pread(mem, bytes, sizeof(bytes), (off_t)start);
	uint64_t low, high;

	if (len <= 0 || !image_head_parse(&head, bytes, (size_t)len))
		return 0;
	image_head_extent(&head, &low, &high);
	return start + (high - low);
}

/*
 * Anonymous memory that holds .bss takes the path of its file, and is split where .bss ends: the
 * kernel merges other memory behind it into the same mapping.
 */
static int name_bss(struct maps *maps, pid_t pid, struct err *err)
{
	_cleanup_(cleanup_close) int mem = procfs_open(pid, 0, "mem");
	_cleanup_(cleanup_free) struct map *v = calloc(2 * maps->n + 1, sizeof(*v));
	const struct map *head = NULL; /* the beginning of the file */
	size_t n = 0;

	if (!v)
		return err_no_memory(err);
	for (size_t i = 0; i < maps->n; i++) {
		const struct map *map = &maps->v[i], *before = i ? map - 1 : NULL;
		uint64_t end = 0;

		if (*map->path && !(head && head->inode == map->inode && before->end == map->start))
			head = map->offset ? NULL : map;
		v[n++] = *map;
		/* Is it private memory right behind writable data of a file? */
		if (head && before && !*map->path && before->end == map->start &&
		    before->path[0] == '/' && (before->prot & MAP_W) && (map->prot & MAP_W) &&
		    !(before->prot & MAP_SHARED_BIT))
			end = image_end(mem, head->start);
		if (end <= map->start)
			continue;
		v[n - 1].path = head->path;
		if (end < map->end) {
			v[n - 1].end = end;
			v[n] = *map;
			v[n++].start = end;
		}
	}
	free(maps->v);
	maps->v = take_ptr(v);
	maps->n = n;
	return 0;
}

int memory_read(struct memory *m, pid_t pid, const struct memory_stacks *stacks, struct err *err)
{
	_cleanup_(maps_fini) struct maps maps = { 0 };
	_cleanup_(cleanup_free) struct memory_use *use = NULL;
	struct proc_status status;

	if (maps_read(&maps, pid, err) || name_bss(&maps, pid, err))
		return -1;
	use = calloc(maps.n + 1, sizeof(*use));
	if (!use)
		return err_no_memory(err);
	if (read_all(&maps, pid, use, err) || proc_thread_status(pid, pid, &status, err))
		return -1;
	subtract_zeros(use, maps.n, status.rss_anon_bytes);
	return memory_sum(m, &maps, use, stacks, err);
}

/* Keeps in `tids` those that run or wait for a CPU, or were not asked before `end`. */
static void ask_threads(struct memory_stacks *s, pid_t pid, pid_t *tids, size_t *n, uint64_t end)
{
	size_t left = 0;

	for (size_t i = 0; i < *n; i++) {
		if (now_ms() < end) {
			struct err ignored = ERR_INIT;
			struct proc_syscall at;

			if (proc_thread_syscall(pid, tids[i], &at, &ignored))
				continue; /* it has ended */
			if (!at.running) {
				s->v[s->n++] = at.sp;
				continue;
			}
		}
		tids[left++] = tids[i];
	}
	*n = left;
}

int memory_stacks(struct memory_stacks *s, pid_t pid, struct err *err)
{
	static const struct timespec pause = { .tv_nsec = STACK_PAUSE_NS };
	_cleanup_(cleanup_free) pid_t *tids = NULL;
	const uint64_t end = now_ms() + STACK_MS;
	size_t n = 0;

	*s = (struct memory_stacks){ .n = 0 };
	if (proc_threads(pid, &tids, &n, err))
		return -1;
	s->v = calloc(n + 1, sizeof(*s->v));
	if (!s->v)
		return err_no_memory(err);
	/* Each is asked at least once, however many there are. */
	ask_threads(s, pid, tids, &n, UINT64_MAX);
	while (n && now_ms() < end) {
		nanosleep(&pause, NULL);
		ask_threads(s, pid, tids, &n, end);
	}
	return 0;
}

void memory_stacks_fini(struct memory_stacks *s)
{
	free(s->v);
	*s = (struct memory_stacks){ .n = 0 };
}

/* --- as a message --- */

static void part_pack(const struct memory_part *part, struct pack *p)
{
	pack_u64(p, part->rss);
	pack_u64(p, part->size);
	pack_u64(p, part->mappings);
}

static void part_unpack(struct memory_part *part, struct unpack *u)
{
	part->rss = unpack_max(u, INT64_MAX / MEMORY_KINDS);
	part->size = unpack_u64(u);
	part->mappings = unpack_u64(u);
}

void memory_pack(const struct memory *m, struct pack *p)
{
	pack_u64(p, m->rss);
	pack_u64(p, m->swap);
	pack_u64(p, m->barred);
	for (size_t i = 0; i < MEMORY_KINDS; i++)
		part_pack(&m->kinds[i], p);
	pack_u64(p, m->n_items);
	for (size_t i = 0; i < m->n_items; i++) {
		pack_u64(p, m->items[i].kind);
		pack_u64(p, m->items[i].start);
		part_pack(&m->items[i].sum, p);
		pack_text(p, m->items[i].path);
	}
	pack_u64(p, m->runtime);
}

void memory_unpack(struct memory *m, struct unpack *u)
{
	uint64_t rss = 0;

	*m = (struct memory){ .rss = 0 };
	m->rss = unpack_max(u, INT64_MAX);
	m->swap = unpack_u64(u);
	m->barred = unpack_u64(u);
	for (size_t i = 0; i < MEMORY_KINDS; i++) {
		part_unpack(&m->kinds[i], u);
		rss += m->kinds[i].rss;
	}
	u->bad |= rss != m->rss;
	m->n_items = unpack_max(u, MEMORY_ITEMS);
	for (size_t i = 0; i < m->n_items; i++) {
		m->items[i].kind = (enum memory_kind)unpack_max(u, MEMORY_KINDS - 1);
		m->items[i].start = unpack_u64(u);
		part_unpack(&m->items[i].sum, u);
		unpack_into(u, m->items[i].path, sizeof(m->items[i].path));
	}
	m->runtime = (enum memory_runtime)unpack_max(u, RUNTIMES - 1);
}
