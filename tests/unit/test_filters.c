// SPDX-License-Identifier: Apache-2.0
#include "injector/filters.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static uint32_t run(const struct sock_filter *prog, size_t n, long nr, uint64_t arg0)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = AUDIT_ARCH_X86_64, .args = { arg0 } };

	return seccomp_filter_run(prog, n, &data);
}

/* A program compiled by libseccomp, exported and read back. */
static void test_libseccomp(void **state)
{
	struct sock_filter prog[256];
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t size;

	(void)state;
	assert_int_equal(seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone3), 0), 0);
	assert_int_equal(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(38), SCMP_SYS(openat), 0), 0);
	assert_int_equal(seccomp_rule_add(ctx, SCMP_ACT_TRAP, SCMP_SYS(close), 1,
					  SCMP_A0(SCMP_CMP_GT, 0x100000001ull)),
			 0);
	assert_int_equal(seccomp_export_bpf(ctx, fd), 0);
	seccomp_release(ctx);
	size = pread(fd, prog, sizeof(prog), 0);
	close(fd);
	assert_true(size > 0);
	size /= (ssize_t)sizeof(*prog);
	assert_int_equal(run(prog, (size_t)size, SYS_clone3, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(prog, (size_t)size, SYS_openat, 0), SECCOMP_RET_ERRNO | 38);
	assert_int_equal(run(prog, (size_t)size, SYS_read, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(prog, (size_t)size, SYS_close, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(run(prog, (size_t)size, SYS_close, 0x100000002ull), SECCOMP_RET_TRAP);
}

static void test_arithmetic(void **state)
{
	const struct sock_filter prog[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* a = nr */
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_W | BPF_MEM, 3),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 5),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	(void)state;
	assert_int_equal(run(prog, LEN(prog), 7, 0), 54);
}

/* Programs that the kernel would have rejected. */
static void test_broken(void **state)
{
	const struct sock_filter no_end[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
	const struct sock_filter far_load[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64),
						BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_filter far_jump[] = { BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
						BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_filter far_store[] = { BPF_STMT(BPF_ST, 16),
						 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_filter by_zero[] = { BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
					       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	(void)state;
	assert_int_equal(run(no_end, LEN(no_end), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(far_load, LEN(far_load), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(far_jump, LEN(far_jump), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(far_store, LEN(far_store), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(by_zero, LEN(by_zero), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(no_end, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libseccomp),
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_broken),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
