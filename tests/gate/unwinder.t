#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The unwinder that takes the stacks of samples: if it may end the program, sampling must be forced.
# tests/matrix/unwinder.t has a jemalloc that really does.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/checking.sh
. tests/checking.sh

# start_liar LIE: start a program with a library in place of jemalloc, which only calls can identify
start_liar()
{
	LIE=$1 start_victim lied-to
	snapshot "$pid"
}

# refused NAME IDS: everything that starts sampling must be refused, with a fix
refused()
{
	ctl_fails 1 "$2" "$1: activate" activate "$pid"
	ctl_fails 1 "$2" "$1: set prof.active true" set "$pid" prof.active true
}

start_liar compiler-unwinds
refused 'the compiler' 'compiler_unwinder other_unwinder_or_force'
checked
row_is unwinder false 'with compiler builtins' 'the compiler' 'prof_libgcc'
is "$status $(json .ready)" '1 false' 'the compiler: not ready'
ctl_ok 'the compiler: activate --force' activate "$pid" --force
assert_untouched "$pid" 'the compiler: untouched'
stop_target "$pid"

start_liar unwinder-unknown
refused 'not known' 'unwinder_not_known see_how_built_or_force'
checked
row_is unwinder false 'how jemalloc unwinds stacks' 'not known' 'activate --force'
is "$status $(json .ready)" '1 false' 'not known: not ready'
ctl_ok 'not known: activate --force' activate "$pid" --force
assert_untouched "$pid" 'not known: untouched'
stop_target "$pid"

# Control: the same library with its own unwinder.
start_liar libunwind-unwinds
ctl_ok 'libunwind: activate' activate "$pid"
checked
row_is unwinder true '^libunwind$' 'libunwind'
assert_untouched "$pid" 'libunwind: untouched'
stop_target "$pid"

# LuaJIT's code makes libgcc's unwinder abort, and no other.
echo 'int nothing;' | cc -shared -fPIC -x c -o "$T/libluajit-5.1.so.2" -
export LD_PRELOAD=$T/libluajit-5.1.so.2
start_liar libunwind-unwinds
ctl_ok 'LuaJIT, libunwind: activate' activate "$pid"
assert_untouched "$pid" 'LuaJIT, libunwind: untouched'
stop_target "$pid"
MALLOC_CONF=$PROF start_victim idle
unset LD_PRELOAD
snapshot "$pid"
refused 'LuaJIT, libgcc' 'luajit_may_abort force_or_libunwind'
ctl_fails 1 'luajit_may_abort force_or_libunwind' 'LuaJIT, libgcc: poke' activate "$pid" --mode poke
ctl_fails 1 'luajit_may_abort force_or_libunwind' 'LuaJIT, libgcc: record' record "$pid" -d 1s -o "$T/never.heap"
ok 'LuaJIT, libgcc: no profile is left' test ! -e "$T/never.heap"
ctl_ok 'LuaJIT, libgcc: deactivate' deactivate "$pid"
checked
row_is unwinder false 'runs LuaJIT' 'LuaJIT, libgcc' 'force'
assert_untouched "$pid" 'LuaJIT, libgcc: untouched'
stop_target "$pid"

# If it is linked into the program, it has no file of that name.
echo 'const char *const lua = "LuaJIT 2.1.0-beta3"; const char *const *lua_at = &lua;' >"$T/lua.c"
cc -std=gnu17 -O2 -pthread -iquote . -D_GNU_SOURCE= -o "$T/idle-lua" tests/target/idle.c tests/target/victim.c "$T/lua.c" \
	-Wl,--no-as-needed -ljemalloc || bail_out 'cannot build a program with LuaJIT in it'
MALLOC_CONF=$PROF start_victim "$T/idle-lua"
snapshot "$pid"
refused 'LuaJIT in the program' 'luajit_may_abort force_or_libunwind'
assert_untouched "$pid" 'LuaJIT in the program: untouched'

done_testing
