#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process brings a debug file that claims to be for the C library: its names are shown for that
# process only, and are not cached for others.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8
libc=/lib/$(cc -print-multiarch)/libc.so.6
id=$(readelf -n "$libc" | awk '/Build ID/ { print $3 }')
cached=/var/cache/jeprof-ctl/$id.symbols
install -m 755 "$B/tests/careless/jeprof-ctl-trusting" "$T/trusting"
mv "$cached" "$T/before" 2>/dev/null
at_end+=("rm -f '$cached'; [ ! -e '$T/before' ] || mv '$T/before' '$cached'")

# Its memory is from strdup(3), so that each stack has a frame in the C library.
cat >"$T/duplicates.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
char *volatile kept;
int main(void)
{
	static char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 500; i++)
		kept = strdup(text);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
cc -O1 -fno-builtin -o "$T/duplicates" "$T/duplicates.c" || bail_out 'cannot build it'

# The debug file has its function where strdup is.
cat >"$T/fake.c" <<'C'
char *made_by_another(char *p)
{
	__asm__ volatile(".fill 0x60, 1, 0x90");
	return p;
}
C
at=$(nm -D "$libc" | awk '/ strdup@@/ { print $1 }')
cc -g -O1 -shared -nostdlib -fPIC "$T/fake.c" -o "$T/fake.debug" "-Wl,-Ttext=0x$at" "-Wl,--build-id=0x$id" ||
	bail_out 'cannot build its debug file'
cat >"$T/in_mount" <<SH
mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.build-id/${id:0:2} &&
	cp "$T/fake.debug" /usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug &&
	LD_PRELOAD=libjemalloc.so.2 exec "$T/duplicates"
SH
mkdir -p /usr/lib/debug

start_by_nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urm bash "$T/in_mount" >"$T/ready" &
	pid=$!
	own "$pid"
	within 60 grep -q ready "$T/ready" || bail_out 'it does not start'
}

# names PROGRAM [OPTION]: print the functions in its report of `pid`
names()
{
	TRUSTING=files TRUSTING_PID=$pid timeout 100 "$1" -q "${patient[@]}" dump "$pid" "${@:2}" -f folded --force -o "$T/folded" >"$T/said" 2>&1 ||
		diag "$(<"$T/said")"
	tr ';' '\n' <"$T/folded"
}

start_by_nobody
snapshot "$pid"
like "$(names "$CTL" --no-cache)" made_by_another 'its own profile has its names, without the cache'
names "$CTL" >/dev/null
unlike "$(tr -d '\0' 2>&1 <"$cached")" made_by_another 'they are not cached'
rm -f "$cached"
like "$(names "$T/trusting")" made_by_another 'control: if its files are trusted'
ok 'control: they are cached' grep -aq made_by_another "$cached"
assert_untouched "$pid"
stop_target "$pid"

LD_PRELOAD=libjemalloc.so.2 "$T/duplicates" >"$T/ready" &
pid=$!
own "$pid"
within 60 grep -q ready "$T/ready"
snapshot "$pid"
like "$(names "$CTL")" made_by_another "control: root's process is then shown with them"
rm -f "$cached"
unlike "$(names "$CTL")" made_by_another "root's process is not shown with them"
assert_untouched "$pid" "root's process is untouched"

# --- root of a container: a file of uid 0 in a volume, with the build id of the host's libc ---
# Names are cached by their offset in the file: where the one has strdup, the other has its own
# function. Each folder on the path also belongs to root.
volume=/mnt/volume
mount -t tmpfs -o mode=755 none /mnt || bail_out 'no tmpfs on /mnt'
at_end+=('umount -l /mnt')
mkdir "$volume"
cat >"$T/fake2.c" <<C
__asm__(".text; .fill 0x$at - 0x1100, 1, 0x90");
char *chosen_by_container(char *p)
{
	__asm__ volatile(".fill 0x400, 1, 0x90");
	return p;
}
C
cc -g -O1 -shared -nostdlib -fPIC -fcf-protection=none "$T/fake2.c" -o "$volume/lib.so" "-Wl,--build-id=0x$id" ||
	bail_out 'cannot build the library of the container'
