#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever a process names or holds is read only by confined processes, as strace shows for each
# command of jeprof-ctl.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

# The target has its own program and jemalloc, unlike those that jeprof-ctl itself uses.
install -m 755 "$VICTIMS/idle" "$T/its-program"
MALLOC_CONF=prof:true,lg_prof_sample:10 start_victim "$T/its-program"
snapshot "$pid"
run_ctl dump "$pid" -o "$T/its-profile.heap"
[ "$status" -eq 0 ] || bail_out "no profile: $err"
run_ctl bundle "$pid" -o "$T/its-bundle.tar.gz"
[ "$status" -eq 0 ] || bail_out "no bundle: $err"

# auxv comes from the kernel itself; a number that changes with each execve(2) is derived from it.
# Data in a memory file is copied by the controller, and a confined process parses the copy.
readers_in()
{
	tests/drivers/confinement.py "$1" "^/proc/$pid/(mem|maps|environ|task/[0-9]+/(mem|maps))" 'its-program' \
		'its-profile' 'its-bundle' "^$T/lib/" '/var/cache/jeprof-ctl/'
}

# confined NAME COMMAND...: at least one confined process must read, and no other process
confined()
{
	local name=$1

	shift
	strace -f -y -o "$T/cut" "$CTL" "${patient[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
	tests/drivers/whole_calls.py "$T/cut" >"$T/trace"
	readers_in "$T/trace" >"$T/readers"
	like "$(<"$T/readers")" '^read by [1-9][0-9]* confined processes$' "$name: read only by confined processes"
}

# Print the longest time that a process of the last command waits for another one, in ms.
longest_wait()
{
	grep -Eo 'POLLIN}\], 1, [0-9]+' "$T/trace" | awk '$3 > max { max = $3 } END { print max + 0 }'
}

confined 'list' list
confined 'check' check "$pid"
confined 'status' status "$pid"
confined 'activate' activate "$pid"
confined 'dump' dump "$pid" -o "$T/1.heap"
confined 'dump -f html' dump "$pid" -f html -o "$T/1.html"
confined 'dump --in-target' dump "$pid" --in-target "$T/its-profile-2.heap"
confined 'stats' stats "$pid"
confined 'stats -f prom' stats "$pid" -f prom
confined 'record' record "$pid" -d 1s -o "$T/2.heap"
confined 'deactivate' deactivate "$pid"
confined 'bundle' bundle "$pid" -o "$T/2.tar.gz"
patient=() # without the limit of time
confined 'report' report "$T/its-profile.heap"
like "$(longest_wait)" '^7[12][0-9]{5}$' 'report: it waits at most two hours for a sleeping process'
confined 'report --timeout' --timeout 30s report "$T/its-profile.heap"
like "$(longest_wait)" '^(30000|2[0-9]{4})$' 'report --timeout: it waits at most that long'
confined 'report of a bundle' report "$T/its-bundle.tar.gz"
confined 'convert' convert "$T/its-profile.heap" "$T/3.pb.gz"
confined 'diff' diff "$T/its-profile.heap" "$T/its-profile.heap"
confined 'leaks' leaks "$T/its-profile.heap" "$T/its-profile.heap" "$T/its-profile.heap"
confined 'watch' watch "$pid" --for 1s
confined 'watch --all' watch --all --for 1s
assert_untouched "$pid" 'untouched'

# --- a process that cannot close our descriptors must read nothing ---
for command in "status $pid" "report $T/its-profile.heap"; do
	# shellcheck disable=SC2086 # its words
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 strace -f -qq -o "$T/trace" -e trace=close_range -e inject=close_range:error=EPERM \
		"$CTL" "${patient[@]}" $command >"$T/out" 2>"$T/err" </dev/null
	is "$? $(wc -c <"$T/out")" '1 0' "close_range(2) forbidden: ${command%% *} fails"
	like "$(<"$T/err")" 'Operation not permitted' "close_range(2) forbidden: ${command%% *}: the cause"
done
assert_untouched "$pid" 'close_range(2) forbidden: untouched'

# --- control: the same program without the fences ---
CTL=$ROOT/build/tests/careless/jeprof-ctl-unfenced
strace -f -y -o "$T/trace" "$CTL" list >/dev/null 2>&1
like "$(readers_in "$T/trace")" 'was not confined' 'control: without its fences this test fails'
done_testing
