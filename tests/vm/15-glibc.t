#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The behavior of this machine's C library matches what jeprof-ctl has hardcoded about it.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/glibc.sh
. tests/glibc.sh

test_glibc

feature "what is known of the C library"

done_testing
