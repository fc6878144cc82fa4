/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to watch.bpf.c: the working directory, for relative names. */
#ifndef BPF_CWD_H
#define BPF_CWD_H

#include "bpf/event.h"
#include "bpf/kernel.h"

#define CWD_STEPS 40

static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	struct mount *none = NULL;

	return (void *)mnt - (unsigned long)__builtin_preserve_access_index(&none->mnt);
}

/* Append the next outer component of the working directory; false if that fails. */
static __always_inline bool add_component(struct watch_dump *d, struct dentry *at)
{
	__u32 used = d->cwd_len;
	long len;

	if (used > WATCH_CWD_SIZE - WATCH_LEAF_SIZE)
		return false;
	len = bpf_probe_read_kernel_str(&d->cwd[used], WATCH_LEAF_SIZE,
					BPF_CORE_READ(at, d_name.name));
	if (len <= 0)
		return false;
	d->cwd_len = used + len;
	d->n_cwd++;
	return true;
}

/*
 * Innermost component first, as far as it fits; WATCH_CWD_WHOLE: it is complete. The lengths are
 * kept in the map, as the verifier would track every value of a local variable.
 */
static __noinline int read_cwd(struct watch_dump *d)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	struct dentry *at = BPF_CORE_READ(fs, pwd.dentry), *root = BPF_CORE_READ(fs, root.dentry);
	struct vfsmount *mnt = BPF_CORE_READ(fs, pwd.mnt), *top = BPF_CORE_READ(fs, root.mnt);

	for (int i = 0; i < CWD_STEPS; i++) {
		struct mount *m = mount_of(mnt), *parent = BPF_CORE_READ(m, mnt_parent);

		if (at == root && mnt == top) {
			d->flags |= WATCH_CWD_WHOLE;
			break;
		}
		if (at == BPF_CORE_READ(mnt, mnt_root)) {
			if (m == parent)
				break;
			at = BPF_CORE_READ(m, mnt_mountpoint);
			mnt = __builtin_preserve_access_index(&parent->mnt);
			continue;
		}
		if (!add_component(d, at))
			break;
		at = BPF_CORE_READ(at, d_parent);
	}
	return 0;
}

#endif
