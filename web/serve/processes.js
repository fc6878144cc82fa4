// SPDX-License-Identifier: Apache-2.0
// Processes that use jemalloc, and whether they can be profiled.

import { byId, element } from '../dom.js';
import { percent } from '../text.js';
import { askJson } from './api.js';
import { link, made, size, Ticker } from './parts.js';
import { to } from './route.js';
import { Rows } from './rows.js';
import { complain } from './task.js';

const REFRESH_MS = 5000;

/** The start time last seen for a pid, as another process may get it. */
export const startTimes = new Map();

/** "5.3.0" of "5.3.0-0-g54eaed1d". */
export const shortVersion = ({ version }) => version?.replace(/-.*/, '') ?? '';

/**
 * { state, text, fix }: whether it can be profiled. `sample` does not need prof:true, and works with
 * the versions of jemalloc that it knows.
 */
export function profilingOf({ config, opt, prof, sample }) {
	const instead = sample ? 'sample works' : 'and sample does not know this jemalloc';
	if (prof.active) return { state: 'on', text: 'on', fix: '' };
	if (opt.prof && prof.active === false)
		return { state: 'off', text: 'off, can be turned on', fix: '' };
	if (config.prof === false)
		return {
			state: sample ? 'sample' : 'none',
			text: `built without profiling; ${instead}`,
			fix: 'build its jemalloc with --enable-prof; until then, sample it',
		};
	if (opt.prof === false)
		return {
			state: sample ? 'sample' : 'none',
			text: `not started with prof:true; ${instead}`,
			fix: 'start it with MALLOC_CONF=prof:true,prof_active:false; Check says how, for a service or container',
		};
	return {
		state: 'unknown',
		text: 'not known without a call',
		fix: 'Check finds out, and stops one thread to do so',
	};
}

function memoryCell(row) {
	const place = made('span', 'memory', size(row.rss_bytes));
	if (row.limit_bytes === null) return place;
	const bar = element('span', '', 'bar');
	const share = Math.min(1, row.rss_bytes / row.limit_bytes);
	bar.style.setProperty('--part', `${(100 * share).toFixed(1)}%`);
	bar.classList.toggle('high', share > 0.8);
	place.append(
		bar,
		element('small', `${percent(row.rss_bytes, row.limit_bytes)} of ${size(row.limit_bytes)}`),
	);
	return place;
}

function profilingCell(row) {
	const { state, text } = profilingOf(row);
	return made('span', `chip ${state}`, text);
}

const COLUMNS_OF_PROCESSES = [
	{ key: 'pid', title: 'PID', right: true, of: ({ pid }) => pid, show: ({ pid }) => String(pid) },
	{
		key: 'comm',
		title: 'Name',
		of: ({ comm }) => comm,
		same: ({ pid, comm }) => `${pid} ${comm}`,
		show: ({ pid, comm }) => link(comm, to.process(pid)),
	},
	{ key: 'unit', title: 'Unit', of: ({ unit }) => unit ?? '', show: ({ unit }) => unit ?? '' },
	{
		key: 'container',
		title: 'Container',
		of: ({ container }) => container ?? '',
		show: ({ container }) => container ?? '',
	},
	{ key: 'version', title: 'jemalloc', of: shortVersion, show: shortVersion },
	{
		key: 'rss',
		title: 'RSS',
		right: true,
		hint: 'resident memory; the bar: share of the limit of its control group',
		of: (row) => row.rss_bytes,
		same: (row) => `${size(row.rss_bytes)} ${row.limit_bytes}`,
		show: memoryCell,
	},
	{
		key: 'profiling',
		title: 'Profiling',
		of: (row) => profilingOf(row).text,
		same: (row) => profilingOf(row).text,
		show: profilingCell,
	},
];

function matches(row, text) {
	const said = [row.pid, row.comm, row.unit, row.container, row.service_name, row.version];
	return said.some((what) =>
		String(what ?? '')
			.toLowerCase()
			.includes(text),
	);
}

export class ProcessesView {
	constructor() {
		this.all = null;
		this.rows = new Rows({
			label: 'Processes that use jemalloc',
			columns: COLUMNS_OF_PROCESSES,
			sort: '-rss',
			key: ({ pid, start_time: began, image }) => `${pid} ${began} ${image}`,
			empty: 'no process',
			blocks: true,
		});
		byId('processes').append(this.rows.place);
		byId('filter').addEventListener('input', () => this.draw());
		byId('pause').addEventListener('click', () => this.pause());
		this.ticker = new Ticker(REFRESH_MS, () => this.load());
	}

	open() {
		return this.ticker.start();
	}

	close() {
		this.ticker.stop();
	}

	pause() {
		const flag = !this.ticker.paused;
		byId('pause').setAttribute('aria-pressed', String(flag));
		this.ticker.pause(flag);
		this.count();
	}

	async load() {
		try {
			this.all = await askJson('/api/v1/processes');
			this.failed = false;
		} catch (why) {
			if (!this.failed) complain(why);
			this.failed = true;
			return;
		}
		startTimes.clear();
		for (const { pid, start_time: began } of this.all) startTimes.set(pid, began);
		this.draw();
	}

	draw() {
		if (!this.all) return;
		const text = byId('filter').value.trim().toLowerCase();
		this.rows.show(this.all.filter((row) => matches(row, text)));
		this.count();
	}

	count() {
		if (!this.all) return;
		const shown = this.rows.rows.length;
		const words = shown === this.all.length ? `${shown}` : `${shown} of ${this.all.length}`;
		const how = this.ticker.paused ? 'not refreshed' : 'refreshed every 5 s';
		byId('counted').textContent = `${words}, ${how}`;
	}
}
