// SPDX-License-Identifier: Apache-2.0
// What is known about the profile, shown above the graph.

import { byId, element } from './dom.js';
import { amount, error, exact, stamp } from './text.js';

function when({ time_ms: time, duration_ms: duration }) {
	if (!time) return '';
	return duration ? `${stamp(time)}, over ${(duration / 1000).toFixed(1)} s` : stamp(time);
}

function rate({ period }) {
	if (!period) return '';
	return period === 1
		? 'every allocation'
		: `one sample in ${amount(period, { bytes: true })} on average`;
}

// What a page of many profiles lacks.
function leftOut(series) {
	if (!series) return '';
	const { stacks, moments } = series.left_out;
	return [
		stacks > 0 && `${stacks.toLocaleString('en-US')} small stacks, as one box`,
		moments > 0 && `the stacks of ${moments.toLocaleString('en-US')} profiles`,
	]
		.filter(Boolean)
		.join('; ');
}

function list(profile) {
	const { facts, modules, nStacks, series } = profile;
	const [program] = modules; // sorted by address, and a program is mapped below its libraries
	return [
		['Process', facts.pid ? `${facts.comm ?? ''} (${facts.pid})`.trim() : facts.comm],
		['Host', facts.host],
		['Time', when(facts)],
		['Sampling', rate(facts)],
		['jemalloc', facts.version],
		['Build id', program?.build_id ? `${program.build_id.slice(0, 16)} (${program.name})` : ''],
		['Profiles', series ? series.total.length.toLocaleString('en-US') : ''],
		['Stacks', nStacks.toLocaleString('en-US')],
		['Left out', leftOut(series)],
	].filter(([, value]) => value);
}

export function showFacts(profile) {
	const { modules } = profile;
	for (const [name, value] of list(profile)) {
		const pair = document.createElement('div');
		pair.append(element('dt', name), element('dd', value));
		byId('facts').append(pair);
	}
	const body = document.querySelector('#builds tbody');
	for (const module of modules.filter(({ path }) => path)) {
		const row = document.createElement('tr');
		row.append(element('td', module.path), element('td', module.build_id ?? ''));
		body.append(row);
	}
}

/** The total of what is shown, rounded and to the last byte. */
export function showTotal({ total, error: spread }, type, signed, when) {
	const place = byId('total');
	const about = [error(spread, type), `(${exact(total, type, signed)})`].filter(Boolean).join(' ');
	place.replaceChildren(
		element('strong', amount(total, type, signed)),
		element('span', ` ${about}`),
		element('em', [type.title.toLowerCase(), when].filter(Boolean).join(', ')),
	);
}
