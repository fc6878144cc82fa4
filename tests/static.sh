# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Statically linked C programs. Sourced after tests/lib.sh.

gcc_dir=$(dirname "$(cc -print-file-name=libgcc_eh.a)")

# prefixed ARCHIVE: make $T/libje.a from it, with all its public names prefixed by je_
prefixed()
{
	nm -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 && $3 !~ /^je_/ { print $3, "je_" $3 }' | sort -u >"$T/names"
	objcopy --redefine-syms="$T/names" "$1" "$T/libje.a"
}

# build_static ROOT OUT FLAGS...: build the victim idle with the libraries of that root directory
# ("" for our own)
build_static()
{
	local root=$1 lib=$1/usr/lib/x86_64-linux-gnu out=$2

	shift 2
	prefixed "$lib/libjemalloc_pic.a"
	cc -std=gnu17 -O2 -pthread -I. -D_GNU_SOURCE= -DCONF_NAME='"JE_MALLOC_CONF"' -Dmalloc=je_malloc \
		-Dcalloc=je_calloc -Drealloc=je_realloc -Dfree=je_free ${root:+"--sysroot=$root"} \
		-static -nostdlib -o "$out" "$@" "$lib"/crt1.o "$lib"/crti.o "$gcc_dir"/crtbeginT.o \
		tests/target/idle.c tests/target/victim.c "$T/libje.a" -L"$lib" -Wl,--start-group \
		-lgcc -lgcc_eh "$lib"/libpthread.a "$lib"/libm.a "$lib"/libdl.a "$lib"/libc.a -Wl,--end-group \
		"$gcc_dir"/crtend.o "$lib"/crtn.o 2>"$T/cc.log" || bail_out "cannot link: $(<"$T/cc.log")"
}

# works NAME MODE: test the main commands. MODE is `thread` for all of it, `inline` for what works
# without symbols.
works()
{
	# glibc's malloc, which the program does not use, would reserve an arena for each borrowed
	# thread.
	MALLOC_ARENA_MAX=1 start_victim "$T/static" 3
	snapshot "$pid"
	ctl_ok "$1: activate" activate "$pid" --json
	is "$(json .changed)" true "$1: changed"
	ctl_ok "$1: status" status "$pid" --json
	is "$(json .mode)" inline "$1: short calls are made in a borrowed thread"
	if [ "$2" = thread ]; then
		ctl_ok "$1: dump" dump "$pid" -o "$T/here.heap" --force
		ok "$1: dump returns a profile" is_profile "$T/here.heap"
		ctl_ok "$1: stats" stats "$pid" -f json
		like "$(json .jemalloc.version)" '^5\.' "$1: stats prints jemalloc's document"
	else
		ctl_fails 1 needs_pthread_create "$1: dump is refused" dump "$pid" -o "$T/here.heap" --force
		ctl_fails 1 needs_pthread_create "$1: stats is refused, too" stats "$pid"
	fi
	ctl_ok "$1: dump --in-target" dump "$pid" --in-target "$T/in.heap" --force
	ok "$1: a profile" is_profile "$T/in.heap"
	ctl_ok "$1: threads" threads "$pid"
	ctl_ok "$1: get" get "$pid" opt.prof
	ctl_ok "$1: deactivate" deactivate "$pid"
	assert_untouched "$pid" "$1: untouched"
	stop_target "$pid"
	rm -f "$T"/{in,here}.heap
}
