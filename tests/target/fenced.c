// SPDX-License-Identifier: Apache-2.0
/*
 * fenced FENCE PROGRAM ARGS...: run a program behind a seccomp filter or a limit. Fences:
 * clone-errno, clone-kill, memfd-errno, open-errno, bpf-errno, clone3-nosys, mkdir-errno, nnp.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct fence {
	const char *name;
	uint32_t action;
	int calls[3];
} fences[] = {
	/* clang-format off */
	{ "clone-errno", SCMP_ACT_ERRNO(EPERM), { SCMP_SYS(clone), SCMP_SYS(clone3), -1 } },
	{ "clone-kill", SCMP_ACT_KILL_PROCESS, { SCMP_SYS(clone), SCMP_SYS(clone3), -1 } },
	{ "memfd-errno", SCMP_ACT_ERRNO(EPERM), { SCMP_SYS(memfd_create), -1 } },
	{ "open-errno", SCMP_ACT_ERRNO(EACCES), { SCMP_SYS(creat), -1 } },
	{ "bpf-errno", SCMP_ACT_ERRNO(EPERM), { SCMP_SYS(bpf), -1 } },
	{ "clone3-nosys", SCMP_ACT_ERRNO(ENOSYS), { SCMP_SYS(clone3), -1 } },
	{ "mkdir-errno", SCMP_ACT_ERRNO(EPERM), { SCMP_SYS(mkdir), SCMP_SYS(mkdirat), -1 } },
	{ "nnp", SCMP_ACT_ALLOW, { -1 } },
	/* clang-format on */
};

static int raise_fence(const struct fence *f)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	if (!ctx)
		return -1;
	for (const int *nr = f->calls; *nr != -1; nr++)
		if (seccomp_rule_add(ctx, f->action, *nr, 0) != 0)
			return -1;
	return seccomp_load(ctx);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(fences) / sizeof(fences[0]); i++) {
		if (strcmp(argv[1], fences[i].name) != 0)
			continue;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			break;
		if (fences[i].calls[0] != -1 && raise_fence(&fences[i]) != 0)
			break;
		execv(argv[2], argv + 2);
	}
	fprintf(stderr, "usage: fenced FENCE PROGRAM ARGS...\n");
	return 2;
}
