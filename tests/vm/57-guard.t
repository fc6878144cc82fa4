#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# guard, where systemd limits memory: it hears at once what the kernel reports about control groups,
# and the profile is there before the OOM killer strikes.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/guard.sh
. tests/guard.sh

# start_scope RATE PROPERTY=VALUE...: start a grower in its own scope, with a thread that can be
# borrowed even if the other one is slowed down within malloc(3). Set `unit` and `group`.
scopes=0
start_scope()
{
	local rate=$1 property properties=()

	shift
	for property; do
		properties+=(-p "$property")
	done
	scopes=$((scopes + 1))
	unit=jeprof-ctl-test-$scopes.scope
	wrap=(systemd-run --quiet --scope --unit="$unit" "${properties[@]}")
	start_grower "$GROWS" "$rate" rest
	wrap=()
	at_end+=("systemctl stop $unit 2>/dev/null; systemctl reset-failed $unit 2>/dev/null")
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
	like "$group" "/$unit\$" "$unit: it is there"
}

succeeds()
{
	[ "$(jq 'select(.ok) | .ok' "$T/$1.out" | head -n 1)" = true ]
}

# fires NAME RULE WORD: that rule takes a profile. If the process is slowed down, the first attempt
# may fail.
fires()
{
	within 12 succeeds "$1" || diag "$(cat "$T/$1.out" "$T/$1.err" "$group"/memory.{pressure,events,current,high})"
	jq -c 'select(.ok)' "$T/$1.out" | head -n 1 >"$T/fired"
	is "$(jq -r '[.rule, .pid, .group] | tostring' "$T/fired")" "[\"$2\",$pid,\"$group\"]" "$2: its event"
	file=$(jq -r .file "$T/fired")
	like "$file" "\\.guard-$3\\.heap$" "$2: the name of its file"
	ok "$2: a profile" is_profile "$file"
	is "$(heaviest "$file")" hoard "$2: the function with the most memory"
	diag "$2: the profile was there after $(jq .took_ms "$T/fired") ms; failed before: $(jq -r 'select(.ok | not) | .error.message' "$T/$1.out")"
}

# slowed NAME RULE WORD: exceed memory.high for a while, which slows the process down so much that
# no test would end
slowed()
{
	let_hold 150
	fires "$@"
	systemctl set-property --runtime "$unit" MemoryHigh=infinity
	within 12 holds 150 "$pid"
	assert_untouched "$pid" "$2: untouched"
	hold 0
}

# --- what the kernel reports: polling would take an hour ---
start_scope 0 MemoryHigh=100M
systemctl set-property --runtime "$unit" MemoryHigh=infinity
as_before 150
systemctl set-property --runtime "$unit" MemoryHigh=100M
start_guard high "$pid" --when event:high --interval 1h --json
hold 60
is "$(wc -l <"$T/high.out")" 0 'event:high: nothing before it'
slowed high event:high high
is "$(jq .limit_bytes "$T/fired")" $((100 << 20)) 'event:high: memory.high is the limit'
ok 'event:high: its memory is read then' test "$(jq .rss_bytes "$T/fired")" -gt $((60 << 20))
end_guard high
feature 'guard, event:high'

systemctl set-property --runtime "$unit" MemoryHigh=100M
start_guard psi "$pid" --when 'psi>100ms/1s' --interval 1h --json
hold 60
is "$(wc -l <"$T/psi.out")$(<"$T/psi.err")" '0guarding 1 process' 'psi: nothing before there is pressure, and no error'
slowed psi 'psi>100ms/1s' psi
end_guard psi
feature 'guard, pressure'

systemctl set-property --runtime "$unit" MemoryHigh=infinity MemoryMax=320M MemorySwapMax=0
# There must be room for a thread of ours.
hold 265
hold 0
snapshot "$pid"
start_guard cgroup "$pid" --when 'cgroup>85%' --json
hold 150
looks
is "$(wc -l <"$T/cgroup.out")" 0 'cgroup: nothing before it'
hold 265
fires cgroup 'cgroup>85%' cgroup
is "$(jq .limit_bytes "$T/fired")" $((320 << 20)) 'cgroup: memory.max is the limit'
end_guard cgroup
assert_untouched "$pid" 'cgroup: untouched'
feature 'guard, a part of the limit'
stop_target "$pid"

# --- the OOM killer ---
killed_by_kernel()
{
	dmesg | grep -q "Memory cgroup out of memory: Killed process $1 "
}
# grows_until_killed NAME: grow until the kernel has ended it
grows_until_killed()
{
	let_hold 4000
	{ wait "$pid"; } 2>/dev/null
	is "$?" 137 "$1: it is killed"
	ok "$1: by the kernel" killed_by_kernel "$pid"
}
start_scope 20 MemoryMax=256M MemorySwapMax=0
start_guard oom --comm grower --when 'rss>60%' --json
grows_until_killed 'OOM'
fires oom 'rss>60%' rss
end_guard oom
start_scope 20 MemoryMax=256M MemorySwapMax=0
grows_until_killed 'OOM, control: without a guard'
feature 'guard, before the OOM killer'

done_testing
