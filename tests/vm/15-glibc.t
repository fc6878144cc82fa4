#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In this machine: what the installed C library does, compared with what jeprof-ctl knows of it by
# hand.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/glibc.sh
. tests/glibc.sh

test_glibc

feature "what is known of the C library"

done_testing
