#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reading profiles in pprof's format: our own, without loss, and those of other programs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# Messages of profile.proto, written by hand. Each is named after its difference from `sound`.
cat >"$T/make.py" <<'PYTHON'
import gzip
import sys

NAMES = ["", "inuse_objects", "count", "inuse_space", "bytes", "space", "main.main", "main.hold", "/src/main.go",
         "/bin/gone", "size", "cpu", "nanoseconds", "thread_id", "id", "thread", "worker \x1b[1m", "process: a\x1b[1mb",
         "pid: 4242", "no address", "alloc_space", "0123abcd", "Go-build-id", "pid: -7", "pid: 99999999999999999999"]


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def message(*pairs):
    return b"".join(field(*p) for p in pairs)


def text(name):
    return NAMES.index(name)


def types(*names):
    return b"".join(field(1, message((1, text(n)), (2, text(u)))) for n, u in names)


def mapping(id, start, limit, name="/bin/gone", build="0123abcd"):
    return field(3, message((1, id), (2, start), (3, limit), (5, text(name)), (6, text(build))))


def location(id, address, *lines, mapping=1):
    return field(4, message((1, id), (2, mapping), (3, address), *[(4, message((1, f), (2, n))) for f, n in lines]))


def function(id, name):
    return field(5, message((1, id), (2, text(name)), (4, text("/src/main.go"))))


def sample(locations, values, *labels):
    return field(2, message((1, b"".join(map(varint, locations))), (2, b"".join(map(varint, values))),
                            *[(3, l) for l in labels]))


def rest(period=1024, comments=()):
    return b"".join(field(6, n.encode()) for n in NAMES) + field(11, message((1, text("space")), (2, text("bytes")))) + \
        field(12, period) + field(9, 1700000000000000000) + b"".join(field(13, text(c)) for c in comments)


SIZE = types(("inuse_objects", "count"), ("inuse_space", "bytes"))
HEAD = SIZE + mapping(1, 0x400000, 0x500000)
CODE = location(1, 0x401000, (2, 20)) + location(2, 0x402000, (1, 10)) + function(1, "main.main") + function(2, "main.hold")


def thread(n, name):
    return [message((1, text("thread_id")), (3, n), (4, text("id"))), message((1, text("thread")), (2, text(name)))]


def made():
    yield "sound", HEAD + CODE + sample([1, 2], [10, 40960]) + sample([1, 2], [5, 5120]) + sample([2], [1, 100]) + rest()
    yield "said", HEAD + CODE + sample([2], [1, 4096]) + rest(comments=("process: a\x1b[1mb", "pid: 4242"))
    yield "mis-said", HEAD + CODE + sample([2], [1, 4096]) + rest(comments=("pid: -7", "pid: 99999999999999999999"))
    yield "threads", HEAD + CODE + sample([1, 2], [1, 4096], *thread(0, "worker \x1b[1m")) + \
        sample([1, 2], [2, 8192], *thread(7, "thread")) + rest()
    # Of 600 inlined calls the outer ones are cut; ids and lines of any size are accepted.
    yield "inlined", HEAD + location(1 << 63, 0x401000, *[(2, -1)] * 300, (1, 1 << 40)) + CODE + \
        sample([1 << 63], [1, 4096]) + rest()
    # Locations of one address, of none, and of another process's mapping.
    yield "addresses", SIZE + mapping(1, 0x400000, 0x500000) + mapping(2, 0x400000, 0x600000, "no address", "Go-build-id") + \
        location(1, 0x401000, (1, 1)) + location(2, 0x401000, (2, 2)) + location(3, 0, (1, 3)) + \
        location(4, 0x401000, (2, 4), mapping=2) + location(5, (1 << 64) - 1, (1, 5)) + \
        function(1, "main.main") + function(2, "main.hold") + \
        b"".join(sample([i], [1, 4096]) for i in range(1, 6)) + rest()
    yield "unnamed", HEAD + location(1, 0x401000) + sample([1], [1, 4096]) + rest()
    yield "difference", HEAD + CODE + sample([1, 2], [-1, -4096]) + sample([2], [3, 12288]) + rest()
    yield "whole", HEAD + CODE + sample([1, 2], [10, 40960]) + rest(period=0)
    # The same calls in two builds that no id tells apart, and twice without addresses.
    for name, places in ("built", (0x401000, 0x402000)), ("rebuilt", (0x402000, 0x401000)), ("placeless", (0, 0)):
        for order in 1, -1:
            calls = location(1, places[0], (2, 20)), location(2, places[1], (1, 10))
            yield f"{name} {order}", SIZE + mapping(1, 0x400000, 0x500000, build="Go-build-id") + \
                b"".join(calls[::order]) + function(1, "main.main") + function(2, "main.hold") + \
                sample([1, 2], [3 + order, 4096 * (3 + order)]) + rest()
    yield "no samples", HEAD + CODE + rest()
    yield "cpu", types(("cpu", "nanoseconds")) + CODE + sample([1], [7]) + rest()
    yield "no types", CODE + rest()
    yield "lost", HEAD + CODE + sample([9], [1, 4096]) + rest()
    yield "short", HEAD + CODE + sample([1], [1]) + rest()
    yield "twins", HEAD + CODE + location(1, 0x403000) + sample([1], [1, 4096]) + rest()
    yield "deep", HEAD + CODE + sample([1] * 4097, [1, 4096]) + rest()
    yield "bomb", SIZE + b"\x12\0" * 30000000 + rest()
    sound = HEAD + CODE + sample([1, 2], [10, 40960]) + rest()
    yield "cut", sound[:-3]
    yield "wild", SIZE + field(4, message((1, 1), (4, message((1, 77))))) + \
        sample([1], [1, 4096], message((1, 999), (2, -5))) + field(13, 1 << 60) + rest()


