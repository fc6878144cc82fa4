// SPDX-License-Identifier: Apache-2.0
/* The decoder of the few machine instructions that are read in the target's C library. */
#include "injector/arch/arch.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arch_regs regs = { 0 };
	uint64_t slot;
	int64_t offset;

	arch_errno_offset(data, size, 0x7f0000000000, &offset, &slot);
	if (size >= ARCH_SYSCALL_CODE)
		arch_name_restarted(&regs, data);
	return 0;
}
