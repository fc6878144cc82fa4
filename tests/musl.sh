# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Victims with musl as the C library, and with each kind of jemalloc: shared, static, static-pie;
# it is 5.3.0, or `musl_version`. They are built from the same sources as the others, in $T/musl.
# Sourced by some tests of the matrix and the long tier.

musl=$T/musl
mkdir -p "$musl"
MUSL_JEMALLOC=$(tests/make-jemalloc musl "${musl_version:-5.3.0}") || bail_out 'there is no jemalloc for musl'
musl_include=/usr/include/$(cc -print-multiarch)
musl_lib=/usr/lib/x86_64-linux-musl
musl_flags=(-std=gnu17 -O2 -g -pthread -iquote . -D_GNU_SOURCE= -idirafter "$musl_include" -idirafter /usr/include
	-include tests/target/musl_compat.h)
# libgcc's unwinder, which jemalloc uses, refers to these weakly.
musl_link=("-Wl,--eh-frame-hdr" "-Wl,-u,pthread_once" "-Wl,-u,pthread_getspecific" "-Wl,-u,pthread_setspecific"
	"-Wl,-u,pthread_key_create")
musl_whole=("-Wl,--whole-archive" "$MUSL_JEMALLOC" "-Wl,--no-whole-archive")

musl-gcc -shared "${musl_link[@]}" -o "$musl/libjemalloc.so.2" -Wl,-soname,libjemalloc.so.2 "${musl_whole[@]}" ||
	bail_out 'cannot link jemalloc for musl'
ln -s libjemalloc.so.2 "$musl/libjemalloc.so"

# musl_sources NAME: set $sources
musl_sources()
{
	case $1 in
	calls) sources=(calls.c calls_files.c calls_sockets.c calls_waits.c calls_others.c) ;;
	*) sources=("$1.c") ;;
	esac
	sources+=(victim.c musl_compat.c)
	sources=("${sources[@]/#/tests/target/}")
}

# build_musl NAME [LIBRARIES...]: build $musl/NAME with the shared jemalloc
build_musl()
{
	local sources

	musl_sources "$1"
	musl-gcc "${musl_flags[@]}" "${musl_link[@]}" -o "$musl/$1" "${sources[@]}" "${@:2}" -L"$musl" \
		-Wl,--no-as-needed -ljemalloc -Wl,-rpath,"$musl" || bail_out "cannot build $1 for musl"
}

# build_musl_static NAME AS [FLAGS...]: build $musl/AS, and stripped as $musl/AS.stripped
build_musl_static()
{
	local sources

	musl_sources "$1"
	musl-gcc "${musl_flags[@]}" "${musl_link[@]}" -static -o "$musl/$2" "${sources[@]}" "${@:3}" "${musl_whole[@]}" ||
		bail_out "cannot build $2 for musl"
	strip -s -o "$musl/$2.stripped" "$musl/$2"
}

# build_musl_static_pie NAME AS [FLAGS...]: likewise. Debian's musl-gcc does not support it.
build_musl_static_pie()
{
	local sources objects=() s gcc

	gcc=$(dirname "$(cc -print-libgcc-file-name)")
	musl_sources "$1"
	for s in "${sources[@]}"; do
		objects+=("$musl/${s##*/}.o")
		musl-gcc "${musl_flags[@]}" -fPIE -c -o "$musl/${s##*/}.o" "$s" || bail_out "cannot compile $s for musl"
	done
	cc -nostdlib -static-pie "${musl_link[@]}" -Wl,--no-dynamic-linker,-z,text -o "$musl/$2" "$musl_lib/rcrt1.o" \
		"$musl_lib/crti.o" "$gcc/crtbeginS.o" "${objects[@]}" "${@:3}" "${musl_whole[@]}" -L"$musl_lib" \
		-Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group "$gcc/crtendS.o" "$musl_lib/crtn.o" ||
		bail_out "cannot build $2 for musl"
	strip -s -o "$musl/$2.stripped" "$musl/$2"
}
