// SPDX-License-Identifier: Apache-2.0
/*
 * Private to bpf/: may a file be probed without that anybody can make the kernel wait?
 *
 * While the kernel places a uprobe it keeps every fork(2) of the machine waiting, and reads the
 * page that the probe goes to (register_for_each_vma() and prepare_uprobe(),
 * kernel/events/uprobes.c). Who serves that page, as by FUSE, says how long. What statfs(2) says
 * does not do: an overlayfs is one whatever its layers are, and any user may mount one. So the
 * kernel's own structs are looked at.
 */
#ifndef BPF_ORIGIN_H
#define BPF_ORIGIN_H

#include "base/err.h"

/* ERR_FAILED with the reason, unless this machine's kernel has the bytes from a disk or memory. */
int origin_check(int handle, struct err *err) __must_check;

#endif
