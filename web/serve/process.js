// SPDX-License-Identifier: Apache-2.0
// One process: operations on it, and their results.

import { byId, element } from '../dom.js';
import { askJson, download } from './api.js';
import { memoryOf } from './memory.js';
import { choice, facts, labelled, made, size, Ticker } from './parts.js';
import { profilingOf, shortVersion, startTimes } from './processes.js';
import { to } from './route.js';
import { FORMATS, RunTable } from './runs.js';
import { statsOf, threadsOf } from './stats.js';
import { complain, say, Task } from './task.js';
import { keepDump, pageOf } from './viewer.js';

const AGAIN_MS = 5000;
const LEAST_RATE = 10; // 1 KiB
const LARGEST_RATE = 24;

function rates(first) {
	const options = first ? [['', first]] : [];
	for (let lg = LEAST_RATE; lg <= LARGEST_RATE; lg++)
		options.push([String(2 ** lg), size(2 ** lg)]);
	return options;
}

function checksOf({ ready, checks }) {
	const wrong = checks.filter(({ ok }) => ok === false);
	const item = ({ name, ok, detail, fix }) =>
		made(
			'li',
			ok === false ? 'bad' : '',
			element('strong', { true: 'ok', false: 'not ok' }[ok] ?? 'skipped'),
			element('span', ` ${name}: ${detail ?? ''}`),
			fix ? element('p', `What to do: ${fix}`, 'fix') : '',
		);
	return [
		element('p', ready ? 'It is ready.' : 'It is not ready.', 'verdict'),
		made('ul', 'checks', ...wrong.map(item)),
		made(
			'details',
			'',
			element('summary', `All ${checks.length} checks`),
			made('ul', 'checks', ...checks.map(item)),
		),
	];
}

// Queries, each with a button and a result below it. Each stops one thread briefly.
const QUESTIONS = [
	{ id: 'check', words: 'Checking', show: checksOf },
	{ id: 'explain', words: 'Finding out where its memory is', show: memoryOf },
	{ id: 'stats', words: 'Reading statistics', show: statsOf },
	{ id: 'threads', words: 'Reading its threads', show: threadsOf },
];

// Disabled until it is known which process has the pid.
const BUTTONS = [
	...['switch', 'reset', 'record', 'sample', 'dump', 'dump-download'],
	...QUESTIONS.map(({ id }) => `ask-${id}`),
];

export class ProcessView {
	constructor() {
		this.pid = 0;
		this.runs = new RunTable(byId('runs-of'), { label: 'Runs of this process', ofOne: true });
		this.doing = new Task(byId('doing'));
		this.ticker = new Ticker(AGAIN_MS, () => this.load());
		this.rate = choice(rates(''), '524288');
		this.runRate = choice(rates('unchanged'));
		this.format = choice(FORMATS);
		byId('rate-of').prepend(labelled('Sample rate', this.rate));
		byId('run-rate').append(labelled('Sample rate', this.runRate));
		byId('dump-format').prepend(labelled('Format', this.format));
		byId('switch').addEventListener('click', () => this.flip());
		byId('reset').addEventListener('click', () => this.reset());
		byId('record').addEventListener('click', () => this.run('record'));
		byId('sample').addEventListener('click', () => this.run('sample'));
		byId('dump').addEventListener('click', () => this.dump());
		byId('dump-download').addEventListener('click', () => this.keep());
		this.asking = QUESTIONS.map((question) => this.listen(question));
	}

	listen({ id, words, show }) {
		const task = new Task(byId(`${id}-task`));
		const place = byId(`${id}-answer`);
		byId(`ask-${id}`).addEventListener('click', async () => {
			const said = await task.run(words, (signal) =>
				askJson(this.path(id), { needs: 'profile', signal }),
			);
			if (said) place.replaceChildren(...show(said));
		});
		return { task, place };
	}

	open({ pid }) {
		const start = startTimes.get(pid) ?? this.start;
		if (pid !== this.pid || start !== this.start) this.forget();
		this.pid = pid;
		this.start = startTimes.get(pid) ?? this.start;
		this.failed = false;
		this.runs.open(pid, () => this.start);
		return this.ticker.start();
	}

	close() {
		this.ticker.stop();
		this.runs.close();
		this.doing.stop();
		for (const { task } of this.asking) task.stop();
	}

	forget() {
		this.start = undefined;
		this.row = null;
		byId('process-title').textContent = 'Process';
		byId('process-facts').replaceChildren();
		byId('profiling').replaceChildren();
		for (const { place } of this.asking) place.replaceChildren();
		for (const id of BUTTONS) byId(id).disabled = true;
	}

