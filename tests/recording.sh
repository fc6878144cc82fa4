# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # what is used by the tests; pid is set by lib.sh
# Recordings in the background, and what record shows on a terminal. Sourced after tests/lib.sh.

# active_of PID: prof.active, by a call of its own
active_of()
{
	"$CTL" "${patient[@]}" get "$1" prof.active -q
}

is_on()
{
	[ "$(active_of "$1")" = true ]
}

# start_recording ARGUMENTS...: of `pid`, until profiling is on; sets `recorder`
start_recording()
{
	"$CTL" "${patient[@]}" record "$pid" --wait 30s --force -o "$T/bg.heap" "$@" >"$T/bg.out" 2>"$T/bg.err" </dev/null &
	recorder=$!
	own "$recorder"
	within 60 grep -q prof.active "/run/jeprof-ctl/$pid" && within 60 is_on "$pid"
}

# start_mapper: a program that maps 64 MiB, which are not jemalloc's, for each line in $T/map, and
# says so in $T/maps; sets `pid`
start_mapper()
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

# What is allocated now takes a stop to know: a series asks with each dump, and else it is asked for
# every five seconds, but only when somebody looks.
rss='RSS [0-9.]+[KMG]? \([-+]'
first='allocated [0-9.]+[KMG]? at first' now='allocated [0-9.]+[KMG]? \([-+][0-9.]+[KMG]?\)'

# on_terminal COLUMNS ARGUMENTS...: what it shows of `pid`, in $T/ttyCOLUMNS
on_terminal()
{
	local columns=$1

	shift
	script -qec "stty cols $columns; $CTL ${patient[*]} record $pid -o $T/tty$columns.heap $*" /dev/null \
		</dev/null >"$T/tty$columns" 2>&1
}
