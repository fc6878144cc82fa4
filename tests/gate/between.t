#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a program allocates and frees during a period must be counted to the byte, and whatever goes
# wrong in between must be reported. The driver runs a command instead of waiting.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

verbs=$B/tests/drivers/verbs
hour=3600000

# between NAME STATUS OPTIONS...: run the driver; its output is in $T/out, its messages are in $err
between()
{
	local name=$1 want=$2

	shift 2
	timeout -k 5 $((120 * SLOW)) "$verbs" between "$pid" "$hour" "$@" >"$T/out" 2>"$T/err"
	is "$?" "$want" "$name: exit status"
	err=$(<"$T/err")
}

# start_dumper: start one that reads its orders from $T/orders; see order
start_dumper()
{
	rm -f "$T/orders" "$T/orders.said"
	mkfifo "$T/orders"
	: >"$T/orders.said"
	start_victim dumper "$T/orders"
	snapshot "$pid"
}

# order ORDER: print a shell command that gives an order and waits until it is done
order()
{
	printf 'n=$(wc -l <%s) && echo %s >%s && until [ "$(wc -l <%s)" -gt "$n" ]; do sleep 0.01; done' \
		"$T/orders.said" "'$1'" "$T/orders" "$T/orders.said"
}

# bytes_of FUNCTION FILE: print the bytes in use by that function itself
bytes_of()
{
	run_ctl report -q --json -n 0 --no-fold "$2"
	json ".rows[] | select(.name == \"$1\") | .flat"
}

# Every allocation is sampled: nothing depends on chance.
export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:0,prof_accum:true
start_dumper
sh -c "$(order 'grow 50')"

# --- what was allocated ---

between 'growth' 0 during="$(order 'grow 100')"
cp "$T/out" "$T/grown.pb.gz"
like "$err" '^dumper: 2 stops, [0-9]+ bytes$' 'growth: exactly two stops'
is "$(bytes_of grow "$T/grown.pb.gz")" 409600 'growth: what was allocated in between, and nothing else'
assert_untouched "$pid" 'growth: untouched'

# Check what readers of pprof's format require.
cat >"$T/check.py" <<'PYTHON'
import gzip, sys


def varint(b, at):
    n = shift = 0
    while True:
        n |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if b[at - 1] < 128:
            return n, at


def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        value, at = varint(b, at)
        if key & 7 == 2:
            value, at = b[at:at + value], at + value
        yield key >> 3, value


def numbers(b):
    at, all = 0, []
    while at < len(b):
        n, at = varint(b, at)
        all.append(n - (1 << 64) if n >> 63 else n)
    return all


top = {}
for number, value in fields(gzip.open(sys.argv[1]).read()):
    top.setdefault(number, []).append(value)
ids = {n: [dict(fields(m))[1] for m in top.get(n, [])] for n in (3, 4, 5)}
assert all(ids[n] == list(range(1, len(ids[n]) + 1)) for n in ids), ids
names = [s.decode() for s in top[6]]
function = {f[1]: names[f[2]] for f in map(dict, map(fields, top.get(5, [])))}
inner = {}
for m in top.get(4, []):
    lines = [dict(fields(v))[1] for n, v in fields(m) if n == 4]
    inner[dict(fields(m))[1]] = function[lines[0]]
assert sorted(set(inner)) == ids[4]
samples = [dict(fields(m)) for m in top.get(2, [])]
for s in samples:
    calls = [inner[n] for n in numbers(s[1])]
    print(calls[0] if calls else "-", *numbers(s[2]))
print("samples", len(samples), "types", len(top[1]))
print("hours", top[10][0] / 3600e9 >= 1 and top[10][0] / 3600e9 < 1.1, "time", top[9][0] > 10**18)
print(*[n for n in names if n.startswith(("allocated", "opt.prof_active"))])
PYTHON
python3 "$T/check.py" "$T/grown.pb.gz" >"$T/read" 2>&1
like "$(<"$T/read")" '(^|'$'\n'')grow 100 409600 100 409600'$'\n' 'growth: objects and bytes, in use and in total'
like "$(<"$T/read")" $'\nhours True time True$' 'growth: its duration and its time'
unlike "$(<"$T/read")" 'allocated:|opt.prof_active' 'growth: no facts about the whole process'
unlike "$(<"$T/read")" 'Error' 'growth: ids are in order, without gaps'

# --- what was freed ---

