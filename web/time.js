// SPDX-License-Identifier: Apache-2.0
// Several profiles: the total over time, and what grows. A click shows the stacks of a moment.

import { drawSoon } from './canvas.js';
import { button, element } from './dom.js';
import { amount, stamp } from './text.js';

const SVG = 'http://www.w3.org/2000/svg';
const HIGH = 190;
const LEFT = 10;
const BELOW = 22;
const ABOVE = 20;

function shape(name, attributes, text = '') {
	const made = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
	made.textContent = text;
	return made;
}

// "M1,2L3,4": a curve that starts at (left, low), with a width and a height.
function line(seconds, values, most, [left, low, wide, high]) {
	const from = seconds[0];
	const span = seconds.at(-1) - from || 1;
	const points = values.map((value, i) => {
		const x = left + ((seconds[i] - from) / span) * wide;
		return `${x.toFixed(1)},${(low - (Math.max(0, value) / (most || 1)) * high).toFixed(1)}`;
	});
	return `M${points.join('L')}`;
}

/** The name of a moment of the series. */
export function momentName(series, at) {
	const { time_ms: time, at: index } = series.moments[at];
	return (time && stamp(time)) || `profile ${index + 1}`;
}

/**
 * on.open(moment): show its stacks; on.select(moment); on.grower(grower): a growing row was chosen;
 * on.hover({ name, amounts, place } or null, event).
 */
export class TimeView {
	constructor(section, series, type, on) {
		this.scroller = section.querySelector('.scroller');
		this.series = series;
		this.type = type;
		this.on = on;
		this.at = 0;
		this.soon = drawSoon(() => this.draw());
		this.chart = element('div', '', 'chart');
		this.chart.tabIndex = 0;
		this.chart.setAttribute('role', 'slider');
		this.chart.setAttribute('aria-label', 'Moment');
		this.chart.addEventListener('click', (event) => this.on.open(this.nearest(event)));
		this.chart.addEventListener('mousemove', (event) => this.hover(event));
		this.chart.addEventListener('mouseleave', () => this.on.hover(null));
		this.chart.addEventListener('keydown', (event) => this.onKey(event));
		this.scroller.append(
			...series.summary.map((said) => element('p', said)),
			element('h2', 'In use over time'),
			this.chart,
			element('h2', 'What grows'),
			...series.growers.map((grower) => this.makeGrower(grower)),
		);
		if (series.growers.length === 0) this.scroller.append(element('p', 'nothing'));
		new ResizeObserver(this.soon).observe(this.scroller);
	}

	show(at) {
		this.at = at;
		const { moments } = this.series;
		this.chart.setAttribute('aria-valuemin', '1');
		this.chart.setAttribute('aria-valuemax', String(moments.length));
		this.chart.setAttribute('aria-valuenow', String(at + 1));
		this.chart.setAttribute(
			'aria-valuetext',
			`${momentName(this.series, at)}: ${this.totalAt(at)}`,
		);
		this.soon();
	}

	totalAt(at) {
		return amount(this.series.total[this.series.moments[at].at], this.type);
	}

	// The area of the curve: left, lower end, width, height.
	room() {
		return [LEFT, HIGH - BELOW, this.scroller.clientWidth - 30 - 2 * LEFT, HIGH - BELOW - ABOVE];
	}

	xOf(at) {
		const { seconds, moments } = this.series;
		const [left, , wide] = this.room();
		return (
			left + ((seconds[moments[at].at] - seconds[0]) / (seconds.at(-1) - seconds[0] || 1)) * wide
		);
	}

	draw() {
		const { seconds, total, moments } = this.series;
		const room = this.room();
		const [left, low, wide, high] = room;
		if (wide <= 0) return;
		const most = Math.max(...total, 0);
		const svg = shape('svg', { width: wide + 2 * LEFT, height: HIGH, 'aria-hidden': true });
		const path = line(seconds, total, most, room);
		const right = (left + wide).toFixed(1);
		svg.append(
			shape('path', { d: `${path}L${right},${low}L${left},${low}Z`, class: 'area' }),
			shape('path', { d: path, class: 'curve' }),
			shape('path', { d: `M${left},${low}H${right}`, class: 'axis' }),
			shape('text', { x: left, y: 12 }, `${amount(most, this.type)} at most`),
			shape('text', { x: left, y: HIGH - 6 }, momentName(this.series, 0)),
			shape('text', { x: right, y: HIGH - 6, 'text-anchor': 'end' }, this.span()),
		);
		moments.forEach((moment, i) => {
			const y = low - (Math.max(0, total[moment.at]) / (most || 1)) * high;
			const chosen = i === this.at;
			svg.append(
				shape('circle', {
					cx: this.xOf(i),
					cy: y,
					r: chosen ? 6 : 3.5,
					class: chosen ? 'chosen' : 'dot',
				}),
			);
		});
		this.chart.replaceChildren(svg);
	}

	// "+2 h 5 min": the time from the first to the last.
	span() {
		const { seconds, start_ms: start } = this.series;
		const all = seconds.at(-1) - seconds[0];
		if (start === null) return `${seconds.length} profiles`;
		if (all < 120) return `+${all.toFixed(0)} s`;
		const hours = Math.floor(all / 3600);
		const minutes = Math.floor((all % 3600) / 60);
		return hours > 0 ? `+${hours} h ${minutes} min` : `+${minutes} min`;
	}

	makeGrower(grower) {
		const made = button('', () => this.on.grower(grower), 'grower relative');
		const wide = 120;
		const curve = shape('svg', { width: wide, height: 30, class: 'small', 'aria-hidden': true });
		const most = Math.max(...grower.curve, 0);
		const path = line(this.series.seconds, grower.curve, most, [2, 28, wide - 4, 26]);
		curve.append(shape('path', { d: path, class: 'curve' }));
		made.classList.toggle('certain', grower.certain);
		made.append(
			element('span', grower.certain ? '*' : '', 'mark'),
			curve,
			element('strong', grower.rate, 'rate'),
			element('span', grower.interval, 'interval'),
			element('span', grower.change, 'change'),
			element('span', `p ${grower.p}`, 'p'),
			element('span', grower.place, 'name'),
		);
		return made;
	}

	nearest(event) {
		const x = event.clientX - this.chart.getBoundingClientRect().left;
		let best = 0;
		for (let i = 1; i < this.series.moments.length; i++)
			if (Math.abs(this.xOf(i) - x) < Math.abs(this.xOf(best) - x)) best = i;
		return best;
	}

	hover(event) {
		const at = this.nearest(event);
		const name = momentName(this.series, at);
		this.on.hover({ name, amounts: this.totalAt(at), place: 'click: its stacks' }, event);
	}

	onKey(event) {
		const last = this.series.moments.length - 1;
		const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: last }[event.key];
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.key === 'Enter') this.on.open(this.at);
		else if (to !== undefined) this.on.select(Math.max(0, Math.min(last, to)));
		else return;
		event.preventDefault();
	}
}
