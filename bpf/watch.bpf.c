// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * * Dumps, as seen by the kernel.
 *
 * A dump begins when prof_dump is entered and ends when it returns; in between, its thread opens
 * one file for writing, and closes it. If prof_dump is not known, any such file counts as a dump if
 * it begins like a heap profile.
 *
 * The kernel's structs are declared with only the fields in use; the loader locates them by the
 * running kernel's BTF (CO-RE).
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/cwd.h"
#include "bpf/event.h"
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define O_WRONLY_FLAG 01
#define O_ACCESS_FLAGS 03
#define O_CREAT_FLAG 0100
#define O_TRUNC_FLAG 01000
#define DUMP_MODE 0644 /* the mode of dumps in every jemalloc */
#define PROT_EXEC_BIT 4
#define MAP_ANONYMOUS_BIT 0x20
#define DUMPS_MAX 4096
#define PIDS_MAX 65536
#define FILES_MAX 65536
#define RING_BYTES (4 << 20)
#define BEGINS_BYTES (4 << 20)

const volatile bool watch_all = false;
const volatile bool copy_stacks = false;
const volatile bool any_pidns = true; /* our pids are those of the initial namespace */
const volatile __u32 own_pidns = 0;
bool unprobed_any = false;
__u64 lost = 0;

/* A key without padding. */
struct file_key {
	__u64 dev, inode;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} records SEC(".maps");

/* A separate ring, since these are large and must not cause the loss of dumps. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BEGINS_BYTES);
} begins SEC(".maps");

/* Dumps in progress, by thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DUMPS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct watch_dump);
} dumps SEC(".maps");

/* Watched processes, unless all are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PIDS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u8);
} wanted SEC(".maps");

/* Processes whose dumps are detected only by their system calls. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PIDS_MAX);
	__type(key, __u32);
	__type(value, __u8);
} unprobed SEC(".maps");

/* Files with code that were examined already. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FILES_MAX);
	__type(key, struct file_key);
	__type(value, __u8);
} files SEC(".maps");

static const struct watch_dump blank = { .fd = WATCH_FD_NONE };

static __always_inline void count_lost(void)
{
	__sync_fetch_and_add(&lost, 1);
}

/* The number of `pid` in our namespace, 0 if it has none. */
static __always_inline __u32 pid_number(struct pid *pid)
{
	unsigned int level = BPF_CORE_READ(pid, level);
	const char *numbers = (const char *)__builtin_preserve_access_index(&pid->numbers);

	for (unsigned int i = 0; i < PIDNS_LEVELS && i <= level; i++) {
		struct upid *at = (void *)(numbers + i * bpf_core_type_size(struct upid));

		if (BPF_CORE_READ(at, ns, ns.inum) == own_pidns)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline bool find_ids(__u32 *pid, __u32 *tid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid();

	*pid = id >> 32;
	*tid = id;
	if (any_pidns)
		return true;
	*pid = pid_number(BPF_CORE_READ(task, group_leader, thread_pid));
	*tid = pid_number(BPF_CORE_READ(task, thread_pid));
	return *pid && *tid;
}

static __always_inline bool is_wanted(__u32 pid)
{
	return watch_all || bpf_map_lookup_elem(&wanted, &pid);
}

static __always_inline struct watch_dump *find_dump(__u64 *key)
{
	*key = bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&dumps, key);
}

/* Total bytes written by this thread to any file, as counted by the kernel. */
static __always_inline __u64 written(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, ioac.wchar);
}

static __always_inline struct watch_dump *begin(__u64 cookie)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 key = bpf_get_current_pid_tgid();
	struct task_struct *leader;
	struct watch_dump *d;
	__u32 pid, tid;

	if (!find_ids(&pid, &tid))
		return NULL;
	d = bpf_map_update_elem(&dumps, &key, &blank, BPF_ANY) ? NULL
							       : bpf_map_lookup_elem(&dumps, &key);
	if (!d) {
		count_lost();
		return NULL;
	}
	d->pid = pid;
	d->tid = tid;
	d->cookie = cookie;
	d->began_ns = bpf_ktime_get_boot_ns();
	leader = BPF_CORE_READ(task, group_leader);
	d->process_began_ns = BPF_CORE_READ(leader, start_boottime);
	d->cgroup = bpf_get_current_cgroup_id();
	bpf_probe_read_kernel_str(d->comm, sizeof(d->comm), &leader->comm);
	return d;
}

static __always_inline void read_stack(void *ctx, struct watch_dump *d)
{
	long bytes = bpf_get_stack(ctx, d->frames, sizeof(d->frames), BPF_F_USER_STACK);

	d->n_frames = bytes > 0 ? (__u32)bytes / sizeof(d->frames[0]) : 0;
}

static __always_inline void read_name(struct watch_dump *d, __u64 addr)
{
	long len = bpf_probe_read_user_str(d->name, sizeof(d->name), (const void *)addr);

	d->name_len = len > 0 ? len : 0;
}