for name, bytes_ in made():
    with open(f"{sys.argv[1]}/{name}.pb.gz", "wb") as f:
        f.write(gzip.compress(bytes_, 1))
    if name == "sound":
        with open(f"{sys.argv[1]}/{name}.pb", "wb") as f:
            f.write(bytes_)
PYTHON
mkdir "$T/in" && /usr/bin/python3 "$T/make.py" "$T/in" || exit 99

# rows: print "NAME FLAT CUM" of each row, in the order of the report
rows()
{
	json '[.rows[] | "\(.name) \(.flat) \(.cum)"] | join(", ")'
}

# --- profiles of other programs ---
ctl_ok 'sound' report "$T/in/sound.pb.gz" --json
is "$(rows)" 'main.hold 46080 46080, main.main 100 46180' 'sound: its functions'
is "$(json '[.total, .period, .stacks] | tostring')" '[46180,1024,2]' 'sound: its total, and equal stacks are merged'
is "$(json '.rows[0].flat_error > 0')" true 'sound: an estimate has an error'
ctl_ok 'not packed' report "$T/in/sound.pb" --json
is "$(rows)" 'main.hold 46080 46080, main.main 100 46180' 'not packed: the same'
is "$("$CTL" report - --json <"$T/in/sound.pb.gz" | jq .total)" 46180 'from stdin: the same'
ctl_ok 'lines' report "$T/in/sound.pb.gz" --lines
like "$out" 'main.hold.*main.go:20' 'lines: they are shown'
ctl_ok 'objects' report "$T/in/sound.pb.gz" --inuse-objects --json
is "$(json .total)" 16 'objects: the total'
ctl_fails 1 'no_cumulative_counts prof_accum' 'counts that it does not have' report "$T/in/sound.pb.gz" --alloc-space
ctl_ok 'said' report "$T/in/said.pb.gz"
like "$out" '^inuse_space of a\\x1b\[1mb \(4242\): 4.0K' 'said: its process, with an escaped name'
ctl_ok 'mis-said' report "$T/in/mis-said.pb.gz" --json
is "$(json .pid)" null 'mis-said: an impossible pid is ignored'
ctl_ok 'threads' report "$T/in/threads.pb.gz" --thread 7 --json
is "$(json .total)" 8192 'threads: one of them'
ctl_ok 'inlined' report "$T/in/inlined.pb.gz" --json
is "$(rows)" 'main.hold 4096 4096' 'inlined: the innermost calls are kept'
ctl_ok 'addresses' report "$T/in/addresses.pb.gz" --lines --json
is "$(json '[.rows[].name] | sort | map(sub(".*:"; "")) | sort | join(" ")')" '1 2 3 4 5' 'addresses: each location has its own line'
ctl_ok 'unnamed' report "$T/in/unnamed.pb.gz" --json
is "$(rows)" '[gone+0x1001] 4096 4096' 'unnamed: named by its offset'
ctl_ok 'difference' report "$T/in/difference.pb.gz" --json
is "$(json .total)" 8192 'difference: negative values count'
ctl_ok 'whole' report "$T/in/whole.pb.gz" --json
is "$(json '[.total, .period, .rows[0].flat_error] | tostring')" '[40960,1,0]' 'whole: complete counts have no error'
ctl_ok 'no samples' report "$T/in/no samples.pb.gz" --json
is "$(json '[.total, .stacks] | tostring')" '[0,0]' 'no samples: the total is 0'
ctl_ok 'wild' report "$T/in/wild.pb.gz" --json
is "$(json .total)" 4096 'wild: references to nothing are ignored'
ctl_ok 'diff' diff "$T/in/whole.pb.gz" "$T/in/sound.pb.gz" --json
is "$(json '.in_use.after - .in_use.before')" 5220 'diff: reads such profiles, too'
for pair in 'built -1:rebuilt 1' 'placeless -1:placeless 1' 'built -1:placeless 1'; do
	ctl_ok "diff of $pair" diff "$T/in/${pair%:*}.pb.gz" "$T/in/${pair#*:}.pb.gz" --json
	is "$(json '[.stacks[] | [.before, .after, (.calls | map(.function) | join(" < "))]] | tostring')" \
		'[[8192,16384,"main.hold < main.main"]]' "diff of $pair: matched by name"
	ctl_ok "sum of $pair" report "$T/in/${pair%:*}.pb.gz" "$T/in/${pair#*:}.pb.gz" --sum --json
	is "$(rows)" 'main.hold 24576 24576, main.main 0 24576' "sum of $pair: matched by name"
