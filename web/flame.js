// SPDX-License-Identifier: Apache-2.0
// The flame graph. Only boxes that are wide enough to be visible are laid out, and only those in
// visible rows are drawn, so that the cost depends on the window, not on the profile.

import { drawSoon, fitCanvas } from './canvas.js';
import { shorten } from './name.js';
import { childrenOf, pathTo } from './tree.js';

const ROW_HIGH = 19;
const NARROWEST = 0.6;
const REST = -1;

/**
 * `world` has what to draw: tree, sums, zoomed and selected (nodes), marked (frames found by the
 * search, or null), name(node), colour(node), starred(node), colours. Callbacks: `on.select(node)`,
 * `on.zoom(node)`, `on.hover(node or null, event)`.
 */
export class FlameView {
	constructor(section, on) {
		this.scroller = section.querySelector('.scroller');
		this.canvas = section.querySelector('canvas');
		this.room = section.querySelector('.room');
		this.on = on;
		this.hovered = null;
		this.soon = drawSoon(() => this.draw());
		this.scroller.addEventListener('scroll', this.soon);
		this.scroller.addEventListener('focus', this.soon);
		this.scroller.addEventListener('blur', this.soon);
		this.scroller.addEventListener('keydown', (event) => this.onKey(event));
		this.canvas.addEventListener('mousemove', (event) => this.onMove(event));
		this.canvas.addEventListener('mouseleave', () => this.hover(null));
		this.canvas.addEventListener('click', (event) => this.onClick(event));
		new ResizeObserver(() => this.layout()).observe(this.scroller);
	}

	/** Draw `world`; scroll to the selection if it or the zoom changed. */
	show(world) {
		const moved =
			this.world?.tree !== world.tree ||
			this.zoomed !== world.zoomed ||
			this.selected !== world.selected;
		if (this.world?.tree !== world.tree) this.scroller.scrollTop = 0;
		this.world = world;
		this.zoomed = world.zoomed;
		this.selected = world.selected;
		this.hovered = null;
		this.layout();
		if (moved && this.rows) this.reveal(this.selected);
	}

	select(node) {
		this.selected = node;
		this.reveal(node);
		this.soon();
		this.on.select(node);
	}

	// --- layout of boxes ---

	// rows[y] = { x, w, node }, three arrays; the node REST represents all that are too narrow.
	layout() {
		if (!this.world || this.scroller.clientWidth === 0) return;
		this.rows = [];
		const width = this.scroller.clientWidth;
		const above = pathTo(this.world.tree, this.zoomed);
		above.forEach((node, y) => {
			this.put(y, 0, width, node);
		});
		this.spread(this.zoomed, above.length, width);
		this.room.style.height = `${this.rows.length * ROW_HIGH + 2}px`;
		this.soon();
	}

	put(y, x, w, node) {
		this.rows[y] ??= { x: [], w: [], node: [] };
		const row = this.rows[y];
		row.x.push(x);
		row.w.push(w);
		row.node.push(node);
	}

	// Not recursive: a stack may have thousands of calls.
	spread(top, firstRow, width) {
		const { tree, sums } = this.world;
		const scale = sums.size[top] > 0 ? width / sums.size[top] : 0;
		const todo = [{ node: top, x: 0, y: firstRow }];
		while (todo.length > 0) {
			const { node, x, y } = todo.pop();
			let at = x;
			let rest = 0;
			for (const kid of childrenOf(tree, sums, node)) {
				const w = sums.size[kid] * scale;
				if (rest > 0 || w < NARROWEST) {
					rest += w;
					continue;
				}
				this.put(y, at, w, kid);
				todo.push({ node: kid, x: at, y: y + 1 });
				at += w;
			}
			if (rest >= NARROWEST) this.put(y, at, rest, REST);
		}
	}

	nodeAt(event) {
		const row = this.rows?.[Math.floor((event.offsetY + this.scroller.scrollTop) / ROW_HIGH)];
		if (!row) return null;
		for (let i = 0; i < row.x.length; i++) {
			if (event.offsetX >= row.x[i] && event.offsetX < row.x[i] + row.w[i])
				return row.node[i] === REST ? null : row.node[i];
		}
		return null;
	}

	rowOf(node) {
		return this.rows.findIndex((row) => row.node.includes(node));
	}

	reveal(node) {
		const y = Math.max(0, this.rowOf(node)) * ROW_HIGH;
		const { scrollTop, clientHeight } = this.scroller;
		if (y < scrollTop) this.scroller.scrollTop = y;
		else if (y + 2 * ROW_HIGH > scrollTop + clientHeight)
			this.scroller.scrollTop = y + 2 * ROW_HIGH - clientHeight;
	}