static __noinline int finish(__u64 key, struct watch_dump *d)
{
	__u32 len = d->name_len;

	d->ended_ns = bpf_ktime_get_boot_ns();
	if (d->fd >= 0)
		d->bytes = written() - d->written_before;
	if (len && d->name[0] != '/')
		read_cwd(d);
	if (len > WATCH_NAME_SIZE)
		len = WATCH_NAME_SIZE;
	if (bpf_ringbuf_output(&records, d, __builtin_offsetof(struct watch_dump, name) + len, 0))
		count_lost();
	bpf_map_delete_elem(&dumps, &key);
	return 0;
}

/* If the ring is full, the stack is only known by frame pointers. */
static __always_inline void report_begin(struct pt_regs *ctx, const struct watch_dump *d)
{
	struct watch_begin *b = bpf_ringbuf_reserve(&begins, sizeof(*b), 0);

	if (!b)
		return;
	b->process.type = WATCH_RECORD_BEGIN;
	b->process.pid = d->pid;
	b->process.began_ns = d->process_began_ns;
	b->tid = d->tid;
	b->dump_began_ns = d->began_ns;
	if (copy_stacks)
		stack_copy(ctx, &b->stack);
	else
		b->stack.len = 0;
	bpf_ringbuf_submit(b, 0);
}

SEC("uprobe")
int dump_begins(struct pt_regs *ctx)
{
	__u64 key, cookie = probe_cookie(ctx, WATCH_NO_COOKIE);
	struct watch_dump *d = find_dump(&key);
	__u32 pid, tid;

	/* A file can have two names (overlayfs), and then two of our probes. */
	if (d && d->cookie && d->cookie != cookie && d->sp == PT_REGS_SP(ctx))
		return 0;
	if (!find_ids(&pid, &tid) || !is_wanted(pid))
		return 0;
	d = begin(cookie);
	if (!d)
		return 0;
	d->sp = PT_REGS_SP(ctx);
	d->args[0] = PT_REGS_PARM1(ctx);
	d->args[1] = PT_REGS_PARM2(ctx);
	d->args[2] = PT_REGS_PARM3(ctx);
	d->args[3] = PT_REGS_PARM4(ctx);
	d->caller = probe_caller(ctx);
	read_stack(ctx, d);
	report_begin(ctx, d);
	return 0;
}

SEC("uretprobe")
int dump_ends(struct pt_regs *ctx)
{
	__u64 key;
	struct watch_dump *d = find_dump(&key);

	if (!d || !d->cookie)
		return 0;
	d->ret = PT_REGS_RC(ctx);
	d->flags |= WATCH_RETURNED;
	if (!d->name_len && (d->cookie & WATCH_CONVENTION_MASK))
		read_name(d, (d->cookie & WATCH_CONVENTION_MASK) == WATCH_SECOND ? d->args[1]
										 : d->args[2]);
	finish(key, d);
	return 0;
}

/* A file that was opened like a dump, but is not known to be one. */
static __always_inline bool is_candidate(const struct watch_dump *d)
{
	return !d->cookie && !(d->flags & WATCH_PROFILE);
}

SEC("tp/sched/sched_process_exit")
int thread_ends(void *ctx)
{
	__u64 key;
	struct watch_dump *d = find_dump(&key);

	if (!d)
		return 0;
	if (is_candidate(d)) {
		bpf_map_delete_elem(&dumps, &key);
		return 0;
	}
	d->flags |= WATCH_DIED;
	finish(key, d);
	return 0;
}

static __always_inline int opening(void *ctx, __u64 path, __u64 flags, __u64 mode, bool by_creat)
{
	const __u64 how = O_WRONLY_FLAG | O_CREAT_FLAG | O_TRUNC_FLAG;
	__u64 key;
	struct watch_dump *d = find_dump(&key);
	__u32 pid, tid;

	if (!(flags & O_CREAT_FLAG))
		return 0;
	/* The previous file was not a dump, or it would have been closed. */
	if (d && is_candidate(d))
		d = NULL;
	if (d && d->fd != WATCH_FD_NONE)
		return 0;
	if (!d) {
		if (!unprobed_any || mode != DUMP_MODE ||
		    (flags & (O_ACCESS_FLAGS | O_CREAT_FLAG | O_TRUNC_FLAG)) != how ||
		    !find_ids(&pid, &tid) || !bpf_map_lookup_elem(&unprobed, &pid))
			return 0;
		d = begin(0);
		if (!d)
			return 0;
		read_stack(ctx, d);
		if (by_creat)
			d->flags |= WATCH_BY_CREAT;
	}
	d->fd = WATCH_FD_OPENING;
	d->opened = path;
	read_name(d, path);
	return 0;
}

