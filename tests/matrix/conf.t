#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check --conf: the jemallocs of other Debian suites do exactly what it says.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/conf.sh
. tests/conf.sh

# An older library works with our C library; a newer one needs its own.
old=$(tests/make-root bullseye) || bail_out 'no root of bullseye'
agrees 5.2.1 "$VICTIMS/options" "$old/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
new=$(tests/make-root sid) || bail_out 'no root of sid'
install -m 755 "$VICTIMS/options" "$new/tmp/options.$$"
agrees 5.3.1 "/tmp/options.$$" /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 "$new"
rm -f "$new/tmp/options.$$"

done_testing
