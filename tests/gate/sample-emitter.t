#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sample: a program that has probes otel_memory of its own, without jemalloc, is read by them; nothing
# is mapped there, and nothing but its probes is touched.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh
unset PHOTO_BLOCK

# Its rate is its own, as in tests/sample.sh.
rate=(--max-overhead 10000)

# semaphores: print how many readers each of the two probes has
semaphores()
{
	local base name

	base=$(awk '/keepers-emits/ { sub(/-.*/, "", $1); print $1; exit }' "/proc/$pid/maps")
	for name in alloc free; do
		dd if="/proc/$pid/mem" bs=1 count=2 status=none \
			skip=$((0x$base + 0x$(nm "$program" | awk -v n="otel_memory_${name}_semaphore" '$3 == n { print $1 }'))) |
			od -An -tu2
	done | tr -d ' ' | paste -sd ' '
}

is_quiet()
{
	is "$(blocks_of "$pid")" 0 "$1: nothing is mapped"
	ok "$1: its probes are not read" within 60 eval '[ "$(semaphores)" = "0 0" ]'
}

# --- what each function allocates, and how much of it is live ---
program=$VICTIMS/keepers-emits
readelf -n "$program" >"$T/notes"
for form in '8@%r' '-4@%e' '4@-[0-9]*(%rbp)' '-4@\$4096'; do
	ok "an argument like $form" grep -q -e "[: ]$form" "$T/notes"
