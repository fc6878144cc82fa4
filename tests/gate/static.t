#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs in C that are linked statically, with the C library and the jemalloc of this machine (those
# of other suites: tests/matrix/static.t): the instructions that an injection returns through are
# found in what the linker took.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export JE_MALLOC_CONF=$PROF MALLOC_CONF=$PROF
# shellcheck source=tests/static.sh
. tests/static.sh

build_static '' "$T/static"
works "glibc $(getconf GNU_LIBC_VERSION | tr -cd 0-9.)"
strip "$T/static"
works 'the same, stripped'

done_testing
