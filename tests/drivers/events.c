// SPDX-License-Identifier: Apache-2.0
/*
 * events FILE...: prints a line for each jemalloc in each file, with the file offsets at which to
 * probe its te_event_trigger and its prof_dump; "-" for unknown.
 */
#include "base/cleanup.h"
#include "jemalloc/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void print(bool known, uint64_t offset)
{
	if (known)
		printf(" %#llx", (unsigned long long)offset);
	else
		printf(" -");
}

static void print_all(const struct jemalloc_file *file, const char *name)
{
	for (size_t i = 0; i < jemalloc_file_count(file); i++) {
		struct jemalloc_file_event event = jemalloc_file_event(file, i);
		struct jemalloc_file_dump dump = jemalloc_file_dump(file, i);

		printf("%s", name);
		print(event.known, event.offset);
		print(dump.known, dump.offset);
		printf("\n");
	}
}

/* Look at a mapping of the file, of which one page is enough. */
static int look_at(const char *name)
{
	_cleanup_(cleanup_close) int fd = open(name, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	_cleanup_(maps_fini) struct maps maps = { 0 };
	struct jemalloc_file_look look = { .pid = getpid(), .dumps = true, .events = true };
	struct jemalloc_file *file = NULL;
	struct stat st;
	struct err err;

	if (at == MAP_FAILED || maps_read(&maps, getpid(), &err))
		return -1;
	look.map = maps_find(&maps, (uintptr_t)at);
	if (!look.map || jemalloc_file_read(&file, &look, &st) != JEMALLOC_FILE_SOME)
		return -1;
	print_all(file, name);
	jemalloc_file_free(file);
	munmap(at, 4096);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		if (!look_at(argv[i]))
			continue;
		fprintf(stderr, "%s: no jemalloc is found\n", argv[i]);
		status = 1;
	}
	return status;
}
