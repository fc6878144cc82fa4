#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A Rust program with jemalloc as its allocator: names as in the source, in both encodings of the
# compiler, and the functions that allocate, not those of the library in between.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

export MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:8

cat >"$T/app.rs" <<'RUST'
use std::alloc::{GlobalAlloc, Layout};
use std::os::raw::{c_int, c_void};

#[link(name = "jemalloc")]
extern "C" {
    fn mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn sdallocx(at: *mut c_void, size: usize, flags: c_int);
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

mod store {
    pub struct Shelf<T> {
        pub all: Vec<Box<T>>,
    }
    impl<T: Clone> Shelf<T> {
        #[inline(always)]
        fn copy(&self, t: &T) -> Box<T> {
            Box::new(t.clone())
        }
        #[inline(never)]
        pub fn add(&mut self, t: &T) {
            let new = self.copy(t);
            self.all.push(new);
        }
    }
}
trait Grow {
    fn grow(&self) -> Vec<u8>;
}
impl Grow for store::Shelf<[u64; 40]> {
    #[inline(never)]
    fn grow(&self) -> Vec<u8> {
        vec![1; 3000]
    }
}
fn main() {
    let mut s = store::Shelf { all: Vec::new() };
    for i in 0..500u64 {
        s.add(&[i; 40]);
    }
    let kept: Vec<_> = (0..200).map(|_| s.grow()).collect();
    println!("ready {}", kept.len());
    loop {
        std::thread::park();
    }
}
RUST

# line_of TEXT: print its line in app.rs
line_of()
{
	grep -nF "$1" "$T/app.rs" | head -n 1 | cut -d: -f1
}

# stacks FILE: print a JSON profile, one stack per line, innermost first: name@line > name@line >
stacks()
{
	jq -r '.functions as $f | .stacks[] | [.frames[] | $f[.[0]].name + "@" +
		(if ($f[.[0]].file // "" | endswith("/app.rs")) then .[1] | tostring else "" end) + " > "] | add' "$1"
}

# profiled ENCODING SHELF CLOSURE: check the names of the methods of a Shelf and a closure of main
profiled()
{
	local encoding=$1 shelf=$2 closure=$3 at

	# A compiler whose default is one of them has the other only as an unstable option.
	RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -C "symbol-mangling-version=$encoding" -C opt-level=2 -g \
		-o "$T/app" "$T/app.rs" 2>"$T/rustc" || bail_out "rustc: $(<"$T/rustc")"
	"$T/app" >"$T/said" 2>&1 &
	pid=$!
	own "$pid"
	within 60 grep -q ready "$T/said" || bail_out "the program did not start: $(<"$T/said")"
	snapshot "$pid"
	ctl_ok "$encoding: dump" dump "$pid" --force -o "$T/app.heap"
	assert_untouched "$pid" "$encoding: untouched"
	ctl_ok "$encoding: report -f json" report --no-cache -f json --force -o "$T/app.json" "$T/app.heap"
	stacks "$T/app.json" >"$T/stacks"
	at=$(line_of 'Box::new(t.clone())')
	ok "$encoding: a method, another inlined into it, and their lines" \
		grep -qF " > $shelf::copy@$at > $shelf::add@$(line_of 'self.copy(t)') > app::main@$(line_of 's.add(')" "$T/stacks"
	ok "$encoding: a trait's method, called by a closure" \
		grep -qF " > <app::store::Shelf<[u64; 40]> as app::Grow>::grow@$(line_of 'vec![1; 3000]') > $closure@$(line_of 's.grow()')" "$T/stacks"
	ok "$encoding: the same name as from nm" \
		grep -qF "$shelf::add" <(nm -C "$T/app")
	# The innermost call of each stack that has one of the two.
	is "$(grep -E '::(add|grow)@' "$T/stacks" | grep -cE '^(__rust|alloc::alloc::|<alloc::alloc::|[^@]*GlobalAlloc>)')" 0 \
		"$encoding: and not the allocator's interface"
	ctl_ok "$encoding: report" report --no-cache --cum -n 0 "$T/app.heap"
	ok "$encoding: report has the name" grep -qE "(^| )$(printf '%s' "$shelf::add" | sed 's/[][]/\\&/g')\$" "$T/out"
	# All of it is growth, compared with an empty profile.
	sed -E '/^MAPPED_LIBRARIES/,$b; /^@/d; /^  t[0-9]/d; s/^(  t\*: ).*/\10: 0 [0: 0]/' "$T/app.heap" >"$T/none.heap"
	ctl_ok "$encoding: diff" diff -q "$T/none.heap" "$T/app.heap"
	ok "$encoding: diff names the program's own call behind those of the library" \
		grep -qF " < ... < <app::store::Shelf<[u64; 40]> as app::Grow>::grow (app.rs:$(line_of 'vec![1; 3000]')) < " "$T/out"
	stop_target "$pid"
}

profiled legacy 'app::store::Shelf<T>' 'app::main::{{closure}}'
profiled v0 '<app::store::Shelf<[u64; 40]>>' 'app::main::{closure#0}'

done_testing
