#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two commands on one target: one works, the other reports that the target is busy, or waits on
# request.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=${LONG:+200}
rounds=${rounds:-20}

export MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:16
start_victim busy 3
snapshot "$pid"

# Reads /proc/locks rather than trying the lock, which would take it for a moment.
is_locked()
{
	grep -q "POSIX .*:$(stat -c %i /run/jeprof-ctl/lock) $pid $pid\$" /proc/locks
}

# hold_up MICROSECONDS: delay the first command when it has locked the target, but has not attached
# yet.
hold_up()
{
	strace -f -qq -o "$T/held.strace" -e trace=ptrace -e "inject=ptrace:delay_enter=$(($1 * SLOW)):when=1" \
		"$CTL" "${patient[@]}" activate "$pid" >"$T/held.out" 2>"$T/held.err" &
	held=$!
	own "$held"
	within 60 is_locked
}

hold_up 3000000
ctl_fails 7 'locked_by wait_for_other' 'the second one reports that the first is at work' \
	deactivate "$pid"
like "$err" "working on process $pid: process [0-9]+ \(jeprof-ctl\)" 'and names it'
wait "$held"
is $? 0 'the first one ends well'
assert_untouched "$pid" 'after the refusal'

hold_up 1500000
ctl_ok 'with --wait, the second one waits' --wait 60s deactivate "$pid"
wait "$held"
is $? 0 'and the first one ends well'
ctl_ok 'the state can be read' --json get "$pid" prof.active
is "$(json .prof.active)" false 'the second one came second'
assert_untouched "$pid" 'after the wait'

hold_up 3000000
ctl_fails 7 locked_by 'a wait that is too short ends with the same answer' --wait 200ms deactivate "$pid"
wait "$held"
is $? 0 'the first one ends well again'

won=0 busy=0 other=0
for ((i = 0; i < rounds; i++)); do
	"$CTL" "${patient[@]}" -q activate "$pid" >"$T/a.out" 2>"$T/a.err" &
	a=$!
	"$CTL" "${patient[@]}" -q dump "$pid" --force -o "$T/pair.heap" >"$T/b.out" 2>"$T/b.err" &
	b=$!
	for p in "$a" "$b"; do
		wait "$p"
		case $? in
		0) won=$((won + 1)) ;;
		7) busy=$((busy + 1)) ;;
		*) other=$((other + 1)) ;;
		esac
	done
done
is "$other" 0 "$rounds pairs at once: each command works or is busy" || diag "$(cat "$T"/[ab].err)"
ok 'in each pair one worked' test "$won" -ge "$rounds"
diag "$won worked, $busy were told that the target is busy"
assert_untouched "$pid" 'after the pairs'

ok 'there is a dump' is_profile "$T/pair.heap"

# A tracer of another kind keeps its target; --wait waits for that one as well.
"$VICTIMS/tracer" "$pid" >"$T/tracer.out" 2>&1 &
tracer=$!
own "$tracer"
within 60 test -s "$T/tracer.out"
ctl_fails 7 process_traced 'another tracer is named' activate "$pid"
like "$err" "process $tracer \(tracer\)" 'with its pid and name'
(
	sleep 1
	kill -TERM "$tracer"
) &
ctl_ok 'with --wait we wait until it is gone' --wait 60s activate "$pid"
wait "$tracer"
assert_untouched "$pid" 'at the end'

done_testing
