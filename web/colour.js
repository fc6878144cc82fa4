// SPDX-License-Identifier: Apache-2.0
// Colors. A difference goes from blue (less) through gray to orange (more), which can be
// distinguished with every kind of color blindness. In other profiles each module has a hue, which
// is no other information.

const HUES = [212, 36, 168, 268, 52, 330, 190, 12, 130, 300];
const LESS = { light: [33, 113, 181], dark: [74, 144, 217] };
const NONE = { light: [226, 226, 226], dark: [66, 66, 70] };
const MORE = { light: [230, 121, 22], dark: [217, 114, 26] };

function isDark() {
	const chosen = document.documentElement.dataset.theme;
	if (chosen) return chosen === 'dark';
	return matchMedia('(prefers-color-scheme: dark)').matches;
}

function mix(a, b, share) {
	return a.map((part, i) => Math.round(part + (b[i] - part) * share));
}

// Whether black or white is more readable on a color (relative luminance of WCAG).
function inkOn(rgb) {
	const [r, g, b] = rgb.map((part) => {
		const x = part / 255;
		return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#111' : '#fff';
}

/** One of a few shades, to distinguish neighbors of one module. */
export function shadeOf(name) {
	let h = 0;
	for (let i = 0; i < name.length; i++) h = (Math.imul(h, 31) + name.charCodeAt(i)) | 0;
	return (h >>> 0) % 5;
}

export class Colours {
	constructor() {
		this.update();
	}

	/** Call this when the theme changed. */
	update() {
		const style = getComputedStyle(document.documentElement);
		const get = (name) => style.getPropertyValue(name).trim();
		this.dark = isDark();
		this.page = this.dark ? '#1b1c1f' : '#ffffff';
		this.ink = this.dark ? '#e8e8ea' : '#1a1a1c';
		this.faint = this.dark ? '#8d8d94' : '#77777e';
		this.rest = this.dark ? '#34353a' : '#e4e4e8';
		this.mark = this.dark ? '#ffffff' : '#000000';
		this.font = get('--mono');
		this.cache = new Map();
	}

	/** { fill, ink } of a module's function; `rank`: the module's place by size, -1: the whole. */
	ofModule(rank, shade) {
		const key = rank * 8 + shade;
		let colour = this.cache.get(key);
		if (!colour) {
			const grey = rank < 0 || rank >= HUES.length;
			const light = this.dark ? 27 + shade * 2 : 84 - shade * 2.5;
			const strength = grey ? 4 : this.dark ? 38 : 62;
			const hue = grey ? 220 : HUES[rank];
			colour = {
				fill: `hsl(${hue} ${strength}% ${light}%)`,
				ink: this.dark ? '#f2f2f4' : '#16161a',
			};
			this.cache.set(key, colour);
		}
		return colour;
	}

	/** { fill, ink } of a change: net is between -size and size. */
	ofChange(net, size) {
		const share = size > 0 ? Math.round((net / size) * 16) / 16 : 0;
		const key = `d${share}`;
		let colour = this.cache.get(key);
		if (!colour) {
			const tone = this.dark ? 'dark' : 'light';
			const strength = share === 0 ? 0 : 0.25 + 0.75 * Math.abs(share);
			const rgb = mix(NONE[tone], (share < 0 ? LESS : MORE)[tone], strength);
			colour = { fill: `rgb(${rgb})`, ink: inkOn(rgb) };
			this.cache.set(key, colour);
		}
		return colour;
	}
}
