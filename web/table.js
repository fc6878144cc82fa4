// SPDX-License-Identifier: Apache-2.0
// The table of functions. Of its rows only the visible ones exist.

import { drawSoon } from './canvas.js';
import { amount, error, percent } from './text.js';

const LINE_HIGH = 24;
const COLUMNS = [
	{ key: 'flat', title: 'Flat', hint: 'allocated by the function itself', by: 'flat' },
	{ key: 'flatShare', title: '%', hint: 'flat, of all', by: 'flatSize' },
	{ key: 'flatError', title: '\u00b1', hint: 'standard error of flat', by: 'flatVariance' },
	{ key: 'cum', title: 'Cum', hint: 'by the function or what it called', by: 'cum' },
	{ key: 'cumShare', title: '%', hint: 'cum, of all', by: 'cumSize' },
	{ key: 'cumError', title: '\u00b1', hint: 'standard error of cum', by: 'cumVariance' },
	{ key: 'name', title: 'Function', hint: '', by: null },
	{ key: 'module', title: 'Module', hint: '', by: null },
];

/** on.pick(frame): a row was clicked or Enter pressed; on.select(frame): it was moved to. */
export class TableView {
	constructor(section, on) {
		this.scroller = section.querySelector('.scroller');
		this.head = section.querySelector('.head');
		this.room = section.querySelector('.room');
		this.on = on;
		this.sort = { column: 0, down: true };
		this.selected = 0;
		this.soon = drawSoon(() => this.draw());
		this.scroller.addEventListener('scroll', this.soon);
		this.scroller.addEventListener('keydown', (event) => this.onKey(event));
		this.room.addEventListener('click', (event) => this.onClick(event));
		new ResizeObserver(this.soon).observe(this.scroller);
		this.makeHead();
	}

	makeHead() {
		COLUMNS.forEach((column, i) => {
			const cell = document.createElement('div');
			const button = document.createElement('button');
			cell.setAttribute('role', 'columnheader');
			cell.className = `cell ${column.key}`;
			button.type = 'button';
			button.textContent = column.title;
			button.title = column.hint;
			button.dataset.column = column.key;
			button.addEventListener('click', () => this.sortBy(i));
			cell.append(button);
			this.head.append(cell);
		});
	}

	/** world: profile, rows (sumFrames), type, size (of all), marked or null, frameName, frameModule. */
	show(world) {
		this.world = world;
		const { rows, marked, profile } = world;
		this.order = [];
		for (let frame = 0; frame < profile.nFrames; frame++) {
			if (rows.seen[frame] >= 0 && (!marked || marked[frame])) this.order.push(frame);
		}
		this.scroller.setAttribute('aria-rowcount', String(this.order.length + 1));
		this.sortRows();
	}

	sortBy(i) {
		this.sort = {
			column: i,
			down: this.sort.column === i ? !this.sort.down : COLUMNS[i].by !== null,
		};
		this.sortRows();
	}

	sortRows() {
		const { by, key } = COLUMNS[this.sort.column];
		const { rows, frameName, frameModule } = this.world;
		const text = key === 'name' ? frameName : frameModule;
		// Of a difference, what shrank counts as much as what grew.
		const compare = by
			? (a, b) => Math.abs(rows[by][a]) - Math.abs(rows[by][b]) || rows.cumSize[a] - rows.cumSize[b]
			: (a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0);
		this.order.sort(compare);
		if (this.sort.down) this.order.reverse();
		[...this.head.children].forEach((cell, i) => {
			const way = this.sort.down ? 'descending' : 'ascending';
			cell.setAttribute('aria-sort', i === this.sort.column ? way : 'none');
		});
		this.selected = 0;
		this.room.style.height = `${this.order.length * LINE_HIGH}px`;
		this.scroller.scrollTop = 0;
		this.draw();
	}

	cells(frame) {
		const { rows, type, size, profile, frameName, frameModule } = this.world;
		const signed = profile.difference;
		return {
			flat: amount(rows.flat[frame], type, signed),
			flatShare: percent(rows.flat[frame], size, signed),
			flatError: error(Math.sqrt(rows.flatVariance[frame]), type),
			cum: amount(rows.cum[frame], type, signed),
			cumShare: percent(rows.cum[frame], size, signed),
			cumError: error(Math.sqrt(rows.cumVariance[frame]), type),
			name: frameName(frame),
			module: frameModule(frame),
		};
	}

	makeRow(at) {
		const row = document.createElement('div');
		const texts = this.cells(this.order[at]);
		row.className = at === this.selected ? 'row selected' : 'row';
		row.setAttribute('role', 'row');
		row.setAttribute('aria-rowindex', String(at + 2));
		row.dataset.at = String(at);
		row.style.top = `${at * LINE_HIGH}px`;
		for (const { key } of COLUMNS) {
			const cell = document.createElement('div');
			cell.className = `cell ${key}`;
			cell.setAttribute('role', 'cell');
			cell.textContent = texts[key];
			if (key === 'name' || key === 'module') cell.title = texts[key];
			row.append(cell);
		}
		return row;
	}

	draw() {
		if (!this.order || this.scroller.clientHeight === 0) return;
		const from = Math.max(0, Math.floor(this.scroller.scrollTop / LINE_HIGH) - 5);
		const shown = Math.ceil(this.scroller.clientHeight / LINE_HIGH) + 10;
		const rows = [];
		for (let at = from; at < Math.min(this.order.length, from + shown); at++)
			rows.push(this.makeRow(at));
		this.room.replaceChildren(...rows);
	}

	move(to) {
		this.selected = Math.max(0, Math.min(this.order.length - 1, to));
		const top = this.selected * LINE_HIGH;
		const { scrollTop, clientHeight } = this.scroller;
		const visible = clientHeight - this.head.offsetHeight;
		if (top < scrollTop) this.scroller.scrollTop = top;
		else if (top + LINE_HIGH > scrollTop + visible)
			this.scroller.scrollTop = top + LINE_HIGH - visible;
		this.draw();
		if (this.order.length > 0) this.on.select(this.order[this.selected]);
	}

	onKey(event) {
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / LINE_HIGH) - 2);
		const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
		if (!this.order || event.target !== this.scroller) return;
		if (event.key in steps) this.move(this.selected + steps[event.key]);
		else if (event.key === 'Home') this.move(0);
		else if (event.key === 'End') this.move(this.order.length - 1);
		else if (event.key === 'Enter' && this.order.length > 0)
			this.on.pick(this.order[this.selected]);
		else return;
		event.preventDefault();
	}

	onClick(event) {
		const row = event.target.closest('.row');
		if (row && getSelection().isCollapsed) this.on.pick(this.order[Number(row.dataset.at)]);
	}
}