	// --- drawing ---

	draw() {
		if (!this.rows || this.scroller.clientWidth === 0) return;
		const { context, width, height } = fitCanvas(this.canvas, this.scroller);
		const { colours } = this.world;
		context.fillStyle = colours.page;
		context.fillRect(0, 0, width, height);
		context.font = `11.5px ${colours.font}`;
		context.textBaseline = 'middle';
		const letter = context.measureText('m').width;
		const from = Math.floor(this.scroller.scrollTop / ROW_HIGH);
		const to = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + height) / ROW_HIGH));
		for (let y = from; y < to; y++) {
			const top = y * ROW_HIGH - this.scroller.scrollTop;
			for (let i = 0; i < this.rows[y].x.length; i++) this.drawBox(context, y, i, top, letter);
		}
	}

	drawBox(context, y, i, top, letter) {
		const { world } = this;
		const { x, w, node } = this.rows[y];
		const wide = w[i] > 2 ? w[i] - 1 : w[i];
		if (node[i] === REST) {
			context.fillStyle = world.colours.rest;
			context.fillRect(x[i], top, wide, ROW_HIGH - 1);
			return;
		}
		const colour = world.colour(node[i]);
		const dimmed = world.marked && !(node[i] > 0 && world.marked[world.tree.frame[node[i]]]);
		context.globalAlpha = dimmed ? 0.22 : 1;
		context.fillStyle = colour.fill;
		context.fillRect(x[i], top, wide, ROW_HIGH - 1);
		context.globalAlpha = 1;
		const star = world.starred(node[i]);
		const fits = Math.floor((wide - 7) / letter) - (star ? 2 : 0);
		const label = (star && fits > 0 ? '* ' : '') + shorten(world.name(node[i]), fits);
		if (label) {
			context.fillStyle = dimmed ? world.colours.faint : colour.ink;
			context.fillText(label, x[i] + 4, top + ROW_HIGH / 2);
		}
		if (star) this.line(context, x[i], top, Math.min(3, wide), ROW_HIGH - 1);
		if (world.marked && !dimmed) this.line(context, x[i], top + ROW_HIGH - 3, wide, 2);
		if (node[i] === this.hovered) this.frame(context, x[i], top, wide, 1);
		if (node[i] === this.selected && document.activeElement === this.scroller)
			this.frame(context, x[i], top, wide, 2);
	}

	line(context, x, y, w, h) {
		context.fillStyle = this.world.colours.mark;
		context.fillRect(x, y, w, h);
	}

	frame(context, x, y, w, thick) {
		context.strokeStyle = this.world.colours.mark;
		context.lineWidth = thick;
		context.strokeRect(x + thick / 2, y + thick / 2, Math.max(1, w - thick), ROW_HIGH - 1 - thick);
	}

	// --- mouse and keyboard ---

	hover(node, event) {
		if (node !== this.hovered) {
			this.hovered = node;
			this.canvas.style.cursor = node === null ? 'default' : 'pointer';
			this.soon();
		}
		this.on.hover(node, event);
	}

	onMove(event) {
		this.hover(this.nodeAt(event), event);
	}

	onClick(event) {
		const node = this.nodeAt(event);
		this.scroller.focus({ preventScroll: true });
		if (node !== null) this.on.zoom(node);
	}

	sibling(step) {
		const { tree, sums } = this.world;
		if (this.selected === 0) return 0;
		const kids = childrenOf(tree, sums, tree.parent[this.selected]);
		return kids[kids.indexOf(this.selected) + step] ?? this.selected;
	}

	// The node that an arrow key leads to. Leaving the layout zooms.
	step(key) {
		const { tree, sums } = this.world;
		if (key === 'ArrowUp') return Math.max(0, tree.parent[this.selected]);
		if (key === 'ArrowDown') return childrenOf(tree, sums, this.selected)[0] ?? this.selected;
		if (key === 'ArrowLeft') return this.sibling(-1);
		if (key === 'ArrowRight') return this.sibling(1);
		return null;
	}

	onKey(event) {
		if (event.ctrlKey || event.altKey || event.metaKey || !this.world) return;
		if (event.key === 'Enter') this.on.zoom(this.selected);
		else if (event.key === 'Home') this.on.zoom(0);
		else if (event.key === 'Backspace')
			this.on.zoom(Math.max(0, this.world.tree.parent[this.zoomed]));
		else {
			const node = this.step(event.key);
			if (node === null) return;
			if (this.rowOf(node) < 0) this.on.zoom(this.world.tree.parent[node]);
			this.select(node);
		}
		event.preventDefault();
	}
}
