// SPDX-License-Identifier: Apache-2.0
/* The text of a journal: what is read is written back, and reads the same again. */
#include "ops/record/journal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal_state state, again;
	char text[JOURNAL_TEXT_MAX];
	int len;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!journal_text_parse(text, &state))
		return 0;
	if (!memchr(state.comm, 0, sizeof(state.comm)) ||
	    !memchr(state.image, 0, sizeof(state.image)) || state.pid < 0 || state.recorder < 0)
		abort();
	len = journal_text_format(&state, text, sizeof(text));
	if (len < 0 || (size_t)len >= sizeof(text) || !journal_text_parse(text, &again) ||
	    again.pid != state.pid || again.recorder != state.recorder ||
	    again.start_time != state.start_time || again.program != state.program ||
	    strcmp(again.comm, state.comm) != 0 || strcmp(again.image, state.image) != 0 ||
	    again.active != state.active || again.thread_active_init != state.thread_active_init ||
	    again.rate != state.rate || again.lg_sample != state.lg_sample || state.lg_sample > 63)
		abort();
	return 0;
}
