#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Statically linked programs in C, with the C library and the jemalloc of other Debian suites.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export JE_MALLOC_CONF=$PROF MALLOC_CONF=$PROF
# shellcheck source=tests/static.sh
. tests/static.sh

# Our libgcc calls this glibc function, which exists since 2.35; without it, it uses
# dl_iterate_phdr(3).
echo 'int _dl_find_object(void *pc, void *found) { return pc == found ? 0 : -1; }' >"$T/older.c"

for suite in bullseye trixie sid; do
	root=$(tests/make-root "$suite") || bail_out "there is no root directory of Debian $suite"
	more=()
	[ "$suite" != bullseye ] || more=("$T/older.c")
	build_static "$root" "$T/static" "${more[@]}"
	works "$suite" thread
done

done_testing
