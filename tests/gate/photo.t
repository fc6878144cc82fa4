#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The proof itself: a photograph notices everything that may be left behind in a process.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# A process that changes itself on request, by lines of Python, and reports when it is done.
mkfifo "$T/orders"
python3 -c '
import ctypes, mmap, os, resource, signal, sys, threading, time
print("ready", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
' <"$T/orders" >"$T/answers" &
pid=$!
own "$pid"
exec 9>"$T/orders"
within 60 grep -q ready "$T/answers" || bail_out 'python3 did not start'

order()
{
	local before

	before=$(wc -l <"$T/answers")
	echo "$1" >&9
	within 60 eval '[ "$(wc -l <"$T/answers")" -gt '"$before"' ]'
}

same()
{
	tests/drivers/photo check "$pid" "$T/photo.$pid"
}

# Do not wait long, as the difference will not go away.
differs()
{
	! PHOTO_PATIENCE=0.1 same
}

# notices NAME ORDER [ORDER-TO-UNDO]: a snapshot must notice that order, and that it was undone
notices()
{
	snapshot "$pid"
	ok "$1: the same before" same
	order "$2"
	ok "$1: noticed" differs
	if [ -n "${3:-}" ]; then
		order "$3"
		ok "$1: the same when undone" same
	fi
}

notices 'an open file' 'fd = os.open("/dev/null", os.O_RDONLY)' 'os.close(fd)'
notices 'a memfd' 'fd = os.memfd_create("x")' 'os.close(fd)'
notices 'a blocked signal' 'signal.pthread_sigmask(signal.SIG_BLOCK, [10])' \
	'signal.pthread_sigmask(signal.SIG_UNBLOCK, [10])'
notices 'an ignored signal' 'signal.signal(10, signal.SIG_IGN)' 'signal.signal(10, signal.SIG_DFL)'
notices 'executable memory' 'm = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_EXEC)' 'm.close()'
notices 'a mapped file' 'f = open("/etc/passwd", "rb"); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close()' 'm.close()'
notices 'much memory' 'm = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)' 'm.close()'
order 'm = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)'
notices 'unmapped memory' 'm.close()'
notices 'a limit' 'old = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (old[0] - 1, old[1]))' \
	'resource.setrlimit(resource.RLIMIT_NOFILE, old)'
notices 'another folder' 'here = os.getcwd(); os.chdir("/")' 'os.chdir(here)'
notices 'another name' 'old = open("/proc/self/comm").read().strip(); open("/proc/self/comm", "w").write("x")' \
	'open("/proc/self/comm", "w").write(old)'
notices 'another umask' 'old = os.umask(0o777)' 'os.umask(old)'
notices 'another priority' 'os.nice(3)'
notices 'a thread' 'threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()'

snapshot "$pid"
kill -STOP "$pid"
ok 'a stopped process: noticed' differs
kill -CONT "$pid"
ok 'a stopped process: the same when continued' same
"$VICTIMS/tracer" "$pid" >"$T/tracer" &
tracer=$!
own "$tracer"
within 60 grep -q ready "$T/tracer"
ok 'a tracer: noticed' differs
end_child "$tracer" -KILL
wait "$tracer" 2>/dev/null
ok 'a tracer: the same when it is gone' same

# Code that differs from its file, as after writes by a debugger or a probe.
export PHOTO_CODE=1
order 'm = [l for l in open("/proc/self/maps") if "r-xp" in l and "/libc.so" in l][0]'
order 'at = int(m.split("-")[0], 16); f = open("/proc/self/mem", "r+b", 0)'
snapshot "$pid"
ok 'code: the same before' same
order 'f.seek(at); x = f.read(1); f.seek(at); f.write(x)'
ok 'code: a copied page that equals the file does not count' same
order 'f.seek(at); f.write(bytes([x[0] ^ 0xcc]))'
ok 'code: a byte that changed is noticed' differs
order 'f.seek(at); f.write(x)'
ok 'code: the same when restored' same
unset PHOTO_CODE

# A victim that does nothing, and one that counted an error.
start_victim idle
snapshot "$pid"
still=$(mktemp "$T/still.XXXXXX")
cp "$T/board.$pid" "$still"
ok 'a victim that has stopped working: noticed' \
	eval 'PHOTO_PATIENCE=0.1 tests/drivers/photo check "$pid" "$T/photo.$pid" "$still" | grep -q "does not go on"'
python3 - "$still" "$T/found" <<'END'
import struct, sys
raw = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("2Q", raw, 16, 1, 0)
open(sys.argv[2], "wb").write(raw)
END
ok 'an EINTR: noticed' eval 'PHOTO_PATIENCE=0.1 tests/drivers/photo check "$pid" "$T/photo.$pid" "$T/found" | grep -q eintr'
assert_untouched "$pid"

done_testing
