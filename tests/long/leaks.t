#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Growth and leaks, in programs whose growth is known: record, diff and leaks name the function and
# the line, and are right within their own error margins.

# A /run of our own: recordings of other tests must not show up here.
[ -n "${OWN_RUN:-}" ] || OWN_RUN=1 exec unshare -m "$0" "$@"
mount -t tmpfs -o mode=755 none /run || exit 99
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
line=$(grep -n 'forgotten = malloc' tests/target/leaky.c | cut -d: -f1)

is_on()
{
	[ "$("$CTL" "${patient[@]}" get "$pid" prof.active -q)" = true ]
}

# forget N: have the victim forget N blocks at once (byte 56 of the board), and wait until it has.
forget()
{
	python3 -c 'import struct, sys, time
path, n = sys.argv[1], int(sys.argv[2])
with open(path, "r+b", buffering=0) as f:
    f.seek(56)
    f.write(struct.pack("Q", n))
    while struct.unpack("Q", (f.seek(56), f.read(8))[1])[0]:
        time.sleep(0.01)' "$T/board.$pid" "$1"
}

# series NAME LABEL: make a recording with ten dumps, however long they take
series()
{
	"$CTL" "${patient[@]}" record "$pid" --wait 30s -d 300s --interval 400ms -o "$T/$1.heap" -q >"$T/bg.out" 2>&1 &
	recorder=$!
	own "$recorder"
	ok "$2: there are ten dumps" within 120 test -e "$T/$1.0010.heap"
	kill -TERM "$recorder"
	wait "$recorder"
	is "$?" 0 "$2" || diag "$(<"$T/bg.out")"
}

# count_rounds FILE: log the victim's number of rounds (beat 0) and the time, in the background; set
# `counter`
count_rounds()
{
	python3 -c 'import struct, sys, time
with open(sys.argv[1], "rb", buffering=0) as f:
    while True:
        f.seek(64)
        print(time.time_ns(), *struct.unpack("Q", f.read(8)), flush=True)
        time.sleep(0.02)' "$T/board.$pid" >"$1" &
	counter=$!
	own "$counter"
	within 60 test -s "$1"
}

counted_since()
{
	[ "$(tail -n 1 "$1" | cut -d ' ' -f 1)" -gt "$2" ]
}

# rounds_a_second FILE PROFILE...: print the slope of a line through the rounds at the profiles'
# times
rounds_a_second()
{
	python3 - "$@" <<-'PYTHON'
		import bisect, re, sys
		counts = [tuple(map(int, line.split())) for line in open(sys.argv[1]) if line.endswith("\n")]
		points = []
		for name in sys.argv[2:]:
		    at = int(re.search(r"^# time_ns (\d+)$", open(name).read(), re.M)[1])
		    i = bisect.bisect(counts, (at, 0))
		    (t, n), (u, m) = counts[i - 1], counts[i]
		    points.append((at / 1e9, n + (m - n) * (at - t) / (u - t)))
		x, y = (sum(p[k] for p in points) / len(points) for k in (0, 1))
		print(sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points))
	PYTHON
}

# --- a known amount, in a known function ---
start_victim leaky
blocks=20000
"$CTL" "${patient[@]}" record "$pid" --wait 30s -d 300s -o "$T/known.heap" --json >"$T/out" 2>"$T/err" &
recorder=$!
own "$recorder"
ok 'a known amount: the recording begins' within 60 is_on
forget "$blocks"
kill -TERM "$recorder"
wait "$recorder"
is "$?" 0 'a known amount: recorded' || diag "$(<"$T/err")"
is "$(json '.difference.functions[0] | [.function, .significant] | tostring')" '["forget_blocks",true]' \
	'a known amount: the function is named'
is "$(json '.difference.stacks[0].calls[0] | [.function, (.file | split("/") | last), .line] | tostring')" \
	"[\"forget_blocks\",\"leaky.c\",$line]" 'a known amount: and the line'
is "$(json ".difference.functions[0] | (.growth - $blocks * 1024 | fabs) < 6 * .error and .error < .growth / 50")" true \
	'a known amount: estimated within its own error' || diag "$(json '.difference.functions[0]')"
