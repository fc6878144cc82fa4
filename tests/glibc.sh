# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the installed C library does, compared with what jeprof-ctl knows of it by hand. The same on
# this machine and in the virtual ones: sourced by tests/matrix/glibc.t and tests/vm/15-glibc.t.

births()
{
	timeout -k 5 $((60 * SLOW)) "$VICTIMS/births" "$@" >"$T/births"
}

# holds_locks PROGRAM [ARGUMENTS...]
holds_locks()
{
	timeout -k 5 $((100 * SLOW)) "$VICTIMS/$1" "${@:2}" >"$T/$1" 2>"$T/$1.err"
}

# assert_holders NAME PROGRAM [ARGUMENTS...]: no lock is held where it is not known
assert_holders()
{
	local name=$1

	shift
	ok "$name: functions that take locks are run" holds_locks "$@" || diag "$(<"$T/$1.err")"
	is "$(grep UNKNOWN "$T/$1")" '' "$name: wherever a lock is held that we need, that is known"
	# They are there to be found: the test would notice if it saw none.
	is "$(grep -Ec '^known .* [1-9][0-9]* with a lock' "$T/$1" | awk '{ print ($1 >= 25) }')" 1 "$name: many do hold one" ||
		diag "$(<"$T/$1")"
}

# Not in every release, or inside it and named by a static program alone.
elsewhere='_Fork|_dl_find_object|execveat|mallinfo2|__libc_dlopen_mode|__libc_dlsym|__nptl_deallocate_tsd|cfree'
elsewhere+='|atexit|at_quick_exit|__tls_get_addr|dl(addr1?|close|error|info|mopen|open|sym|vsym)|forkpty|__default_morecore'
elsewhere+='|__(nptl_)?deallocate_stack|_mid_memalign|__malloc_info|__libc_[mc]alloc2|thrd_.*|pthread_clockjoin_np'

test_glibc()
{
	ok 'threads are made, and traced' births
	is "$(grep -c 'made: system call 60 ' "$T/births")" 3 'three of them end'
	is "$(grep -Ec 'maker: system call (56|435) ' "$T/births")" 3 'three of them are made'
	is "$(grep UNKNOWN "$T/births")" '' 'no system call and no layout that is not known'
	like "$(<"$T/births")" 'known pthread_attr_t: .*known struct pthread: .*known cancellation: .*known signals: ' \
		'the layouts were looked at'
	assert_holders locks holders
	is "$(sed -n 's/^absent: //p' "$T/holders" | grep -Evx "$elsewhere")" '' 'every function that is known is there'
	diag "$(getconf GNU_LIBC_VERSION)"

	# The controls: what is known is not so, and it is seen.
	births extra
	like "$(<"$T/births")" 'UNKNOWN made: system call 102 ' 'control: a system call that is not known is reported'
	like "$(<"$T/births")" 'UNKNOWN cancellation: ' 'control: a field that is elsewhere is reported'
	holds_locks holders -pthread_create
	like "$(<"$T/holders")" 'UNKNOWN a call of pthread_create' 'control: a function that is not on the list is reported'
}
