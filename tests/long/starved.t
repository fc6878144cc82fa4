#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A machine that is many times slower: our processes have a sixtieth of a CPU. Whatever a command
# achieves, it blames no file system and nothing that hangs, leaves nothing behind, and the target
# is as it was. Also, a tracer that was killed and cannot run for a while: behind a slow disk, or
# bound to a busy CPU.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/slow.sh
. tests/slow.sh

cpu=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)/jeprof-ctl-test-${T##*.}
freezer=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)/jeprof-ctl-test-${T##*.}
at_end+=("rmdir $cpu $freezer 2>/dev/null")

# --- little CPU ---

if mkdir "$cpu" 2>/dev/null && echo 100000 >"$cpu/cpu.cfs_period_us" && echo 1500 >"$cpu/cpu.cfs_quota_us"; then
	MALLOC_CONF=prof:true,lg_prof_sample:6 start_victim idle 2
	snapshot "$pid"
	# shellcheck disable=SC2016 # of the inner shell
	runner=(bash -c 'echo $$ >"$0/tasks" && exec "$@"' "$cpu")
	before=$(awk '$1 == "nr_throttled" { print $2 }' "$cpu/cpu.stat")
	for command in list 'check PID' 'status PID' 'activate PID' "dump PID --force -o $T/slow.heap" \
		'stats PID' 'threads PID' "report $T/slow.heap" 'deactivate PID' "record PID -d 100ms --force -o $T/slow.rec"; do
		began=$SECONDS
		patient=()
		# shellcheck disable=SC2086 # its words
		run_ctl ${command//PID/$pid}
		[[ $status == [0789] ]]
		is $? 0 "slow: $command: the exit status" || diag "exit $status, $err"
		unlike "$err" 'file system|hangs|cannot be ended|stays stopped|uninterruptible|damaged|harm' \
			"slow: $command: nothing else is blamed"
		diag "$command: exit $status after $((SECONDS - began)) s: ${err:0:200}"
	done
	runner=()
	ok 'control: they had to wait for the CPU' test \
		"$(awk '$1 == "nr_throttled" { print $2 }' "$cpu/cpu.stat")" -gt $((before + 20))
	ok 'none of ours is left' within 60 eval "[ ! -s '$cpu/tasks' ]"
	# A command may have switched something on that it could not switch off.
	patient=(--max-pause 10s)
	ctl_ok 'deactivate works afterwards' deactivate "$pid"
	assert_untouched "$pid"
	stop_target "$pid"
else
	skip 'cgroups cannot limit the CPU here' 'little CPU'
fi

# --- a killed tracer in state D ---

is_killed()
{
	[ $((0x$(awk '/^ShdPnd:/ { print $2 }' "/proc/$tracer/status") & 0x100)) -ne 0 ]
}
if mkdir "$freezer" 2>/dev/null && [ -e "$freezer/freezer.state" ]; then
	start_filler
	snapshot "$pid"
	for thaw in yes no; do
		begin status "$pid" --timeout 5s
		echo "$tracer" >"$freezer/tasks"
		echo FROZEN >"$freezer/freezer.state"
		ok 'frozen: the tracer is in state D' within 60 grep -q '^State:.D' "/proc/$tracer/status"
		ok 'frozen: it is killed' within 60 is_killed
		if [ $thaw = yes ]; then
			sleep 4 # like a slow disk
			echo THAWED >"$freezer/freezer.state"
			end
			is "$status" 8 'in state D for a while: the exit status'
			like "$err" 'stopped or starved until the timeout; nothing was changed' 'in state D for a while: waited for'
			unlike "$err" 'file system|cannot be ended' 'in state D for a while: no file system is blamed'
		else
			end
			is "$status" 9 'control: in state D for good: the exit status'
			like "$err" "process $tracer\\) cannot be killed: .*state D, in [a-z_0-9]+\\)" \
				'control: in state D for good: where it waits is reported'
			unlike "$err" 'stays stopped' 'control: no thread was stopped'
			echo THAWED >"$freezer/freezer.state"
		fi
		ok 'thawed: it ends' within 60 is_ended "$tracer"
	done
	assert_untouched "$pid" 'the target is untouched by a frozen tracer'
else
	skip 'there is no freezer for single processes here' 'state D'
fi

# --- a killed tracer that is bound to a busy CPU ---

read -r busy other _ < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
is_crowded()
{
	[ "$(for one in "${crowd[@]}"; do grep -lx "Cpus_allowed_list:.$busy" "/proc/$one/status"; done | wc -l)" -eq 300 ]
}
if [ ! -e /proc/self/sched ]; then
	skip 'the kernel does not show when a thread last ran' 'busy CPU'
elif [ "$other" ]; then
	# They last ran on the CPU that is about to be busy. The kernel shares CPUs among sessions, and a
	# tracer has one of its own.
	waiting=() sleeping=() crowd=()
	for _ in 1 2 3; do
		LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=$PROF taskset -c "$busy" \
			python3 -c 'import select; select.epoll().poll(1000)' &
		waiting+=($!)
		own "$!"
		taskset -c "$busy" setsid sleep 10000 &
		sleeping+=($!)
		own "$!"
	done
	for i in "${!waiting[@]}"; do
		within 60 grep -q '^232 ' "/proc/${waiting[i]}/syscall" || bail_out 'no program that waits'
		within 60 grep -q '^230 ' "/proc/${sleeping[i]}/syscall" || bail_out 'no program that sleeps'
	done
	for _ in {1..300}; do
		setsid nice -n -20 bash -c 'echo -20 >/proc/self/autogroup
			taskset -pc "$0" $$
			while ((SECONDS < 120)); do :; done' "$busy" >/dev/null 2>&1 &
		crowd+=($!)
		own "$!"
	done
	within 60 is_crowded || bail_out 'no crowd'
	kill -KILL "${sleeping[@]}"
	killed=$SECONDS
	without_clocks=0
	for pid in "${waiting[@]}"; do
		taskset -pc "$other" "$pid" >/dev/null # where it wakes up
		snapshot "$pid"
		taskset -c "$other" "$CTL" -v get "$pid" prof.active --mode inline >"$T/out" 2>"$T/err"
		is $? 0 'busy CPU: the next tracer works' || diag "$(<"$T/err")"
		! grep -q 'timeout of a system call was restarted' "$T/err" || without_clocks=$((without_clocks + 1))
	done
	ok 'busy CPU: control: a tracer was killed before it could read the clocks' test "$without_clocks" -gt 0
	sleep $((killed + 5 > SECONDS ? killed + 5 - SECONDS : 0))
	left=0
	for one in "${sleeping[@]}"; do
		is_ended "$one" || left=$((left + 1))
	done
	ok 'busy CPU: control: what may only run there does not end' test "$left" -gt 0
	for one in "${crowd[@]}"; do
		end_child "$one" -KILL
	done
	wait "${crowd[@]}" "${sleeping[@]}" 2>/dev/null
	for pid in "${waiting[@]}"; do
		assert_untouched "$pid" 'busy CPU: untouched'
	done
else
	skip 'there is only one CPU' 'busy CPU'
fi

done_testing