done
for name in cpu 'no types'; do
	ctl_fails 1 'in_file pprof_not_of_memory' "$name" report "$T/in/$name.pb.gz"
done
for name in lost short twins deep bomb cut; do
	ctl_fails 1 'in_file pprof_broken' "$name" report "$T/in/$name.pb.gz"
done

# --- as text: Go's, in which half of the number in the header is the rate, and tcmalloc's ---
printf '%s\n' 'heap profile: 3: 8192 [5: 9000] @ heap/8192' \
	'1: 4096 [2: 4904] @ 0x401010 0x402000 0x402000 0x403000' \
	$'#\t0x40100f\tmain.hold+0x2e\t\t/src/h.go:6' $'#\t0x401fff\tmain.rec\033[1m+0xed\t/src/h.go:7' \
	$'#\t0x401fff\tmain.rec+0xed\t/src/h.go:8' '' '2: 4096 [3: 4096] @ 0x401020 0x402000' \
	$'#\t0x40101f\tmain.small+0x2e\t/src/h.go:9' '' '# runtime.MemStats' '# Alloc = 5' >"$T/go.heap"
ctl_ok 'Go, as text' report "$T/go.heap" --json
is "$(json '[.period, (.rows | map([.name, (.flat | round), (.cum | round)]))] | tostring')" \
	'[4096,[["main.small",10410,10410],["main.hold",6480,6480],["main.rec\\x1b[1m",0,16890],["[0x403000]",0,6480]]]' \
	'Go, as text: scaled by half of that rate, with its names' || diag "$out"
ctl_ok 'Go, as text: written with its names' convert "$T/go.heap" "$T/go.raw"
ctl_ok 'Go, as text: read again' report "$T/go.raw" --json
is "$(json '.rows[0] | [.name, (.flat | round)] | tostring')" '["main.small",10410]' 'Go, as text: it is the same'
printf '%s\n' 'heap profile:      3:     8192 [     5:     9000] @ heapprofile' \
	'     1:     4096 [     2:     4904] @ 0x0000000000401010 0x0000000000402000' '' 'MAPPED_LIBRARIES:' \
	'00400000-00500000 r-xp 00000000 00:00 0          /bin/gone' >"$T/tcmalloc.heap"
ctl_ok 'tcmalloc' report "$T/tcmalloc.heap" --json
is "$(json '[.total, .rows[0].name] | tostring')" '[4096,"[gone+0x1010]"]' 'tcmalloc: not scaled if everything is recorded' || diag "$out"
sed -i 's/heapprofile/heap_v2\/4096/' "$T/tcmalloc.heap"
ctl_ok 'tcmalloc, sampled' report "$T/tcmalloc.heap" --json
is "$(json '.total | round')" 6480 'tcmalloc, sampled: scaled'
sed 's/heap\/8192/heap_v3\/8192/' "$T/go.heap" >"$T/other.heap"
ctl_fails 1 'in_file profile_malformed' 'an unknown text format' report "$T/other.heap"

# --- our own profiles ---
export MALLOC_CONF=prof:true,lg_prof_sample:12
start_victim leaky
snapshot "$pid"
ctl_ok 'our own' dump "$pid" -o "$T/it.heap"
assert_untouched "$pid" 'our own: the process is untouched'
stop_target "$pid"
ctl_ok 'our own: written' report "$T/it.heap" -f pprof -o "$T/it.pb.gz"
ctl_ok 'our own: not converted' report "$T/it.heap" --json
jq 'del(.rows[].cum_error, .rows[].flat_error, .shown_error, .stacks)' "$T/out" >"$T/before"
ctl_ok 'our own: read' report "$T/it.pb.gz" --json
jq 'del(.rows[].cum_error, .rows[].flat_error, .shown_error, .stacks)' "$T/out" >"$T/after"
is "$(jq -r '[.pid, .comm, .period, .opt.prof_active] | tostring' "$T/after")" "[$pid,\"leaky\",4096,true]" 'our own: its process'
ok 'our own: there are rows' jq -e '.rows | length > 1' "$T/before"
is "$(jq -r '[.rows[].name] | join(" ")' "$T/after")" "$(jq -r '[.rows[].name] | join(" ")' "$T/before")" 'our own: its functions'
is "$(jq -n --slurpfile a "$T/before" --slurpfile b "$T/after" '
	[$a[0].rows, $b[0].rows] | transpose | all((.[0].flat - .[1].flat) * (.[0].flat - .[1].flat) < 100)')" true \
	'our own: its bytes, except for fractions'

done_testing
