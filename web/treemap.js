// SPDX-License-Identifier: Apache-2.0
// Areas by module and, within each, by function: what it allocated itself.

import { drawSoon, fitCanvas } from './canvas.js';
import { shorten } from './name.js';

const TITLE = 18;

// The worst aspect ratio in a row, whose first item is the largest, the last the smallest.
function worst(largest, smallest, sum, side, scale) {
	const thick = (sum * scale) / side;
	const long = (largest * scale) / thick;
	const short = (smallest * scale) / thick;
	return Math.max(long / thick, thick / short);
}

// A row of areas along the shorter side of the rest, as close to squares as possible.
function takeRow(items, from, side, scale) {
	const largest = items[from].size;
	let sum = largest;
	let end = from + 1;
	let ratio = worst(largest, largest, sum, side, scale);
	while (end < items.length) {
		const { size } = items[end];
		const next = worst(largest, size, sum + size, side, scale);
		if (next > ratio) break;
		ratio = next;
		sum += size;
		end++;
	}
	return { end, sum };
}

/** Squarified layout: items ({ size, ... }, largest first) with x, y, w and h. */
export function squarify(items, x, y, w, h) {
	const placed = [];
	const all = items.reduce((sum, item) => sum + item.size, 0);
	const scale = all > 0 ? (w * h) / all : 0;
	const left = { x, y, w, h };
	for (let from = 0; from < items.length && left.w > 0.5 && left.h > 0.5; ) {
		const side = Math.min(left.w, left.h);
		const { end, sum } = takeRow(items, from, side, scale);
		const thick = (sum * scale) / side;
		let along = 0;
		for (; from < end; from++) {
			const long = (items[from].size * scale) / thick;
			placed.push(
				left.w >= left.h
					? { ...items[from], x: left.x, y: left.y + along, w: thick, h: long }
					: { ...items[from], x: left.x + along, y: left.y, w: long, h: thick },
			);
			along += long;
		}
		if (left.w >= left.h) {
			left.x += thick;
			left.w -= thick;
		} else {
			left.y += thick;
			left.h -= thick;
		}
	}
	return placed;
}

/** The modules and the functions in each, largest first, for a TreemapView. */
export function areasOf(profile, rows, signed, isStarred) {
	const modules = new Map();
	for (let frame = 0; frame < profile.nFrames; frame++) {
		if (!(rows.flatSize[frame] > 0)) continue;
		const module = profile.frameModule[frame];
		const net = rows.flat[frame];
		const variance = rows.flatVariance[frame];
		const size = signed ? Math.abs(net) : rows.flatSize[frame];
		const name = profile.modules[module].name;
		if (!modules.has(module))
			modules.set(module, { module, name, size: 0, net: 0, variance: 0, frames: [] });
		const sum = modules.get(module);
		sum.size += size;
		sum.net += net;
		sum.variance += variance;
		const starred = isStarred(frame);
		sum.frames.push({ frame, name: profile.names[frame], starred, net, variance, size });
	}
	const bySize = (a, b) => b.size - a.size;
	for (const { frames } of modules.values()) frames.sort(bySize);
	return [...modules.values()].sort(bySize);
}

/**
 * world: modules [{ module, name, size, net, frames: [{ frame, name, starred, size, net }] }], the
 * largest first, zoomed (a module, or null), colour(area), colours, label(area).
 * on.hover(area or null, event), on.pick(area), on.zoom(module or null), on.select(area).
 */
export class TreemapView {
	constructor(section, on) {
		this.scroller = section.querySelector('.scroller');
		this.canvas = section.querySelector('canvas');
		this.on = on;
		this.zoomed = null;
		this.selected = 0;
		this.hovered = null;
		this.soon = drawSoon(() => this.draw());
		for (const name of ['focus', 'blur']) this.scroller.addEventListener(name, this.soon);
		this.scroller.addEventListener('keydown', (event) => this.onKey(event));
		this.canvas.addEventListener('mousemove', (event) => this.hover(this.areaAt(event), event));
		this.canvas.addEventListener('mouseleave', () => this.hover(null));
		this.canvas.addEventListener('click', (event) => this.onClick(event));
		new ResizeObserver(() => this.layout()).observe(this.scroller);
	}

	show(world) {
		this.world = world;
		this.zoomed = world.modules.some((m) => m.module === world.zoomed) ? world.zoomed : null;
		this.selected = 0;
		this.layout();
	}

