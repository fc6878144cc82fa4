// SPDX-License-Identifier: Apache-2.0
#include "front/page.h"

#include <stdint.h>

/* Embedded by the linker; web/assemble ends the policy with a 0. */
extern const char _binary_serve_html_start[], _binary_serve_html_end[];
extern const char _binary_serve_csp_start[];

const char *page_bytes(size_t *len)
{
	/* As integers: to the compiler, the pointers are to different objects. */
	*len = (uintptr_t)_binary_serve_html_end - (uintptr_t)_binary_serve_html_start;
	return _binary_serve_html_start;
}

const char *page_policy(void)
{
	return _binary_serve_csp_start;
}
