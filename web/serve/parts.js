// SPDX-License-Identifier: Apache-2.0
// Elements that several parts of the page share.

import { element } from '../dom.js';
import { amount } from '../text.js';

const BYTES = { bytes: true };

/** "12.3 MiB"; "" if not known. */
export function size(value) {
	return Number.isFinite(value) ? amount(value, BYTES) : '';
}

/** "1 h 5 min", "12.3 s", from milliseconds. */
export function duration(ms) {
	if (!Number.isFinite(ms)) return '';
	if (ms < 59_950) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s`;
	const all = Math.round(ms / 1000);
	const parts = [Math.floor(all / 3600), Math.floor((all % 3600) / 60), all % 60];
	const said = parts.map((n, i) => n > 0 && `${n} ${['h', 'min', 's'][i]}`).filter(Boolean);
	return said.slice(0, 2).join(' ');
}

/** Rounded up, so that a running operation never has 0 s left. */
export const timeLeft = (ms) => duration(Math.ceil(ms / 1000) * 1000);

/** An element that contains others, or texts. */
export function made(name, className, ...inside) {
	const place = element(name, '', className);
	place.append(...inside);
	return place;
}

/** A control with its label before it. */
export function labelled(text, control, hint = '') {
	const label = made('label', 'field', element('span', text), control);
	if (hint) label.append(element('small', hint));
	return label;
}

export function choice(options, chosen = '') {
	const place = element('select');
	for (const [value, text] of options) {
		const option = element('option', text);
		option.value = value;
		option.selected = value === chosen;
		place.append(option);
	}
	return place;
}

export function link(text, to, className = '') {
	const place = element('a', text, className);
	place.href = to;
	return place;
}

/** Pairs of a name and a value; empty values are left out. */
export function facts(pairs) {
	const place = element('dl', '', 'facts');
	for (const [name, value] of pairs.filter(([, what]) => what))
		place.append(made('div', '', element('dt', name), element('dd', value)));
	return place;
}

/** Repeats something while it is visible, but not while the tab is hidden. */
export class Ticker {
	constructor(ms, act) {
		this.ms = ms;
		this.act = act;
		this.paused = false;
		this.timer = null;
		document.addEventListener('visibilitychange', () => this.plan(0));
	}

	start() {
		this.running = true;
		return this.now();
	}

	stop() {
		this.running = false;
		clearTimeout(this.timer);
	}

	pause(flag) {
		this.paused = flag;
		this.plan(0);
	}

	plan(wait) {
		clearTimeout(this.timer);
		if (!this.running || this.paused || document.hidden) return;
		this.timer = setTimeout(() => this.now(), wait);
	}

	async now() {
		clearTimeout(this.timer);
		await this.act();
		this.plan(this.ms);
	}
}
