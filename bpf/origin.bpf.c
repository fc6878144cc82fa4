// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds where the bytes of a file are. Run in our own processes (BPF_PROG_TEST_RUN). */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event.h"
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct watch_origin origin = {};

static __always_inline int report_origin(struct file *file)
{
	struct super_block *sb = BPF_CORE_READ(file, f_inode, i_sb);
	struct user_namespace *owner = BPF_CORE_READ(sb, s_user_ns);
	int level;

	if (bpf_core_read(&level, sizeof(level), &owner->level))
		return 0;
	origin.is_nested = level != 0;
	origin.type = BPF_CORE_READ(sb, s_magic);
	origin.device = BPF_CORE_READ(sb, s_bdev, bd_dev);
	return 1;
}

/* For a descriptor: the file at its path. */
SEC("raw_tp/sys_enter")
int opened_is_of(struct bpf_raw_tracepoint_args *ctx)
{
	return report_origin(file_of(ctx->args[0]));
}

static long report_mapped(struct task_struct *task, struct vm_area_struct *vma, int *told)
{
	*told = report_origin(BPF_CORE_READ(vma, vm_file));
	return 0;
}

/*
 * For an address: the file mapped there. For an overlayfs that is the file of the layer, which is
 * the one that a uprobe is placed in (register_for_each_vma(), kernel/events/uprobes.c).
 */
SEC("raw_tp/sys_enter")
int mapped_is_of(struct bpf_raw_tracepoint_args *ctx)
{
	int told = 0;

	bpf_find_vma((void *)bpf_get_current_task_btf(), ctx->args[0], report_mapped, &told, 0);
	return told;
}
