// SPDX-License-Identifier: Apache-2.0
/* Private to the watch: turns what the kernel saw into events. */
#ifndef OPS_WATCH_EVENT_H
#define OPS_WATCH_EVENT_H

#include "bpf/event.h"
#include "ops/watch/frames.h"
#include "ops/watch/own_dumps.h"
#include "ops/watch/watch.h"
#include "ops/watch/who.h"

#include <stdbool.h>

struct watch_texts {
	char file[WATCH_CWD_SIZE + WATCH_NAME_SIZE + 1];
	char host_file[WATCH_CWD_SIZE + WATCH_NAME_SIZE + 64];
	char error[128];
	char own_file[OWN_DUMP_FILE_SIZE];
};

/*
 * Is it a dump, as far as can be known? A file that could not be opened was one if it was to be
 * created in the way that only jemalloc does, or by its name.
 */
bool watch_event_is_dump(const struct watch_dump *dump);

/* `who` may be NULL. The event points into `texts`, `dump`, `who` and `frames`. */
void watch_event_make(const struct watch_dump *dump, const struct watch_who *who,
		      struct watch_frames *frames, struct watch_texts *texts,
		      struct ops_watch_event *event);

/*
 * The name of the dump's file, made absolute by the working directory in the record, in `buf`; NULL
 * if the record has no name. It stays relative if the directory was too deep to be read.
 */
const char *watch_event_file(const struct watch_dump *dump, char *buf, size_t size);

#endif
