#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# report -f jeprof: byte for byte what jeprof prints, in the modes that tests/gate/report.t leaves
# out.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/forest.sh
. tests/forest.sh

heap=$T/end.own.heap
same 'files' --files
same 'inuse_objects' --inuse_objects
same 'alloc_space' --alloc_space --lines
same 'alloc_objects' --alloc_objects
same 'bytes' --show_bytes
same 'cum' --cum
same 'base, objects' --base="$T/base.own.heap" --inuse_objects --cum
same 'base, drop_negative' --base="$T/base.own.heap" --drop_negative
same 'ignore' --ignore='oak::'
same 'ignore a line' --ignore='forest.cc:4[0-9]$'
without=()
same 'exclude' --exclude='^many|grow'
same 'retain' --retain='oak|walk'
threads=$(sed -nE '2,/^@/s/^ *t([0-9]+):.*/\1/p' "$T/end.heap")
ok 'threads: two' test "$(wc -w <<<"$threads")" -eq 2
for thread in $threads; do
	same "thread $thread" --thread="$thread"
done

done_testing
