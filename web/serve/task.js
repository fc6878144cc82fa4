// SPDX-License-Identifier: Apache-2.0
// Long operations, with progress, a way to stop them, and errors.

import { button, byId, element } from '../dom.js';

/** For screen readers, which read it when they are idle. */
export function say(text) {
	byId('said').textContent = text;
}

/** An error stays until it is dismissed, or the next operation starts. */
export function complain(why) {
	const place = byId('problem');
	if (why.told) return;
	place.replaceChildren(element('p', why.message));
	if (why.fix) place.append(element('p', `What to do: ${why.fix}`, 'fix'));
	place.append(button('Dismiss', calm, 'quiet'));
	place.hidden = false;
	place.scrollIntoView({ block: 'nearest' });
}

export function calm() {
	byId('problem').hidden = true;
	byId('problem').replaceChildren();
}

/** Shows one operation. */
export class Task {
	constructor(place) {
		this.place = place;
		this.place.classList.add('task');
		this.place.hidden = true;
	}

	stop() {
		this.abort?.abort();
		this.abort = null;
		this.place.hidden = true;
		this.place.replaceChildren();
	}

	show(text) {
		this.words = element('span', text);
		this.bar = element('progress');
		this.bar.setAttribute('aria-label', text);
		this.place.replaceChildren(
			this.words,
			this.bar,
			button('Cancel', () => this.stop(), 'quiet'),
		);
		this.place.hidden = false;
		say(text);
	}

	/** `all`: 0 if not known. */
	step(text, done, all) {
		this.words.textContent = text;
		if (all <= 0) return;
		this.bar.max = all;
		this.bar.value = done;
	}

	/** Run it, with a signal that stops it. Errors are shown, and undefined is returned. */
	async run(text, work) {
		this.stop();
		calm();
		const abort = new AbortController();
		this.abort = abort;
		this.show(text);
		try {
			const result = await work(abort.signal);
			if (this.abort === abort) say(`${text}: done`);
			return result;
		} catch (why) {
			if (why.name !== 'AbortError' && this.abort === abort) complain(why);
			return undefined;
		} finally {
			if (this.abort === abort) this.stop();
		}
	}
}
