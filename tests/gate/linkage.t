#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All ways in which jemalloc is linked into a program, and all prefixes of its functions.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# works NAME LINKAGE PREFIX: test the main commands on the victim just started
works()
{
	local name=$1 linkage=$2 prefix=$3

	snapshot "$pid"
	ctl_ok "$name: status" status "$pid" --json
	is "$(jq -r '[.. | objects | .linkage? // empty][0]' "$T/out")" "$linkage" "$name: linkage"
	is "$(jq -r '[.. | objects | .prefix? | strings][0]' "$T/out")" "$prefix" "$name: prefix"
	ctl_ok "$name: check" check "$pid"
	ctl_ok "$name: activate" activate "$pid" --json
	is "$(json .changed)" true "$name: changed"
	ctl_ok "$name: dump" dump "$pid" -o "$T/$name.heap"
	ok "$name: a profile" is_profile "$T/$name.heap"
	ok "$name: with stacks" comes_to_have_stacks "$T/$name.heap"
	ctl_ok "$name: deactivate" deactivate "$pid" --json
	is "$(json .changed)" true "$name: changed back"
	ctl_ok "$name: stats" stats "$pid" -f json
	like "$(json .jemalloc.version)" '^5\.' "$name: stats prints jemalloc's document"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}

# libjemalloc_pic.a reads MALLOC_CONF, whatever the prefix of its functions.
export MALLOC_CONF=$PROF
start_victim idle 3
works dynamic shared ''
start_victim busy 2
works busy shared ''
wrap=(env LD_PRELOAD=libjemalloc.so.2)
start_victim idle-plain 3
wrap=()
works preload preload ''
start_victim idle-je 3
works je static je_
start_victim busy-je 2
works busy-je static je_
start_victim idle-rjem 3
works rjem static _rjem_
start_victim busy-rjem 2
works busy-rjem static _rjem_

# A function of the program has such a name, too.
mkfifo "$T/orders"
start_victim dumper-je "$T/orders"
like "$(nm "$VICTIMS/dumper-je")" ' t find_mallctl' 'a function with a similar name: it exists'
snapshot "$pid"
ctl_ok 'a function with a similar name: status' status "$pid" --json
is "$(jq -r '[.. | objects | .prefix? | strings][0]' "$T/out")" je_ 'a function with a similar name: not mistaken for mallctl'
assert_untouched "$pid" 'a function with a similar name: untouched'
stop_target "$pid"

# The program's file is deleted, but its image can still be read.
cp "$VICTIMS/idle-rjem" "$T/gone"
start_victim "$T/gone" 2
rm "$T/gone"
works deleted static _rjem_

# A static program can only be inspected here: with prof:true, jemalloc's unwinder cannot work so
# early, and ends the program.
MALLOC_CONF='' start_victim idle-static
snapshot "$pid"
ctl_ok 'static: list' list --json
is "$(jq -r --argjson p "$pid" '.. | objects | select(.pid? == $p) | .linkage' "$T/out")" static 'static: linkage'
run_ctl status "$pid"
like "$status" '^[08]$' 'static: status works, or reports no safe moment' || diag "$err"
assert_untouched "$pid" 'static: untouched'

done_testing
