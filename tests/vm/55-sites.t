#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sites, on this kernel and with this suite's jemalloc: a service that was not started for
# profiling.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

is_older_jemalloc()
{
	dpkg --compare-versions "$(dpkg-query -W -f '${Version}' libjemalloc2)" lt 5.3
}

# allocate: have redis allocate that much, without keeping any of it
allocate()
{
	at_redis EVAL "for i = 1, 200000 do redis.call('set', 'one', string.rep('x', 300)) end" 0 >/dev/null
}

start_redis_service prof:false
allocate
snapshot "$pid"

# Without the event it is refused with the reason, before anything is probed.
if is_older_jemalloc; then
	ctl_fails 1 'no_allocation_event sample_instead' 'refused' sites "$pid" -d 1s
	assert_untouched "$pid" 'refused: untouched'
	feature sites 'no: jemalloc is older than 5.3.0'
	done_testing
	exit
fi

"$CTL" sites "$pid" -d 10m --sample-rate 64K --max-overhead 100 --save /tmp/sites.heap --no-pager >"$T/table" 2>"$T/said" &
sampler=$!
own "$sampler"
samples()
{
	grep -q '^sampling' "$T/said" || ! kill -0 "$sampler"
}
within 120 samples
allocate
end_child "$sampler" -INT
wait "$sampler"
is "$?" 0 'ends by Ctrl-C'
like "$(<"$T/said")" "sampled $pid \(redis-server\) for [0-9.]+ s, ended by a signal: [0-9.]+[KMG] .* allocated, [1-9][0-9]* samples" \
	'what was allocated is reported'
like "$(<"$T/table")" '^alloc_space of redis-server' 'the table shows what was allocated'
like "$(<"$T/table")" '<.*<.*<.*<' 'with whole stacks'
diag "$(<"$T/said")"
assert_untouched "$pid"
feature sites
done_testing
