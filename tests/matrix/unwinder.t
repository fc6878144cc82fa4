#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# jemallocs that take stacks in different ways: their code shows which way, and where taking a stack
# would end the program, nothing starts sampling unasked.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/checking.sh
. tests/checking.sh

export MALLOC_CONF=$PROF

# start_with ARCHIVE: start a program without frame pointers on that jemalloc
start_with()
{
	cc -shared -o "$T/libjemalloc.so.2" -Wl,-soname,libjemalloc.so.2 -Wl,--whole-archive "$1" \
		-Wl,--no-whole-archive -lm -pthread || bail_out "cannot link $1"
	wrap=(env LD_PRELOAD="$T/libjemalloc.so.2")
	start_victim busy-plain 2
	wrap=()
}

# unasked NAME: whatever starts sampling is refused, even a write without a call, going by the code
# alone
unasked()
{
	ctl_fails 1 'compiler_unwinder other_unwinder_or_force' "$1: activate" activate "$pid"
	ctl_fails 1 'compiler_unwinder other_unwinder_or_force' "$1: set prof.active true" set "$pid" prof.active true
	ctl_fails 1 'compiler_unwinder other_unwinder_or_force' "$1: record" record "$pid" -d 1s -o "$T/never.heap"
	ctl_fails 1 'compiler_unwinder other_unwinder_or_force' "$1: poke" activate "$pid" --mode poke
	ctl_ok "$1: it is not sampled" get "$pid" prof.active
	is "$out" 'prof.active: false' "$1: it is not sampled"
}

for version in 5.3.0 5.3.1; do
	archive=$(tests/make-jemalloc gcc "$version") || bail_out "there is no jemalloc $version"
	start_with "$archive"
	checked
	row_is unwinder false 'with compiler builtins' "$version" 'prof_libgcc'
	is "$status $(json .ready)" '1 false' "$version: not ready"
	unasked "$version"
	kill -STOP "$pid"
	run_ctl check "$pid" --json
	row_is unwinder false 'with compiler builtins' "$version, stopped" 'prof_libgcc'
	kill -CONT "$pid"
	left "$version"

	# The control: if forced, the program does end.
	start_with "$archive"
	run_ctl activate "$pid" --force # exit status 9 if the program ends at once
	ok "$version: control: the program ends" within 60 test ! -d "/proc/$pid/task/$pid/fd"
	stop_target "$pid"
done

done_testing
