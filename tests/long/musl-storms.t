#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Difficult targets whose C library is musl: threads that only allocate, fork, load libraries,
# create threads or change their user; signals and job control; seccomp filters; unusual stacks; a
# pending cancellation; and kills of jeprof-ctl at random moments.
# SCALE multiplies the storms (1; 40 with LONG=1), KILLS sets the number of kills (60; 2000).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/musl.sh
. tests/musl.sh

scale=${SCALE:-$([ -n "${LONG:-}" ] && echo 40 || echo 1)}
kills=${KILLS:-$([ -n "${LONG:-}" ] && echo 2000 || echo 60)}
careless=$ROOT/build/tests/careless/jeprof-ctl
for name in idle busy storm signals launch stacks cancelled; do
	build_musl "$name"
done
build_musl walled "$(cc -print-file-name=libseccomp.a)"
build_musl_static busy busy-static -Wl,-u,sigaction,-u,getppid
build_musl_static storm storm-static -Wl,-u,sigaction,-u,getppid
export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:14,prof_prefix:$T/own

# --- storms -------------------------------------------------------------------------------

# storm COUNT VICTIM ARGUMENTS...: inject again and again while the victim works; no harm may be
# done
storm()
{
	local times=$(($1 * scale))

	shift
	start_victim "$musl/$1" "${@:2}"
	tests/drivers/storm run "$CTL" "$pid" "$T/board.$pid" "$times" "$T" >"$T/storm" 2>"$T/storm.err"
	is $? 0 "$*: $times injections, no harm" || diag "$(<"$T/storm.err")"
	diag "$*: $(<"$T/storm")"
	ok "$*: not traced" grep -q '^TracerPid:.0$' "/proc/$pid/status"
	stop_target "$pid"
	rm -f "$T"/own*
}
storm 34 storm small 1
storm 17 storm small 8
storm 17 storm large 1
storm 17 storm realloc 1
storm 17 storm cross 4
storm 17 storm fork 1
storm 17 storm setxid 1
storm 17 storm-static fork 1
storm 17 busy-static 2
tests/drivers/storm fresh "$CTL" $((17 * scale)) "$T" "$musl/idle" 1 >"$T/storm" 2>"$T/storm.err"
is $? 0 'the first call in new processes, no harm' || diag "$(<"$T/storm.err")"
rm -f "$T"/own*

# These are nearly always in the C library: the command is done or leaves them alone.
for kind in threads dlopen; do
	start_victim "$musl/storm" "$kind" 1
	for mode in thread inline; do
		run_ctl activate "$pid" --timeout 2s --mode "$mode"
		like "$status $err" '^(0 |8 .*no safe moment was found)' "storm $kind ($mode): done or left alone"
	done
	ok "storm $kind: it goes on" tests/drivers/photo board "$T/board.$pid"
	stop_target "$pid"
done

# A thread that is called from the allocator is never safe.
start_victim "$musl/storm" inside 1
snapshot "$pid"
for mode in thread inline; do
	is_left_alone 'no unwind information' \
		"a thread that is always in the allocator is left alone ($mode)" activate "$pid" --timeout 2s --mode "$mode"
	unlike "$err" ' in 0 attempts' "there were attempts ($mode)"
done
assert_untouched "$pid" 'inside: untouched'
stop_target "$pid"

# --- killed -------------------------------------------------------------------------------

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:16
for victim in 'busy 3' 'busy-static 2'; do
	# shellcheck disable=SC2086 # words
	start_victim "$musl/"$victim
	snapshot "$pid"
	tests/drivers/kill-storm "$CTL" "$pid" "$T/board.$pid" "$kills" "$T" >"$T/storm" 2>"$T/storm.err"
	is $? 0 "$victim: $kills kills: the target alive, not traced, intact, correct after each" ||
		diag "$(<"$T/storm")" "$(tail -n 20 "$T/storm.err")"
	diag "$(<"$T/storm")"
	like "$(json '.while_stopped + .while_working' "$T/storm")" '^[1-9]' "$victim: some hit while it was worked on"
	ctl_ok "$victim: dump works after all that" dump "$pid" --force -o "$T/last.heap"
	assert_untouched "$pid" "$victim: untouched"
	stop_target "$pid"
	rm -f "$T/last.heap"
done

# --- signals and job control --------------------------------------------------------------

export MALLOC_CONF=$PROF
start_victim "$musl/signals"
OWN_CHANGES='SigPnd ShdPnd SigBlk' tests/drivers/rounds "$CTL" "$pid" "$T/board.$pid" $((20 * scale)) "$T" >"$T/rounds" 2>"$T/rounds.err"
is $? 0 'a storm of signals: none lost, none twice, all in order' || diag "$(<"$T/rounds.err")"
stop_target "$pid"

: >"$T/child"
start_victim "$musl/launch" "$musl/idle" "$T/child" 1
launcher=$pid
pid=$(tests/drivers/photo ready "$T/child")
ctl_ok 'job control: activate' activate "$pid"
tests/drivers/job-control "$CTL" "$pid" "$T/child" "$T/board.$launcher" $((10 * scale)) "$T" >"$T/jobs" 2>"$T/jobs.err"
is $? 0 'stopped while it was worked on: it stops, which is seen once' || diag "$(<"$T/jobs.err")"
stop_target "$launcher"

