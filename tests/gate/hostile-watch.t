#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that names its memory file as jeprof-ctl names its own: watch neither takes it for a
# dump by us, nor reports the file on the host that the name contains.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

install -m 755 "$B/tests/careless/jeprof-ctl-trusting" "$T/trusting"
cat >"$T/spoof.c" <<'C'
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
extern int mallctl(const char *, void *, size_t *, void *, size_t);
int main(void)
{
	char path[64];
	const char *name = path;
	int fd = memfd_create("jeprof-ctl:/etc/shadow", 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	puts("ready");
	fflush(stdout);
	for (;;) {
		mallctl("prof.dump", NULL, NULL, &name, sizeof(name));
		usleep(100000);
	}
}
C
cc -O1 -D_GNU_SOURCE -o "$T/spoof" "$T/spoof.c" -L"$T/lib" -Wl,--no-as-needed -l:libjemalloc.so.2 || bail_out 'cannot build it'

# In its own root, in which there are no files of the host.
root=$T/root
mkdir "$root"
for dir in usr proc "${T#/}"; do mkdir -p "$root/$dir"; done
for link in lib lib64 bin; do ln -s "usr/$link" "$root/$link"; done
cat >"$T/enter" <<SH
mount --rbind /usr $root/usr && mount --rbind $T $root$T && mount -t proc none $root/proc && exec chroot $root $T/spoof
SH
MALLOC_CONF=prof:true setpriv --reuid=65534 --regid=65534 --clear-groups \
	unshare -Urmpf --mount-proc --kill-child bash "$T/enter" >"$T/ready" 2>&1 &
own $!
within 60 grep -q ready "$T/ready" || bail_out "it does not start: $(<"$T/ready")"

# told NAME PROGRAM: write what the hook of its watch learns of a dump to $T/NAME.told
told()
{
	local ctl=$CTL

	CTL=$2
	# shellcheck disable=SC2016 # the command's own variables
	TRUSTING=name start_watch "$1" --all --on-dump \
		'[ "$JEPROF_CTL_COMM" != spoof ] || echo "by=$JEPROF_CTL_BY file=$JEPROF_CTL_FILE host=$JEPROF_CTL_HOST_FILE" >"'"$T/$1.told"'"'
	CTL=$ctl
	ok "$1: the hook learns of a dump" within 60 test -s "$T/$1.told"
	end_watch "$1"
}

told spoofed "$CTL"
like "$(<"$T/spoofed.told")" '^by= file=/proc/self/fd/[0-9]+ host=/proc/[0-9]+/root/proc/self/fd/[0-9]+$' \
	'it is not taken for ours, and its claimed name is ignored'
told believed "$T/trusting"
is "$(<"$T/believed.told")" 'by=jeprof-ctl file=/etc/shadow host=/etc/shadow' 'control: if its name is trusted'

# Our own dump, of a process that continues to spoof: its destination is what we noted.
MALLOC_CONF=prof:true "$T/spoof" >"$T/ready2" &
pid=$!
own "$pid"
within 60 grep -q ready "$T/ready2"
start_watch ours "$pid"
ctl_ok 'our own dump' dump "$pid" -o "$T/ours.heap"
end_watch ours
is "$(seen ours 'select(.by != null) | "\(.by) \(.file)"' | grep -c "^jeprof-ctl $T/ours.heap\$")" \
	"$(seen ours 'select(.by != null)' | wc -l)" 'dumps reported as ours went to our file'
ok 'our dump is among them' eval "seen ours 'select(.by != null)' | grep -q ."

done_testing