is "$(stat -c '%u %a' "$volume/lib.so")" '0 755' \
	'root owns the library, and others may not write to it'
LD_PRELOAD=libjemalloc.so.2 "$T/duplicates" >"$T/ready" &
pid=$!
own "$pid"
within 60 grep -q ready "$T/ready"
snapshot "$pid"
ctl_ok 'a profile' dump "$pid" --no-cache -o "$T/honest.heap"
sed "s,/[^ ]*/libc\.so\.6,$volume/lib.so," "$T/honest.heap" >"$T/container.heap"

# reports FILE PROGRAM [OPTION...]: print the functions in its report
reports()
{
	timeout 100 "$2" report "${@:3}" -q -f folded --force -o "$T/folded" "$1" >"$T/said" 2>&1 || diag "$(<"$T/said")"
	tr ';' '\n' <"$T/folded"
}

rm -f "$cached"
like "$(reports "$T/container.heap" "$CTL")" chosen_by_container 'a profile that names it has its names'
ok 'they are not cached' test ! -e "$cached"
unlike "$(reports "$T/honest.heap" "$CTL")" chosen_by_container 'another profile does not get them'
rm -f "$cached"
like "$(TRUSTING=files reports "$T/container.heap" "$T/trusting")" chosen_by_container 'control: if each file of root is trusted'
like "$(reports "$T/honest.heap" "$CTL")" chosen_by_container 'control: another profile gets them'
rm -f "$cached"
assert_untouched "$pid" "root's process is still untouched"

# --- a profile that lies about where a library was mapped ---
# lld places code at addresses that differ from its offsets in the file.
own_usr
cat >"$T/two.c" <<'C'
#define F(n) __attribute__((noinline)) int fn_##n(int a) { __asm__ volatile(".fill 200, 1, 0x90"); return a * n; }
#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
T(1) T(2) T(3) T(4) T(5) T(6) T(7) T(8) T(9)
C
library=/usr/lib/jeprof-ctl-two.so
clang -g -O1 -shared -fPIC -nostdlib -fuse-ld=lld -Wl,--build-id=sha1 -o "$library" "$T/two.c" ||
	bail_out 'cannot build a library with lld'
cached=/var/cache/jeprof-ctl/$(readelf -n "$library" | awk '/Build ID/ { print $3 }').symbols
read -r offset addr size < <(readelf -lW "$library" | awk '/LOAD.* R E / { print $2, $3, $5 }')
ok 'addresses of its code differ from file offsets' test $((offset)) -ne $((addr))

# profile OFFSET START: print a profile of a process that maps the library at START, from OFFSET on
profile()
{
	python3 - "$library" "$1" "$2" $((offset)) $((size)) <<'PYTHON'
import os, sys
path, (mapped, start, code, size) = sys.argv[1], (int(a, 0) for a in sys.argv[2:])
print("heap_v2/1\n  t*: 1: 100 [0: 0]")
for at in range(code + 8, code + size, 64):
    print(f"@ {start + at - mapped:#x}\n  t*: 1: 100 [0: 0]")
print(f"\nMAPPED_LIBRARIES:\n{start:x}-{start + 0x10000:x} r-xp {mapped:08x} fe:00 {os.stat(path).st_ino} {path}")
PYTHON
}

profile 0 0x7f0000000000 >"$T/lie.heap"
profile $((offset & -4096)) 0x7f0000000000 >"$T/true.heap"
true=$(reports "$T/true.heap" "$CTL" --no-cache)
like "$true" fn_5 'an honest profile has names'
ok 'a lying profile has other names' test "$(reports "$T/lie.heap" "$CTL" --no-cache)" != "$true"
reports "$T/lie.heap" "$CTL" >/dev/null
ok 'names for the lying profile are cached' test -s "$cached"
is "$(reports "$T/true.heap" "$CTL")" "$true" 'they are right, whatever that profile says'
rm -f "$cached"
TRUSTING=offsets reports "$T/lie.heap" "$T/trusting" >/dev/null
ok 'control: if its offsets are trusted' test "$(reports "$T/true.heap" "$CTL")" != "$true"
rm -f "$cached"

done_testing
