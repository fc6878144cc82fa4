// SPDX-License-Identifier: Apache-2.0
// Converts what a report shows to the end of the page's address, and back. Addresses are untrusted:
// each value is checked, invalid ones count as missing, and each is a number, a word of a list, or
// the text of the search.

const LONGEST_SEARCH = 500;

const oneOf = (words) => (text) => (words.includes(text) ? text : undefined);
const below = (n) => (text) =>
	/^\d{1,9}$/.test(text) && Number(text) < n ? Number(text) : undefined;

function listBelow(n) {
	const one = below(n);
	return (text) => {
		const numbers = text.split('.').slice(0, n).map(one);
		if (numbers.includes(undefined)) return undefined;
		return [...new Set(numbers)].sort((a, b) => a - b).join('.');
	};
}

// "12.3": the third call of stack 12.
function call(nStacks) {
	const stack = below(nStacks);
	return (text) => {
		const [, first, depth] = /^(\d{1,9})\.(\d{1,5})$/.exec(text) ?? [];
		return first !== undefined && stack(first) !== undefined
			? `${Number(first)}.${Number(depth)}`
			: undefined;
	};
}

/** The fields of a state, with their defaults and parsers. */
export function fieldsOf(profile, views, columns) {
	const sorts = columns.flatMap((column) => [column, `-${column}`]);
	const moments = below(profile.moments.length);
	return {
		view: { first: views[0], read: oneOf(views) },
		type: { first: profile.types[0].key, read: oneOf(profile.types.map(({ key }) => key)) },
		at: { first: Math.max(0, profile.moments.length - 1), read: moments },
		since: { first: -1, read: moments },
		invert: { first: 0, read: below(2) },
		hide: { first: '', read: listBelow(profile.modules.length) },
		search: { first: '', read: (text) => text.slice(0, LONGEST_SEARCH) },
		sort: { first: '-flat', read: oneOf(sorts) },
		function: { first: -1, read: below(profile.nFrames) },
		root: { first: -1, read: below(profile.nFrames) },
		zoom: { first: '', read: call(profile.nStacks) },
		module: { first: -1, read: below(profile.modules.length) },
	};
}

export function readFragment(fields, text) {
	const given = new URLSearchParams(text);
	return Object.fromEntries(
		Object.entries(fields).map(([name, { first, read }]) => {
			const value = given.has(name) ? read(given.get(name)) : undefined;
			return [name, value ?? first];
		}),
	);
}

/** Defaults are left out. */
export function writeFragment(fields, state) {
	const changed = Object.entries(fields).filter(([name, { first }]) => state[name] !== first);
	return new URLSearchParams(changed.map(([name]) => [name, state[name]])).toString();
}
