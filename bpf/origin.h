// SPDX-License-Identifier: Apache-2.0
/*
 * Private to bpf/: may a file be probed without a risk that its owner can block the kernel?
 *
 * While the kernel places a uprobe, it blocks every fork(2) on the machine, and reads the page to
 * be probed (register_for_each_vma() and prepare_uprobe(), kernel/events/uprobes.c). A server of
 * that page, such as a FUSE daemon, decides how long that takes. statfs(2) is not sufficient: it
 * does not show the layers of an overlayfs, which any user may mount. So the kernel's own structs
 * are examined.
 */
#ifndef BPF_ORIGIN_H
#define BPF_ORIGIN_H

#include "base/err.h"

/* ERR_FAILED with the reason, unless the bytes come from a local disk or memory. */
int origin_check(int handle, struct err *err) __must_check;

#endif
