#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record: what depends on time, and kills at random moments.

# A /run of our own, so that no recording of another test is undone here.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m "$0" "$@"
mount -t tmpfs -o mode=755 none /run || exit 99
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/recording.sh
. tests/recording.sh

export MALLOC_CONF=$PROF
start_victim leaky
on_terminal 130 -d 3s
like "$(<"$T/tty130")" "\\[#+\\.+\\] [12]s left, $first, $rss" 'a bar on a terminal, partly filled'
on_terminal 131 -d 2s --interval 300ms
like "$(<"$T/tty131")" "[12]s left, $now, $rss" 'a series on a terminal: what is allocated'
on_terminal 132 -d 7s
like "$(<"$T/tty132")" "[12]s left, $now, $rss" 'a longer record on a terminal: what is allocated'
like "$(<"$T/tty132")" 'stopped one thread at a time, 4 times' 'which takes one more stop'
ctl_ok 'a longer record without a terminal' record "$pid" -d 7s -o "$T/unseen.heap"
like "$err" 'stopped one thread at a time, 3 times' 'takes no more stops'
stop_target "$pid"

# storm KILLS NAME: kill `record` at random moments; undo must restore everything
storm()
{
	tests/drivers/record-storm "$CTL" "$pid" "$T/board.$pid" "$1" "$T" >"$T/storm" 2>"$T/storm.err"
	is "$?" 0 "$2: undo puts everything back" || diag "$(<"$T/storm.err")"
	diag "$(<"$T/storm")"
}

start_victim leaky
# Our threads that exist at the same time make jemalloc create arenas and glibc keep stacks, up to a
# limit: the memory for these exists after this storm.
storm 50 'killed before'
snapshot "$pid"
storm "${KILLS:-200}" 'killed at many moments'
assert_untouched "$pid" 'killed at many moments, it is untouched'

done_testing
