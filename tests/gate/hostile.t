#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets that lie: whatever they say, and whatever their files look like, jeprof-ctl fails in
# bounded time and memory, prints nothing that a terminal would obey, and leaves no file behind.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

memory_kb=65536 # of a jeprof-ctl that uses 4 MB otherwise; ASan's own needs are no measure
! is_sanitized || memory_kb=2097152

# clean NAME: the last outputs must have no control characters except ends of lines
clean()
{
	is "$(cat "$T/out" "$T/err" | LC_ALL=C tr -d '[:print:]\n\t\200-\377' | wc -c)" 0 \
		"$1: no control characters"
}

# lied NAME STATUS REGEX COMMAND...: exit status with $lie is one of STATUS (0|1|9); $err matches
lied()
{
	local name=$1 want=$2 regex=$3 peak runner=(/usr/bin/time -f %M -o "$T/peak")

	shift 3
	run_ctl "$@"
	if [[ $status =~ ^($want)$ && $err =~ $regex ]]; then
		result 0 "$name"
	else
		result 1 "$name" || diag "jeprof-ctl $*: exit $status (wanted $want), '$err' (wanted /$regex/)" "$(head -c 2000 "$T/out")"
	fi
	clean "$name"
	peak=$(tail -n 1 "$T/peak")
	ok "$name: its memory stays small" test "$peak" -lt "$memory_kb" || diag "$peak KB"
	ok "$name: no file is left" test ! -e "$T/lie.heap"
}

start_liar()
{
	export LIE=$1
	shift
	start_victim lied-to "$@"
	unset LIE
	snapshot "$pid"
}

# Control: without a lie, the same program is served.
start_liar honest
lied 'no lie: activate works' 0 '' activate "$pid"
assert_untouched "$pid" 'no lie: untouched'

start_liar version-escapes
lied 'a version with escape sequences, check' '0|1' '' check "$pid"
lied 'a version with escape sequences, status' '0|1' '' status "$pid"
lied 'a version with escape sequences, version in JSON' '0|1' '' --json get "$pid" version
assert_untouched "$pid" 'a version with escape sequences: untouched'

start_liar version-endless
lied 'a version without end' '0|1' '' get "$pid" version
assert_untouched "$pid" 'a version without end: untouched'

start_liar version-nowhere
lied 'a version at an address that does not exist' 1 'cannot read the memory' get "$pid" version
assert_untouched "$pid" 'a version at no address: untouched'

start_liar version-null
lied 'a version that is NULL' '0|1' '' activate "$pid"
assert_untouched "$pid" 'a version that is NULL: untouched'

start_liar always-fails
lied 'every call fails' '1|6' '' activate "$pid"
assert_untouched "$pid" 'every call fails: untouched'

start_liar odd-bools
lied 'a bool of 255' 0 '' activate "$pid"
assert_untouched "$pid" 'a bool of 255: untouched'

start_liar dump-nothing
lied 'a dump that writes nothing' 1 'not a heap profile' dump "$pid" -o "$T/lie.heap"
assert_untouched "$pid" 'a dump that writes nothing: untouched'

start_liar dump-nonsense
lied 'a dump that is no profile' 1 'not a heap profile' dump "$pid" -o "$T/lie.heap"
assert_untouched "$pid" 'a dump that is no profile: untouched'

start_liar dump-strange
lied 'a dump with an unknown result' 1 . dump "$pid" -o "$T/lie.heap"
assert_untouched "$pid" 'a dump with an unknown result: untouched'

start_liar dump-crashes
lied 'a dump that crashes' 9 'killed by Illegal instruction' dump "$pid" -o "$T/lie.heap"
within 60 test "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" = 2
lied 'a dump that crashes: the program continues' 0 '' activate "$pid"
is "$(on_board .eintr)" 0 'a dump that crashes: no call of its own was interrupted'

# These keep one thread of the target busy; the others go on.
for lie in dump-hangs dump-endless; do
	start_liar "$lie"
	lied "$lie: ends in time" 9 'finishes the call on its own' --timeout 5s dump "$pid" -o "$T/lie.heap"
	beats=$(on_board .beats[0])
	ok "$lie: the program continues" within 60 eval "[ \"\$(on_board .beats[0])\" -gt $beats ]"
	stop_target "$pid"
done
start_liar busy-loop
lied 'a call that never returns' 9 'finishes the call on its own' --timeout 5s activate "$pid"
stop_target "$pid"
start_liar stats-endless
lied 'statistics without end' 9 'finishes the call on its own' --timeout 5s stats "$pid" -f json
stop_target "$pid"

