#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the installed C library does, compared with what jeprof-ctl knows of it by hand.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/glibc.sh
. tests/glibc.sh

test_glibc

# More symbols, of functions inside the library: none of them makes a thread look safe.
assert_holders 'with its debug file' holders debug
assert_holders 'linked statically' holders-static
holds_locks holders-static -_mid_memalign
like "$(<"$T/holders-static")" 'UNKNOWN memalign' 'control: a function inside the library that is not on the list is reported'

done_testing
