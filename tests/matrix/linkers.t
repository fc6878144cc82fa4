#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What linkers, LTO and strip(1) do to a program that contains jemalloc: each result must work, or
# be refused for a reason that is listed here. Prints a table. By default, tests a selection of
# combinations in which every relevant pair of values occurs; with CELLS=all, tests all combinations
# in random order, which takes hours; with CELLS=N, tests N of these. TABLE=FILE receives the rows
# as they come.
#
# Not tested: jemalloc 4.5.0 and 5.1.0, which no Debian suite has as a source or a package.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
unset MALLOC_CONF
# shellcheck source=tests/watching.sh
. tests/watching.sh

# The reasons why something is not available, in jeprof-ctl's words. The second: LTO merged
# malloc_stats_print with its only caller, or no symbol says where it is.
known_reasons=(
	"this needs a helper thread, and no pthread_create was found"
	'malloc_stats_print (is not to be found|was not found)'
)
interface=(malloc calloc realloc free aligned_alloc posix_memalign memalign valloc malloc_usable_size
	mallctl mallctlbymib mallctlnametomib malloc_stats_print malloc_conf malloc_message malloc_conf_2_conf_harder
	mallocx rallocx xallocx sallocx dallocx sdallocx nallocx)
declare -A prefix_of=([none]='' [je]=je_ [rjem]=_rjem_ [app]=app_)

# archive_of WHICH PREFIX: print Debian's archive with its functions renamed (debian-5.2.1,
# debian-5.3.0, debian-5.3.1), or one of tests/make-jemalloc, which have prefixes of their own
archive_of()
{
	local lib s rename=() out=$T/$1-$2.a

	lib=/usr/lib/$(cc -print-multiarch)
	case $1 in
	debian-5.2.1) lib=$(tests/make-root bullseye)$lib ;;
	debian-5.3.1) lib=$(tests/make-root sid-rust)$lib ;;
	debian-*) ;;
	*) tests/make-jemalloc "${1%-*}" "${1#*-}" && return ;;
	esac
	if [ ! -e "$out" ]; then
		for s in "${interface[@]}"; do
			rename+=(--redefine-sym "$s=${prefix_of[$2]}$s")
		done
		# It has the C library's own names only together with its malloc().
		[ "$2" = none ] || for s in malloc calloc realloc free memalign valloc; do
			rename+=(--redefine-sym "__libc_$s=${prefix_of[$2]}__libc_$s")
		done
		objcopy "${rename[@]}" "$lib/libjemalloc_pic.a" "$out"
	fi
	echo "$out"
}

cat >"$T/more.cc" <<'CC'
#include <string>
#include <vector>
static std::vector<std::string> kept(1000, "a text that is too long to lie in the object itself");
CC

