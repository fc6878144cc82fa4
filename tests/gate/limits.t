#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets at their limits (processes, memory, files, room on the disk), and in their own namespaces.
# Whatever can work there works; the rest is refused, naming the obstacle.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/groups.sh
. tests/groups.sh

export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:6

# switches NAME [ARGUMENTS...]: short calls must work; activate gets these arguments
switches()
{
	local name=$1

	ctl_ok "$name: activate" activate "$pid" "${@:2}" --json
	is "$(json .changed)" true "$name: changed"
	ctl_ok "$name: status" status "$pid"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .changed)" true "$name: changed back"
}

# no_dump NAME STATUS IDS ARGUMENTS...: a dump is refused, with a reason and a fix; no file is left
no_dump()
{
	local name=$1 want=$2 ids=$3 file=$T/no.heap

	shift 3
	ctl_fails "$want" "$ids" "$name: refused" dump "$pid" "$@"
	ok "$name: no file is left" test ! -e "$file"
}

# profiled ARGUMENTS...: start a victim that has something to dump
profiled()
{
	MALLOC_CONF=prof:true,lg_prof_sample:6 start_victim idle "$@"
}

# not_ready NAME REGEX FIX: check must foresee that a dump fails. Sets `fix`.
not_ready()
{
	run_ctl check "$pid" --json
	is "$(json .ready)" false "$1: check says that a dump would fail"
	like "$(json '.checks[] | select(.name == "dump") | .detail')" "$2" "$1: check: the cause"
	fix=$(json '.checks[] | select(.name == "dump") | .fix')
	like "$fix" "$3" "$1: check: the fix"
}

checked_ready()
{
	run_ctl check "$pid" --json
	is "$status $(json .ready)" '0 true' "$1: check says ready"
}

# --- no more threads: RLIMIT_NPROC (which does not apply to root), pids.max, RLIMIT_AS ---
# no_threads LIMIT ITS_SIZE NEED [ARGUMENTS...]: must refuse a thread; ARGUMENTS are for activate
no_threads()
{
	local name=$1

	switches "$name" "${@:4}"
	is "$(json .mode)" inline "$name: in a borrowed thread"
	ctl_fails 1 'raise_limit_or_do_without drop_mode_thread' \
		"$name: thread mode is refused, with the numbers" activate "$pid" "${@:4}" --mode thread
	like "$err" "cannot safely create a thread: it has $2 left \\($1.*\\), and up to $3 may" \
		"$name: thread mode: the numbers"
	no_dump "$name: dump" 1 'raise_limit_or_do_without in_target' -o "$T/no.heap"
	unlike "$err" 'mode inline' "$name: dump: no useless fix"
	[ "$name" = RLIMIT_AS ] ||
		ctl_fails 1 'no_room_count raise_limit_or_do_without get_single_values' "$name: stats are refused" stats "$pid"
}

# A user of its own: other tasks of the same user count, too, such as those of this test in another
# checkout.
user=$((20000 + SRANDOM % 30000))
wrap=(setpriv --reuid "$user" --regid "$user" --clear-groups prlimit --nproc=2)
start_victim idle 2
wrap=()
snapshot "$pid"
no_threads RLIMIT_NPROC '0 of 2 tasks' 1
assert_untouched "$pid" 'RLIMIT_NPROC: untouched'
stop_target "$pid"

if make_pids_group; then
	in_group start_victim idle 2
	snapshot "$pid"
	echo 2 >"$group/pids.max"
	no_threads pids.max '0 of 2 tasks' 1
	assert_untouched "$pid" 'pids.max: untouched'
	stop_target "$pid"
else
	skip 'cgroups cannot limit the number of processes here' 'pids.max'
fi

start_victim cramped 2
prlimit --pid "$pid" --as=1000000
snapshot "$pid"
no_threads RLIMIT_AS '0 of 977K address space' 17.0M --force
assert_untouched "$pid" 'RLIMIT_AS: untouched'
stop_target "$pid"

# --- no more memory for sampling: each sample of a small object takes 16 KiB or more ---
# left_of KIB: leave the target that much address space
left_of()
{
	prlimit --pid "$pid" --as=$((($(awk '/^VmSize:/ { print $2 }' "/proc/$pid/status") + $1) << 10))
}

start_victim idle 2
prlimit --pid "$pid" --as=1000000
snapshot "$pid"
ctl_fails 1 'sampling_without_room room_to_sample_or_force' 'no room to sample: activate is refused' activate "$pid"
like "$err" 'has 0 of 977K address space left \(RLIMIT_AS\), and sampling may take up to [0-9.]+[MG]' \
	'no room to sample: the numbers'
