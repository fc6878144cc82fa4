// SPDX-License-Identifier: Apache-2.0
// A table that can be sorted by each column. Rows keep their elements from one show() to the next,
// and only what changed is updated, so that hundreds of them can be shown every few seconds.

import { element } from '../dom.js';
import { made } from './parts.js';

function compare(a, b) {
	if (typeof a === 'number' && typeof b === 'number') return a - b;
	const [x, y] = [String(a ?? ''), String(b ?? '')];
	return x < y ? -1 : Number(x > y);
}

/**
 * columns: { key, title, of(row): the sort key, show(row): a text or an element to display,
 * same(row): what the element depends on, right: numbers, hint }. A column without `of` cannot be
 * sorted by. key(row) identifies rows. With `blocks` each row is a block of lines on a phone.
 */
export class Rows {
	constructor({ label, columns, sort, key, empty = 'nothing', blocks = false }) {
		this.columns = columns;
		this.sort = sort; // such as "-rss": largest first
		this.key = key;
		this.rows = [];
		this.known = new Map();
		this.body = element('tbody');
		this.head = element('tr');
		this.empty = element('p', empty, 'empty');
		this.table = made(
			'table',
			'rows',
			made('caption', 'unseen', label),
			made('thead', '', this.head),
		);
		this.table.append(this.body);
		// On a phone it does not look like a table, but it is one for screen readers.
		for (const [place, role] of [
			[this.table, 'table'],
			[this.table.querySelector('thead'), 'rowgroup'],
			[this.body, 'rowgroup'],
			[this.head, 'row'],
		])
			place.setAttribute('role', role);
		for (const column of columns) this.head.append(this.makeHead(column));
		this.place = made('div', blocks ? 'scroll blocks' : 'scroll', this.table, this.empty);
		this.showSort();
	}

	makeHead(column) {
		const cell = element('th', '', column.right ? 'right' : '');
		cell.scope = 'col';
		cell.setAttribute('role', 'columnheader');
		if (column.of) {
			const sort = element('button', column.title);
			sort.type = 'button';
			sort.title = column.hint ?? '';
			sort.addEventListener('click', () => this.sortBy(column));
			cell.append(sort);
		} else cell.append(element('span', column.title, column.unseen ? 'unseen' : ''));
		return cell;
	}

	// Numbers are sorted largest first.
	sortBy({ key, right }) {
		const down = this.sort === `-${key}`;
		const again = this.sort === key || down;
		this.sort = (again ? !down : right) ? `-${key}` : key;
		this.showSort();
		this.show(this.rows);
	}

	showSort() {
		this.columns.forEach((column, i) => {
			if (!column.of) return;
			const how = { [column.key]: 'ascending', [`-${column.key}`]: 'descending' }[this.sort];
			this.head.children[i].setAttribute('aria-sort', how ?? 'none');
		});
	}

	sorted(rows) {
		const down = this.sort.startsWith('-');
		const column = this.columns.find(({ key }) => key === this.sort.replace(/^-/, ''));
		const sign = down ? -1 : 1;
		return rows
			.map((row, i) => ({ row, i, by: column.of(row) }))
			.sort((a, b) => sign * compare(a.by, b.by) || a.i - b.i)
			.map(({ row }) => row);
	}

	show(rows) {
		this.rows = rows;
		this.table.hidden = rows.length === 0;
		this.empty.hidden = rows.length > 0;
		const kept = new Map();
		let at = this.body.firstChild;
		for (const row of this.sorted(rows)) {
			const key = this.key(row);
			const known = this.known.get(key) ?? this.makeRow();
			kept.set(key, known);
			this.known.delete(key);
			this.fill(known, row);
			if (known.place === at) at = at.nextSibling;
			else this.body.insertBefore(known.place, at);
		}
		for (const { place } of this.known.values()) place.remove();
		this.known = kept;
	}

	makeRow() {
		const place = element('tr');
		place.setAttribute('role', 'row');
		const cells = this.columns.map((column) => {
			const cell = element(
				'td',
				'',
				[column.right && 'right', column.key].filter(Boolean).join(' '),
			);
			cell.setAttribute('role', 'cell');
			cell.dataset.title = column.title;
			place.append(cell);
			return cell;
		});
		return { place, cells, shown: [] };
	}

	fill({ cells, shown }, row) {
		this.columns.forEach((column, i) => {
			const now = column.same ? column.same(row) : column.show(row);
			if (shown[i] === now) return;
			shown[i] = now;
			cells[i].replaceChildren(column.same ? column.show(row) : now);
			cells[i].classList.toggle('none', now === '');
		});
	}
}
