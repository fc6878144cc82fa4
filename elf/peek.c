// SPDX-License-Identifier: Apache-2.0
#include "elf/peek.h"

#include "base/write.h"
#include "elf/image_data.h"
#include "process/proc.h"

#include <string.h>
#include <unistd.h>

void peek_init(struct peek *p, pid_t pid)
{
	p->pid = pid;
	p->data = NULL;
	p->n_code = 0;
	for (size_t i = 0; i < PEEK_PAGES; i++)
		p->pages[i].addr = 0;
}

void peek_code(struct peek *p, int fd, uint64_t start, uint64_t end, uint64_t offset)
{
	uint64_t within = start % PEEK_PAGE;

	if (p->n_code == PEEK_CODE_MAX || offset % PEEK_PAGE != within || start >= end)
		return;
	p->fd = fd;
	p->code[p->n_code].start = start - within;
	p->code[p->n_code].end = end;
	p->code[p->n_code++].offset = offset - within;
}

/* Read a page of code from the file. Bytes past the end of the file are 0, as in a mapping. */
static bool read_code(const struct peek *p, uint64_t start, unsigned char *page)
{
	for (size_t i = 0; i < p->n_code; i++) {
		uint64_t at = start - p->code[i].start;
		ssize_t got;

		if (at >= p->code[i].end - p->code[i].start)
			continue;
		got = read_at(p->fd, page, PEEK_PAGE, (off_t)(p->code[i].offset + at));
		if (got <= 0)
			return false;
		memset(page + got, 0, PEEK_PAGE - (size_t)got);
		return true;
	}
	return false;
}

static const unsigned char *page_of(struct peek *p, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(PEEK_PAGE - 1);
	size_t slot = start / PEEK_PAGE % PEEK_PAGES;
	unsigned char *bytes = p->pages[slot].bytes;
	struct err ignored;

	if (!start) /* that of an empty slot */
		return NULL;
	if (p->pages[slot].addr == start)
		return bytes;
	p->pages[slot].addr = 0;
	if (!read_code(p, start, bytes) &&
	    (p->data ? !image_data_page(p->data, start, bytes)
		     : proc_read(p->pid, start, bytes, PEEK_PAGE, &ignored)))
		return NULL;
	p->pages[slot].addr = start;
	return bytes;
}

size_t peek_some(struct peek *p, uint64_t addr, void *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		size_t at = (addr + got) % PEEK_PAGE;
		size_t n = PEEK_PAGE - at < len - got ? PEEK_PAGE - at : len - got;
		const unsigned char *page = page_of(p, addr + got);

		if (!page)
			break;
		memcpy((char *)buf + got, page + at, n);
		got += n;
	}
	return got;
}

bool peek(struct peek *p, uint64_t addr, void *buf, size_t len)
{
	return peek_some(p, addr, buf, len) == len;
}

bool peek_string(struct peek *p, uint64_t addr, char *buf, size_t size)
{
	size_t got = peek_some(p, addr, buf, size);

	return memchr(buf, '\0', got) != NULL;
}