stop_target "$pid"
start_victim grower
snapshot "$pid"
shown=$T/board.$pid
# hold MIB: print a shell command that makes it hold that much, and waits. `reserved` is the 8th
# number of the board, beat 2 the 11th.
hold()
{
	printf 'python3 -c "
import struct, sys, time
b = open(sys.argv[1], \\"r+b\\", 0)
b.seek(56); b.write(struct.pack(\\"<Q\\", %d))
while True:
    b.seek(80)
    if struct.unpack(\\"<Q\\", b.read(8))[0] == %d: break
    time.sleep(0.01)
" %s' "$1" "$1" "$shown"
}
sh -c "$(hold 12)" || bail_out 'it does not grow'
between 'shrinkage' 0 during="$(hold 4)"
python3 "$T/check.py" "$T/out" >"$T/read" 2>&1
like "$(<"$T/read")" "(^|"$'\n'")hoard -32 -8388608 0 0"$'\n' 'shrinkage: negative counts, and nothing allocated'
between 'both ways' 0 during="$(hold 2) && $(hold 5)"
python3 "$T/check.py" "$T/out" >"$T/read" 2>&1
like "$(<"$T/read")" "(^|"$'\n'")hoard 4 1048576 12 3145728"$'\n' 'both ways: what remains, and all that was allocated'
like "$(<"$T/read")" "(^|"$'\n'")churn 0 0 12 786432"$'\n' 'both ways: what was freed at once'

# --- other formats ---

between 'folded' 0 format=folded during="$(hold 6)"
like "$(<"$T/out")" ';hoard 1048576$' 'folded: a line'
between 'raw' 1 format=raw during="$(hold 3)"
like "$err" '^raw_no_difference: ' 'raw: cannot express a decrease'
is "$(wc -c <"$T/out")" 0 'raw: nothing is written'
between 'no such format' 2 format=gif
like "$err" '^format_unknown: ' 'no such format'
between 'bounded' 0 stacks=1 during="$(hold 5)"
python3 "$T/check.py" "$T/out" >"$T/read" 2>&1
like "$(<"$T/read")" '^\(other\) 8 2097152 .*'$'\n''samples 1 ' 'bounded: one sample, with the total'
between 'nothing happened' 0 during=true
python3 "$T/check.py" "$T/out" >"$T/read" 2>&1
unlike "$(<"$T/read")" 'hoard|churn|Error' 'nothing happened: no allocations'

# --- sampling is off ---

between 'active' 0 active during="$(hold 6)"
ctl_ok 'deactivate' deactivate "$pid"
between 'inactive' 6 active during=false
like "$err" '^prof_inactive: prof.active is false in ' 'inactive: reported before it waits'
is "$(wc -c <"$T/out")" 0 'inactive: nothing is written'
between 'inactive, unconditionally' 0 during="$(hold 8)"
python3 "$T/check.py" "$T/out" >"$T/read" 2>&1
unlike "$(<"$T/read")" 'hoard|churn|Error' 'inactive, unconditionally: nothing was sampled'
ctl_ok 'activate' activate "$pid"
between 'deactivated meanwhile' 6 active during="$CTL ${patient[*]} -q deactivate $pid"
like "$err" '^prof_inactive: ' 'deactivated meanwhile: the cause'

# --- what ends it early ---

mkfifo "$T/stop"
between 'the requester has gone' 1 stop="$T/stop" during="echo >$T/stop"
like "$err" '^interrupted: ' 'the requester has gone: the cause'
is "$(wc -c <"$T/out")" 0 'the requester has gone: nothing is written'
assert_untouched "$pid" 'untouched'
between 'the target ends meanwhile' 9 during="kill -KILL $pid; while grep -qs '^State:.[^ZX]' /proc/$pid/status; do sleep 0.01; done"
like "$err" '^target_ended: ' 'the target ends meanwhile: the cause'
unset "photographed[$pid]"
wait "$pid" 2>/dev/null

mkfifo "$T/go"
LD_PRELOAD=libjemalloc.so.2 bash -c "read -r line <$T/go; exec sleep 1000" &
pid=$!
own "$pid"
# Once its status can be read, it is a bash with jemalloc.
seen() { "$CTL" -q status "$pid" >/dev/null 2>&1; }
ok 'a shell with jemalloc' within 60 seen
between 'another program' 9 during="echo >$T/go; until grep -q sleep /proc/$pid/comm; do sleep 0.01; done"
like "$err" '^target_replaced: ' 'another program: the cause'
is "$(wc -c <"$T/out")" 0 'another program: nothing is written'
pid=4999999
between 'no such process' 3
like "$err" '^no_process: ' 'no such process: the cause'

done_testing
