// SPDX-License-Identifier: Apache-2.0
// Where resident memory is: a bar of its parts, and a table of them.

import { element } from '../dom.js';
import { percent } from '../text.js';
import { made, size } from './parts.js';
import { Rows } from './rows.js';

const PARTS = {
	allocated: 'allocated by the program',
	sampling: 'for heap sampling',
	thread_caches: 'freed, in thread caches',
	fragmented: 'unused space between allocations',
	dirty: 'free pages, not purged yet',
	muzzy: 'free pages that the kernel may take',
	metadata: "jemalloc's bookkeeping",
	uncounted: "of jemalloc's pages, not resident (\u2212) or more than counted",
	anonymous: 'other private memory',
	heap: 'heap of another malloc (brk)',
	stacks: 'thread stacks',
	data: 'variables of the program and its libraries',
	files: 'files: code, and unmodified data',
	shared: 'shared memory',
};

// jemalloc's parts have one hue, all others different ones.
const HUES_OF_PARTS = {
	allocated: 212,
	sampling: 190,
	thread_caches: 168,
	fragmented: 150,
	dirty: 130,
	muzzy: 100,
	metadata: 240,
	uncounted: 262,
	anonymous: 36,
	heap: 52,
	stacks: 20,
	data: 330,
	files: 300,
	shared: 0,
};

function swatch(name) {
	const made = element('i', '', 'swatch');
	made.style.setProperty('--hue', String(HUES_OF_PARTS[name] ?? 0));
	return made;
}

function bar(parts) {
	const all = parts.reduce((sum, { bytes }) => sum + Math.max(0, bytes), 0);
	const place = element('div', '', 'stacked');
	place.setAttribute('role', 'img');
	place.setAttribute(
		'aria-label',
		parts
			.filter(({ bytes }) => bytes > 0.01 * all)
			.map(({ words, bytes }) => `${words}: ${percent(bytes, all)}`)
			.join('; '),
	);
	for (const { name, words, bytes } of parts.filter(({ bytes: n }) => n > 0)) {
		const piece = element('span');
		piece.style.setProperty('--hue', String(HUES_OF_PARTS[name] ?? 0));
		piece.style.flexGrow = String(bytes);
		piece.title = `${words}: ${size(bytes)}`;
		place.append(piece);
	}
	return place;
}

/** The answer of GET .../explain. */
export function memoryOf(said) {
	const parts = Object.entries(said.parts)
		.map(([name, bytes]) => ({ name, words: PARTS[name] ?? name, bytes }))
		.filter(({ bytes }) => bytes !== 0);
	const rows = new Rows({
		label: 'Parts of resident memory',
		sort: '-bytes',
		key: ({ name }) => name,
		columns: [
			{
				key: 'part',
				title: 'Part',
				of: ({ words }) => words,
				same: ({ words }) => words,
				show: ({ name, words }) => made('span', 'part', swatch(name), words),
			},
			{
				key: 'bytes',
				title: 'RSS',
				right: true,
				of: ({ bytes }) => bytes,
				show: ({ bytes }) => size(bytes),
			},
			{
				key: 'share',
				title: '%',
				right: true,
				of: ({ bytes }) => bytes,
				show: ({ bytes }) => percent(bytes, said.rss_bytes),
			},
		],
	});
	rows.show(parts);
	const advice = said.advice.map(({ message, fix }) =>
		made('li', '', element('span', message), fix ? element('p', `What to do: ${fix}`, 'fix') : ''),
	);
	return [
		element(
			'p',
			`${size(said.rss_bytes)} resident${said.swap_bytes ? `, ${size(said.swap_bytes)} swapped out` : ''}`,
		),
		bar(parts),
		rows.place,
		made('ul', 'advice', ...advice),
	];
}