ctl_fails 1 'sampling_without_room room_to_sample_or_force' 'no room to sample: set is refused' set "$pid" prof.active true
run_ctl check "$pid" --json
is "$(json '.checks[] | select(.name == "prof.lg_sample") | .ok')" false 'no room to sample: check foresees it'
ctl_ok 'no room to sample: status' status "$pid"
ctl_ok 'no room to sample: deactivate' deactivate "$pid"
assert_untouched "$pid" 'no room to sample: untouched'
is "$(on_board .failed)" 0 'no room to sample: none of its allocations failed'
# Control: while it is sampled, its own allocations fail.
ctl_ok 'no room to sample: activate --force' activate "$pid" --force
ok 'control: then its allocations fail' within 60 eval '[ "$(on_board .failed)" -gt 0 ]'
stop_target "$pid"

# What counts is the current sample rate, not the initial one.
start_victim cramped
left_of 8192
snapshot "$pid"
ctl_fails 1 sampling_without_room 'room for few samples: many are refused' activate "$pid"
ctl_ok 'room for few samples: reset' reset "$pid" --sample-rate 1M --mode inline
ctl_ok 'room for few samples: activate' activate "$pid"
ctl_ok 'room for few samples: activate again' activate "$pid"
ctl_ok 'room for few samples: threads --activate' threads "$pid" --activate all
ctl_fails 1 'sampling_without_room room_to_sample_or_force' 'room for few samples: reset to more is refused' \
	reset "$pid" --sample-rate 64 --mode inline
ctl_fails 1 sampling_without_room 'room for few samples: set prof.reset is refused' set "$pid" prof.reset 6 --mode inline
ctl_ok 'room for few samples: reset to fewer' reset "$pid" --sample-rate 2M --mode inline
ctl_ok 'room for few samples: deactivate' deactivate "$pid"
ctl_ok 'nothing is sampled: reset to more' reset "$pid" --sample-rate 64 --mode inline
ctl_ok 'nothing is sampled: threads --activate' threads "$pid" --activate all
ctl_ok 'no room for many: activate --force' activate "$pid" --force
ctl_fails 1 sampling_without_room 'no room for many: threads --activate is refused' threads "$pid" --activate all
ctl_ok 'no room for many: threads' threads "$pid"
ctl_ok 'no room for many: reset to the current rate' reset "$pid" --sample-rate 64 --mode inline
assert_untouched "$pid" 'room for few samples: untouched'
stop_target "$pid"

# --- no more stack: the main thread's cannot grow if no address space is left ---
# start_edge LIMIT: start a victim whose stack pointer is at the end of the mapped stack
start_edge()
{
	start_victim stacks edge-main
	within 60 eval '[ "$(on_board ".beats[0]")" -gt 0 ]' ||
		bail_out 'the victim does not come to the end of its stack'
	prlimit --pid "$pid" --as="$1"
}
dump_inline=(--in-target "$T/edge.heap" --mode inline --force)

start_edge 1000000
snapshot "$pid"
is_left_alone 'not enough space on its stack' 'a stack that cannot grow: status' status "$pid" --timeout 2s
is_left_alone 'not enough space on its stack' 'a stack that cannot grow: dump' dump "$pid" "${dump_inline[@]}" --timeout 2s
assert_untouched "$pid" 'a stack that cannot grow: untouched'
stop_target "$pid"
start_edge unlimited
snapshot "$pid"
ctl_ok 'a stack that can grow: dump' dump "$pid" "${dump_inline[@]}"
assert_untouched "$pid" 'a stack that can grow: untouched'
stop_target "$pid"
# Control: without the check, the call is ended in the middle, with whatever it holds.
start_edge 1000000
timeout -k 5 120 "$B/tests/careless/jeprof-ctl" "${patient[@]}" dump "$pid" "${dump_inline[@]}" >"$T/careless.log" 2>&1
like "$? $(<"$T/careless.log")" '^9 .*killed by Segmentation fault' 'control: a stack that cannot grow ends a call'
stop_target "$pid"

