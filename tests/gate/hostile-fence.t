#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets behind their own seccomp filters: in every mode, the tracer is under its own filter before
# it attaches to anything; and theirs remain in force, even in the calls that are made for us.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=$PROF

# traced MODE: run jeprof-ctl, and leave the calls of its processes in $T/calls: NUMBER PID CALL(...
traced()
{
	# LeakSanitizer cannot work under another tracer.
	ASAN_OPTIONS=detect_leaks=0 strace -f -y -qq -o "$T/cut" "$CTL" "${patient[@]}" --mode "$1" get "$pid" version >"$T/out" 2>&1 || diag "$(<"$T/out")"
	tests/drivers/whole_calls.py "$T/cut" >"$T/trace"
	awk '{ print NR, $1, $2 }' "$T/trace" >"$T/calls"
}

# first PID REGEX: print the number of its first such call
first()
{
	awk -v pid="$1" -v regex="^($2)\\\\(" '$2 == pid && $3 ~ regex { print $1; exit }' "$T/calls"
}

# attaching: print the processes that attach: the one that changes registers, and the one before it
attaching()
{
	awk '/ ptrace\(PTRACE_SEIZE/ { print $1 }' "$T/trace" | uniq | sort -u
}

for fence in mkdir-errno clone3-nosys none; do
	wrap=("$VICTIMS/fenced" "$fence")
	[ "$fence" != none ] || wrap=()
	start_victim idle
	wrap=()
	snapshot "$pid"
	for mode in thread inline; do
		traced "$mode"
		name="$fence, $mode mode"
		tracers=
		readers=
		for p in $(attaching); do
			if grep -q "^$p .*PTRACE_SETREGSET.*NT_X86_XSTATE" "$T/trace"; then
				tracers+="$p "
			else
				readers+="$p "
			fi
		done
		ok "$name: there is a tracer" test -n "$tracers"
		for p in $tracers; do
			fenced=$(awk -v pid="$p" '$1 == pid && /seccomp\(SECCOMP_SET_MODE_FILTER/ { print NR; exit }' "$T/trace")
			ok "$name: it is under a filter before it attaches" test "${fenced:-999999}" -lt "$(first "$p" ptrace)"
			is "$(awk -v pid="$p" -v n="${fenced:-0}" '$1 == pid && NR < n && /(pread64\([0-9]+<[^>]*\/mem>|process_vm_readv\()/' "$T/trace" | wc -l)" \
				0 "$name: it reads nothing of the target before that"
			is "$(grep -c "^$p .*PTRACE_SECCOMP_GET_FILTER" "$T/trace")" 0 "$name: it reads no filter itself"
		done
		for p in $readers; do
			is "$(awk -v pid="$p" '$1 == pid && /((pread64|pwrite64)\([0-9]+<[^>]*\/mem>|process_vm_readv\()/' "$T/trace" | wc -l)" \
				0 "$name: the reader of the filters reads no memory"
		done
		[ "$fence" = none ] || ok "$name: the filters are read" grep -q PTRACE_SECCOMP_GET_FILTER "$T/trace"
		is "$(grep -c SUSPEND_SECCOMP "$T/trace")" 0 "$name: no filter is suspended"
	done
	assert_untouched "$pid" "$fence: untouched"
	stop_target "$pid"
done

# --- the program cannot do in our calls what its filter forbids ---
mkdir "$T/escape"
install -m 755 "$VICTIMS/lied-to" "$VICTIMS/escape/libliar.so" "$T/escape/"
export ESCAPE=$T/escaped
for mode in thread inline; do
	wrap=("$VICTIMS/fenced" mkdir-errno)
	start_victim "$T/escape/lied-to"
	wrap=()
	ctl_ok "behind a filter, $mode mode: a call is made" --mode "$mode" get "$pid" version
	ok "behind a filter, $mode mode: the filter still applies" test ! -e "$ESCAPE"
	stop_target "$pid"
	start_victim "$T/escape/lied-to"
	ctl_ok "control: without a filter, $mode mode" --mode "$mode" get "$pid" version
	ok "control: without a filter, $mode mode: the call succeeds" rmdir "$ESCAPE"
	stop_target "$pid"
done

done_testing
