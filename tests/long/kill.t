#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jeprof-ctl is killed at random moments while it works on a busy target: the target must not
# notice. KILLS sets how often (150; 2000 with LONG=1).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

kills=${KILLS:-$([ -n "${LONG:-}" ] && echo 2000 || echo 150)}

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:16
start_victim busy 3
snapshot "$pid"
ctl_ok 'the first dump' dump "$pid" -o "$T/first.heap"
assert_untouched "$pid" 'before the first kill'

# tests/drivers/kill-storm kills at moments spread over the duration of a run, and checks the target
# after each kill.
tests/drivers/kill-storm "$CTL" "$pid" "$T/board.$pid" "$kills" "$T" >"$T/storm" 2>"$T/storm.err"
status=$?
is "$status" 0 "$kills kills: the target is alive, not traced, intact and correct after each" ||
	diag "$(<"$T/storm")" "$(tail -n 20 "$T/storm.err")"
diag "$(<"$T/storm")"
like "$(json '.while_stopped + .while_working' "$T/storm")" '^[1-9]' 'some hit while the target was worked on'
assert_untouched "$pid" 'after the last kill'
ctl_ok 'activate works after all that' activate "$pid"
ctl_ok 'dump works after all that' dump "$pid" -o "$T/last.heap"
ok 'the last dump is a profile' is_profile "$T/last.heap"
ctl_ok 'deactivate works after all that' deactivate "$pid"
is "$(find "$T" -maxdepth 1 -name '*.heap' ! -name first.heap ! -name last.heap | wc -l)" 0 \
	'no part of a profile is left'
assert_untouched "$pid" 'at the end'

done_testing