done
start_keepers keepers-emits
ctl_ok 'list: only with jemalloc' list --json
is "$(jq "map(select(.pid == $pid))" "$T/out")" '[]' 'list: only with jemalloc: it is not there'
ctl_ok 'list --emitters' list --emitters --json
ok 'list --emitters: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json list "$T/out"
is "$(jq -c ".[] | select(.pid == $pid) | [.sample, .otel_memory, .linkage, .version, (.image | endswith(\"/keepers-emits\"))]" "$T/out")" \
	'[true,true,"none",null,true]' 'list --emitters: it is there'
ctl_ok 'list -o otel_memory' list -o pid,sample,otel_memory
like "$(<"$T/out")" "$pid +true +true" 'list -o otel_memory: it is there'
start_sample plain "${rate[@]}" --save "$T/plain.heap"
like "$(<"$T/plain.err")" "^sampling $pid \(keepers-emits\) for [0-9.]+ s, by its own probes otel_memory" 'it says how'
is "$(semaphores)" '6 1' 'each of its probes is read'
kept=(leak churn pass cached grow shrink calloc posix aligned threads)
keep_each
keep_going leak 32
end_sample plain
is_quiet plain
unlike "$(<"$T/plain.err")" 'too fast' 'plain: no sample was lost'
near=$(sed -n '1s|heap_v2/||p' "$T/plain.heap")
ok "plain: the rate is that of its samples: $near" eval "[ $near -ge 65000 ] && [ $near -le 66000 ]"
ok 'plain: the file is a profile' is_profile "$T/plain.heap"

each_as_kept 64
allocated grow_arrays 64 # all steps to it
assert_untouched "$pid"

# --- Ctrl-C at once, and killed ---
start_sample killed "${rate[@]}"
keep_going leak 8
end_child "$sampler" -KILL
wait "$sampler" 2>/dev/null
is_quiet killed
tell leak 8
assert_untouched "$pid" 'killed: untouched'
start_sample idle "${rate[@]}"
end_sample idle 1
like "$(<"$T/idle.err")" 'reported no sampled allocation' 'no samples: an error'
is_quiet 'no samples'
start_sample dear --max-overhead 1
post flood 2
wait "$sampler"
is "$?" 8 'too costly: it ends by itself'
is_quiet 'too costly'
post nothing
assert_untouched "$pid" 'too costly: untouched'

# --- refusals, which touch nothing ---
ctl_fails 2 samples_of_its_own 'its rate cannot be changed' sample "$pid" -d 1s --sample-rate 64K
ctl_fails 1 'probes_of_its_own read_usdt' 'it needs no other probes' probes "$pid" -d 1s
ctl_fails 5 'no_jemalloc preload_jemalloc' 'by its jemalloc: it has none' sample "$pid" -d 1s --image libjemalloc.so.2
is_quiet refused
assert_untouched "$pid" 'refused: untouched'
stop_target "$pid"

# --- the process becomes another program, or ends ---
ends_while_sampled keepers-emits

# --- a library with probes, in python3; its first thread ends ---
LD_PRELOAD=$VICTIMS/libemitter.so /usr/bin/python3 - "$T/end" >"$T/python3.log" 2>&1 <<-'PYTHON' &
	import ctypes, os, sys, threading, time
	kept = []
	def keep_buffers():
	    while len(kept) < 100000:
	        kept.append(bytearray(20000))
	        time.sleep(0.001)
	    time.sleep(1000)
	threading.Thread(target=keep_buffers, daemon=True).start()
	print("started", flush=True)
	while not os.path.exists(sys.argv[1]):
	    time.sleep(0.01)
	ctypes.CDLL(None).syscall(60, 0) # exit(2): of this thread only
PYTHON
pid=$!
own "$pid"
within 60 grep -q started "$T/python3.log"
ctl_ok 'python3: sampled' sample "$pid" -d 2s "${rate[@]}" --save "$T/python.heap"
like "$(<"$T/out")" 'PyByteArray_Resize|bytearray' 'python3: its own functions are seen'
start_sample python "${rate[@]}"
touch "$T/end"
wait "$sampler"
is "$?" 1 'its first thread ends: it is no longer sampled'
like "$(<"$T/python.err")" 'is no longer sampled: its first thread has ended' 'its first thread ends: the cause'
ok 'its first thread ends: the others go on' kill -0 "$pid"
is "$(<"$T/python3.log")" started 'python3 saw no error'
stop_target "$pid"

# --- a program with both, of which only the probes are tried ---
LD_PRELOAD="$VICTIMS/libemitter.so libjemalloc.so.2" sleep 1000 &
pid=$!
own "$pid"
within 60 grep -q libjemalloc "/proc/$pid/maps"
ctl_fails 1 'no_object_emitted sample_for_longer sample_by_hooks' 'silent probes: the other way is named' sample "$pid" -d 1s
like "$(<"$T/err")" '--image libjemalloc.so.2' 'silent probes: which jemalloc'
stop_target "$pid"

# a file that is merely mapped, as a tool would that reads it
start_mapper "$program"
ctl_fails 5 no_jemalloc 'mapped for reading: no emitter' sample "$pid" -d 1s
stop_target "$pid"

# --- notes that are wrong: nothing is probed by them ---
# start_wrong NAME: start a copy of the program that was edited by python, which gets the offset of
# the first note's address, and the file in `b`
start_wrong()
{
	/usr/bin/python3 - "$program" "$T/$1-keepers-emits" <<-PYTHON
		import re, sys
		b = bytearray(open(sys.argv[1], "rb").read())
		first = b.index(b"otel_memory\0alloc\0") - 24
		$2
		open(sys.argv[2], "wb").write(b)
	PYTHON
	chmod +x "$T/$1-keepers-emits"
	start_victim "$T/$1-keepers-emits"
	tell leak 8
	tell free
	snapshot "$pid"
}

# edited NAME STATEMENT: such a program is refused, and left alone
edited()
{
	start_wrong "$1" "$2"
	ctl_fails 1 probes_unreadable "$1: refused" sample "$pid" -d 1s
	is_quiet "$1"
	tell leak 8
	assert_untouched "$pid" "$1: untouched"
	stop_target "$pid"
}
within='b[first:first + 8] = (0x'$(nm "$program" | awk '$3 == "emitter_one" { print $1 }')' + 1).to_bytes(8, "little")'
edited within "$within"
edited beside 'b[first] ^= 1'
edited outside 'b[first + 7] = 0x7f'
edited nowhere 'b[first + 16:first + 24] = b"\xff" * 8'
edited unknown 'b[:] = b.replace(b"8@%rbx", b"8@%zmx")'
start_wrong trusted "$within"
start_probing sampling "$T/trusted.out" "$T/trusted.err" \
	env TRUSTING=notes build/tests/careless/jeprof-ctl-trusting "${patient[@]}" sample "$pid" -d 10s
post leak 8
ok 'control: a build that trusts such a note harms the process' within 60 eval '! kill -0 "$pid"'
end_child "$prober" -INT
wait "$prober"
start_wrong harmless 'pass'
start_sample harmless "${rate[@]}"
tell leak 8
end_sample harmless
like "$(<"$T/harmless.out")" leak_blocks 'control: a copy that is as it was is sampled'
assert_untouched "$pid" 'control: untouched'

done_testing
