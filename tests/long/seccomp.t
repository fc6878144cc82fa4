#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets that forbid themselves single system calls: whatever the filter does to the caller, the
# target lives, and a command works or reports what prevents it, even if it is killed at random
# moments. KILLS sets how often for each filter (2; 20 with LONG=1).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF
kills=${KILLS:-$([ -n "${LONG:-}" ] && echo 20 || echo 2)}
calls=(clone clone3 mmap memfd_create openat open write getppid close_range exit rt_sigprocmask)

# storm KILLS ACTION CALL...: write a line for each filter to $T/walls
storm()
{
	tests/drivers/fence-storm "$CTL" "$VICTIMS/walled" "$1" "$T" "${@:2}" >"$T/walls" 2>"$T/walls.err"
	status=$?
	is "$status" 0 "$2: the target is intact after all, including $1 kills for each of $(($# - 2)) filters" ||
		diag "$(<"$T/walls.err")"
}

# unexplained MAY: print failures of filters that do not match MAY, or that come without a reason
# and a fix
unexplained()
{
	jq -r --arg may "$1" '. as $w | ["activate", "dump", "deactivate"][] | . as $c | $w[$c] |
		select(.exit != 0 and ($w.wall | test($may) | not) or
			(.exit != 0 and (.exit != 1 or (.said | test("fix: ") | not)))) |
		$w.wall + ": " + $c + ": " + (.exit | tostring) + ": " + .said' "$T/walls"
}

# refused COMMAND: print the system calls that make it fail, in a line
refused()
{
	jq -r --arg c "$1" 'select(.[$c].exit != 0) | .wall | sub(".* "; "")' "$T/walls" | xargs
}

# --- filters that kill: a command that might make the call is refused, and no other ---
for action in kill-process kill-thread trap; do
	storm "$kills" "$action" "${calls[@]}"
	is "$(unexplained '.')" '' "$action: each refusal has a cause and a fix"
	is "$(refused activate)" 'mmap rt_sigprocmask' "$action: activate works, unless its own calls do harm"
	is "$(refused deactivate)" 'mmap rt_sigprocmask' "$action: the same for deactivate"
	is "$(refused dump)" "${calls[*]}" "$action: dump is refused"
	is "$(jq -r '. as $w | select($w.dump.said | contains(" " + ($w.wall | sub(".* "; "")) + "(2)")) | .wall' "$T/walls" | wc -l)" \
		"${#calls[@]}" "$action: the refusal names the call"
done

# --- filters that make calls fail ---
for action in eperm enosys; do
	storm "$kills" "$action" "${calls[@]}"
	is "$(unexplained '.')" '' "$action: each refusal has a cause and a fix"
	is "$(refused activate)" '' "$action: activate works"
	is "$(refused deactivate)" '' "$action: deactivate works"
	diag "$action: dump is refused with: $(refused dump)"
done

# --- restart_syscall is forbidden: sleeps are restarted; no kills, as one in between would harm ---
for action in kill-process eperm; do
	storm 0 "$action" restart_syscall
	is "$(unexplained NONE)" '' "$action restart_syscall: all commands work"
done

# --- filters as services use them; filters of only one thread ---
storm "$kills" - 'services kill-process' 'services eperm' no-exec
is "$(unexplained NONE)" '' 'service filters: all commands work'
storm "$kills" - 'second kill-process clone3' 'second trap getppid' 'second kill-process memfd_create'
is "$(refused activate)" '' 'filters of the second thread: activate works'
is "$(jq -r '.dump.exit' "$T/walls" | xargs)" '1 1 1' 'filters of the second thread: dump is refused'

# --- strict mode ---
start_victim walled strict
snapshot "$pid"
ctl_fails 8 target_strict 'strict: activate is refused' activate "$pid"
ctl_fails 8 target_strict 'strict: dump is refused' dump "$pid" -o "$T/strict.heap"
ctl_fails 8 target_strict 'strict: direct mode is refused' activate "$pid" --mode inline
ok 'strict: no file' test ! -e "$T/strict.heap"
assert_untouched "$pid" 'strict: untouched'

# --- without the privilege to read filters ---
wrap=(setpriv --reuid 65534 --regid 65534 --clear-groups)
start_victim walled eperm clone
wrap=()
snapshot "$pid"
setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$CTL" activate "$pid" 2>"$T/err"
is $? 4 'a user: refused'
like "$(<"$T/err")" 'CAP_SYS_ADMIN.*fix: .*root' 'a user: the cause is reported'
assert_untouched "$pid" 'a user: untouched'

# --- controls: the filters work; the call, or a careless injection, ends the target ---
for wall in 'kill-process clone3' 'kill-thread mmap' 'trap getppid' 'services kill-process'; do
	# shellcheck disable=SC2086 # words
	{ "$VICTIMS/walled" prove $wall; } 2>/dev/null
	is $? 159 "control: $wall: the call ends the program"
done
careless=build/tests/careless/jeprof-ctl-fences
for wall in 'kill-process clone3' 'kill-process memfd_create' 'kill-process restart_syscall' \
	'second kill-process getppid'; do
	tests/drivers/fence-storm "$careless" "$VICTIMS/walled" 0 "$T" - "$wall" >"$T/walls" 2>"$T/walls.err"
	is $? 1 "control: $wall: a careless build harms"
	like "$(<"$T/walls.err")" 'the victim ended with -31' "control: $wall: the target is dead"
done

done_testing
