// SPDX-License-Identifier: Apache-2.0
#include "ops/record/journal_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names and paths hold any byte: what would end a word is written as %XX. */
static void escape(const char *raw, char *buf, size_t size)
{
	size_t n = 0;

	for (; *raw && n + 4 < size; raw++) {
		unsigned char c = (unsigned char)*raw;

		if (c > ' ' && c < 0x7f && c != '%')
			buf[n++] = (char)c;
		else
			n += (size_t)snprintf(buf + n, size - n, "%%%02X", c);
	}
	buf[n] = '\0';
}

static void unescape(const char *text, char *buf, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++) {
		unsigned int c;

		if (*text == '%' && sscanf(text + 1, "%2x", &c) == 1 && strlen(text) >= 3) {
			buf[n++] = (char)c;
			text += 2;
		} else {
			buf[n++] = *text;
		}
	}
	buf[n] = '\0';
}

/* The line "KEY VALUE\n" of the text: VALUE, cut to size - 1 bytes; false without one. */
static bool find_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t key_len = strlen(key);

	for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		if (strncmp(s, key, key_len) != 0 || s[key_len] != ' ')
			continue;
		s += key_len + 1;
		snprintf(buf, size, "%.*s", (int)strcspn(s, "\n"), s);
		return true;
	}
	return false;
}

static bool find_number(const char *text, const char *key, uint64_t *number)
{
	char value[32], *end;

	if (!find_value(text, key, value, sizeof(value)) || !isdigit((unsigned char)value[0]))
		return false;
	*number = strtoull(value, &end, 10);
	return *end == '\0';
}

/* Is it the last line? Without it the text was not written whole. */
static bool ends(const char *text)
{
	static const char end[] = "\nend 1\n";
	const char *at = strstr(text, end);

	return at && !at[strlen(end)];
}

bool journal_text_parse(const char *text, struct journal_state *state)
{
	char value[JOURNAL_IMAGE_SIZE * 3];
	uint64_t pid, recorder;

	*state = (struct journal_state){ 0 };
	if (!ends(text) || !find_number(text, "pid", &pid) ||
	    !find_number(text, "recorder", &recorder) ||
	    !find_number(text, "start", &state->start_time) ||
	    !find_number(text, "program", &state->program) || pid > INT_MAX || recorder > INT_MAX)
		return false;
	state->pid = (pid_t)pid;
	state->recorder = (pid_t)recorder;
	if (find_value(text, "comm", value, sizeof(value)))
		unescape(value, state->comm, sizeof(state->comm));
	if (find_value(text, "image", value, sizeof(value)))
		unescape(value, state->image, sizeof(state->image));
	state->active = find_value(text, "prof.active", value, sizeof(value));
	state->thread_active_init =
		find_value(text, "prof.thread_active_init", value, sizeof(value));
	return true;
}

int journal_text_format(const struct journal_state *s, char *buf, size_t size)
{
	char comm[sizeof(s->comm) * 3], image[sizeof(s->image) * 3];

	escape(s->comm, comm, sizeof(comm));
	escape(s->image, image, sizeof(image));
	return snprintf(buf, size,
			"pid %d\nstart %" PRIu64 "\nprogram %" PRIu64 "\nrecorder %d\ncomm %s\n"
			"image %s\n%s%send 1\n",
			s->pid, s->start_time, s->program, s->recorder, comm, image,
			s->thread_active_init ? "prof.thread_active_init false\n" : "",
			s->active ? "prof.active false\n" : "");
}
