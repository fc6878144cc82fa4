#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Targets whose C library is musl: what is hardcoded about musl matches the installed one, and
# programs that are linked with it in each way work.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/musl.sh
. tests/musl.sh

# --- the C library ------------------------------------------------------------------------

ok 'threads are made, and traced' timeout $((60 * SLOW)) sh -c '"$1" >"$2"' sh "$VICTIMS/births-musl" "$T/births"
is "$(grep -c 'made: system call 60 ' "$T/births") $(grep -c 'maker: system call 56 ' "$T/births")" '3 3' \
	'three of them are made, and end'
is "$(grep UNKNOWN "$T/births")" '' 'no unknown system call or layout'
like "$(<"$T/births")" 'known pthread_attr_t: .*known struct pthread: .*known cancellation: .*known signals: ' \
	'the layouts were checked'
"$VICTIMS/births-musl" extra >"$T/births"
like "$(<"$T/births")" 'UNKNOWN made: system call 102 ' 'control: an unknown system call is reported'
like "$(<"$T/births")" 'UNKNOWN cancellation: ' 'control: a field at another offset is reported'

# holders WHAT [ARGUMENTS...]: run the functions that take locks; leave the verdicts in $T/holders
export HOLDERS_LIBRARY=$T/libempty.so
echo 'int nothing;' | musl-gcc -shared -fPIC -x c -o "$HOLDERS_LIBRARY" -
holders()
{
	timeout $((100 * SLOW)) "$VICTIMS/$1" "${@:2}" >"$T/holders" 2>"$T/holders.err"
}
for which in holders-musl holders-musl-static; do
	ok "$which: functions that take locks are run" holders "$which" || diag "$(<"$T/holders.err")"
	is "$(grep UNKNOWN "$T/holders")" '' "$which: no thread is borrowed while it holds a lock that we need"
	is "$(grep -Ec '^known .* [1-9][0-9]* with a lock' "$T/holders" | awk '{ print ($1 >= 20) }')" 1 \
		"$which: many do hold one" || diag "$(<"$T/holders")"
done
holders holders-musl
is "$(grep '^absent' "$T/holders")" '' 'every known function exists'
holders holders-musl anywhere
like "$(<"$T/holders")" 'UNKNOWN a call of pthread_create' 'control: a thread that may be borrowed in such code is reported'

# --- programs: shared, static and static-pie; with symbols and stripped --------------------

export MALLOC_CONF=$PROF
build_musl idle
build_musl_static idle idle-static -Wl,-u,sigaction
build_musl_static_pie idle idle-static-pie -Wl,-u,sigaction
build_musl_static idle idle-bare
cp "$musl/libjemalloc.so.2" "$T/whole.so"


# answer COMMAND...: print "yes", or the exit status and the reason
answer()
{
	run_ctl "$@"
	[ "$status" -eq 0 ] && echo yes && return
	echo "$status: $(sed -n 's/^jeprof-ctl: //p' <<<"$err" | head -n 1)"
}

# linkage NAME LINKAGE MODE DUMP POKE: test `status`, and the expected answers of a dump and a poke
linkage()
{
	local name=$1

	start_victim "$musl/$name" 2
	snapshot "$pid"
	ctl_ok "$name: list" list --json
	is "$(jq -r --argjson p "$pid" '.[] | select(.pid == $p) | "\(.linkage) \(.version[:5]) \(.config.prof) \(.opt.prof)"' "$T/out")" \
		"$2 5.3.0 true true" "$name: it is listed"
	ctl_ok "$name: status" status "$pid" --json
	is "$(json .mode)" inline "$name: short calls are made in a borrowed thread"
	[ "$3" = inline ] || ctl_ok "$name: a thread can be made" status "$pid" --mode thread
	ctl_ok "$name: activate" activate "$pid"
	ctl_ok "$name: get" get "$pid" prof.active
	is "$out" 'prof.active: true' "$name: it is active"
	like "$(answer dump "$pid" --force -o "$T/$name.heap")" "^$4" "$name: dump"
	[ "$4" != yes ] || ok "$name: a profile comes back" is_profile "$T/$name.heap"
	ctl_ok "$name: dump by itself" dump "$pid" --force --in-target "$T/$name.own.heap"
	ok "$name: a profile is written" is_profile "$T/$name.own.heap"
	run_ctl check "$pid" --json
	is "$status" "$([ "$4" != yes ] && echo 1 || echo 0)" "$name: check says whether all of that works"
	like "$(json '.checks[] | select(.name == "conf.environment") | .detail')" 'MALLOC_CONF is "prof:true' \
		"$name: its environment is read"
	ctl_ok "$name: threads" threads "$pid" --json
	is "$(json '.threads | length')" 2 "$name: threads lists both"
	ctl_ok "$name: inline" deactivate "$pid" --mode inline
	like "$(answer activate "$pid" --mode poke)" "^$5" "$name: poke"
	ctl_ok "$name: deactivate" deactivate "$pid"
	assert_untouched "$pid" "$name: untouched"
	stop_target "$pid"
}

no_thread='1: this needs a helper thread, and no pthread_create was found'
no_proof='8: the address of prof.active in .* is not known for certain'
linkage idle shared thread yes yes
is "$(nm "$musl/idle-static" | grep -c ' getppid$')" 0 'idle-static calls no getppid(2): its thread runs in another function'
linkage idle-static static thread yes yes
linkage idle-static-pie static thread yes yes
linkage idle-static.stripped static inline "$no_thread" "$no_proof"
linkage idle-static-pie.stripped static inline "$no_thread" "$no_proof"
strip -s "$musl/libjemalloc.so.2"
linkage idle shared thread yes yes
# As musl distributions have it: the C library is mapped under the name of its loader.
cp /usr/lib/x86_64-linux-musl/libc.so "$musl/ld-musl-x86_64.so.1"
build_musl idle -Wl,--dynamic-linker="$musl/ld-musl-x86_64.so.1"
linkage idle shared thread yes yes
cp "$T/whole.so" "$musl/libjemalloc.so.2"

# A program without any signal handler linked in cannot return from one.
start_victim "$musl/idle-bare"
snapshot "$pid"
ctl_fails 1 'static_without_restorer poke' 'without signal handlers: refused, with the reason' activate "$pid"
like "$err" 'musl' 'without signal handlers: the library is named'
ctl_ok 'without signal handlers: poke' activate "$pid" --mode poke
assert_untouched "$pid" 'without signal handlers: untouched'
stop_target "$pid"

done_testing
