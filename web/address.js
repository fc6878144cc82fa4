// SPDX-License-Identifier: Apache-2.0
// The state of the page, which the address reflects, so that Back and Forward work.

import { readFragment, writeFragment } from './fragment.js';

const WAIT_MS = 250; // delay before the address follows step-by-step movement

export class Address {
	/**
	 * show(state) draws the state, initially that of the address after `before`. Addresses with another
	 * prefix are ignored, as is everything after `signal` was aborted.
	 */
	constructor(fields, show, { before, signal }) {
		this.fields = fields;
		this.show = show;
		this.before = before;
		this.signal = signal;
		this.kind = '';
		this.waiting = null;
		window.addEventListener('popstate', () => this.read(), { signal });
	}

	read() {
		const text = location.hash || '#';
		clearTimeout(this.waiting);
		this.waiting = null;
		if (text.startsWith(this.before))
			this.show(readFragment(this.fields, text.slice(this.before.length)));
	}

	/**
	 * Show another state. Selections on the way, and a text being typed, get no history entry of their
	 * own: `kind` is then "select" or "search".
	 */
	go(state, kind = '') {
		if (this.waiting !== null) this.write('replaceState');
		this.fragment = this.before + writeFragment(this.fields, state);
		this.show(state);
		if (kind === 'select' || (kind === 'search' && this.kind === kind))
			this.waiting = setTimeout(() => this.write('replaceState'), WAIT_MS);
		else this.write('pushState');
		this.kind = kind;
	}

	// Browsers refuse too many changes at once; the view is correct anyway.
	write(how) {
		clearTimeout(this.waiting);
		this.waiting = null;
		if (this.signal?.aborted || this.fragment === (location.hash || '#')) return;
		try {
			history[how](null, '', this.fragment);
		} catch {
			this.kind = '';
		}
	}
}
