#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sites: how close it comes to the truth, what it costs, and that it leaves nothing behind, however
# it ends.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sites.sh
. tests/sites.sh

# --- 20 runs: within three standard errors of sampling, plus two per mille for other errors ---
start_victim allocators
snapshot "$pid"
far=0
for run in $(seq 20); do
	remember
	start_sites "$run" --sample-rate 64K --max-overhead 100 --save "$T/$run.heap"
	tell '\377' # 255 MB: some 4,000 samples
	end_sites "$run"
	total=0
	for i in 0 1 2; do
		now[i]=$(($(beat $((i + 2))) - before[i]))
		total=$((total + now[i]))
	done
	for i in 0 1 2; do
		got=$(share "${functions[i]}" "$T/$run.heap")
		wanted=$((now[i] * 1000 / total))
		# The standard error for n samples: 1000 sqrt(share (1 - share) / n)
		error=$(awk -v p="$wanted" -v n="$(awk 'NR == 2 { gsub(/[^0-9]/, "", $4); print $4 }' "$T/$run.heap")" \
			'BEGIN { p /= 1000; print int(3000 * sqrt(p * (1 - p) / n)) + 2 }')
		diag "run $run: ${functions[i]}: $got, $wanted in fact, within $error"
		[ "$got" -ge $((wanted - error)) ] && [ "$got" -le $((wanted + error)) ] || far=$((far + 1))
	done
done
# Of 60 shares, one exceeds three standard errors in one of six tries.
ok "$far of 60 shares are off by more than three standard errors" test "$far" -le 2

# --- killed at any time ---
for i in $(seq 100); do
	"$CTL" sites "$pid" -d 1m -q >/dev/null 2>&1 &
	killed=$!
	own "$killed"
	sleep "0.$((RANDOM % 600 + 100))"
	end_child "$killed" -KILL
	wait "$killed" 2>/dev/null
done
tell '\010'
assert_untouched "$pid" 'killed 100 times at random: untouched'

# --- too expensive ---
"$CTL" sites "$pid" -d 1m --max-overhead 1 --sample-rate 4K >"$T/out" 2>"$T/err" &
costly=$!
own "$costly"
while kill -0 "$costly" 2>/dev/null; do
	tell '\377'
done
wait "$costly"
is "$?" 8 'too much overhead: ends by itself'
like "$(<"$T/err")" 'the probe takes [0-9]+ % of its time, where 1 % are allowed: it was removed' 'too much overhead: the cause is reported'
assert_untouched "$pid" 'too much overhead: untouched'
stop_target "$pid"

# --- a redis under load: it allocates through zmalloc, and its own count agrees ---
unset LD_LIBRARY_PATH
MALLOC_CONF='' start_redis
load()
{
	redis-benchmark -s "$sock" -t set -n 300000 -r 1000 -d 1000 -P 16 -q >/dev/null
}
load # it keeps the memory that it takes for this
snapshot "$pid"
start_sites redis --save "$T/redis.heap"
load
end_sites redis
like "$(<"$T/redis.out")" 'processInputBuffer|readQueryFromClient|createStringObject|sdsnewlen' 'redis: who allocates'
assert_untouched "$pid" 'redis: untouched'

done_testing
