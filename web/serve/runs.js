// SPDX-License-Identifier: Apache-2.0
// Recordings and samplings: running ones, and the results of others.

import { button, byId, element } from '../dom.js';
import { stamp } from '../text.js';
import { ask, askJson, download, may, session } from './api.js';
import { choice, duration, facts, labelled, link, made, size, Ticker, timeLeft } from './parts.js';
import { to } from './route.js';
import { Rows } from './rows.js';
import { complain, say, Task } from './task.js';

const REST_MS = 5000;
const BUSY_MS = 1000;

export const FORMATS = [
	['pprof', 'pprof: go tool pprof, Pyroscope, Parca'],
	['heap', 'heap: as jemalloc wrote it, for jeprof'],
	['folded', 'folded: for flamegraph.pl'],
	['speedscope', 'speedscope'],
	['html', 'html: a page that works offline'],
	['svg', 'svg: a flame graph'],
	['json', 'json'],
	['text', 'text: of jemalloc'],
];
/** jemalloc has no formats for differences. */
export const FORMATS_OF_DIFFERENCE = FORMATS.filter(([name]) => name !== 'heap' && name !== 'text');

const KINDS = { record: 'recording', sample: 'sampling', guard: 'profile' };
const nameOfRun = ({ kind, comm, pid }) => `${KINDS[kind] ?? kind} of ${comm} (${pid})`;
const isRunning = ({ state }) => state === 'running';
const isOfRule = ({ rule }) => Boolean(rule);
const kindOf = ({ kind, rule }) =>
	rule ? `rule ${rule.name}: ${rule.text}` : (KINDS[kind] ?? kind);

function isConfirmed(text) {
	const dialog = byId('confirm');
	byId('confirm-text').textContent = text;
	dialog.returnValue = '';
	dialog.showModal();
	byId('keep').focus();
	return new Promise((resolve) => {
		dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
	});
}

async function stopRun(run) {
	await ask(`/api/v1/runs/${run.id}/stop`, { method: 'POST', needs: 'control' });
	say(`The ${nameOfRun(run)} is being stopped`);
}

async function deleteRun(run) {
	if (!(await isConfirmed(`Delete the ${nameOfRun(run)} of ${stamp(run.began_ms)}?`))) return false;
	await ask(`/api/v1/runs/${run.id}`, { method: 'DELETE', needs: 'control' });
	say(`The ${nameOfRun(run)} was deleted`);
	return true;
}

function stateCell(run) {
	if (!isRunning(run)) return made('span', `chip ${run.state}`, run.state);
	const bar = element('progress');
	bar.max = Math.max(1, run.duration_ms);
	bar.value = run.elapsed_ms ?? 0;
	bar.setAttribute('aria-label', `progress of the ${nameOfRun(run)}`);
	const left = run.remaining_ms > 0 ? `${timeLeft(run.remaining_ms)} left` : 'ending';
	return made('span', 'running', bar, element('span', left));
}

const hasProfile = (run) => !isRunning(run) && run.profile_bytes !== null && may('profile');

function actionsCell(run, table) {
	const place = element('span', '', 'actions');
	const about = (control) => {
		control.setAttribute('aria-label', `${control.textContent}: ${nameOfRun(run)}, ${run.id}`);
		return control;
	};
	if (hasProfile(run)) place.append(about(link('Flame graph', to.profile(run.id))));
	if (hasProfile(run) && run.base_bytes !== null)
		place.append(about(link('What grew', to.growth(run.id))));
	if (!may('control')) return place;
	if (isRunning(run) && isOfRule(run)) return place;
	if (isRunning(run)) place.append(about(button('Stop', () => table.act(stopRun, run))));
	else place.append(about(button('Delete', () => table.act(deleteRun, run), 'quiet')));
	return place;
}

function tickCell(run, table) {
	if (!hasProfile(run)) return '';
	const box = element('input');
	box.type = 'checkbox';
	box.checked = table.ticked.includes(run.id);
	box.setAttribute('aria-label', `compare the ${nameOfRun(run)}, ${run.id}`);
	box.addEventListener('change', () => table.tick(run.id, box.checked));
	return box;
}

