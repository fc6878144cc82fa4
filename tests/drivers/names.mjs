// SPDX-License-Identifier: Apache-2.0
// names.mjs: C++, Rust and C names as the page shortens them (web/name.js); prints a line for each
// that is wrong, for tests/system/html.t.

import { shorten } from '../../web/name.js';

const VECTOR = 'std::vector<a_b, std::allocator<a_b> >::insert(unsigned long)';
const CASES = [
	[VECTOR, 99, VECTOR],
	[VECTOR, 55, 'std::vector<a_b, std::allocator<a_b> >::insert'],
	[VECTOR, 30, 'std::vector::insert'],
	[VECTOR, 15, 'vector::insert'],
	[VECTOR, 6, 'insert'],
	[VECTOR, 5, 'in…rt'],
	[VECTOR, 3, ''],
	['void std::sort<int*, f<x>(y)>(int*, int*)', 20, 'std::sort'],
	['(anonymous namespace)::Foo::bar(int) const', 33, '(anonymous namespace)::Foo::bar'],
	['(anonymous namespace)::Foo::bar(int) const', 12, 'Foo::bar'],
	['bool ns::operator< <int>(a const&, b)', 14, 'ns::operator<'],
	['std::operator<< <std::traits>(std::ostream&)', 20, 'std::operator<<'],
	['ns::f(int)::{lambda(int)#1}::operator()(int) const', 30, 'ns::f::{lambda#1}::operator()'],
	['x::operator->() const', 14, 'x::operator->'],
	['foo(int) [clone .isra.0]', 10, 'foo'],
	['<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend', 25, 'alloc::vec::Vec::extend'],
	['core::ptr::drop_in_place<alloc::string::String>', 20, 'ptr::drop_in_place'],
	['main.(*Server[...]).handle', 25, 'main.(*Serve…...]).handle'],
	['main.(*T).f', 11, 'main.(*T).f'],
	['a_long_name_of_the_language_c', 11, 'a_lon…age_c'],
	['[libc.so.6+0x2a1ca]', 11, '[libc…a1ca]'],
	['<<<<<<<<<<', 6, '<<<…<<'],
	[')))((( >::<', 6, '<'],
];

for (const [name, room, expected] of CASES) {
	const shown = shorten(name, room);
	if (shown !== expected) console.log(`${name} in ${room}: ${shown}, not ${expected}`);
}