static __always_inline void read_leaf(struct watch_dump *d, int fd)
{
	struct file *file = file_of(fd);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

	if (BPF_CORE_READ(dentry, d_parent) != dentry)
		return;
	bpf_probe_read_kernel_str(d->leaf, sizeof(d->leaf), BPF_CORE_READ(dentry, d_name.name));
	d->flags |= WATCH_MEMORY;
}

static __always_inline int opened(long ret)
{
	__u64 key;
	struct watch_dump *d = find_dump(&key);

	if (!d || d->fd != WATCH_FD_OPENING)
		return 0;
	/* The kernel has read the name by now, so it is resident. */
	if (!d->name_len)
		read_name(d, d->opened);
	d->fd = ret >= 0 ? ret : WATCH_FD_CLOSED;
	if (ret >= 0) {
		d->written_before = written();
		read_leaf(d, ret);
		return 0;
	}
	d->open_error = -ret;
	if (!d->cookie)
		finish(key, d);
	return 0;
}

SEC("tp/syscalls/sys_enter_creat")
int creat_begins(struct syscall_enter *ctx)
{
	return opening(ctx, ctx->args[0], O_WRONLY_FLAG | O_CREAT_FLAG | O_TRUNC_FLAG, ctx->args[1],
		       true);
}

SEC("tp/syscalls/sys_enter_open")
int open_begins(struct syscall_enter *ctx)
{
	return opening(ctx, ctx->args[0], ctx->args[1], ctx->args[2], false);
}

SEC("tp/syscalls/sys_enter_openat")
int openat_begins(struct syscall_enter *ctx)
{
	return opening(ctx, ctx->args[1], ctx->args[2], ctx->args[3], false);
}

SEC("tp/syscalls/sys_exit_creat")
int creat_ends(struct syscall_exit *ctx)
{
	return opened(ctx->ret);
}

SEC("tp/syscalls/sys_exit_open")
int open_ends(struct syscall_exit *ctx)
{
	return opened(ctx->ret);
}

SEC("tp/syscalls/sys_exit_openat")
int openat_ends(struct syscall_exit *ctx)
{
	return opened(ctx->ret);
}

SEC("tp/syscalls/sys_enter_close")
int close_begins(struct syscall_enter *ctx)
{
	__u64 key;
	struct watch_dump *d = find_dump(&key);

	if (!d || d->fd < 0 || d->fd != (__s32)ctx->args[0])
		return 0;
	d->bytes = written() - d->written_before;
	d->fd = WATCH_FD_CLOSED;
	if (d->cookie)
		return 0;
	if (d->flags & WATCH_PROFILE)
		finish(key, d);
	else
		bpf_map_delete_elem(&dumps, &key);
	return 0;
}

/* For dumps detected only by their system calls: is this the beginning of one? */
SEC("tp/syscalls/sys_enter_write")
int write_begins(struct syscall_enter *ctx)
{
	static const char v2[8] = { 'h', 'e', 'a', 'p', '_', 'v', '2', '/' };
	static const char v1[8] = { 'h', 'e', 'a', 'p', ' ', 'p', 'r', 'o' };
	char head[8] = {};
	__u64 key;
	struct watch_dump *d = find_dump(&key);

	if (!d || d->cookie || d->fd < 0 || d->fd != (__s32)ctx->args[0] ||
	    (d->flags & WATCH_PROFILE))
		return 0;
	bpf_probe_read_user(head, sizeof(head), (const void *)ctx->args[1]);
	if (*(__u64 *)head == *(const __u64 *)v2 || *(__u64 *)head == *(const __u64 *)v1)
		d->flags |= WATCH_PROFILE;
	else
		bpf_map_delete_elem(&dumps, &key);
	return 0;
}

/* If the ring is full, nothing is missed: this only makes us look sooner. */
static __always_inline void report_process(__u32 pid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct watch_process *p = bpf_ringbuf_reserve(&records, sizeof(*p), 0);

	if (!p)
		return;
	p->type = WATCH_RECORD_PROCESS;
	p->pid = pid;
	p->began_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_ringbuf_submit(p, 0);
}

/* Report the current process, unless `inode` was examined before. */
static __always_inline int report_unless_known(struct inode *inode)
{
	struct file_key key = { .dev = BPF_CORE_READ(inode, i_sb, s_dev),
				.inode = BPF_CORE_READ(inode, i_ino) };
	__u32 pid, tid;

	if (inode && !bpf_map_lookup_elem(&files, &key) && find_ids(&pid, &tid))
		report_process(pid);
	return 0;
}

SEC("tp/sched/sched_process_exec")
int program_begins(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return report_unless_known(BPF_CORE_READ(task, mm, exe_file, f_inode));
}

SEC("tp/syscalls/sys_enter_mmap")
int code_is_mapped(struct syscall_enter *ctx)
{
	struct file *file;

	if (!(ctx->args[2] & PROT_EXEC_BIT) || (ctx->args[3] & MAP_ANONYMOUS_BIT))
		return 0;
	file = file_of(ctx->args[4]);
	return report_unless_known(BPF_CORE_READ(file, f_inode));
}
