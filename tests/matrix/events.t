#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# te_event_trigger in files, for a probe: in every version, linkage and build, with symbols and
# without, it is where nm(1) says for the file that was not stripped, or unknown.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

EVENTS=$ROOT/build/tests/drivers/events
lib=/usr/lib/$(cc -print-multiarch)/libjemalloc.so.2

# event_in FILE: print where it would be probed; "-" for nowhere
event_in()
{
	"$EVENTS" "$1" | cut -d' ' -f2
}

# same NAME FILE [STRIPPED]: in both files, it is where nm says. clang's thin LTO leaves too little
# evidence in a program without names: there it may be unknown.
same()
{
	local want found

	want=$(tests/drivers/probed.py "$2")
	like "$want" '^0x[0-9a-f]+$' "$1: nm knows it"
	is "$(event_in "$2")" "$want" "$1: with symbols"
	[ -n "${3:-}" ] || strip -s -o "$T/stripped" "$2"
	found=$(event_in "${3:-$T/stripped}")
	[[ $1 != thin-* || $found != - ]] || found=$want
	is "$found" "$want" "$1: stripped"
}

# build OUT ARCHIVE COMPILER FLAGS...: build the victim idle with all of the archive
build()
{
	local out=$1 archive=$2 compiler=$3

	"$compiler" -std=gnu17 -O2 -g -fPIC -pthread -I. -D_GNU_SOURCE= "${@:4}" -o "$out" tests/target/idle.c \
		tests/target/victim.c -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lm -ldl -lstdc++ \
		>"$T/build.log" 2>&1 || { diag "$(tail -n 5 "$T/build.log")" && return 1; }
}

# each ARCHIVE COMPILER FLAGS...: test it in each linkage
each()
{
	local linkage archive

	archive=$(tests/make-jemalloc "${1%-*}" "${1#*-}") || bail_out "there is no $1"
	for linkage in pie static static-pie shared; do
		ok "$1, $linkage: is built" build "$T/built" "$archive" "$2" "-$linkage" "${@:3}" &&
			same "$1, $linkage" "$T/built"
	done
}

# Debian's builds.
M=$VICTIMS/matrix
for file in "$M"/{pie,static,static-pie}-{none,je,rjem,duckdb} "$M/static-hdr-none"; do
	same "${file##*/}" "$file" "$file.stripped"
done
for file in "$M"/libjemalloc-*.so; do
	same "${file##*/}" "$file" "$M/stripped/${file##*/}"
done
# The code of a shared library does not depend on its symbols: Debian's own equals our copy that has
# them.
is "$(event_in "$lib")" "$(event_in "$M/libjemalloc-none.so")" "Debian's own"
for suite in trixie sid; do
	root=$(tests/make-root "$suite") || bail_out "there is no root directory of Debian $suite"
	ok "$suite: a library" \
		cc -shared -o "$T/twin.so" -Wl,--whole-archive "$root${lib%.so.2}_pic.a" -Wl,--no-whole-archive
	same "$suite: its twin" "$T/twin.so"
	like "$(event_in "$root$lib")" '^0x' "$suite: it is found"
done

# Versions before 5.3.0 have none.
root=$(tests/make-root bullseye) || bail_out 'there is no root directory of Debian bullseye'
is "$(event_in "$root$lib")" - '5.2.1: there is none'

# Our own builds.
for version in 5.3.0 5.3.1; do
	for kind in gcc plain marked; do
		each "$kind-$version" gcc
	done
	each "sections-$version" clang -fuse-ld=lld
	each "thin-$version" clang -fuse-ld=lld -flto=thin
	each "lto-$version" gcc -flto
done

# With marks (-fcf-protection), the probe comes after the mark: on the mark, it would cost a second
# exception.
build "$T/marked" "$(tests/make-jemalloc marked 5.3.0)" gcc -pie
at=$(event_in "$T/marked")
is "$(xxd -s $((at - 4)) -l 4 -p "$T/marked")" f30f1efa 'marked: the mark is before it'

# Two jemallocs in one program: with names, each is found by its own; without, neither is found.
ok 'two: is built' build "$T/two" "$(tests/make-jemalloc plain 5.3.0)" gcc -Wl,--whole-archive \
	"$(tests/make-jemalloc gcc 5.3.1)"
is "$("$EVENTS" "$T/two" | cut -d' ' -f2 | sort)" "$(tests/drivers/probed.py "$T/two" | sort)" 'two: each is found'

done_testing