cat >"$T/app.rs" <<'RUST'
use std::alloc::{GlobalAlloc, Layout};
use std::os::raw::{c_int, c_void};
extern "C" {
    #[link_name = "PREFIXmallocx"]
    fn mallocx(size: usize, flags: c_int) -> *mut c_void;
    #[link_name = "PREFIXsdallocx"]
    fn sdallocx(at: *mut c_void, size: usize, flags: c_int);
    #[link_name = "PREFIXmallctl"]
    fn mallctl(name: *const u8, old: *mut c_void, len: *mut usize, new: *mut c_void, size: usize) -> c_int;
}
struct Jemalloc;
unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        mallocx(l.size(), l.align().trailing_zeros() as c_int) as *mut u8
    }
    unsafe fn dealloc(&self, at: *mut u8, l: Layout) {
        sdallocx(at as *mut c_void, l.size(), l.align().trailing_zeros() as c_int)
    }
}
#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;
fn work() {
    let mut kept = Vec::new();
    loop {
        if kept.len() < 4096 {
            kept.push(vec![1u8; 777]);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
fn main() {
    unsafe { mallctl(b"no.such.name\0".as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut(), 0) };
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(work)).collect();
    println!("ready");
    for t in threads {
        t.join().unwrap();
    }
}
RUST

# link OUT ARCHIVE PREFIX LINKER LINKAGE LANGUAGE FLAGS: return 1 if that cannot be linked; leave
# the messages in $T/link.log
link()
{
	local out=$1 archive=$2 prefix=$3 linker=$4 linkage=$5 language=$6 flags=$7
	local s words=() compiler=gcc arg more=() rustc=(rustc)

	read -ra words <<<"$flags"
	case $archive in *thin* | *sections*) compiler=clang ;; esac
	[ "$language" != C++ ] || compiler=${compiler/gcc/g++} compiler=${compiler/%clang/clang++}
	if [[ $language == Rust* ]]; then
		sed "s/PREFIX/$prefix/" "$T/app.rs" >"$T/$prefix.rs"
		[ "$linker" = default ] || words+=("-fuse-ld=$linker")
		[ "$language" = Rust ] || rustc=("${wrap[@]}" rustc -C linker=x86_64-linux-gnu-gcc)
		for arg in "$archive" "${words[@]}" -lstdc++ -lm -lc; do
			set -- "$@" -C "link-arg=${arg/#$T/$there}"
		done
		"${rustc[@]}" -g -O -o "${out/#$T/$there}" "$there/$prefix.rs" --crate-name app "${@:8}" >"$T/link.log" 2>&1
		return
	fi
	[ -z "$prefix" ] || for s in malloc calloc realloc free; do
		words+=("-D$s=$prefix$s")
	done
	for s in idle victim; do
		"${compiler/++/cc}" -std=gnu17 -O2 -g -fPIC -pthread -I. -D_GNU_SOURCE= "${words[@]}" -DCONF_NAME='"IN_ALL"' \
			-c -o "$T/$s.o" "tests/target/$s.c" >"$T/link.log" 2>&1 || return 1
	done
	if [ "$language" = C++ ]; then
		g++ -O2 -g -fPIC -c -o "$T/more.o" "$T/more.cc" || return 1
		more=("$T/more.o")
	fi
	"$compiler" -pthread "${words[@]}" "-$linkage" "-fuse-ld=$linker" -o "$out" "$T/idle.o" "$T/victim.o" \
		"${more[@]}" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive \
		-lm -ldl -lstdc++ >"$T/link.log" 2>&1
}

# add_row END: complete `row`, so that all rows have as many columns
add_row()
{
	row=$(sed -E 's/^(([^|]*\|){15}).*/\1/' <<<"$row$1 | | | | |")
	table+=("$row")
	[ -z "${TABLE:-}" ] || echo "$row" >>"$TABLE"
}

# began OUT LANGUAGE CONF: set `pid`; return 1 if the program ended by itself
began()
{
	# glibc's malloc, if it is not the program's, would reserve an arena for each borrowed
	# thread.
	local conf=(MALLOC_CONF="$3" JE_MALLOC_CONF="$3" _RJEM_MALLOC_CONF="$3" APP_MALLOC_CONF="$3" MALLOC_ARENA_MAX=1)

	if [[ $2 == Rust* ]]; then
		env "${conf[@]}" "${wrap[@]}" "${1/#$T/$there}" >"$T/said" 2>&1 &
		pid=$!
		own "$pid"
		within 60 grep -q ready "$T/said"
		return
	fi
	: >"$T/board"
	env "${conf[@]}" "$1" "$T/board" 3 >>"$T/victims.log" 2>&1 &
	pid=$!
	own "$pid"
	tests/drivers/photo ready "$T/board" "$pid" >/dev/null 2>&1 || return 1
	ln -f "$T/board" "$T/board.$pid"
}

# step NAME ARGUMENTS...: add the result to `row`; a refusal must have a known reason
step()
{
	local name=$1 reason

	shift
	run_ctl "$@"
	if [ "$status" -eq 0 ]; then
		row+=" | yes"
		return 0
	fi
	for reason in "${known_reasons[@]}"; do
		if [[ $err =~ $reason ]]; then
			row+=" | refused: ${BASH_REMATCH[0]}"
			return 1
		fi
	done
	row+=" | FAILED"
	result 1 "$cell: $name" || diag "jeprof-ctl $*: exit $status"$'\n'"$err"
	return 1
}

# cell ARCHIVE PREFIX LINKER LINKAGE SYMBOLS LANGUAGE FLAGS: test a combination; LANGUAGE is C, C++,
# Rust, or Rust-sid, which is built by Debian's newest compiler, and runs there
cell()
{
	local archive file prefix=${prefix_of[$2]} before=$failures found event options=$PROF wrap=() there=$T

	[ "$6" != Rust-sid ] || { enter_root sid-rust && there=/mnt; }

	cell="$1 $2 $3 $4 $5 $6${7:+ $7}"
	row="| $1 | ${prefix:-none} | $3 | $4 | $5 | $6 | ${7:-}"
	file=$T/cell
	archive=$(archive_of "$1" "$2") || bail_out "there is no $1"
	if ! link "$file" "$archive" "$prefix" "$3" "$4" "$6" "$7"; then
		[[ $3-$4 == gold-static-pie ]] || result 1 "$cell: is built" || diag "$(tail -n 5 "$T/link.log")"
		add_row " | not built | | | | | | |"
		return
	fi
	event=$(tests/drivers/probed.py "$file")
	case $5 in
	debug) strip -g "$file" ;;
	part) strip -x "$file" ;;
	none) strip "$file" ;;
	esac
	# A probe at a wrong place would kill the process. LTO may have left no place.
	found=$("$ROOT/build/tests/drivers/events" "$file" | cut -d' ' -f2)
	[[ $found == "$event" || $found == - ]] ||
		result 1 "$cell: te_event_trigger" || diag "$found, and nm says: $event"
	# A static program that uses it as malloc() ends at its start: see doc/linkers.md.
	[[ $4 != static* || -n $prefix ]] || options=prof:false
	if ! began "$file" "$6" "$options"; then
		result 1 "$cell: runs"
		add_row " | ended by itself | | | | | | |"
		return
	fi
	row+=" | yes"
	[[ $6 == Rust* ]] || snapshot "$pid"
	if step status status "$pid" --json; then
		found=$(json '[.linkage, .jemalloc.found_by] | join(", by ")')
		row=${row%yes}$found
		[ "$options" != "$PROF" ] || steps
	fi
	[[ $6 == Rust* ]] || assert_untouched "$pid" "$cell: untouched"
	stop_target "$pid"
	[ "$failures" -ne "$before" ] || result 0 "$cell"
	add_row " |"
}

