#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debian packages for trixie.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/deb.sh
. tests/deb.sh

test_deb trixie

done_testing
