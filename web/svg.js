// SPDX-License-Identifier: Apache-2.0
// Hover, zoom and search for the flame graph that contains this script, which then fills the
// window. The graph works without it.

import { shorten } from './name.js';

(() => {
	const svg = document.documentElement;
	const drawn = svg.viewBox.baseVal.width; // the unit of positions
	let width = drawn;
	const status = document.getElementById('status');
	const reset = document.getElementById('reset');
	const letter = 6.7;
	const slack = 0.002; // positions are rounded to 0.001

	const frames = Array.from(document.querySelectorAll('g.f'), (g) => {
		const rect = g.querySelector('rect');
		const title = g.querySelector('title').textContent;
		return {
			g,
			rect,
			text: g.querySelector('text'),
			title,
			name: title.slice(0, title.lastIndexOf('\n')),
			x: Number(rect.getAttribute('x')),
			y: Number(rect.getAttribute('y')),
			w: Number(rect.getAttribute('width')),
		};
	});
	const byGroup = new Map(frames.map((f) => [f.g, f]));
	const root = frames.reduce((a, b) => (b.y < a.y ? b : a), frames[0]);

	const place = (f, x, w) => {
		f.rect.setAttribute('x', x);
		f.rect.setAttribute('width', w);
		f.text.setAttribute('x', x + 3);
		f.text.textContent = shorten(f.name, Math.floor((w - 6) / letter));
	};

	// Shows the callees of `to` in the full width, below its callers.
	let zoomed = root;
	const zoom = (to) => {
		zoomed = to;
		for (const f of frames) {
			const within = f.x >= to.x - slack && f.x + f.w <= to.x + to.w + slack;
			const leads = f.x <= to.x + slack && f.x + f.w >= to.x + to.w - slack;
			const seen = f.y < to.y ? leads : within;
			f.g.style.display = seen ? '' : 'none';
			if (!seen) continue;
			if (f.y < to.y) place(f, 0, width);
			else place(f, ((f.x - to.x) * width) / to.w, (f.w * width) / to.w);
		}
		reset.style.display = to === root ? 'none' : '';
	};

	// The part of the total in matching frames: nested frames count once.
	const matched = (hits) => {
		let sum = 0;
		let end = Number.NEGATIVE_INFINITY;
		for (const f of hits.sort((a, b) => a.x - b.x || b.w - a.w)) {
			if (f.x + f.w <= end + slack) continue;
			sum += f.w;
			end = f.x + f.w;
		}
		return (100 * sum) / root.w;
	};

	const search = (pattern) => {
		let regexp = null;
		try {
			regexp = pattern && new RegExp(pattern, 'i');
		} catch {
			status.textContent = 'not a regular expression';
			return;
		}
		const hits = regexp ? frames.filter((f) => f !== root && regexp.test(f.name)) : [];
		for (const f of frames) f.g.classList.remove('hit');
		for (const f of hits) f.g.classList.add('hit');
		status.textContent = regexp ? `${hits.length} match: ${matched(hits).toFixed(2)} %` : '';
	};

	const field = document.createElementNS(svg.namespaceURI, 'foreignObject');
	const box = () => {
		const input = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
		for (const [k, v] of Object.entries({ y: 6, width: 222, height: 26 })) field.setAttribute(k, v);
		input.setAttribute('placeholder', 'search (regular expression)');
		input.setAttribute('aria-label', 'search');
		input.style.width = '210px';
		input.addEventListener('input', () => search(input.value));
		field.append(input);
		svg.append(field);
		return input;
	};

	// Fits the width to the window; the font size stays.
	const fit = () => {
		width = Math.max(320, innerWidth);
		svg.setAttribute('width', width);
		svg.removeAttribute('viewBox');
		// Beside the title if there is room, else below it.
		field.setAttribute('x', Math.max(4, width - 230));
		field.setAttribute('y', width < 900 ? 34 : 6);
		reset.setAttribute('x', Math.max(4, width - 300));
		reset.setAttribute('y', width < 900 ? 53 : 22);
		zoom(zoomed);
	};

	if (!root) return;
	const input = box();
	const under = (event) => byGroup.get(event.target.closest?.('g.f'));
	svg.addEventListener('click', (event) => {
		const f = under(event);
		if (f) zoom(f);
	});
	svg.addEventListener('mouseover', (event) => {
		const f = under(event);
		if (f) status.textContent = f.title.replace('\n', '  ');
	});
	reset.addEventListener('click', () => zoom(root));
	addEventListener('resize', fit);
	fit();
	addEventListener('keydown', (event) => {
		if (event.key === 'Escape') zoom(root);
		if (event.key !== '/' || event.target === input) return;
		event.preventDefault();
		input.focus();
		input.select();
	});
})();