function columnsOf(table, ofOne) {
	const all = [
		{
			key: 'tick',
			title: 'Compare',
			unseen: true,
			same: (run) => `${table.ticked.includes(run.id)} ${hasProfile(run)}`,
			show: (run) => tickCell(run, table),
		},
		{
			key: 'began',
			title: 'Began',
			of: (run) => run.began_ms,
			same: (run) => run.id,
			show: (run) => link(stamp(run.began_ms), to.run(run.id)),
		},
		{
			key: 'process',
			title: 'Process',
			of: (run) => run.comm,
			same: (run) => run.id,
			show: (run) => link(`${run.comm} (${run.pid})`, to.process(run.pid)),
		},
		{ key: 'kind', title: 'Kind', of: kindOf, show: kindOf },
		{
			key: 'state',
			title: 'State',
			of: ({ state }) => state,
			same: (run) => `${run.state} ${run.elapsed_ms}`,
			show: stateCell,
		},
		{
			key: 'duration',
			title: 'Duration',
			right: true,
			of: (run) => run.result?.duration_ms ?? run.duration_ms,
			show: (run) => duration(run.result?.duration_ms ?? run.duration_ms),
		},
		{
			key: 'size',
			title: 'Size',
			right: true,
			of: (run) => run.bytes,
			show: (run) => size(run.bytes),
		},
		{ key: 'by', title: 'By', of: ({ by }) => by, show: ({ by }) => by },
		{
			key: 'acts',
			title: 'Actions',
			unseen: true,
			same: (run) => `${run.state} ${session.role} ${run.profile_bytes} ${run.base_bytes}`,
			show: (run) => actionsCell(run, table),
		},
	];
	return ofOne ? all.filter(({ key }) => !['tick', 'process', 'by'].includes(key)) : all;
}

/** The runs of one process or of all. */
export class RunTable {
	constructor(place, { label, ofOne = false, ticks = () => {} }) {
		this.ticked = [];
		this.ticks = ticks;
		this.states = new Map();
		this.rows = new Rows({
			label,
			columns: columnsOf(this, ofOne),
			sort: '-began',
			key: ({ id }) => id,
			empty: 'none yet',
			blocks: true,
		});
		place.append(this.rows.place);
		this.ticker = new Ticker(REST_MS, () => this.load());
	}

	/** pid: 0 for all; startTime(): identifies the process; undefined: not known yet. */
	open(pid = 0, startTime = () => undefined) {
		if (pid !== this.pid) this.rows.show([]);
		this.pid = pid;
		this.startTime = startTime;
		this.failed = false;
		this.states.clear();
		return this.ticker.start();
	}

	close() {
		this.ticker.stop();
	}

	async load() {
		const { pid } = this;
		let runs;
		try {
			({ runs } = await askJson(pid ? `/api/v1/runs?pid=${pid}` : '/api/v1/runs'));
			this.failed = false;
		} catch (why) {
			if (!this.failed) complain(why);
			this.failed = true;
			return;
		}
		if (pid !== this.pid) return;
		const began = this.startTime();
		this.take(runs.filter((run) => began === undefined || run.start_time === began));
	}

	take(runs) {
		this.ticker.ms = runs.some(isRunning) ? BUSY_MS : REST_MS;
		for (const run of runs) {
			const before = this.states.get(run.id);
			if (before === 'running' && !isRunning(run)) say(`The ${nameOfRun(run)}: ${run.state}`);
			this.states.set(run.id, run.state);
		}
		const there = new Set(runs.filter(hasProfile).map(({ id }) => id));
		this.ticked = this.ticked.filter((id) => there.has(id));
		this.rows.show(runs);
		this.ticks(this.ticked);
	}

	/** A run that has just begun. */
	add(run) {
		this.take([run, ...this.rows.rows.filter(({ id }) => id !== run.id)]);
		say(`The ${nameOfRun(run)} has begun: ${duration(run.duration_ms)}`);
		this.ticker.plan(BUSY_MS);
	}

	/** A third tick removes the first one. */
	tick(id, flag) {
		this.ticked = this.ticked.filter((other) => other !== id);
		if (flag) this.ticked = [...this.ticked, id].slice(-2);
		this.rows.show(this.rows.rows);
		this.ticks(this.ticked);
	}

	async act(what, run) {
		try {
			await what(run);
			await this.ticker.now();
		} catch (why) {
			complain(why);
		}
	}
}

/** All runs. */
export class RunsView {
	constructor() {
		this.table = new RunTable(byId('all-runs'), {
			label: 'Runs',
			ticks: (ticked) => this.offer(ticked),
		});
		byId('compare').addEventListener('click', () => this.compare());
	}

	open() {
		return this.table.open();
	}

	close() {
		this.table.close();
	}

	offer(ticked) {
		byId('compare').disabled = ticked.length !== 2;
		byId('compare-hint').textContent =
			['tick two runs', 'and another one', ''][ticked.length] ?? '';
	}

