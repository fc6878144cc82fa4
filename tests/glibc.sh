# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Compares the installed C library with what jeprof-ctl hard-codes about it, on this machine and in
# virtual ones. Sourced by tests/matrix/glibc.t and tests/vm/15-glibc.t.

births()
{
	timeout -k 5 $((60 * SLOW)) "$VICTIMS/births" "$@" >"$T/births"
}

# holds_locks PROGRAM [ARGUMENTS...]: run it, and leave the places where it holds locks in
# $T/PROGRAM
holds_locks()
{
	timeout -k 5 $((100 * SLOW)) "$VICTIMS/$1" "${@:2}" >"$T/$1" 2>"$T/$1.err"
}

# assert_holders NAME PROGRAM [ARGUMENTS...]: no lock may be held at an unknown place
assert_holders()
{
	local name=$1

	shift
	ok "$name: functions that take locks are run" holds_locks "$@" || diag "$(<"$T/$1.err")"
	is "$(grep UNKNOWN "$T/$1")" '' "$name: every place that holds a lock we need is known"
	# Control: such places are found.
	is "$(grep -Ec '^known .* [1-9][0-9]* with a lock' "$T/$1" | awk '{ print ($1 >= 25) }')" 1 "$name: control: many places hold a lock" ||
		diag "$(<"$T/$1")"
}

# Functions that are not in every release, or are internal and have names only in static programs.
elsewhere='_Fork|_dl_find_object|execveat|mallinfo2|__libc_dlopen_mode|__libc_dlsym|__nptl_deallocate_tsd|cfree'
elsewhere+='|atexit|at_quick_exit|__tls_get_addr|dl(addr1?|close|error|info|mopen|open|sym|vsym)|forkpty|__default_morecore'
elsewhere+='|__(nptl_)?deallocate_stack|_mid_memalign|__malloc_info|__libc_[mc]alloc2|thrd_.*|pthread_clockjoin_np'

test_glibc()
{
	ok 'threads are created, and traced' births
	is "$(grep -c 'made: system call 60 ' "$T/births")" 3 'three threads exit'
	is "$(grep -Ec 'maker: system call (56|435) ' "$T/births")" 3 'three threads are created'
	is "$(grep UNKNOWN "$T/births")" '' 'no unknown system call, no unknown layout'
	like "$(<"$T/births")" 'known pthread_attr_t: .*known struct pthread: .*known cancellation: .*known signals: ' \
		'the layouts were checked'
	assert_holders locks holders
	is "$(sed -n 's/^absent: //p' "$T/holders" | grep -Evx "$elsewhere")" '' 'every known function exists'
	diag "$(getconf GNU_LIBC_VERSION)"

	# Controls: deviations are detected.
	births extra
	like "$(<"$T/births")" 'UNKNOWN made: system call 102 ' 'control: an unknown system call is reported'
	like "$(<"$T/births")" 'UNKNOWN cancellation: ' 'control: a field at another offset is reported'
	holds_locks holders -pthread_create
	like "$(<"$T/holders")" 'UNKNOWN a call of pthread_create' 'control: a function that is not on the list is reported'
}
