// SPDX-License-Identifier: Apache-2.0
// The table of functions. Only visible rows have elements.

import { drawSoon } from './canvas.js';
import { element } from './dom.js';
import { shortenTo } from './name.js';
import { amount, error, percent } from './text.js';

// If there is no room for all columns, a row is two lines high (report.css).
const NARROW = matchMedia('(max-width: 700px)');
const lineHigh = () => (NARROW.matches ? 44 : 24);
const COLUMNS = [
	{ key: 'name', title: 'Function', hint: '', by: null },
	{ key: 'flat', title: 'Flat', hint: 'allocated by the function itself', by: 'flat' },
	{ key: 'flatShare', title: '%', hint: 'flat, as a share of all', by: 'flatSize' },
	{ key: 'flatError', title: '\u00b1', hint: 'standard error of flat', by: 'flatVariance' },
	{ key: 'cum', title: 'Cum', hint: 'by the function or its callees', by: 'cum' },
	{ key: 'cumShare', title: '%', hint: 'cum, as a share of all', by: 'cumSize' },
	{ key: 'cumError', title: '\u00b1', hint: 'standard error of cum', by: 'cumVariance' },
	{ key: 'module', title: 'Module', hint: '', by: null },
];
export const columns = COLUMNS.map(({ key }) => key);

/**
 * on.pick(frame): a row was clicked, or Enter pressed; on.select(frame): the selection moved;
 * on.sort(column, with a leading "-" for largest first).
 */
export class TableView {
	constructor(section, on) {
		this.scroller = section.querySelector('.scroller');
		this.head = section.querySelector('.head');
		this.room = section.querySelector('.room');
		this.on = on;
		this.selected = 0;
		this.soon = drawSoon(() => this.draw());
		this.scroller.addEventListener('scroll', this.soon);
		this.scroller.addEventListener('keydown', (event) => this.onKey(event));
		this.room.addEventListener('click', (event) => this.onClick(event));
		new ResizeObserver(() => this.layout()).observe(this.scroller);
		this.makeHead();
	}

	makeHead() {
		for (const column of COLUMNS) {
			const cell = element('div', '', `cell ${column.key}`);
			const sort = element('button', column.title);
			cell.setAttribute('role', 'columnheader');
			sort.type = 'button';
			sort.title = column.hint;
			sort.dataset.column = column.key;
			sort.addEventListener('click', () => this.sortBy(column));
			cell.append(sort);
			this.head.append(cell);
		}
	}

	/**
	 * world: profile, rows (sumFrames), type, signed, size (of all), marked or null, sort, frame (the
	 * selected one, or -1), frameName, frameModule, starred(frame).
	 */
	show(world) {
		const sorted = this.world && this.world.sort !== world.sort;
		this.world = world;
		const { rows, marked, profile } = world;
		this.order = [];
		for (let frame = 0; frame < profile.nFrames; frame++) {
			if (rows.seen[frame] >= 0 && (!marked || marked[frame])) this.order.push(frame);
		}
		this.scroller.setAttribute('aria-rowcount', String(this.order.length + 1));
		this.sortRows();
		this.selected = sorted ? 0 : Math.max(0, this.order.indexOf(world.frame));
		this.scroller.scrollTop = 0;
		this.layout();
		this.reveal();
	}

	sortBy({ key, by }) {
		const down = this.world.sort === `-${key}`;
		const now = this.world.sort === key || down ? !down : by !== null;
		this.on.sort(now ? `-${key}` : key);
	}

	sortRows() {
		const { rows, frameName, frameModule, sort } = this.world;
		const down = sort.startsWith('-');
		const { by, key } = COLUMNS.find((column) => column.key === sort.replace('-', ''));
		const text = key === 'name' ? frameName : frameModule;
		// In a difference, rows are sorted by absolute value.
		const compare = by
			? (a, b) => Math.abs(rows[by][a]) - Math.abs(rows[by][b]) || rows.cumSize[a] - rows.cumSize[b]
			: (a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0);
		this.order.sort(compare);
		if (down) this.order.reverse();
		for (const cell of this.head.children) {
			const sorted = cell.firstChild.dataset.column === key;
			cell.setAttribute('aria-sort', !sorted ? 'none' : down ? 'descending' : 'ascending');
		}
	}

	cells(frame) {
		const { rows, type, size, signed, frameName, frameModule, starred } = this.world;
		return {
			name: starred(frame) ? `* ${frameName(frame)}` : frameName(frame),
			flat: amount(rows.flat[frame], type, signed),
			flatShare: percent(rows.flat[frame], size, signed),
			flatError: error(Math.sqrt(rows.flatVariance[frame]), type),
			cum: amount(rows.cum[frame], type, signed),
			cumShare: percent(rows.cum[frame], size, signed),
			cumError: error(Math.sqrt(rows.cumVariance[frame]), type),
			module: frameModule(frame),
		};
	}

	makeRow(at) {
		const texts = this.cells(this.order[at]);
		const row = element('div', '', at === this.selected ? 'row selected' : 'row');
		row.setAttribute('role', 'row');
		row.setAttribute('aria-rowindex', String(at + 2));
		row.dataset.at = String(at);
		row.style.top = `${at * lineHigh()}px`;
		for (const { key } of COLUMNS) {
			const text = key === 'name' ? shortenTo(texts.name, this.nameWide) : texts[key];
			const cell = element('div', text, `cell ${key}`);
			cell.setAttribute('role', 'cell');
			if (key === 'name' || key === 'module') cell.title = texts[key];
			row.append(cell);
		}
		return row;
	}

	layout() {
		if (!this.order) return;
		this.room.style.height = `${this.order.length * lineHigh()}px`;
		this.draw();
	}

	draw() {
		if (!this.order || this.scroller.clientHeight === 0) return;
		const from = Math.max(0, Math.floor(this.scroller.scrollTop / lineHigh()) - 5);
		this.nameWide = this.head.firstChild.clientWidth - 16;
		const shown = Math.ceil(this.scroller.clientHeight / lineHigh()) + 10;
		const rows = [];
		for (let at = from; at < Math.min(this.order.length, from + shown); at++)
			rows.push(this.makeRow(at));
		this.room.replaceChildren(...rows);
	}

	reveal() {
		const top = this.selected * lineHigh();
		const { scrollTop, clientHeight } = this.scroller;
		const visible = clientHeight - this.head.offsetHeight;
		if (top < scrollTop) this.scroller.scrollTop = top;
		else if (top + lineHigh() > scrollTop + visible)
			this.scroller.scrollTop = top + lineHigh() - visible;
		this.draw();
	}

	move(to) {
		this.selected = Math.max(0, Math.min(this.order.length - 1, to));
		this.reveal();
		if (this.order.length > 0) this.on.select(this.order[this.selected]);
	}

	onKey(event) {
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / lineHigh()) - 2);
		const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page };
		if (event.ctrlKey || event.altKey || event.metaKey) return;
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
