#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian packages for bookworm.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/deb.sh
. tests/deb.sh

test_deb bookworm

done_testing
