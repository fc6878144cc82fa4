#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names that a process brings along, in a debug file that says it is of the C library, are its own
# business: they are not kept for others.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8
libc=/lib/$(cc -print-multiarch)/libc.so.6
id=$(readelf -n "$libc" | awk '/Build ID/ { print $3 }')
cached=/var/cache/jeprof-ctl/$id.symbols
install -m 755 "$B/tests/careless/jeprof-ctl-trusting" "$T/trusting"
mv "$cached" "$T/before" 2>/dev/null
at_end+=("rm -f '$cached'; [ ! -e '$T/before' ] || mv '$T/before' '$cached'")

# Its memory is from strdup(3), which is in the C library's part of each stack.
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

# The debug file: its function is where strdup is.
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

# names PROGRAM [OPTION]: the functions of its report of `pid`
names()
{
	TRUSTING=files TRUSTING_PID=$pid timeout 100 "$1" -q "${patient[@]}" dump "$pid" "${@:2}" -f folded --force -o "$T/folded" >"$T/said" 2>&1 ||
		diag "$(<"$T/said")"
	tr ';' '\n' <"$T/folded"
}

start_by_nobody
snapshot "$pid"
like "$(names "$CTL" --no-cache)" made_by_another 'its own profile has its names, as far as none are kept'
names "$CTL" >/dev/null
unlike "$(tr -d '\0' 2>&1 <"$cached")" made_by_another 'they are not kept'
rm -f "$cached"
like "$(names "$T/trusting")" made_by_another 'control: if its files are believed, too'
ok 'control: they are kept' grep -aq made_by_another "$cached"
assert_untouched "$pid"
stop_target "$pid"

LD_PRELOAD=libjemalloc.so.2 "$T/duplicates" >"$T/ready" &
pid=$!
own "$pid"
within 60 grep -q ready "$T/ready"
snapshot "$pid"
like "$(names "$CTL")" made_by_another "control: root's process is shown by them then"
rm -f "$cached"
unlike "$(names "$CTL")" made_by_another "without: root's process is not"
assert_untouched "$pid" "root's process is untouched"

done_testing