	// With the start time, so that another process with the same pid is never affected.
	path(what, given = {}) {
		const query = new URLSearchParams(given);
		if (this.start !== undefined) query.set('start_time', String(this.start));
		return `/api/v1/processes/${this.pid}${what ? `/${what}` : ''}?${query}`;
	}

	async load() {
		const { pid } = this;
		try {
			const [row] = await askJson(this.path(''));
			if (pid !== this.pid) return;
			this.start = row.start_time;
			this.row = row;
			this.failed = false;
			this.draw();
		} catch (why) {
			if (!this.failed && pid === this.pid) complain(why);
			this.failed = true;
		}
	}

	draw() {
		const { row } = this;
		const { state, text, fix } = profilingOf(row);
		const rate = row.opt.prof ? row.opt.lg_prof_sample : null;
		const limit = row.limit_bytes === null ? '' : ` of ${size(row.limit_bytes)}`;
		byId('process-title').textContent = `${row.comm} (${row.pid})`;
		byId('process-facts').replaceChildren(
			facts([
				['RSS', size(row.rss_bytes) + limit],
				['Unit', row.unit],
				['Container', row.container],
				['Pod', row.pod_uid],
				['Service', row.service_name === row.comm ? '' : row.service_name],
				['jemalloc', `${shortVersion(row)}, ${row.linkage}`],
				['File', row.image],
				['Sample rate at start', rate === null ? '' : size(2 ** rate)],
				['User', String(row.uid)],
			]),
		);
		byId('profiling').replaceChildren(made('span', `chip ${state}`, text));
		if (row.warning) byId('profiling').append(element('p', row.warning));
		if (fix) byId('profiling').append(element('p', `What to do: ${fix}`, 'fix'));
		this.drawSwitch(state);
	}

	drawSwitch(state) {
		for (const { id } of QUESTIONS) byId(`ask-${id}`).disabled = false;
		const can = ['on', 'off', 'unknown'].includes(state);
		const checked = { on: 'true', unknown: 'mixed' }[state] ?? 'false';
		byId('switch').disabled = !can;
		byId('switch').setAttribute('aria-checked', checked);
		byId('switch-word').textContent = { true: 'on', false: 'off', mixed: 'not known' }[checked];
		byId('reset').disabled = !can;
		byId('record').disabled = !can;
		byId('dump').disabled = !can;
		byId('dump-download').disabled = !can;
		byId('sample').disabled = !this.row.sample;
	}

	async flip() {
		const on = byId('switch').getAttribute('aria-checked') === 'true';
		const what = on ? 'deactivate' : 'activate';
		const said = await this.doing.run(
			on ? 'Turning sampling off' : 'Turning sampling on',
			(signal) => askJson(this.path(what), { method: 'POST', needs: 'control', signal }),
		);
		if (!said) return;
		await this.ticker.now();
		say(said.warning ?? `Sampling is ${said.after ? 'on' : 'off'}`);
	}

	async reset() {
		const path = this.path('reset', { sample_rate: this.rate.value });
		const said = await this.doing.run('Discarding all samples', (signal) =>
			askJson(path, { method: 'POST', needs: 'control', signal }),
		);
		if (!said) return;
		await this.ticker.now();
		say(`All samples were discarded; from now on there is one per ${size(2 ** said.after)}`);
	}

	async run(kind) {
		const given = { duration: byId('run-duration').value.trim() || '30s' };
		if (this.runRate.value) given.sample_rate = this.runRate.value;
		const path = this.path(kind, given);
		const words = kind === 'record' ? 'Starting to record' : 'Starting to sample';
		const run = await this.doing.run(words, (signal) =>
			askJson(path, { method: 'POST', needs: 'control', signal }),
		);
		if (run) this.runs.add(run);
	}

	async dump() {
		const { pid } = this;
		const path = this.path('dump', { format: 'html' });
		const page = await this.doing.run('Taking a profile', (signal) =>
			pageOf(path, { method: 'POST', needs: 'profile', signal }, this.doing),
		);
		if (!page) return;
		keepDump(pid, this.row?.comm ?? '', page);
		location.hash = to.dump(pid);
	}

	async keep() {
		const path = this.path('dump', { format: this.format.value });
		const name = await this.doing.run('Taking a profile', (signal) =>
			download(path, { method: 'POST', needs: 'profile', signal }, (n, all) =>
				this.doing.step(`Downloading: ${size(n)}`, n, all),
			),
		);
		if (name) say(`${name} was downloaded`);
	}
}
