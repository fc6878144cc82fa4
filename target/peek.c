// SPDX-License-Identifier: Apache-2.0
#include "target/peek.h"

#include "target/proc.h"

#include <string.h>

void peek_init(struct peek *p, pid_t pid)
{
	p->pid = pid;
	for (size_t i = 0; i < PEEK_PAGES; i++)
		p->pages[i].addr = 0;
}

static const unsigned char *page_of(struct peek *p, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(PEEK_PAGE - 1);
	size_t slot = start / PEEK_PAGE % PEEK_PAGES;
	struct err ignored;

	if (p->pages[slot].addr != start) {
		p->pages[slot].addr = 0;
		if (!start || proc_read(p->pid, start, p->pages[slot].bytes, PEEK_PAGE, &ignored))
			return NULL;
		p->pages[slot].addr = start;
	}
	return p->pages[slot].bytes;
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
