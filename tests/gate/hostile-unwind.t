#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Malicious unwind tables: they are followed by a process that may do nothing else.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF

# start_unwound TABLES: start a victim with these
start_unwound()
{
	start_victim unwound "$1"
	snapshot "$pid"
}

# tables: print "START END" of each mapping that has tables of a file, in decimal
tables()
{
	local range rights file

	while read -r range rights _ _ _ file; do
		[[ $rights != r--p || $file != /* ]] || echo "$((16#${range%-*})) $((16#${range#*-}))"
	done <"/proc/$pid/maps"
}

# Control: honest tables are followed, and by a confined process.
start_unwound honest
tables >"$T/tables"
ASAN_OPTIONS=detect_leaks=0 strace -f -y -qq -o "$T/cut" "$CTL" "${patient[@]}" activate "$pid" >"$T/out" 2>&1
is $? 0 'honest tables: the thread is borrowed' || diag "$(<"$T/out")"
tests/drivers/whole_calls.py "$T/cut" >"$T/trace"
# For each process that followed them, word by word, after a thread was attached to: PID TRACES?
awk -v pid="$pid" 'NR == FNR { start[NR] = $1; end[NR] = $2; n = NR; next }
	/ ptrace\(/ { traces[$1] = attached = 1 }
	attached && $0 ~ " pread64\\([0-9]+</proc/" pid "/mem>.*, 8, [0-9]+\\)" {
		at = $0; sub(/\) *= .*/, "", at); sub(/.*, /, "", at)
		for (i = 1; i <= n; i++)
			if (at + 0 >= start[i] && at + 0 < end[i])
				reads[$1] = 1
	}
	END { for (p in reads) print p, p in traces }' "$T/tables" "$T/trace" >"$T/readers"
is "$(cut -d' ' -f2 "$T/readers")" 0 'honest tables: one process follows them, and traces nothing'
read -r walker _ <"$T/readers"
ok 'honest tables: it is under a filter' grep -q "^$walker .*seccomp(SECCOMP_SET_MODE_FILTER" "$T/trace"
ctl_ok 'honest tables: deactivate' "${patient[@]}" deactivate "$pid"
assert_untouched "$pid" 'honest tables: untouched'
stop_target "$pid"

start_unwound none
ctl_fails 8 'no_safe_moment frame_without_unwind retry_longer poke' 'no tables: refused' activate "$pid" --timeout 1s
assert_untouched "$pid" 'no tables: untouched'
stop_target "$pid"

start_unwound endless
ctl_fails 8 'walk_late retry_or_damaged poke' 'endless tables: refused' activate "$pid" --max-pause 250ms
like "$err" 'fix: .*tables of the target are damaged or malicious' 'endless tables: the fix'
assert_untouched "$pid" 'endless tables: untouched'
ok 'endless tables: the walker is gone' within 60 eval '! pgrep -f "^$CTL.* activate $pid"'
stop_target "$pid"

done_testing