ctl_ok 'diff of the two' diff "$T/known.base.heap" "$T/known.heap"
like "$out" '\* +\+[0-9.]+M .* forget_blocks' 'diff: the function grew'
like "$out" "forget_blocks \(leaky.c:$line\) < main \(leaky.c:" 'diff: and its caller'
ctl_ok 'diff -f folded' diff "$T/known.base.heap" "$T/known.heap" -f folded
like "$(grep -c 'main;forget_blocks [0-9]*$' "$T/out")" '^1$' 'diff -f folded: the stack'
is "$(awk '/;forget_blocks [0-9]+$/ { if (($NF - 20480000) ^ 2 < 4e12) n++ } END { print n + 0 }' "$T/out")" 1 'diff -f folded: its bytes'
ctl_ok 'diff -f svg' diff "$T/known.base.heap" "$T/known.heap" -f svg
like "$out" ': growth of inuse_space [0-9.]+M(<|; what shrank, by [0-9.]+K?,)' 'diff -f svg: the title'
ctl_ok 'diff -f svg, of less' diff "$T/known.heap" "$T/known.base.heap" -f svg
like "$out" ': growth of inuse_space [0-9.]+K?; what shrank, by [0-9.]+M, is not shown' 'diff -f svg, of less: the title'
ctl_ok 'diff -f pprof -o' diff "$T/known.base.heap" "$T/known.heap" -f pprof -o "$T/known.pb.gz"
ok 'diff -f pprof -o: a file' gzip -t "$T/known.pb.gz"
ctl_fails 10 output_exists 'diff -o replaces nothing unasked' diff "$T/known.base.heap" "$T/known.heap" -f pprof -o "$T/known.pb.gz"
run_ctl diff "$T/known.base.heap" "$T/known.heap" -f svg --json
is "$status $(json .error.code)" '2 usage' 'diff -f with --json'
ctl_fails 2 'format_unknown available_formats' 'diff: an unknown format' diff "$T/known.base.heap" "$T/known.heap" -f wood
like "$err" 'unknown format wood.*pprof' 'diff: an unknown format: named, with the known ones'
ctl_ok 'diff the other way' diff "$T/known.heap" "$T/known.base.heap" --json
is "$(json '.functions[0] | [.function, .significant, .growth < 0] | tostring')" '["forget_blocks",true,true]' \
	'diff the other way: it shrank'
ctl_ok 'diff of one with itself' diff "$T/known.heap" "$T/known.heap" --json
is "$(json '[.functions[], .stacks[] | select(.significant or .growth != 0)] | length')" 0 'diff of one with itself: nothing'

# --- a program's own namespace with the name of a Rust library ---
for n in 1 900; do
	printf '%s\n' '--- symbol' 'binary=/x' '0x1000 inner' '0x2000 core::run' '---' '--- heap' 'heap_v2/1' \
		"  t*: $n: ${n}000 [0: 0]" '@ 0x1000 0x2001' "  t*: $n: ${n}000 [0: 0]" '' 'MAPPED_LIBRARIES:' >"$T/core.$n"
done
ctl_ok 'a namespace called core: diff' diff "$T/core.1" "$T/core.900"
like "$out" 'inner < core::run' 'a namespace called core: its calls are shown'

# --- no leak: old blocks are replaced, and are seen from then on ---
snapshot "$pid" # jemalloc and the C library keep some memory from the above
series none 'no leak'
ctl_ok 'no leak: leaks' leaks "$T"/none.*heap --json
is "$(json '[(.leaks | length), .profiles >= 12, .tested >= 1] | tostring')" '[0,true,true]' 'no leak: none is reported' ||
	diag "$out"
ctl_ok 'no leak, for people' leaks "$T"/none.*heap
like "$out" '^nothing is certain to leak, among [0-9]+ stacks? and what they have in common, in [0-9]+ profiles' 'no leak, for people: it is reported'
assert_untouched "$pid" 'no leak: untouched'
stop_target "$pid"

# --- a leak whose rate is known ---
start_victim leaky 10
count_rounds "$T/rounds"
series leak 'a leak'
within 60 counted_since "$T/rounds" "$(date +%s%N)"
end_child "$counter"
wait "$counter" 2>/dev/null
rate=$(jq -n "$(rounds_a_second "$T/rounds" "$T"/leak.*heap) * 10 * 1024")
ctl_ok 'a leak: leaks' leaks "$T"/leak.*heap --limit 1G --json
is "$(json '.leaks | length')" 1 'a leak: one is reported' || diag "$out"
is "$(json '.leaks[0].calls[0] | [.function, (.file | split("/") | last), .line] | tostring')" \
	"[\"forget_blocks\",\"leaky.c\",$line]" 'a leak: where it is'
is "$(json ".leaks[0] | (.rate - $rate | fabs) < 6 * .rate_error and .rate_error < $rate / 10")" true 'a leak: its rate' ||
	diag "wanted $rate:" "$(json '.leaks[0]')"