# --- a pending cancellation in a thread that has disabled it ----------------------------------

start_victim "$musl/cancelled"
snapshot "$pid"
ctl_ok 'a cancellation is pending: activate' activate "$pid"
ctl_ok 'a cancellation is pending: inline' deactivate "$pid" --mode inline
ctl_ok 'a cancellation is pending: dump' dump "$pid" --force -o "$T/cancelled.heap"
ctl_fails 8 cancellation_pending 'a cancellation is pending: no dump in its own thread' \
	dump "$pid" --force --in-target "$T/own.heap" --mode inline --timeout 1s
assert_untouched "$pid" 'a cancellation is pending: untouched'
is "$(on_board .reserved)" 0 'a cancellation is pending: it is not cancelled yet'
printf '\1' | dd of="$T/board.$pid" bs=1 seek=56 conv=notrunc status=none
ok 'a cancellation is pending: it acts when it is enabled' within 60 eval '[ "$(on_board .reserved)" = 2 ]'
stop_target "$pid"

# --- seccomp ------------------------------------------------------------------------------

calls=(clone membarrier mmap mprotect memfd_create open write getppid close_range exit rt_sigprocmask)
fences()
{
	tests/drivers/fence-storm "$CTL" "$musl/walled" 1 "$T" "$@" >"$T/walls" 2>"$T/walls.err"
	is $? 0 "$1: the target is intact after all of them" || diag "$(<"$T/walls.err")"
}
refused()
{
	jq -r --arg c "$1" 'select(.[$c].exit != 0) | .wall | sub(".* "; "")' "$T/walls" | xargs
}
for action in kill-process trap; do
	fences "$action" "${calls[@]}"
	is "$(refused activate)" 'mmap rt_sigprocmask' "$action: activate works, unless its own calls do harm"
	is "$(refused dump)" "${calls[*]}" "$action: dump is refused"
	is "$(jq -r '. as $w | select($w.dump.said | contains(" " + ($w.wall | sub(".* "; "")) + "(2)")) | .wall' "$T/walls" | wc -l)" \
		"${#calls[@]}" "$action: the refusal names the call"
done
for action in eperm enosys; do
	fences "$action" "${calls[@]}"
	is "$(refused activate)" '' "$action: activate works"
	diag "$action: dump is refused with: $(refused dump)"
done
fences - 'services kill-process' 'services eperm' no-exec
is "$(refused activate)$(refused dump)" '' 'service filters: all commands work'
tests/drivers/fence-storm build/tests/careless/jeprof-ctl-fences "$musl/walled" 0 "$T" kill-process clone \
	>"$T/walls" 2>"$T/walls.err"
is $? 1 'control: a careless build harms'
like "$(<"$T/walls.err")" 'the victim ended with -31' 'control: the target is dead'

# --- stacks -------------------------------------------------------------------------------

export MALLOC_CONF=prof:true,prof_active:false
# musl adds room for thread-local data to the requested stack size, so the other kinds have enough.
for kind in altstack altstack-within altstack-thread deep-main given-stack near-zone near-zone-main; do
	start_victim "$musl/stacks" "$kind"
	within 60 eval '[ "$(on_board ".beats[0]")" -gt 0 ]'
	snapshot "$pid"
	for mode in thread inline; do
		is_left_alone '' "$kind: refused ($mode)" activate "$pid" --timeout 2s --mode "$mode"
	done
	assert_untouched "$pid" "$kind: untouched"
	ok "$kind: the canaries are intact" is_unharmed
	stop_target "$pid"
	start_victim "$musl/stacks" "$kind" idle
	snapshot "$pid"
	ctl_ok "$kind: another thread is borrowed" activate "$pid"
	assert_untouched "$pid" "$kind: untouched beside another thread"
	stop_target "$pid"
done
start_victim "$musl/stacks" above-zone
snapshot "$pid"
for mode in thread inline; do
	ctl_ok "above-zone: borrowed ($mode)" activate "$pid" --mode "$mode"
done
assert_untouched "$pid" 'above-zone: untouched'
stop_target "$pid"

# The control: without the safety check, the storms do harm.
harmed()
{
	local status

	start_victim "$musl/$1" "${@:2}"
	TIMEOUT=3s PATIENCE=5 tests/drivers/storm run "$careless" "$pid" "$T/board.$pid" 600 "$T" >"$T/storm" 2>"$T/storm.err"
	status=$?
	diag "$*, without the protection: $(tail -n 1 "$T/storm.err" | cut -c 1-200)"
	stop_target "$pid" -KILL
	[ "$status" -eq 1 ]
}
harm=none
for kind in fork threads fork threads; do
	harmed storm "$kind" 1 && harm=$kind && break
done
unlike "$harm" none 'control: without the safety check a storm is harmed'

done_testing
