#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dot(1) draws names from a target. If they take it over, they gain nothing: no terminal, no secrets
# of root, no descriptors, no further processes.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# A compromised dot: it tries what it can, and reports the results.
mkdir "$T/bin"
cat >"$T/dot.c" <<'C'
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
extern char **environ;
static void try_terminal(FILE *said)
{
	int tty = open("/dev/tty", O_RDWR);

	fprintf(said, "terminal %s\n", tty >= 0 ? "open" : "none");
	if (tty >= 0)
		close(tty);
}
static void list_files(FILE *said)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	for (struct dirent *e; (e = readdir(dir));)
		n += atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(dir) && atoi(e->d_name) != fileno(said);
	fprintf(said, "descriptors %d\n", n);
	closedir(dir);
}
int main(void)
{
	FILE *said = fopen(SAID, "w"), *status = fopen("/proc/self/status", "r");
	char line[256];
	struct rlimit core;

	fprintf(said, "uid %u %u groups %d\n", getuid(), geteuid(), getgroups(0, NULL));
	fprintf(said, "session %s\n", getsid(0) == getpid() ? "own" : "root's");
	for (char **e = environ; *e; e++)
		fprintf(said, "environment %s\n", *e);
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "CapPrm", 6))
			fputs(line, said);
	fclose(status);
	list_files(said);
	try_terminal(said);
	getrlimit(RLIMIT_CORE, &core);
	fprintf(said, "core %lu\n", (unsigned long)core.rlim_max);
	fflush(said);
	switch (fork()) {
	case -1:
		fprintf(said, "fork none\n");
		break;
	case 0:
		_exit(0);
	default:
		fprintf(said, "fork made\n");
	}
	fclose(said);
	puts("<svg/>");
	return 0;
}
C
cc -DSAID="\"$T/said\"" -o "$T/bin/dot" "$T/dot.c" || bail_out 'cannot build it'
cat >"$T/some.heap" <<'HEAP'
heap_v2/4096
  t*: 1: 100 [0: 0]
@ 0x1000 0x2000
  t*: 1: 100 [0: 0]

MAPPED_LIBRARIES:
HEAP
install -m 755 "$B/tests/careless/jeprof-ctl-trusting" "$T/trusting"

# draw PROGRAM: run it on a terminal, with a secret in its environment
draw()
{
	install -m 666 /dev/null "$T/said"
	TRUSTING=dot SECRET=hunter2 PATH=$T/bin:$PATH script -qec "$1 report $T/some.heap -f dot -o $T/x.svg --force; echo status=\$?" \
		/dev/null >"$T/talk" 2>&1 </dev/null
	like "$(<"$T/talk")" 'status=0' "${1##*/}: it draws" || diag "$(<"$T/talk")"
	said=$(<"$T/said")
}

draw "$CTL"
like "$said" 'terminal none' 'it has no terminal'
like "$said" 'session own' 'it has its own session'
is "$(grep ^environment <<<"$said")" 'environment PATH=/usr/bin:/bin' 'its environment has only a PATH'
like "$said" 'descriptors 0' 'it has no descriptors of ours'
like "$said" 'fork none' 'it cannot create processes'
like "$said" 'core 0' 'it dumps no core'
like "$said" 'NoNewPrivs:[[:space:]]1' 'it gains no rights'
like "$said" 'CapPrm:[[:space:]]0000000000000000' 'it has no capabilities'
user=$(sed -n 's/^uid \([0-9]*\) \1 groups 0$/\1/p' <<<"$said")
ok 'it runs as its own user' test "${user:-0}" -gt 60000 -a "${user:-0}" -ne 65534
ok 'that user is in no database' eval "! getent passwd '$user'"
draw "$CTL"
unlike "$said" "uid $user " 'another user each time'

draw "$T/trusting"
like "$said" 'terminal open' 'control: unconfined, it has the terminal'
like "$said" 'environment SECRET=hunter2' 'control: unconfined, it has the environment'
like "$said" 'fork made' 'control: unconfined, it creates processes'

# dot ends with jeprof-ctl.
cat >"$T/bin/dot" <<'SH'
#!/bin/sh
echo $$ >"$0.pid"
while :; do :; done
SH
chmod 755 "$T/bin/dot"
install -m 666 /dev/null "$T/bin/dot.pid"
PATH=$T/bin:$PATH "$CTL" report "$T/some.heap" -f dot -o "$T/y.svg" >/dev/null 2>&1 &
drawing=$!
own "$drawing"
ok 'a dot that hangs has started' within 60 test -s "$T/bin/dot.pid"
hangs=$(<"$T/bin/dot.pid")
kill -KILL "$drawing"
wait "$drawing" 2>/dev/null
ok 'it ends with jeprof-ctl' within 60 test ! -e "/proc/$hangs"

done_testing