is "$(json '[.limit.of, .limit.bytes, .seconds_left > 0] | tostring')" '["given",1073741824,true]' 'a leak: when the limit is reached'
run_ctl leaks "$T"/leak.*heap --limit 1G -f json
is "$(json '.leaks | length')" 1 'a leak: -f json is --json'
ctl_ok 'a leak, in any order' leaks "$T/leak.heap" "$T/leak.0003.heap" "$T/leak.base.heap" "$T/leak.0001.heap" \
	"$T/leak.0006.heap" "$T/leak.0005.heap"
like "$out" "forget_blocks \(leaky.c:$line\) < main" 'a leak, in any order: the same'
like "$out" 'total .* the limit is reached in' 'a leak: against the limits of the living process'
ctl_ok 'a leak, the last profile three times' leaks "$T"/leak.*heap "$T/leak.heap" "$T/leak.heap" --limit 1G --json
cp "$T/out" "$T/thrice"
ctl_ok 'a leak, each profile once' leaks "$T"/leak.*heap --limit 1G --json
ok 'a profile counts once' cmp "$T/thrice" "$T/out"
ctl_ok 'few profiles' leaks "$T/leak.base.heap" "$T/leak.0003.heap" "$T/leak.heap"
like "$err" 'take 6 or more' 'few profiles: a warning'
unlike "$out" 'confidence' 'few profiles: no confidence'
ctl_ok 'few profiles, in JSON' leaks "$T/leak.base.heap" "$T/leak.0003.heap" "$T/leak.heap" --json
like "$(json .warning)" 'take 6 or more' 'few profiles, in JSON: a warning'
is "$(json '[.confidence, .dispersion >= 1] | tostring')" '[null,true]' 'few profiles, in JSON: no confidence'
is "$(json .warning "$T/thrice")" null 'enough profiles: no warning'
stop_target "$pid"

# --- a real program ---
start_redis
"$CTL" "${patient[@]}" record "$pid" --wait 30s -d 300s --interval 400ms -o "$T/redis.heap" -q >"$T/bg.out" 2>&1 &
recorder=$!
own "$recorder"
ok 'redis: the recording begins' within 60 is_on
for _ in $(seq 40); do
	load_redis 300 300
	sleep 0.1
done
kill -TERM "$recorder"
wait "$recorder"
ctl_ok 'redis: leaks' leaks "$T"/redis.*heap --json
like "$(json '.leaks | length')" '^[1-9]' 'redis: it keeps growing' || diag "$out"
stop_target "$pid"

# --- simulated programs, whose leaks are known: the table of doc/leaks.md ---
tests/drivers/leak-trials table "$CTL" 200 >"$T/table" 2>"$T/err" || diag "$(<"$T/err")"
ok 'of 200 with a leak, 160 are found, and at most 3 are wrong' awk -F'|' '$2 ~ /with a leak/ {
	exit !($4 >= 160 && $6 <= 3) }' "$T/table" || diag "$(<"$T/table")"
ok 'of 200 without, at most 2 are reported to leak' awk -F'|' '$2 ~ /without/ { exit !($6 <= 2) }' "$T/table" ||
	diag "$(<"$T/table")"

# --- profiles that cannot be compared ---
ctl_fails 2 argument_missing 'two profiles are too few for leaks' leaks "$T/leak.heap" "$T/leak.base.heap"
ctl_fails 1 of_another_program 'profiles of two programs: diff' diff "$T/leak.heap" "$T/redis.heap"
ctl_fails 1 of_another_process 'profiles of two programs: leaks' leaks "$T/leak.heap" "$T/leak.base.heap" "$T/redis.heap"
ctl_fails 1 of_another_process 'profiles of two processes: leaks' leaks "$T/leak.heap" "$T/leak.base.heap" "$T/none.heap"
ctl_fails 1 too_few_profiles 'one profile three times' leaks "$T/leak.heap" "$T/leak.heap" "$T/leak.heap"
like "$err" 'at least 3 profiles' 'one profile three times: the minimum is named'
ctl_fails 1 'in_file file_unopened' 'a file that does not exist' diff "$T/leak.heap" "$T/nowhere"
like "$err" "$T/nowhere: cannot open it: No such file" 'a file that does not exist: it is named'
ctl_fails 1 'in_file profile_malformed' 'a file that is not a profile' diff "$T/leak.heap" tests/target/leaky.c
like "$err" 'tests/target/leaky\.c: line 1' 'a file that is not a profile: it is named'
ctl_fails 2 argument_missing 'diff needs two files' diff "$T/leak.heap"

done_testing
