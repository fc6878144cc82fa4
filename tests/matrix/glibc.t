#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The behavior of the installed C library matches what jeprof-ctl has hardcoded about it.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/glibc.sh
. tests/glibc.sh

test_glibc

# With more symbols, those of internal functions: none of them makes a thread look safe.
assert_holders 'with its debug file' holders debug
assert_holders 'linked statically' holders-static
holds_locks holders-static -_mid_memalign
like "$(<"$T/holders-static")" 'UNKNOWN memalign' 'control: a function inside the library that is not on the list is reported'

done_testing
