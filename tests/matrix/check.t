#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: an older jemalloc, of which not everything may be read when opt.prof is false.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/checking.sh
. tests/checking.sh

old=$(tests/make-root bullseye) || bail_out 'no root of bullseye'
for conf in "$PROF" prof:false; do
	wrap=(env "LD_PRELOAD=$old/usr/lib/x86_64-linux-gnu/libjemalloc.so.2" "MALLOC_CONF=$conf")
	start_victim idle-plain 3
	wrap=()
	checked
	row_is version true '^5\.2\.1: no prof\.prefix' "5.2.1, $conf"
	row_is conf true 'by MALLOC_CONF' "5.2.1, $conf"
	left "5.2.1, $conf"
done

done_testing
