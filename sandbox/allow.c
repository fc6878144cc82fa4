// SPDX-License-Identifier: Apache-2.0
#include "sandbox/allow.h"

#include <errno.h>

int allow_only(const struct allow_list *lists, size_t n, struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int ret = ctx ? 0 : -ENOMEM;

	if (ctx) /* report errors of the kernel, not of the library */
		seccomp_attr_set(ctx, SCMP_FLTATR_API_SYSRAWRC, 1);
	for (const struct allow_list *list = lists; list < lists + n; list++) {
		for (size_t i = 0; i < list->n_calls && !ret; i++)
			ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, list->calls[i], 0);
		for (size_t i = 0; i < list->n_rules && !ret; i++)
			ret = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, list->rules[i].call,
						     list->rules[i].n, list->rules[i].args);
	}
	if (!ret) {
		ret = seccomp_load(ctx);
		if (ret == -EINVAL || ret == -ENOSYS) /* the kernel has no seccomp(2) */
			ret = 0;
	}
	seccomp_release(ctx);
	return ret < 0 ? err_raise_sys(err, ERROR_FILTER_UNSET, -ret) : 0;
}
