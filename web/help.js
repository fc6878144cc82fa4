// SPDX-License-Identifier: Apache-2.0
// The list of keys.

import { element } from './dom.js';

const KEYS = [
	['1 2 3', 'flame graph, table, map of modules'],
	['4  c', 'callers and callees of the selected function'],
	['5', 'over time, with several profiles'],
	['[  ]  d', 'over time: previous and next moment; difference from the first'],
	['u', 'bytes, objects (and allocated ones, if they were counted)'],
	['i', 'invert: start at the allocation sites'],
	['/', 'search (lower case also finds upper case); in the field, Esc clears it'],
	['m', 'choose the modules whose calls are shown'],
	['h  H', "hide the selected box's module; show all again"],
	['\u2190 \u2192 \u2191 \u2193', 'move between boxes, rows, areas'],
	['Enter', 'zoom to the selected box; in the table: show the function in the graph'],
	['Backspace', 'zoom out by one call'],
	['Home  Esc', 'the whole graph; Esc also clears the search'],
	['t', 'light or dark'],
	['?', 'this list'],
];

export function makeHelp() {
	for (const [key, what] of KEYS) {
		const row = element('tr');
		row.append(element('th', key), element('td', what));
		document.querySelector('#help tbody').append(row);
	}
}
