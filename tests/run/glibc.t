#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the installed C library does when a thread is made and ends, compared with what jeprof-ctl
# knows of it by hand.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

births()
{
	"$VICTIMS/births" "$@" >"$T/births"
}

ok 'threads are made, and traced' births
is "$(grep -c 'made: system call 60 ' "$T/births")" 3 'three of them end'
is "$(grep -Ec 'maker: system call (56|435) ' "$T/births")" 3 'three of them are made'
is "$(grep UNKNOWN "$T/births")" '' 'no system call and no layout that is not known'
like "$(<"$T/births")" 'known pthread_attr_t: .*known struct pthread: ' 'the layouts were looked at'
diag "$(getconf GNU_LIBC_VERSION)"

# The control: one thing more, and it is seen.
births extra
like "$(<"$T/births")" 'UNKNOWN made: system call 102 ' 'control: a system call that is not known is reported'

done_testing
