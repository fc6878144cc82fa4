# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # variables for the tests; pid is set by lib.sh
# Recordings in the background, and record's output on a terminal. Sourced after tests/lib.sh.

# active_of PID: print prof.active, by a separate call
active_of()
{
	"$CTL" "${patient[@]}" get "$1" prof.active -q
}

is_on()
{
	[ "$(active_of "$1")" = true ]
}

# start_recording ARGUMENTS...: record `pid`, and wait until profiling is on. Sets `recorder`.
start_recording()
{
	"$CTL" "${patient[@]}" record "$pid" --wait 30s --force -o "$T/bg.heap" "$@" >"$T/bg.out" 2>"$T/bg.err" </dev/null &
	recorder=$!
	own "$recorder"
	within 60 grep -q prof.active "/run/jeprof-ctl/$pid" && within 60 is_on "$pid"
}

# start_outside: start a program that maps 64 MiB outside of jemalloc for each line in $T/map, and
# reports it in $T/maps. Sets `pid`.
start_outside()
{
	cat >"$T/maps.py" <<'PYTHON'
import mmap
import sys

print("ready", flush=True)
kept = []
for _ in sys.stdin:
    kept.append(mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE))
    for page in range(0, len(kept[-1]), 4096):
        kept[-1][page] = 1
    print("mapped", flush=True)
PYTHON
	mkfifo "$T/map"
	LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 /usr/bin/python3 "$T/maps.py" <>"$T/map" >"$T/maps" &
	pid=$!
	own "$pid"
	within 60 grep -q ready "$T/maps"
}

# Reading the allocated amount needs a stop: a series reads it with each dump; otherwise it is read
# every five seconds, but only on a terminal.
rss='RSS [0-9.]+[KMG]? \([-+]'
first='allocated [0-9.]+[KMG]? at first' now='allocated [0-9.]+[KMG]? \([-+][0-9.]+[KMG]?\)'

# on_terminal COLUMNS ARGUMENTS...: record `pid` on a terminal, with output to $T/ttyCOLUMNS
on_terminal()
{
	local columns=$1

	shift
	script -qec "stty cols $columns; $CTL ${patient[*]} record $pid -o $T/tty$columns.heap $*" /dev/null \
		</dev/null >"$T/tty$columns" 2>&1
}