	// this.areas: functions; this.titles: modules with their whole area.
	layout() {
		if (!this.world || this.scroller.clientWidth === 0) return;
		const shown = this.world.modules.filter(
			(m) => this.zoomed === null || m.module === this.zoomed,
		);
		this.titles = squarify(shown, 0, 0, this.scroller.clientWidth, this.scroller.clientHeight);
		this.areas = this.titles.flatMap((m) => {
			const bar = m.h > 3 * TITLE ? TITLE : 0;
			const inside = squarify(m.frames, m.x, m.y + bar, m.w - 1, m.h - bar - 1);
			return inside.map((area) => ({ ...area, module: m.module }));
		});
		this.hovered = null;
		this.soon();
	}

	inside(item, x, y) {
		return x >= item.x && x < item.x + item.w && y >= item.y && y < item.y + item.h;
	}

	areaAt({ offsetX, offsetY }) {
		const hit = (item) => this.inside(item, offsetX, offsetY);
		return this.areas?.find(hit) ?? this.titles?.find(hit) ?? null;
	}

	draw() {
		if (!this.areas || this.scroller.clientWidth === 0) return;
		const { context, width, height } = fitCanvas(this.canvas, this.scroller);
		const { colours } = this.world;
		context.fillStyle = colours.page;
		context.fillRect(0, 0, width, height);
		context.textBaseline = 'middle';
		context.font = `bold 11.5px ${colours.font}`;
		for (const title of this.titles) this.drawTitle(context, title);
		context.font = `11.5px ${colours.font}`;
		const letter = context.measureText('m').width;
		for (const area of this.areas) this.drawArea(context, area, letter);
		const focused = document.activeElement === this.scroller && this.areas[this.selected];
		if (this.hovered?.frame !== undefined) this.outline(context, this.hovered, 1);
		if (focused) this.outline(context, this.areas[this.selected], 2.5);
	}

	drawTitle(context, title) {
		if (title.h <= 3 * TITLE) return;
		const { colours, label } = this.world;
		context.fillStyle = colours.rest;
		context.fillRect(title.x, title.y, title.w - 1, TITLE - 1);
		context.fillStyle = colours.ink;
		const fits = Math.floor((title.w - 8) / context.measureText('m').width);
		const long = label(title);
		context.fillText(
			shorten(long.length <= fits ? long : title.name, fits),
			title.x + 4,
			title.y + TITLE / 2,
		);
	}

	drawArea(context, area, letter) {
		const { colour, label, marked } = this.world;
		const { fill, ink } = colour(area);
		const w = area.w > 2 ? area.w - 1 : area.w;
		const h = area.h > 2 ? area.h - 1 : area.h;
		const dimmed = marked && !marked[area.frame];
		context.globalAlpha = dimmed ? 0.22 : 1;
		context.fillStyle = fill;
		context.fillRect(area.x, area.y, w, h);
		context.globalAlpha = 1;
		const fits = Math.floor((w - 8) / letter);
		const name = shorten(area.starred ? `* ${area.name}` : area.name, fits);
		if (h < 14 || !name) return;
		context.fillStyle = dimmed ? this.world.colours.faint : ink;
		context.fillText(name, area.x + 4, area.y + 9);
		const size = label(area).slice(area.name.length).trim();
		if (h >= 30 && size.length * letter < w - 8) context.fillText(size, area.x + 4, area.y + 24);
	}

	outline(context, area, thick) {
		context.strokeStyle = this.world.colours.mark;
		context.lineWidth = thick;
		context.strokeRect(area.x + 1, area.y + 1, Math.max(1, area.w - 3), Math.max(1, area.h - 3));
	}

	hover(area, event) {
		if (area !== this.hovered) {
			this.hovered = area;
			this.canvas.style.cursor = area ? 'pointer' : 'default';
			this.soon();
		}
		this.on.hover(area, event);
	}

	// In the whole map, a click zooms to the module; there, it shows the function in the graph.
	onClick(event) {
		const area = this.areaAt(event);
		this.scroller.focus({ preventScroll: true });
		if (area) this.enter(area);
	}

	enter(area) {
		if (this.zoomed === null) this.on.zoom(area.module);
		else if (area.frame !== undefined) this.on.pick(area);
	}

	onKey(event) {
		const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
		if (!this.areas || this.areas.length === 0) return;
		if (event.key in steps) {
			const last = this.areas.length - 1;
			this.selected = Math.max(0, Math.min(last, this.selected + steps[event.key]));
			this.on.select(this.areas[this.selected]);
			this.soon();
		} else if (event.key === 'Enter') this.enter(this.areas[this.selected]);
		else if (event.key === 'Backspace' || event.key === 'Home') this.on.zoom(null);
		else return;
		event.preventDefault();
	}
}
