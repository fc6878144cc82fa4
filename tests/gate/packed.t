#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compressed debug data: the same names as from plain data. All of it is held in memory only if it
# cannot be unpacked to a file. Also broken data, and that nothing is left behind.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8
filler_kb=98304
id=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')

cat >"$T/work.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
char *volatile kept;
static inline __attribute__((always_inline)) void inner(size_t n)
{
	kept = malloc(n);
}
__attribute__((noinline)) void outer(size_t n)
{
	for (int i = 0; i < 200; i++)
		inner(n);
}
int main(void)
{
	outer(3000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
# One name of 96 MB among those of the program, which takes 100 kB when compressed.
cat >"$T/filler.c" <<C
__asm__(".pushsection .debug_str,\"MS\",@progbits,1; .fill $((filler_kb * 1024)),1,120; .byte 0; .popsection");
C
build()
{
	(cd "$T" && cc -std=gnu17 -O2 -g "$1" -o "$2" work.c filler.c -Wl,--build-id=0x"$id" -Wl,--no-as-needed -ljemalloc) ||
		bail_out 'no compiler'
}
is_packed()
{
	readelf -tW "$1" | grep -A 3 -F .debug_str | grep -qE 'COMPRESSED|\.zdebug' ||
		readelf -SW "$1" | grep -qF .zdebug_str
}

# start PROGRAM: start it, and write PROGRAM.heap. Sets `pid`.
start()
{
	"$1" >"$T/said" 2>&1 &
	pid=$!
	own "$pid"
	within 60 grep -q ready "$T/said" || bail_out "$1 did not start: $(<"$T/said")"
	snapshot "$pid"
	ctl_ok "${1##*/}: dump" dump "$pid" -o "$1.heap"
}

# names NAME FILE [COMMAND...]: write the names to $T/names. Sets `peak`, the peak memory in KB.
names()
{
	local name=$1 file=$2

	shift 2
	if ! "$@" /usr/bin/time -f %M -o "$T/peak" "$CTL" report --no-cache -f json "$file" >"$T/report" 2>"$T/err"; then
		result 1 "$name: report" || diag "$(<"$T/err")"
		return
	fi
	result 0 "$name: report"
	peak=$(tail -n 1 "$T/peak")
	jq -r '.functions as $f | .stacks[] | [.frames[] | $f[.[0]].name + "@" +
		($f[.[0]].file // "?") + ":" + (.[1] | tostring)] | join(" ")' "$T/report" >"$T/names"
}

line_of()
{
	grep -nF "$1" "$T/work.c" | head -n 1 | cut -d: -f1
}
want="inner@$T/work.c:$(line_of 'kept = malloc(n)') outer@$T/work.c:$(line_of 'inner(n);') main@$T/work.c:$(line_of 'outer(3000)')"

# named NAME: the names in $T/names must be those in the source
named()
{
	like "$(<"$T/names")" "(^|"$'\n'")$want( |$)" "$1: inlined calls and lines"
}

no_room()
{
	mkdir -p "$T/small"
	# shellcheck disable=SC2016
	unshare -m sh -c 'dir=$1; shift; mount -t tmpfs -o size=1M none "$dir" && TMPDIR=$dir exec "$@"' sh "$T/small" "$@"
}

# --- in the program itself ---
build -gz=none plain
build -gz=zlib program
ok 'the debug data is packed' is_packed "$T/program"
ok 'control: plain debug data is not packed' eval '! is_packed "$T/plain"'
start "$T/plain"
names 'plain' "$T/plain.heap"
named 'plain'
ok 'plain: its memory stays small' test "$peak" -lt "$filler_kb" || diag "$peak KB"
assert_untouched "$pid" 'plain: untouched'
stop_target "$pid"

start "$T/program"
mkdir "$T/tmp"
names 'packed' "$T/program.heap" env TMPDIR="$T/tmp"
named 'packed'
ok 'packed: its memory stays small' test "$peak" -lt $((filler_kb / 2)) || diag "$peak KB"
is "$(ls -A "$T/tmp")" '' 'packed: nothing is left in TMPDIR'
names 'packed, in /var/tmp' "$T/program.heap" env -u TMPDIR
named 'packed, in /var/tmp'
ok 'packed, in /var/tmp: its memory stays small' test "$peak" -lt $((filler_kb / 2)) || diag "$peak KB"
# If there is no file to unpack to, memory is used: the control of the numbers above.
names 'no such TMPDIR' "$T/program.heap" env TMPDIR="$T/absent"
named 'no such TMPDIR'
ok 'no such TMPDIR: all of it is in memory' test "$peak" -gt "$filler_kb" || diag "$peak KB"
names 'no room in TMPDIR' "$T/program.heap" no_room
named 'no room in TMPDIR'
ok 'no room in TMPDIR: all of it is in memory' test "$peak" -gt "$filler_kb" || diag "$peak KB"

# --- in a debug file, and data that several of these share ---
mkdir "$T/debug"
debug=$T/debug/.build-id/${id:0:2}/${id:2}.debug
mkdir -p "${debug%/*}"
with_debug()
{
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind "$1" /usr/lib/debug && shift && exec "$@"' sh "$T/debug" "$@"
}
mkdir -p /usr/lib/debug
assert_untouched "$pid" 'packed: untouched'
stop_target "$pid"
strip -o "$T/bare" "$T/program"
start "$T/bare"
for kind in zlib zlib-gnu; do
	objcopy --only-keep-debug "$T/plain" "$debug"
	objcopy --compress-debug-sections="$kind" "$debug"
	ok "$kind: the debug file is packed" is_packed "$debug"
	names "$kind" "$T/bare.heap" with_debug
	named "$kind"
	[ "$kind" = zlib-gnu ] || ok "$kind: its memory stays small" test "$peak" -lt $((filler_kb / 2)) || diag "$peak KB"
done
(cd "$T" && objcopy --only-keep-debug plain a.debug && cp a.debug b.debug && cp a.debug c.debug &&
	dwz -m common.debug -M /usr/lib/debug/common.debug a.debug b.debug c.debug) ||
	bail_out 'dwz failed'
objcopy --compress-debug-sections=zlib "$T/c.debug" "$debug"
objcopy --compress-debug-sections=zlib "$T/common.debug" "$T/debug/common.debug"
ok 'common: the shared debug file is packed' is_packed "$T/debug/common.debug"
names 'common' "$T/bare.heap" with_debug
named 'common'
ok 'common: its memory stays small' test "$peak" -lt $((filler_kb / 2)) || diag "$peak KB"

# --- broken or false data: names from the symbol tables, or none ---
# break_it HOW: break the compressed .debug_info of the debug file
break_it()
{
	objcopy --only-keep-debug "$T/plain" "$debug"
	objcopy --compress-debug-sections=zlib "$debug"
	python3 - "$debug" "$1" <<'PY'
import struct, sys
path, how = sys.argv[1:]
elf = bytearray(open(path, "rb").read())
shoff, = struct.unpack_from("<Q", elf, 40)
shnum, names = struct.unpack_from("<HH", elf, 60)
strings, = struct.unpack_from("<Q", elf, shoff + 64 * names + 24)
for i in range(shnum):
    header = shoff + 64 * i
    name, = struct.unpack_from("<I", elf, header)
    flags, = struct.unpack_from("<Q", elf, header + 8)
    at, size = struct.unpack_from("<QQ", elf, header + 24)
    if elf[strings + name:].startswith(b".debug_info\0"):
        assert flags & 0x800
        if how == "noise":
            elf[at + 24 + size // 3] ^= 0xff
        elif how == "more":
            struct.pack_into("<Q", elf, at + 8, 1 << 31)
        elif how == "less":
            struct.pack_into("<Q", elf, at + 8, 16)
        elif how == "cut":
            struct.pack_into("<Q", elf, header + 32, size // 2)
        elif how == "unknown":
            struct.pack_into("<I", elf, at, 77)
open(path, "wb").write(elf)
PY
}
for how in noise more less cut unknown; do
	break_it "$how"
	names "$how" "$T/bare.heap" with_debug env TMPDIR="$T/tmp"
	like "$(<"$T/names")" "(^|"$'\n'")outer@\?:0 main@\?:0" "$how: only names from the symbol table"
	is "$(ls -A "$T/tmp")" '' "$how: nothing is left in TMPDIR"
done
assert_untouched "$pid" 'debug file: untouched'
stop_target "$pid"
done_testing
