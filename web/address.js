// SPDX-License-Identifier: Apache-2.0
// The state of the page, which its address follows: Back and Forward go through it.

import { readFragment, writeFragment } from './fragment.js';

const WAIT_MS = 250; // before the address follows what moves step by step

export class Address {
	/**
	 * show(state) draws it, at once what the address says behind `before`. What begins in another way
	 * is nothing of ours, and neither is anything when `signal` was aborted.
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
	 * Show another state. What is selected on the way, and a text while it is typed, are no places to
	 * go back to: `kind` is "select" or "search" then.
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

	// Browsers refuse too many at once; what is shown is right all the same.
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
