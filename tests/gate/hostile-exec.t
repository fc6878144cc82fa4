#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An unprivileged target executes a set-user-ID program while root's jeprof-ctl traces it: nothing
# may be changed in that program, which would otherwise do what the target wants.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# It is killed with the test, as an attack may leave its signals blocked.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --pdeathsig KILL)
install -m 755 "$VICTIMS/usurper" "$T/"
install -m 4755 "$VICTIMS/usurped" "$T/"
mkdir -m 700 "$T/private"

# usurped: print the processes that run the other program. As it is set-user-ID, the kernel does not
# kill it with its parent; and if process 1 of a container never waits, zombies of its name remain.
usurped()
{
	local exe

	for exe in /proc/[0-9]*/exe; do
		[[ $(readlink "$exe") != "$T/usurped" ]] || basename "${exe%/exe}"
	done
}

end_usurped()
{
	local left

	left=$(usurped)
	# shellcheck disable=SC2086 # pids
	[ -z "$left" ] || kill -KILL $left 2>/dev/null
}
at_end+=(end_usurped)

# start_usurper WAY: start it. Sets `pid`. It gets no descriptors of the test, as it may outlive it.
start_usurper()
{
	rm -f "$T/private/made"
	"${nobody[@]}" "$T/usurper" "$1" "$T/usurped" "$T/private/made" >"$T/usurper.out" 2>&1 </dev/null &
	pid=$!
	own "$pid"
	within 60 grep -q '^34 ' "/proc/$pid/syscall" || bail_out 'the attacker did not start'
}

stop_usurper()
{
	end_child "$pid" -KILL
	wait "$pid" 2>/dev/null
}

# The other program receives its signal some time later.
settled()
{
	sleep 1
	[ -z "$(usurped)" ]
}

# attack WAY [MODE]
attack()
{
	start_usurper "$1"
	run_ctl get "$pid" version --mode "${2:-thread}"
	diag "$1: exit $status: $err"
	within 20 settled || diag "$1: the other program goes on"
}

start_usurper process
is "$(awk '/^CapPrm:/ { print $2 }' "/proc/$pid/status")" 0000000000000000 'the attacker has no capability'
stop_usurper

attack process
is "$status" 9 'a process that looks like a thread: refused'
like "$err" 'created a process .[0-9]+. instead of a thread.*fix: .*do not trust' 'a process that looks like a thread: the cause'
ok 'a process that looks like a thread: the other program is not misled' test ! -e "$T/private/made"
stop_usurper

for way in borrowed thread; do
	attack "$way"
	is "$status" 9 "$way: runs another program: refused"
	like "$err" 'called execve\(2\)' "$way: runs another program: the cause"
	ok "$way: the other program is not misled" test ! -e "$T/private/made"
	stop_usurper
done

# Short calls are made in the borrowed thread itself.
attack thread inline
is "$status" 9 'inline: runs another program: refused'
like "$err" 'called execve\(2\)' 'inline: runs another program: the cause'
ok 'inline: the other program is not misled' test ! -e "$T/private/made"
stop_usurper

# Control: a build that does not ask whose thread it is makes the file, as root.
CTL=$ROOT/build/tests/careless/jeprof-ctl
export CARELESS=exec
for way in process borrowed; do
	attack "$way"
	is "$(stat -c %u "$T/private/made" 2>&1)" 0 "control: $way: a careless build misleads the other program"
	stop_usurper
done

done_testing
