// SPDX-License-Identifier: Apache-2.0
#include "front/page.h"

/* Embedded by the linker; web/assemble ends the policy with a 0. */
extern const char _binary_serve_html_start[], _binary_serve_html_end[];
extern const char _binary_serve_csp_start[];

const char *page_bytes(size_t *len)
{
	*len = (size_t)(_binary_serve_html_end - _binary_serve_html_start);
	return _binary_serve_html_start;
}

const char *page_policy(void)
{
	return _binary_serve_csp_start;
}
