// SPDX-License-Identifier: Apache-2.0
// One function between its callers and callees. A click shows another one.

import { button, element } from './dom.js';
import { shortenTo } from './name.js';
import { amount, error, percent } from './text.js';

const SHOWN = 200; // a function may have very many callers

function byName(name) {
	return (a, b) => b.size - a.size || (name(a.frame) < name(b.frame) ? -1 : 1);
}

/** on.pick(frame): show that function; on.graph(frame, inverted): show its callees, or its callers, as a graph. */
export class CallersView {
	constructor(section, on) {
		this.scroller = section.querySelector('.scroller');
		this.on = on;
		this.scroller.addEventListener('keydown', (event) => this.onKey(event));
	}

	/**
	 * world: frame, callers, called and whole (sumNeighbours), type, signed, name(frame),
	 * module(frame), starred(frame).
	 */
	show(world) {
		const inside = this.scroller.contains(document.activeElement);
		this.world = world;
		const { frame, callers, called, whole } = world;
		const self = this.row({ frame, ...whole }, element('div'));
		self.classList.add('self');
		this.scroller.replaceChildren(
			this.heading('Called by', true),
			...this.list(callers, 'none: it is the outermost call'),
			self,
			this.heading('Calls', false),
			...this.list(called, 'allocated by itself'),
		);
		this.scroller.scrollTop = 0;
		this.fitNames();
		if (inside) this.scroller.focus({ preventScroll: true });
	}

	heading(text, inverted) {
		const { frame } = this.world;
		const made = element('h2', `${text} `);
		made.append(button('as a graph', () => this.on.graph(frame, inverted), 'link'));
		return made;
	}

	// Long names are shortened by their structure, not cut at the end.
	fitNames() {
		const names = [...this.scroller.querySelectorAll('.name:not(.own)')];
		const widths = names.map((name) => name.clientWidth);
		names.forEach((name, i) => {
			name.textContent = shortenTo(name.textContent, widths[i]);
		});
	}

	// -1 in the list of callers: it is outermost; the function itself in the other: what it allocated.
	list(sums, own) {
		const { frame, name } = this.world;
		const rows = [...sums].map(([key, sum]) => ({ frame: key, ...sum }));
		rows.sort(byName((key) => (key < 0 ? '' : name(key))));
		const made = rows.slice(0, SHOWN).map((row) =>
			row.frame < 0 || row.frame === frame
				? this.row(row, element('div'), own)
				: this.row(
						row,
						button('', () => this.on.pick(row.frame)),
					),
		);
		if (rows.length > SHOWN) made.push(element('p', `and ${rows.length - SHOWN} smaller ones`));
		if (rows.length === 0) made.push(element('p', 'nothing'));
		return made;
	}

	row(sum, place, text = '') {
		const { whole, type, signed, name, module, starred } = this.world;
		const known = !text;
		const star = known && starred(sum.frame) ? '* ' : '';
		const share = whole.size > 0 ? Math.min(1, sum.size / whole.size) : 0;
		place.classList.add('relative');
		place.style.setProperty('--part', `${(share * 100).toFixed(2)}%`);
		place.append(
			element('span', text || star + name(sum.frame), text ? 'name own' : 'name'),
			element('span', amount(sum.net, type, signed), 'amount'),
			element('span', error(Math.sqrt(sum.variance), type), 'spread'),
			element('span', percent(sum.net, whole.size, signed) || '0%', 'share'),
			element('span', known ? module(sum.frame) : '', 'module'),
		);
		if (known) place.title = name(sum.frame);
		return place;
	}

	// Up and down move from one to the next, as in the table.
	onKey(event) {
		const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
		if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
		const rows = [...this.scroller.querySelectorAll('button.relative')];
		const at = rows.indexOf(document.activeElement);
		const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
		rows[next]?.focus();
		event.preventDefault();
	}
}
