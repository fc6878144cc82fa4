#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: its front, the process of an operation, a tracer or the broker itself is killed at random
# moments while it works on busy targets: the targets must not notice, and our other processes go on
# or end. KILLS sets how often (100; 1000 with LONG=1), SEED the moments.

# A /run of our own, so that whatever is left there is ours.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m "$0" "$@"
mount -t tmpfs -o mode=755 none /run || exit 99
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/serve.sh
. tests/serve.sh

kills=${KILLS:-$([ -n "${LONG:-}" ] && echo 1000 || echo 100)}

# left: list the files where we write, except those of the test
left()
{
	find /run "$T" -mindepth 1 -not -name 'kills*' | sort
}

victims=() watched=()
for how in 'busy 3' 'busy 1' 'idle 2'; do
	# shellcheck disable=SC2086 # its argument
	MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:16 start_victim $how
	victims+=("$pid")
	watched+=("$pid:$T/board.$pid")
done
# The effects of a process's first call happen here, before the snapshots.
for pid in "${victims[@]}"; do ctl_ok 'the first dump' dump "$pid" -o - ; done
for pid in "${victims[@]}"; do snapshot "$pid"; done
# After the dumps, which create the folder of the locks.
before=$(left)

tests/drivers/serve-kills "$CTL" "$T" "$kills" "${watched[@]}" >"$T/kills" 2>"$T/kills.log"
is "$?" 0 "$kills kills: each target is alive, not traced, unchanged and at work after each" || diag "$(tail -n 20 "$T/kills.log")"
json '"\(.kills) kills, seed \(.seed): \(.killed)", "at: \(.at)", "answers: \(.answers)"' "$T/kills" | sed 's/^/# /'
is "$(json '[.killed[]] | min * 4 >= max' "$T/kills")" true 'each of the four was killed'
# The control: with wrong moments, few kills would hit.
for whom in front worker tracer broker; do
	like "$(json "[.at | to_entries[] | select(.key | test(\"^$whom: (at work|traced)\")) | .value] | add" "$T/kills")" \
		'^[1-9]' "control: $whom: killed in the middle"
done
like "$(json '[.at | to_entries[] | select(.key | test("^(tracer|broker): traced")) | .value] | add' "$T/kills")" '^[1-9]' \
	'control: some while a target was traced'
like "$(json '.answers["200"]' "$T/kills")" '^[1-9]' 'control: clients were answered'
is "$(json '.answers.slow // 0' "$T/kills")" 0 'and none waited forever'
for pid in "${victims[@]}"; do
	assert_untouched "$pid"
	ctl_ok 'a dump works afterwards' dump "$pid" -o "$T/last.$pid.heap"
	ok 'it is a profile' is_profile "$T/last.$pid.heap"
	rm "$T/last.$pid.heap"
	run_ctl undo "$pid" --json
	is "$status" 0 'undo succeeds'
done
is "$(left)" "$before" 'no file is left behind'
ok 'the socket of the last one is gone' test ! -e "$T/kills.sock"

# --- control: leftovers of a kill are detected ---
gdb -q -batch -ex 'call (int)dup(0)' -p "${victims[0]}" >"$T/gdb" 2>&1
said=$(PHOTO_PATIENCE=1 tests/drivers/photo check "${victims[0]}" "$T/photo.${victims[0]}" 2>&1)
like "$? $said" '^1 .*fd ' 'control: one more descriptor in a target is noticed'
unset "photographed[${victims[0]}]"

done_testing