has_event()
{
	jq -e 'select(.file | endswith(".heap") or startswith("/proc/thread-self/"))' "$T/cell.events"
}

steps()
{
	step activate activate "$pid" --json
	rm -f "$T"/cell.{events,talk,heap} "$T/in.heap"
	start_watch cell "$pid"
	step dump dump "$pid" --force -o "$T/cell.heap" || {
		row+=', '
		run_ctl dump "$pid" --force --in-target "$T/in.heap"
		[ "$status" -eq 0 ] || result 1 "$cell: dump --in-target" || diag "$err"
		row+="--in-target: $([ "$status" -eq 0 ] && echo yes || echo FAILED)"
	}
	step threads threads "$pid"
	step stats stats "$pid" -f json
	within 60 has_event
	end_child "$watcher" -INT
	wait "$watcher" || result 1 "$cell: the watch ends"
	row+=" | $(jq -r 'select(.pid) | .source + " " + .kind' "$T/cell.events" | sort -u | paste -sd ,)"
	has_event >/dev/null || result 1 "$cell: watch sees the dump"
	run_ctl deactivate "$pid"
	[ "$status" -eq 0 ] || result 1 "$cell: deactivate" || diag "$err"
}

table=('| jemalloc | prefix | linker | linkage | symbols | language | flags | runs | found | activate | dump | threads | stats | watch |')
gc='-ffunction-sections -Wl,--gc-sections'
icf="$gc -Wl,--icf=all"

some()
{
	cell debian-5.3.0 rjem lld pie all C ''
	cell debian-5.3.0 je lld static all C ''
	cell debian-5.3.0 app mold static-pie none C ''
	cell debian-5.3.0 rjem bfd static none C "$gc"
	cell debian-5.3.0 rjem gold static debug C ''
	cell debian-5.2.1 je gold pie debug C "$gc"
	cell debian-5.2.1 none mold pie all C++ ''
	cell debian-5.2.1 app lld pie part C++ ''
	cell lto-5.3.0 none bfd pie all C -flto
	cell lto-5.3.0 none gold pie none C -flto
	cell sections-5.3.1 je lld pie all C "$icf"
	cell sections-5.3.1 je gold static part C "$icf"
	cell debian-5.3.0 rjem default pie all Rust ''
	cell debian-5.3.0 none lld pie debug Rust ''
	cell debian-5.3.1 rjem lld pie all Rust-sid ''
}

one()
{
	printf '%q ' cell "$@"
	echo
}

# every: print a line for each combination
every()
{
	local archive prefix linker linkage symbols language flags

	for linker in bfd gold lld mold; do
		for linkage in pie static static-pie; do
			for symbols in all debug part none; do
				for archive in debian-5.2.1 debian-5.3.0; do
					for prefix in none je rjem app; do
						one "$archive" "$prefix" "$linker" "$linkage" "$symbols" C ''
					done
					one "$archive" none "$linker" "$linkage" "$symbols" C++ "$gc"
				done
				for archive in plain-5.3.0 plain-5.3.1; do
					one "$archive" rjem "$linker" "$linkage" "$symbols" C ''
				done
				for archive in sections-5.3.0 sections-5.3.1; do
					one "$archive" je "$linker" "$linkage" "$symbols" C "$gc"
					[ "$linker" = bfd ] || one "$archive" je "$linker" "$linkage" "$symbols" C "$icf"
				done
				for archive in 5.3.0 5.3.1; do
					# Neither compiler reads what the other one leaves for LTO.
					[ "$linker" = lld ] || one "lto-$archive" none "$linker" "$linkage" "$symbols" C -flto
					[ "$linker" != lld ] || one "thin-$archive" app "$linker" "$linkage" "$symbols" C -flto=thin
				done
			done
		done
		for symbols in all debug part none; do
			for prefix in none je rjem app; do
				one debian-5.3.0 "$prefix" "$linker" pie "$symbols" Rust ''
			done
		done
	done
	for symbols in all debug part none; do
		for linker in default lld; do
			for prefix in none je rjem app; do
				one debian-5.3.1 "$prefix" "$linker" pie "$symbols" Rust-sid ''
			done
		done
	done
}

if [ -n "${CELL:-}" ]; then
	eval "cell $CELL" # a single combination, to look at
elif [ -n "${CELLS:-}" ]; then
	[ "$CELLS" != all ] || CELLS=9999
	every | shuf -n "$CELLS" >"$T/cells"
	while read -r line <&9; do
		eval "$line"
	done 9<"$T/cells"
else
	some
fi
diag "$(printf '%s\n' "${table[@]}")"
done_testing
