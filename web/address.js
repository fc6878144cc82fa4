// SPDX-License-Identifier: Apache-2.0
// The state of the page, which its address follows: Back and Forward go through it.

import { readFragment, writeFragment } from './fragment.js';

const WAIT_MS = 250; // before the address follows what moves step by step

export class Address {
	/** show(state) draws it, at once what the address says. */
	constructor(fields, show) {
		this.fields = fields;
		this.show = show;
		this.kind = '';
		this.waiting = null;
		window.addEventListener('popstate', () => this.read());
	}

	read() {
		clearTimeout(this.waiting);
		this.waiting = null;
		this.show(readFragment(this.fields, location.hash));
	}

	/**
	 * Show another state. What is selected on the way, and a text while it is typed, are no places to
	 * go back to: `kind` is "select" or "search" then.
	 */
	go(state, kind = '') {
		if (this.waiting !== null) this.write('replaceState');
		this.fragment = writeFragment(this.fields, state);
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
		if (this.fragment === (location.hash || '#')) return;
		try {
			history[how](null, '', this.fragment);
		} catch {
			this.kind = '';
		}
	}
}