# --- no more bytes in a file: jemalloc's first write fails, or is cut short ---
mkdir -m 777 "$T/open"
for limit in 0 1024; do
	profiled 2
	prlimit --pid "$pid" --fsize="$limit:unlimited"
	snapshot "$pid"
	ids='call_failed fsize_limited'
	[ $limit = 0 ] || ids='dump_truncated make_room_or_lift_fsize'
	no_dump "RLIMIT_FSIZE $limit: dump" 1 "$ids" -o "$T/no.heap"
	[ $limit = 0 ] || like "$err" 'after 1024 bytes' "RLIMIT_FSIZE $limit: dump: where it was cut"
	no_dump "RLIMIT_FSIZE $limit: dump in the target" 1 "$ids" --in-target "$T/no.heap"
	[ $limit = 0 ] || like "$err" 'after 1024 bytes' "RLIMIT_FSIZE $limit: in the target: where it was cut"
	no_dump "RLIMIT_FSIZE $limit: dump in a borrowed thread" 1 'dump_could_end_target lift_fsize' \
		--in-target "$T/no.heap" --mode inline
	not_ready "RLIMIT_FSIZE $limit" 'RLIMIT_FSIZE' 'prlimit .*--fsize'
	assert_untouched "$pid" "RLIMIT_FSIZE $limit: untouched"
	ctl_ok "RLIMIT_FSIZE $limit: deactivate" deactivate "$pid"
	prlimit --pid "$pid" --fsize=unlimited
	ctl_ok "RLIMIT_FSIZE $limit lifted: dump" dump "$pid" -o "$T/yes.heap" --force
	ok "RLIMIT_FSIZE $limit: a profile" is_profile "$T/yes.heap"
	stop_target "$pid"
done

# --- no more files: the table of the program is full, ours is not; or there is no room at all ---
profiled 2
prlimit --pid "$pid" --nofile="$(($(find "/proc/$pid/fd" -type l | wc -l) + 1))"
snapshot "$pid"
ctl_ok 'RLIMIT_NOFILE reached: dump' dump "$pid" -o "$T/yes.heap" --force
ok 'RLIMIT_NOFILE reached: a profile' is_profile "$T/yes.heap"
for limit in 1 3 4; do # with 0, poll(2) fails
	prlimit --pid "$pid" --nofile="$limit:"
	not_ready "RLIMIT_NOFILE $limit" 'RLIMIT_NOFILE' 'prlimit .*--nofile=5:'
done
sh -c "${fix##*limit: }"
checked_ready 'RLIMIT_NOFILE raised by the fix'
ctl_ok 'RLIMIT_NOFILE raised by the fix: dump' dump "$pid" -o "$T/yes.heap" --force
prlimit --pid "$pid" --nofile=3
snapshot "$pid"
no_dump 'RLIMIT_NOFILE 3: dump' 1 'file_not_made nofile_limited' -o "$T/no.heap"
no_dump 'RLIMIT_NOFILE 3: dump in the target' 1 'call_failed nofile_limited' \
	--in-target "$T/no.heap"
ctl_ok 'RLIMIT_NOFILE 3: deactivate' deactivate "$pid"
assert_untouched "$pid" 'RLIMIT_NOFILE 3: untouched'
stop_target "$pid"

# --- no more room on the disk ---
mkdir "$T/full"
mount -t tmpfs -o size=256k tmpfs "$T/full" && mounted+=("$T/full")
head -c 245000 /dev/zero >"$T/full/filler" 2>/dev/null
profiled 2
snapshot "$pid"
ctl_fails 10 'inside_failed make_room' 'disk full: dump in the target is refused' \
	dump "$pid" --in-target "$T/full/no.heap"
like "$err" 'fix: make room' 'disk full: the fix'
ctl_fails 10 'output_failed make_room' 'disk full: dump is refused' dump "$pid" -o "$T/full/no.heap"
is "$(ls "$T/full")" filler 'disk full: no file is left'
assert_untouched "$pid" 'disk full: untouched'
stop_target "$pid"

# --- the kernel never makes memory executable that was writable ---
start_victim walled mdwe
snapshot "$pid"
switches 'no memory becomes executable'
ctl_ok 'no memory becomes executable: dump' dump "$pid" -o "$T/yes.heap" --force
assert_untouched "$pid" 'no memory becomes executable: untouched'
stop_target "$pid"

