// SPDX-License-Identifier: Apache-2.0
// What takes a while: it says so, can be stopped, and says what went wrong.

import { button, byId, element } from '../dom.js';

/** For those who do not see it: read out when there is time. */
export function say(text) {
	byId('said').textContent = text;
}

/** An error stays until it is put away, or the next thing is done. */
export function complain(why) {
	const place = byId('problem');
	if (why.told) return;
	place.replaceChildren(element('p', why.message));
	if (why.fix) place.append(element('p', `What to do: ${why.fix}`, 'fix'));
	place.append(button('Put away', calm, 'quiet'));
	place.hidden = false;
	place.scrollIntoView({ block: 'nearest' });
}

export function calm() {
	byId('problem').hidden = true;
	byId('problem').replaceChildren();
}

/** A place that shows one thing being done. */
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

	/** `all` is 0 where it is not known. */
	step(text, done, all) {
		this.words.textContent = text;
		if (all <= 0) return;
		this.bar.max = all;
		this.bar.value = done;
	}

	/** Do it, with a signal to stop by; what is thrown is said, and undefined is returned. */
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
