// SPDX-License-Identifier: Apache-2.0

#include "ops/watch/event.h"

#include "injector/injector.h"
#include "ops/target/container.h"
#include "ops/watch/watch.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_US 1000

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct timespec real_time(uint64_t boot_ns)
{
	int64_t ns = ns_of(CLOCK_REALTIME) - ns_of(CLOCK_BOOTTIME) + (int64_t)boot_ns;

	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

bool watch_event_is_dump(const struct watch_dump *dump)
{
	static const char suffix[] = ".heap";
	size_t len = dump->name_len;

	if (dump->cookie || !dump->open_error || (dump->flags & WATCH_BY_CREAT))
		return true;
	return len >= sizeof(suffix) && !strcmp(dump->name + len - sizeof(suffix), suffix);
}

/* The components come innermost first: they are written from the end of `buf`. */
static const char *add_cwd(const struct watch_dump *dump, char *buf, size_t size)
{
	size_t len = strlen(dump->name), at = size - 1, from = 0;

	if (len >= size || dump->cwd_len > sizeof(dump->cwd))
		return NULL;
	at -= len;
	memcpy(buf + at, dump->name, len + 1);
	for (uint32_t i = 0; i < dump->n_cwd && from < dump->cwd_len; i++) {
		size_t n = strnlen(dump->cwd + from, dump->cwd_len - from);

		if (at < n + 2)
			return NULL;
		buf[--at] = '/';
		at -= n;
		memcpy(buf + at, dump->cwd + from, n);
		from += n + 1;
	}
	if (!at)
		return NULL;
	buf[--at] = '/';
	return buf + at;
}

const char *watch_event_file(const struct watch_dump *dump, char *buf, size_t size)
{
	const char *whole = NULL;

	if (!dump->name_len)
		return NULL;
	if (dump->name[0] != '/' && (dump->flags & WATCH_CWD_WHOLE))
		whole = add_cwd(dump, buf, size);
	if (whole)
		return whole;
	snprintf(buf, size, "%s", dump->name);
	return buf;
}

/*
 * Is it ours? Any process may give a memory file any name: only our own note counts, and it names
 * the destination.
 */
static bool is_ours(const struct watch_dump *dump, char file[OWN_DUMP_FILE_SIZE])
{
	static const char ours[] = "memfd:" INJECTOR_MEMFD;
	char end = dump->leaf[sizeof(ours) - 1];

	return (dump->flags & WATCH_MEMORY) && !strncmp(dump->leaf, ours, sizeof(ours) - 1) &&
	       (!end || end == ':') &&
	       own_dump_find((pid_t)dump->pid, dump->process_began_ns, dump->began_ns, file);
}

void watch_event_make(const struct watch_dump *dump, const struct watch_who *who,
		      struct watch_frames *frames, struct watch_texts *texts,
		      struct ops_watch_event *e)
{
	*e = (struct ops_watch_event){
		.time = real_time(dump->began_ns),
		.since_start_us = (dump->began_ns - dump->process_began_ns) / NS_PER_US,
		.pid = (pid_t)dump->pid,
		.tid = (pid_t)dump->tid,
		.duration_us = (dump->ended_ns - dump->began_ns) / NS_PER_US,
		.probed = dump->cookie,
	};
	memcpy(e->comm, dump->comm, sizeof(dump->comm));
	e->kind = watch_kind_of(dump, dump->name_len ? dump->name : NULL);
	if (who) {
		memcpy(e->cgroup, who->cgroup, sizeof(e->cgroup));
		memcpy(e->container, who->container, sizeof(e->container));
	} else if (cgroup_by_id(dump->cgroup, e->cgroup, sizeof(e->cgroup))) {
		container_parse(e->cgroup, e->container, sizeof(e->container));
	}
	e->by_us = is_ours(dump, texts->own_file);
	e->file_confirmed = dump->cookie ? watch_is_confirmed(dump) : dump->name_len > 0;
	if (e->by_us) {
		e->kind = WATCH_MANUAL;
		e->file = *texts->own_file ? texts->own_file : NULL;
	} else {
		e->file = watch_event_file(dump, texts->file, sizeof(texts->file));
	}
	if (!e->by_us && e->file && e->file[0] == '/' && who && who->other_root) {
		snprintf(texts->host_file, sizeof(texts->host_file), "/proc/%d/root%s", e->pid,
			 e->file);
		e->host_file = texts->host_file;
	}
	if (dump->flags & WATCH_DIED) {
		e->error = "the process ended meanwhile";
	} else if (dump->open_error) {
		snprintf(texts->error, sizeof(texts->error), "%s", strerror(dump->open_error));
		e->error = texts->error;
	} else if (dump->cookie && (dump->ret & 0xff)) { /* a bool: true is failure */
		e->error = "the profile could not be written";
	}
	e->ok = !e->error;
	e->has_bytes = dump->opened && !dump->open_error;
	e->bytes = dump->bytes;
	e->n_frames = watch_frames_end(frames, dump, e->frames);
}

/* --- kinds --- */

const char *watch_kind_name(enum watch_kind kind)
{
	static const char *const names[] = {
		[WATCH_KIND_UNKNOWN] = "unknown", [WATCH_MANUAL] = "manual",
		[WATCH_INTERVAL] = "interval",	  [WATCH_GDUMP] = "gdump",
		[WATCH_FINAL] = "final",
	};

	return names[kind];
}

static size_t digits_before(const char *name, size_t end)
{
	size_t n = 0;

	while (n < end && name[end - n - 1] >= '0' && name[end - n - 1] <= '9')
		n++;
	return n;
}

/* Parsed from its end: the prefix can hold anything. */
enum watch_kind watch_kind_by_name(const char *name)
{
	static const char suffix[] = ".heap";
	size_t end = name ? strlen(name) : 0, number, n;
	enum watch_kind kind;
	char letter;

	if (end < sizeof(suffix) || strcmp(name + end - sizeof(suffix) + 1, suffix) != 0)
		return WATCH_KIND_UNKNOWN;
	end -= sizeof(suffix) - 1;
	number = digits_before(name, end);
	end -= number;
	if (end < 2 || name[end - 2] != '.')
		return WATCH_KIND_UNKNOWN;
	letter = name[end - 1];
	kind = letter == 'm'   ? WATCH_MANUAL
	       : letter == 'i' ? WATCH_INTERVAL
	       : letter == 'u' ? WATCH_GDUMP
	       : letter == 'f' ? WATCH_FINAL
			       : WATCH_KIND_UNKNOWN;
	/* Only the last dump has no number after its letter. */
	if ((kind == WATCH_FINAL) == (number != 0))
		return WATCH_KIND_UNKNOWN;
	end -= 2;
	for (int i = 0; i < 2; i++) {
		n = digits_before(name, end);
		if (!n || end <= n || name[end - n - 1] != '.')
			return WATCH_KIND_UNKNOWN;
		end -= n + 1;
	}
	return kind;
}

enum watch_convention watch_convention_of(const struct watch_dump *dump)
{
	enum watch_convention told = dump->cookie & WATCH_CONVENTION_MASK;

	if (!dump->cookie)
		return WATCH_UNKNOWN;
	if (told == WATCH_UNKNOWN && dump->opened)
		told = dump->args[1] == dump->opened   ? WATCH_SECOND
		       : dump->args[2] == dump->opened ? WATCH_THIRD
						       : WATCH_UNKNOWN;
	return told;
}

bool watch_is_confirmed(const struct watch_dump *dump)
{
	switch (watch_convention_of(dump)) {
	case WATCH_SECOND:
		return dump->opened && dump->args[1] == dump->opened;
	case WATCH_THIRD:
		return dump->opened && dump->args[2] == dump->opened;
	default:
		return false;
	}
}

/* Arguments are bools: only the lowest byte of their register is defined. */
enum watch_kind watch_kind_of(const struct watch_dump *dump, const char *name)
{
	enum watch_convention c = watch_convention_of(dump);
	enum watch_kind by_name = watch_kind_by_name(name);
	bool propagate, leak;

	if (c == WATCH_UNKNOWN)
		return by_name;
	propagate = dump->args[c - 1] & 0xff;
	leak = dump->args[c + 1] & 0xff;
	if (propagate) /* only a requested dump reports errors to its caller */
		return WATCH_MANUAL;
	if (leak)
		return WATCH_FINAL;
	return by_name == WATCH_MANUAL ? WATCH_KIND_UNKNOWN : by_name;
}