# Names are untrusted data.
start_liar honest $'\033[31mx\n\t\a'
lied 'a name with escape sequences, check' 0 '' check "$pid"
lied 'a name with escape sequences, list' 0 '' list --comm "$(<"/proc/$pid/comm")"
ok 'a name with escape sequences, list shows it' grep -q "^$pid " "$T/out"
lied 'a name with escape sequences, an error' 10 . dump "$pid" -o "$T/no/such/folder"
(cd "$T" && "$CTL" "${patient[@]}" -q dump "$pid") >"$T/out" 2>"$T/err"
clean 'a name with escape sequences, in the name of a file'
assert_untouched "$pid" 'a name with escape sequences: untouched'

odd=$T/$'a\nb\033[2Jc'
mkdir "$odd"
cp "$VICTIMS/lied-to" "$VICTIMS/libliar.so" "$odd"
start_liar honest
stop_target "$pid"
LIE=honest start_victim "$odd/lied-to"
snapshot "$pid"
lied 'a path with escape sequences, check' 0 '' check "$pid"
lied 'a path with escape sequences, status' '0|1' '' status "$pid"
lied 'a path with escape sequences, list' 0 '' list --comm "$(<"/proc/$pid/comm")"
ok 'a path with escape sequences, list shows it' grep -q "^$pid " "$T/out"
assert_untouched "$pid" 'a path with escape sequences: untouched'

# A sparse ELF file of 1 GiB, whose tables claim to fill it.
mkdir "$T/giant"
cp "$VICTIMS/lied-to" "$T/giant"
python3 - "$VICTIMS/libliar.so" "$T/giant/libliar.so" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
shoff, = struct.unpack_from("<Q", data, 40)
shnum, = struct.unpack_from("<H", data, 60)
for i in range(shnum):
    at = shoff + 64 * i
    kind, = struct.unpack_from("<I", data, at + 4)
    if kind in (2, 3, 11):  # SHT_SYMTAB, SHT_STRTAB, SHT_DYNSYM
        offset, = struct.unpack_from("<Q", data, at + 24)
        struct.pack_into("<Q", data, at + 32, (1 << 30) - offset)
with open(sys.argv[2], "wb") as f:
    f.write(data)
    f.truncate(1 << 30)
PYTHON
LIE=honest start_victim "$T/giant/lied-to"
snapshot "$pid"
lied 'a giant ELF file, check' '[0-9]+' '' check "$pid"
lied 'a giant ELF file, list' 0 '' list --comm "$(<"/proc/$pid/comm")"
assert_untouched "$pid" 'a giant ELF file: untouched'

# An ELF file with 20 million sections.
mkdir "$T/many"
cp "$VICTIMS/lied-to" "$T/many"
python3 - "$VICTIMS/libliar.so" "$T/many/libliar.so" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
size = (len(data) + 63) & ~63
struct.pack_into("<Q", data, 40, size)      # e_shoff
struct.pack_into("<H", data, 60, 0)         # e_shnum: see section 0
first = bytearray(64)
struct.pack_into("<Q", first, 32, 20_000_000)
with open(sys.argv[2], "wb") as f:
    f.write(data.ljust(size, b"\0") + first)
    f.truncate(size + 64 * 20_000_000)
PYTHON
LIE=honest start_victim "$T/many/lied-to"
snapshot "$pid"
lied '20 million sections, check' '[0-9]+' '' check "$pid"
assert_untouched "$pid" '20 million sections: untouched'

# Links that the target's user placed where we write, and where we make the target write.
start_liar honest
stop_target "$pid"
export MALLOC_CONF=$PROF
start_victim idle 2
snapshot "$pid"
mkdir -m 1777 "$T/shared"
echo precious >"$T/precious"
ln -s "$T/precious" "$T/shared/link.heap"
ln -s "$T/nowhere" "$T/shared/dangling.heap"
ctl_fails 10 'output_not_a_file choose_another_name' 'a planted link is not written through' dump "$pid" -o "$T/shared/link.heap"
run_ctl dump "$pid" --force -o "$T/shared/link.heap"
is "$(<"$T/precious")" precious 'a planted link is not written through with --force either'
ctl_fails 10 'output_not_a_file choose_another_name' 'a dangling link is not written through' dump "$pid" -o "$T/shared/dangling.heap"
ok 'the file that it names is not created' test ! -e "$T/nowhere"
ln -sf "$T/precious" "$T/shared/link.heap"
run_ctl dump "$pid" --in-target "$T/shared/link.heap"
ok 'the target is not made to write through a link' test "$status" -ne 0
is "$(<"$T/precious")" precious 'nothing was written through it'
mkfifo "$T/shared/fifo.heap"
run_ctl --timeout 5s dump "$pid" --in-target "$T/shared/fifo.heap" --force
ok 'the target is not made to write to a FIFO' test "$status" -ne 0
run_ctl --timeout 5s dump "$pid" --in-target /dev/null --force
ok 'the target is not made to write to a device' test "$status" -ne 0
assert_untouched "$pid" 'planted links: untouched'

done_testing