# --- nested user, pid and mount namespaces ---
if unshare -U -r -p -m -f true 2>/dev/null; then
	file=$(mktemp "$T/victim.XXXXXX")
	unshare -U -r -p -m -f --kill-child unshare -U -r -p -m -f --mount-proc --kill-child \
		"$VICTIMS/idle" fd:3 2 3<>"$file" >>"$T/victims.log" 2>&1 &
	pid=$!
	own "$pid"
	tests/drivers/photo ready "$file" >/dev/null || bail_out "no victim: $(tail -n 3 "$T/victims.log")"
	while child=$(pgrep -P "$pid") && [ -n "$child" ]; do
		pid=$child
	done
	ln "$file" "$T/board.$pid"
	snapshot "$pid"
	switches 'namespaces'
	ctl_ok 'namespaces: dump' dump "$pid" -o "$T/yes.heap" --force
	ok 'namespaces: a profile' is_profile "$T/yes.heap"
	assert_untouched "$pid" 'namespaces: untouched'
else
	skip 'user namespaces are switched off' 'namespaces'
fi

# --- control: a write beyond the limit ends a program ---
{ bash -c 'ulimit -f 0; echo >"$1"' sh "$T/beyond"; } 2>/dev/null
is $? 153 'control: RLIMIT_FSIZE ends a program that writes'

# --- our own limit on descriptors: never the target's fault ---
MALLOC_CONF=$PROF start_victim idle
snapshot "$pid"
for command in status check activate dump list; do
	arguments=("$pid")
	[ "$command" = dump ] && arguments+=(--force -o "$T/few.heap")
	[ "$command" = list ] && arguments=()
	wrong=
	refused=0
	for files in {4..24}; do
		runner=(prlimit "--nofile=$files")
		run_ctl "$command" "${arguments[@]}"
		[ "$status" -eq 0 ] && continue
		refused=$((refused + 1))
		[[ $status == @(1|127) && $err$out != *@(' ended'|' end '|'prlimit --pid'|'longer --timeout')* ]] ||
			wrong+="with $files: exit $status, $err"$'\n'
	done
	runner=()
	is "$wrong" '' "$command: our own limit is not blamed on the target"
	# Nothing works without descriptors.
	ok "$command: refused with few descriptors" test "$refused" -gt 0
done
assert_untouched "$pid" 'untouched by commands without descriptors'

# --- our own limits on stack and memory: reported before anything is touched ---
cp "$T/yes.heap" "$T/own.heap"
commands=(list 'check PID' 'status PID' 'activate PID' 'dump PID -o -' 'stats PID' 'threads PID'
	"report $T/own.heap" "convert $T/own.heap $T/own.folded" "diff $T/own.heap $T/own.heap"
	"bundle PID -o $T/own.tar.gz" "record PID -d 1ms -o $T/own.rec" 'watch PID --for 1ms')
# limited REGEX OPTION...: run each command under that limit; it must name the limit
limited()
{
	local regex=$1 command wrong=

	shift
	runner=(prlimit "$@")
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # its words
		run_ctl ${command//PID/$pid}
		[[ $status == 1 && $err =~ $regex && -z $out ]] || wrong+="$command: exit $status, $err"$'\n'
	done
	runner=()
	is "$wrong" '' "$*: each command names the limit"
}
if is_sanitized; then
	skip 'a sanitizer needs more of everything' 'our own stack and memory'
else
	for kib in 64 128 256 512; do
		limited "jeprof-ctl itself is limited to $kib KiB of stack \\(RLIMIT_STACK\\), and it needs 1024 KiB.*fix: .*prlimit --stack=" \
			--stack=$((kib * 1024))
	done
	limited 'memory of jeprof-ctl itself is limited \(RLIMIT_AS is 30000 KiB\).*fix: .*prlimit --as=unlimited' \
		--as=$((30000 * 1024))
	limited 'memory of jeprof-ctl itself is limited \(RLIMIT_DATA is 20000 KiB\).*fix: .*--data=unlimited' \
		--data=$((20000 * 1024))
	assert_untouched "$pid" 'untouched by commands without stack or memory'
	# If only the soft limit is low, it is raised for all our processes.
	for command in "${commands[@]}"; do
		[[ $command == watch* ]] && continue
		runner=(prlimit --stack=65536:unlimited)
		# shellcheck disable=SC2086
		ctl_ok "a low soft limit on the stack: ${command%% *}" ${command//PID/$pid} --timeout 60s
		[ "$command" != 'activate PID' ] || ctl_ok 'deactivate again' deactivate "$pid"
	done
	runner=()
	# Control: a stack that cannot grow ends a program.
	{ prlimit --stack=65536 bash -c 'f() { f; }; f'; } 2>/dev/null
	is $? 139 'control: a program without stack is ended by a signal'
	assert_untouched "$pid" 'untouched with a low soft limit on the stack'
fi
stop_target "$pid"

done_testing
