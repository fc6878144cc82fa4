// SPDX-License-Identifier: Apache-2.0
// A report with its flame graph, in the whole window.

import { byId } from '../dom.js';
import { openReport } from '../report.js';
import { ask, download, readAll } from './api.js';
import { choice, labelled, link, size } from './parts.js';
import { to } from './route.js';
import { FORMATS, FORMATS_OF_DIFFERENCE } from './runs.js';
import { complain, say, Task } from './task.js';

// Escaped, as it would end the script that contains it.
const DATA = '\u003cscript type="application/json" id="data">';
const END = '\u003c/script>';

let kept = null; // the last profile taken here: there is no other copy

export function keepDump(pid, comm, page) {
	kept = { pid, comm, page };
}

/** The page of a profile as text, with progress. */
export async function pageOf(path, options, task) {
	const response = await ask(path, options);
	const blob = await readAll(response, (n, all) => task.step(`Reading: ${size(n)}`, n, all));
	return blob.text();
}

// The data of a report page is JSON, in which nothing can end the script around it
// (profile/format/html.c). The rest of the page is ignored.
function dataOf(page) {
	const from = page.indexOf(DATA) + DATA.length;
	return JSON.parse(page.slice(from, page.indexOf(END, from)));
}

const WORDS = {
	dump: { title: 'heap profile', formats: [] },
	profile: { title: 'heap profile', formats: FORMATS },
	growth: { title: 'what grew', formats: FORMATS_OF_DIFFERENCE },
	difference: { title: 'difference of heap profiles', formats: FORMATS_OF_DIFFERENCE },
};

export class Viewer {
	constructor() {
		this.task = new Task(byId('viewer-task'));
		this.format = null;
		byId('viewer-download').addEventListener('click', () => this.keep());
	}

	async open(route) {
		this.route = route;
		this.close();
		this.offer();
		if (route.name === 'dump') {
			if (kept?.pid === route.pid) this.show(kept.page);
			else byId('viewer-note').textContent = 'This profile was not kept. Take another one.';
			return;
		}
		const page = await this.task.run('Fetching the profile', (signal) =>
			pageOf(this.path('html'), { needs: 'profile', signal }, this.task),
		);
		if (page && this.route === route) this.show(page);
	}

	close() {
		this.abort?.abort();
		this.task.stop();
		byId('viewer-note').textContent = '';
		byId('viewer-report').replaceChildren();
	}

	path(format) {
		const { name, run, base } = this.route;
		const query = new URLSearchParams({ format });
		if (name === 'difference') query.set('base', String(base));
		return `/api/v1/runs/${run}/${name === 'profile' ? 'profile' : 'diff'}?${query}`;
	}

	// Links away from here.
	offer() {
		const { name, pid, run } = this.route;
		const { formats } = WORDS[name];
		const back =
			name === 'dump'
				? link('\u2039 The process', to.process(pid))
				: link('\u2039 The run', to.run(run));
		byId('viewer-back').replaceChildren(back);
		byId('viewer-download').hidden = formats.length === 0;
		this.format = choice(formats);
		byId('viewer-format').replaceChildren(
			...(formats.length > 0 ? [labelled('Format', this.format)] : []),
		);
	}

	show(page) {
		const { name, before } = this.route;
		let data;
		try {
			data = dataOf(page);
		} catch {
			complain({ message: 'the answer is not a profile that can be shown', fix: null });
			return;
		}
		const { comm, pid } = data.facts;
		const title = `${comm ?? 'process'}${pid ? ` (${pid})` : ''}: ${WORDS[name].title}`;
		this.abort = new AbortController();
		// The state of a report follows a question mark.
		if (!location.hash.startsWith(`${before}?`)) history.replaceState(null, '', `${before}?`);
		byId('viewer-report').replaceChildren(byId('report').content.cloneNode(true));
		openReport(data, title, { before: `${before}?`, signal: this.abort.signal });
		say(title);
	}

	async keep() {
		const name = await this.task.run('Downloading', (signal) =>
			download(this.path(this.format.value), { needs: 'profile', signal }, (n, all) =>
				this.task.step(`Downloading: ${size(n)}`, n, all),
			),
		);
		if (name) say(`${name} was downloaded`);
	}
}