	// The later run is compared with the earlier one.
	compare() {
		const [base, run] = this.table.ticked.toSorted((a, b) => a - b);
		location.hash = to.difference(run, base);
	}
}

function levelOf({ level_bytes: level, limit_bytes: limit }) {
	return limit === null ? size(level) : `${size(level)} of ${size(limit)}`;
}

function factsOfRun(run) {
	const { result, rule } = run;
	const growth = (before, after) =>
		Number.isFinite(before) && Number.isFinite(after) ? `${size(before)}, then ${size(after)}` : '';
	return facts([
		['State', run.state],
		['Began', stamp(run.began_ms)],
		['Requested', duration(run.duration_ms)],
		['Took', duration(result?.duration_ms)],
		['Rule', rule ? `${rule.name}: ${rule.text}, ${rule.action}` : ''],
		['Memory then', rule ? levelOf(rule) : ''],
		['Remaining', isRunning(run) ? timeLeft(run.remaining_ms) : ''],
		['Sample rate', size(run.sample_bytes ?? Number.NaN)],
		['By', run.by],
		['Allocated', growth(result?.allocated_before_bytes, result?.allocated_after_bytes)],
		['RSS', growth(result?.rss_before_bytes, result?.rss_after_bytes)],
		['Samples', result?.samples?.toLocaleString('en-US')],
		['Threads stopped', result ? `${result.stops} times, ${result.pause_us} \u00b5s in all` : ''],
		['Size', size(run.bytes)],
		['Warning', result?.warning],
	]);
}

/** One run. */
export class RunView {
	constructor() {
		this.task = new Task(byId('run-task'));
		this.ticker = new Ticker(REST_MS, () => this.load());
		this.format = choice(FORMATS);
		byId('run-format').prepend(labelled('Format', this.format));
		byId('run-download').addEventListener('click', () => this.keep());
		byId('run-stop').addEventListener('click', () => this.act(stopRun));
		byId('run-delete').addEventListener('click', () => this.remove());
	}

	open({ run }) {
		this.id = run;
		this.run = null;
		byId('run-facts').replaceChildren();
		byId('run-links').replaceChildren();
		byId('run-title').textContent = `Run ${run}`;
		for (const id of ['run-stop', 'run-delete', 'run-format']) byId(id).hidden = true;
		return this.ticker.start();
	}

	close() {
		this.ticker.stop();
		this.task.stop();
	}

	async load() {
		const { id } = this;
		try {
			const run = await askJson(`/api/v1/runs/${id}`);
			if (id !== this.id) return;
			this.run = run;
			this.draw();
		} catch (why) {
			complain(why);
			this.ticker.stop();
		}
	}

	draw() {
		const { run } = this;
		this.ticker.ms = isRunning(run) ? BUSY_MS : REST_MS;
		byId('run-title').textContent = nameOfRun(run).replace(/^./, (first) => first.toUpperCase());
		byId('run-facts').replaceChildren(factsOfRun(run), isRunning(run) ? stateCell(run) : '');
		if (run.error) {
			byId('run-facts').append(element('p', run.error.message, 'wrong'));
			if (run.error.fix)
				byId('run-facts').append(element('p', `What to do: ${run.error.fix}`, 'fix'));
		}
		const links = [link('The process', to.process(run.pid))];
		if (hasProfile(run) && run.base_bytes !== null)
			links.unshift(link('What grew', to.growth(run.id), 'strong'));
		if (hasProfile(run)) links.unshift(link('Flame graph', to.profile(run.id), 'strong'));
		if (byId('run-links').childElementCount !== links.length)
			byId('run-links').replaceChildren(...links);
		byId('run-format').hidden = !hasProfile(run);
		byId('run-stop').hidden = !isRunning(run) || isOfRule(run) || !may('control');
		byId('run-delete').hidden = isRunning(run) || !may('control');
	}

	async act(what) {
		try {
			await what(this.run);
			await this.ticker.now();
		} catch (why) {
			complain(why);
		}
	}

	async remove() {
		try {
			if (await deleteRun(this.run)) location.hash = to.runs();
		} catch (why) {
			complain(why);
		}
	}

	async keep() {
		const path = `/api/v1/runs/${this.id}/profile?format=${this.format.value}`;
		const name = await this.task.run('Downloading', (signal) =>
			download(path, { needs: 'profile', signal }, (n, all) =>
				this.task.step(`Downloading: ${size(n)}`, n, all),
			),
		);
		if (name) say(`${name} was downloaded`);
	}
}
