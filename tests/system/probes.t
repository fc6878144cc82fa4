#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# probes: perf and bpftrace, by the commands that it prints, see what redis-server allocates.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh

# bpftrace 0.17 insists on unlimited locked memory, which eBPF programs do not need since Linux 5.11.
cat >"$T/unlimited.c" <<'E2'
#include <sys/resource.h>
int setrlimit(__rlimit_resource_t what, const struct rlimit *to) { (void)what; (void)to; return 0; }
E2
cc -shared -fPIC -o "$T/unlimited.so" "$T/unlimited.c" || bail_out 'no compiler'

redis-server --port 0 --unixsocket "$T/sock" --save '' --dir "$T" --loglevel warning >"$T/redis.log" 2>&1 &
pid=$!
own "$pid"
within 60 redis-cli -s "$T/sock" ping >/dev/null 2>&1 || bail_out 'redis-server does not start'
# fill NAME: 20,000 keys with values of 2,000 bytes
fill()
{
	redis-cli -s "$T/sock" eval "for i = 1, 20000 do redis.call('SET', ARGV[1] .. i, string.rep('x', 2000)) end" 0 "$1" >"$T/answer"
}
fill once
redis-cli -s "$T/sock" flushall >"$T/answer"
snapshot "$pid"
start_probing 'probes in' "$T/out" "$T/err" "$CTL" "${patient[@]}" probes "$pid" --sample-rate 64K --max-overhead 10000
diag "$(<"$T/out")"
command_of()
{
	sed -n "s/^  $1/$1/p" "$T/out"
}

# --- perf: 2,000 bytes are 2,009 with redis' header, and 2,048 as an object ---
while read -r line; do
	eval "$line" || bail_out "not created: $line"
done < <(command_of echo)
at_end+=("echo '-:otel_memory/alloc' >>/sys/kernel/tracing/uprobe_events
	echo '-:otel_memory/free' >>/sys/kernel/tracing/uprobe_events")
eval "exec $(command_of 'perf record') -o $T/perf.data" >"$T/perf.log" 2>&1 &
perf=$!
own "$perf"
within 60 eval '[[ $(state_of "$pid") == "$in_phase 2 2" ]]' || bail_out "perf does not attach: $(<"$T/perf.log")"
fill perf
end_child "$perf" -INT
wait "$perf"
perf script -i "$T/perf.data" -F comm,pid,event,trace >"$T/script" 2>"$T/perf.log"
bytes=$(sed -n 's/.*alloc:.*size=\(20[0-9][0-9]\) bytes=\([0-9]*\).*/\2/p' "$T/script" | awk '{ s += $1 } END { print int(s / 1000000) }')
ok "perf: about 20,000 objects of 2,000 bytes: $bytes MB" test "$bytes" -ge 30 -a "$bytes" -le 60 || diag "$(head "$T/script")"
is "$(grep -vc "redis-server *$pid" "$T/script")" 0 'perf: no other process'
redis-cli -s "$T/sock" flushall >"$T/answer"

# --- bpftrace ---
line=$(command_of bpftrace)
LD_PRELOAD=$T/unlimited.so eval "exec ${line%\'} interval:s:1 { printf(\"on\\n\"); }'" >"$T/bpftrace" 2>&1 &
tracer=$!
own "$tracer"
within 60 grep -q '^on' "$T/bpftrace" || bail_out "bpftrace does not attach: $(<"$T/bpftrace")"
fill bpftrace
end_child "$tracer" -INT
wait "$tracer"
bytes=$(sed -n 's/^@\[20[0-9][0-9]\]: //p' "$T/bpftrace" | awk '{ s += $1 } END { print int(s / 1000000) }')
ok "bpftrace: the same: $bytes MB" test "$bytes" -ge 30 -a "$bytes" -le 60 || diag "$(<"$T/bpftrace")"

end_child "$prober" -INT
wait "$prober"
is "$?" 0 'probes: ends'
redis-cli -s "$T/sock" flushall >"$T/answer"
assert_untouched "$pid"

done_testing
