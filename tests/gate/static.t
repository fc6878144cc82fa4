#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C programs that are linked statically, with the C library and the jemalloc of this machine (for
# those of other suites: tests/matrix/static.t): the instructions through which an injection returns
# are found in what was linked in.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export JE_MALLOC_CONF=$PROF MALLOC_CONF=$PROF
# shellcheck source=tests/static.sh
. tests/static.sh

build_static '' "$T/static"
works "glibc $(getconf GNU_LIBC_VERSION | tr -cd 0-9.)" thread
is "$(nm "$T/static" | grep -c ' getppid$')" 0 'it calls no getppid(2): its thread runs in another function'
strip "$T/static"
works 'the same, stripped' inline

# By its code, not by its name: a thread must not return to this function.
cat >"$T/framed.c" <<'EOF'
__asm__(".globl getppid\n"
	".type getppid,@function\n"
	"getppid: push %rbp\n mov %rsp,%rbp\n mov $110,%eax\n syscall\n pop %rbp\n ret\n"
	".size getppid,.-getppid\n");
EOF
build_static '' "$T/static" "$T/framed.c"
is "$(nm "$T/static" | grep -c ' T getppid$')" 1 'a getppid() of its own, with a frame: exists'
works 'a getppid() of its own, with a frame' thread

done_testing
