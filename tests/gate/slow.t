#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes of ours that get no CPU time, as on an overloaded machine: here they are stopped. The
# message must be true, blame no call and no file system, and the target must be as it was.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/slow.sh
. tests/slow.sh

is_stopped()
{
	[[ $(sed 's/.*) //' "/proc/$1/stat") == T* ]]
}

# over NAME: the command must end, and its tracer with it
over()
{
	end
	ok "$1: no tracer is left" within 60 is_ended "$tracer"
}

# --- during the search: the only thread fills a pipe, where it is never stopped ---
start_filler
snapshot "$pid"

begin status "$pid" --timeout 10s
kill -STOP "$tracer"
ok 'stopped in the search: control: it is stopped' within 60 is_stopped "$tracer"
over 'stopped in the search'
is "$status" 8 'stopped in the search: the exit status'
like "$err" 'the tracer was stopped or starved until the timeout; nothing was changed.*fix: .*--timeout' \
	'stopped in the search: the cause is reported'
unlike "$err" 'did not return|file system|stays stopped' 'stopped in the search: no other cause'

begin status "$pid"
kill -KILL "$tracer"
over 'killed in the search'
is "$status" 8 'killed in the search: the exit status'
like "$err" 'the tracer was killed \(Killed\); nothing was changed' 'killed in the search: reported'
unlike "$err" '--max-pause' 'killed in the search: no useless fix is suggested'

begin threads "$pid" --timeout 600s
kill -INT "$ctl"
over 'interrupted in the search'
is "$status" 1 'interrupted in the search: the exit status'
is "$err" 'jeprof-ctl: interrupted; nothing was changed' 'interrupted in the search: it is reported'

# Control: a search that ends by itself.
begin status "$pid" --timeout 10s
over 'control'
is "$status" 8 'control: a search that ends by itself'
like "$err" 'no safe moment was found' 'control: the cause is reported'
assert_untouched "$pid" 'the target of the search is untouched'
stop_target "$pid"

# --- during a call: it waits for a dump by the program into a pipe that nobody reads ---
has_threads()
{
	grep -qx $'Threads:\t'"$1" "/proc/$pid/status"
}
writes_a_dump()
{
	cat /proc/"$pid"/task/*/syscall | grep -Eq '^(85|257) '
}
# The helper thread waits for jemalloc's lock, and the first thread, whose call created it, for "other".
waits_for_the_dump()
{
	has_threads 3 && [ "$(cat /proc/"$pid"/task/*/syscall | grep -c '^202 ')" = 2 ]
}
MALLOC_CONF=$PROF,prof_active:true start_dumper dumper
order "$pid" grow 100
ctl_ok 'a dump' dump "$pid" -o "$T/first.heap"
mkfifo "$T/pipe"
snapshot "$pid"
before=$(answers_of "$pid")
tell "$pid" thread "$T/pipe"
within 60 writes_a_dump || bail_out 'the program does not write a dump'
begin dump "$pid" -o "$T/late.heap" --max-pause 3s
ok 'stopped in a call: it has begun' within 60 waits_for_the_dump
kill -STOP "$tracer"
over 'stopped in a call'
is "$status" 9 'stopped in a call: the exit status'
like "$err" 'the tracer was stopped or starved; the target finishes the call on its own' \
	'stopped in a call: the cause is reported'
ok 'stopped in a call: nobody traces the program' grep -qx $'TracerPid:\t0' "/proc/$pid/status"
cat "$T/pipe" >"$T/own.heap"
ok 'its own dump is made' within 60 has_answered "$pid" $((before + 1))
ok 'the call has ended by itself' within 60 has_threads 1
assert_untouched "$pid"

# --- on a certain CPU, where it reads the clock: it goes on without that ---
# without_cpu NAME INJECTION...: with these delays of system calls. The tracer is killed after 500 ms.
without_cpu()
{
	local name=$1 cut tries killed='kill\([0-9]+, SIGKILL'

	runner=(env ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o "$T/cut" -e "trace=sched_setaffinity,kill,ptrace" "${@:2}")
	# If strace gets no CPU, the tracer is killed before strace sees its call: then once more.
	for tries in {1..10}; do
		LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=$PROF python3 -c 'import select; select.epoll().poll(1000)' &
		pid=$!
		own "$pid"
		within 60 grep -q '^232 ' "/proc/$pid/syscall" || bail_out 'no program that waits'
		snapshot "$pid"
		ctl_ok "$name" get "$pid" prof.active --mode inline
		assert_untouched "$pid" "$name: untouched"
		stop_target "$pid"
		cut=$(grep -m 1 -A 1 sched_setaffinity "$T/cut")
		[[ ! $cut =~ $killed ]] || break
		diag "try $tries: $(<"$T/cut")"
	done
	runner=()
	like "$cut" "$killed" "$name: control: it is killed while it waits for a CPU"
	# That CPU might not run it for long, nor let it die.
	like "$(<"$T/cut")" 'kill\(([0-9]+), SIGKILL.*sched_setaffinity\(\1,' "$name: killed, it may run on any CPU"
}

if [ -e /proc/self/sched ]; then
	late=(-e inject=sched_setaffinity:delay_enter=700000:when=1)
	without_cpu 'without a CPU' "${late[@]}"
	without_cpu 'without a CPU until it is killed' "${late[@]}" -e inject=kill:delay_enter=400000:when=1 -e inject=ptrace:delay_enter=500000:when=1
else
	skip 'the kernel does not show when a thread last ran' 'without a CPU'
fi

done_testing
