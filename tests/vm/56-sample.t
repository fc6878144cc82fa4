#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample, on this kernel and with this suite's jemalloc: a service that was not started for
# profiling.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# fill KEY: allocate 4 MB that stay; churn: as much that is freed
fill()
{
	at_redis EVAL "for i = 1, 10000 do redis.call('set', KEYS[1] .. i, string.rep('x', 400)) end" 1 "$1" >/dev/null
}

churn()
{
	at_redis EVAL "for i = 1, 10000 do redis.call('set', 'one', string.rep('x', 400)) end" 0 >/dev/null
}

used()
{
	at_redis INFO memory | tr -d '\r' | sed -n 's/^used_memory://p'
}

start_redis_service prof:false
fill before
# tests/gate/sample.t shows what a first run leaves behind; later runs leave nothing more.
"$CTL" sample "$pid" -d 1s >/dev/null 2>&1
snapshot "$pid"

"$CTL" sample "$pid" -d 10m --sample-rate 16K --max-overhead 100 --save /tmp/sample.heap --no-pager >"$T/table" 2>"$T/said" &
sampler=$!
own "$sampler"
samples()
{
	grep -q '^sampling' "$T/said" || ! kill -0 "$sampler"
}
within 120 samples
before=$(used)
fill after
churn
grown=$(($(used) - before))
end_child "$sampler" -INT
wait "$sampler"
is "$?" 0 'ends by Ctrl-C'
diag "$(<"$T/said")"
like "$(<"$T/said")" "sampled $pid \(redis-server\) for [0-9.]+ s, ended by a signal: [0-9.]+[KMG] allocated, [0-9.]+[KMG] of it not freed" \
	'what it saw is reported'
like "$(<"$T/table")" '^inuse_space of redis-server' 'the table shows what is held'
like "$(<"$T/table")" '<.*<.*<.*<' 'with whole stacks'
# At 4 MB or more, in samples of 16 KiB, the standard error is 7 %.
live=$("$CTL" report --json --no-cache /tmp/sample.heap | jq '.total | round')
ok "live: $live, $grown in fact" test $((live * 10)) -gt $((grown * 6)) -a $((live * 10)) -lt $((grown * 14))
assert_untouched "$pid"

# --- killed: it is removed at the next allocation ---
"$CTL" sample "$pid" -d 10m --max-overhead 100 >/dev/null 2>"$T/said" &
sampler=$!
own "$sampler"
within 120 samples
end_child "$sampler" -KILL
fill again
unlike "$("$CTL" undo "$pid" 2>&1)" 'sampled' 'killed: nothing of it is left to remove'
assert_untouched "$pid" 'killed: untouched'
feature sample
done_testing
