/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the eBPF programs: the fields of kernel types that they use. */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PIDNS_LEVELS 33 /* MAX_PID_NS_LEVEL + 1, for the initial one */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct user_namespace {
	int level;
};

struct block_device {
	__u32 bd_dev;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct block_device *s_bdev;
	struct user_namespace *s_user_ns;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct fs_struct {
	struct path root, pwd;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct {
	struct file *exe_file;
};

struct task_io_accounting {
	__u64 wchar;
};

struct task_struct {
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	char comm[16];
	struct task_io_accounting ioac;
};

#pragma clang attribute pop

/* Arguments of programs on system call tracepoints. */
struct syscall_enter {
	__u64 common;
	__u64 nr;
	__u64 args[6];
};

struct syscall_exit {
	__u64 common;
	__u64 nr;
	__s64 ret;
};

/* The file behind a descriptor of the current process; NULL if there is none. */
static __always_inline struct file *file_of(int fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slots = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd < 0 || (unsigned int)fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

enum bpf_func_id___since_5_15 { BPF_FUNC_get_attach_cookie___since_5_15 = 174 };

/* The cookie of the probe that was hit, or `none` on a kernel without cookies. */
static __always_inline __u64 probe_cookie(void *ctx, __u64 none)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___since_5_15,
				       BPF_FUNC_get_attach_cookie___since_5_15))
		return bpf_get_attach_cookie(ctx);
	return none;
}

#endif
