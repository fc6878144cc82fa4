// SPDX-License-Identifier: Apache-2.0
// What is known of the profile, above the graph. Text is only ever set as textContent: every
// name in it was chosen by somebody else.

import { amount, error, exact } from './text.js';

function element(name, text) {
	const made = document.createElement(name);
	made.textContent = text;
	return made;
}

function when({ time_ms: time, duration_ms: duration }) {
	if (!time) return '';
	const stamp = new Date(time)
		.toISOString()
		.replace('T', ' ')
		.replace(/\.\d+Z$/, ' UTC');
	return duration ? `${stamp}, over ${(duration / 1000).toFixed(1)} s` : stamp;
}

function rate({ period }) {
	if (!period) return '';
	return period === 1
		? 'every allocation'
		: `one sample in ${amount(period, { bytes: true })} on average`;
}

function list(profile) {
	const { facts, modules, nStacks } = profile;
	const [program] = modules; // they come by address, and a program lies below its libraries
	return [
		['Process', facts.pid ? `${facts.comm ?? ''} (${facts.pid})`.trim() : facts.comm],
		['Host', facts.host],
		['Time', when(facts)],
		['Sampling', rate(facts)],
		['jemalloc', facts.version],
		['Build id', program?.build_id ? `${program.build_id.slice(0, 16)} (${program.name})` : ''],
		['Stacks', nStacks.toLocaleString('en-US')],
	].filter(([, value]) => value);
}

function title({ facts, difference }) {
	const kind = difference ? 'Difference of heap profiles' : 'Heap profile';
	const what = facts.title ?? facts.comm;
	return what ? `${kind} of ${what}` : kind;
}

export function showFacts(profile) {
	const { modules } = profile;
	document.title = title(profile);
	document.getElementById('title').textContent = title(profile);
	for (const [name, value] of list(profile)) {
		const pair = document.createElement('div');
		pair.append(element('dt', name), element('dd', value));
		document.getElementById('facts').append(pair);
	}
	const body = document.querySelector('#builds tbody');
	for (const module of modules.filter(({ path }) => path)) {
		const row = document.createElement('tr');
		row.append(element('td', module.path), element('td', module.build_id ?? ''));
		body.append(row);
	}
}

/** The total of what is shown, in words and to the last byte. */
export function showTotal(profile, type) {
	const { total, error: spread } = profile.counts[type.key];
	const signed = profile.difference;
	const place = document.getElementById('total');
	const about = [error(spread, type), `(${exact(total, type, signed)})`].filter(Boolean).join(' ');
	place.replaceChildren(
		element('strong', amount(total, type, signed)),
		element('span', ` ${about}`),
		element('em', type.title.toLowerCase()),
	);
}
