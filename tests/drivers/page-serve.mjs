// SPDX-License-Identifier: Apache-2.0
// page-serve.mjs URL FOLDER PID SOCKET OTHER [PICTURES]: what the page of `serve` shows and does,
// as one JSON document, for tests/system/page.t. FOLDER has a token for each role (read, profile,
// control), and receives downloads. PID is a redis-server at SOCKET that can be profiled; OTHER is
// a process that cannot, and that is ended meanwhile. Screenshots go to PICTURES.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { Page } from './browser.mjs';

const [, , url, folder, pid, socket, other, bare, bareSocket, pictures] = process.argv;
const token = (role) => readFileSync(`${folder}/${role}`, 'utf8').trim();
const page = await Page.open(url);
const seen = {};
await page.keepFiles(folder);

// --- repeated actions ---

const quoted = JSON.stringify;
const text = (selector) => page.text(selector);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(what, expression) {
	for (let tries = 0; tries < 1200; tries++) {
		if (await page.get(expression)) return;
		await pause(100);
	}
	throw new Error(`waited in vain: ${what}; ${await text('#problem')}; ${await text('#said')}`);
}

const shown = (selector) =>
	`(document.querySelector(${quoted(selector)})?.checkVisibility() ?? false)`;
const contains = (selector, words) =>
	`(document.querySelector(${quoted(selector)})?.textContent.includes(${quoted(words)}) ?? false)`;

// Click on the element once it is in sight.
async function click(selector) {
	await until(
		selector,
		`${shown(selector)} && !document.querySelector(${quoted(selector)}).disabled`,
	);
	await page.get(`document.querySelector(${quoted(selector)}).scrollIntoView({ block: 'center' })`);
	await page.settle();
	await page.clickOn(selector);
}

// The page in a state that a reader would see: it may have no faults.
const AUDIT = `(() => {
	const faults = [];
	const seen = (e) => e.checkVisibility();
	const nameOf = (e) =>
		e.getAttribute('aria-label') ?? [...(e.labels ?? [])].map((l) => l.textContent).join('') ?? '';
	for (const e of document.querySelectorAll('input, select, textarea, progress'))
		if (seen(e) && !nameOf(e).trim()) faults.push('no label: ' + e.outerHTML);
	for (const e of document.querySelectorAll('button, a, summary'))
		if (seen(e) && !(e.getAttribute('aria-label') ?? e.textContent).trim()) faults.push('no name: ' + e.outerHTML);
	const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
	for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push('twice: #' + id);
	for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby], [for], [list]'))
		for (const name of ['aria-labelledby', 'aria-describedby', 'for', 'list'])
			for (const id of (e.getAttribute(name) ?? '').split(' ').filter(Boolean))
				if (!document.getElementById(id)) faults.push(name + ' of nothing: ' + id);
	for (const e of document.querySelectorAll('section'))
		if (seen(e) && !e.closest('.report') && !e.querySelector('h2, h3')) faults.push('no heading: #' + e.id);
	let level = 1;
	for (const e of document.querySelectorAll('h1, h2, h3, h4')) {
		if (!seen(e) || e.closest('.report')) continue;
		if (Number(e.tagName[1]) > level + 1) faults.push('heading too deep: ' + e.textContent);
		level = Number(e.tagName[1]);
	}
	for (const e of document.querySelectorAll('th'))
		if (!e.closest('.report, dialog') && e.scope !== 'col') faults.push('no scope: ' + e.textContent);
	for (const e of document.querySelectorAll('table.rows')) if (!e.caption?.textContent) faults.push('no caption');
	for (const e of document.querySelectorAll('body *')) {
		const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
		const { fontSize } = getComputedStyle(e);
		if (own && seen(e) && parseFloat(fontSize) < 11.5) faults.push('small: ' + fontSize + ' ' + e.outerHTML.slice(0, 80));
		for (const { name } of e.attributes) if (name.startsWith('on')) faults.push('handler: ' + name);
	}
	for (const e of document.querySelectorAll('[hidden]')) if (seen(e)) faults.push('not hidden: ' + e.outerHTML.slice(0, 80));
	if (!document.querySelector('html').lang) faults.push('no language');
	if (!document.querySelector('main')) faults.push('no main');
	if (document.querySelector('#said').ariaLive !== 'polite') faults.push('nothing is live');
	if (document.querySelectorAll('h1').length !== 1 && !document.querySelector('.report')) faults.push('not one h1');
	if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window: ' + document.documentElement.scrollWidth);
	return faults;
})()`;

// The contrast of text, by the rules of WCAG; disabled elements may be faint.
const CONTRAST = `(() => {
	const canvas = new OffscreenCanvas(1, 1);
	const context = canvas.getContext('2d', { willReadFrequently: true });
	const rgb = (colour) => {
		context.clearRect(0, 0, 1, 1);
		context.fillStyle = colour;
		context.fillRect(0, 0, 1, 1);
		return [...context.getImageData(0, 0, 1, 1).data];
	};
	const light = ([r, g, b]) => {
		const [x, y, z] = [r, g, b].map((part) => {
			const c = part / 255;
			return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * x + 0.7152 * y + 0.0722 * z;
	};
	const behind = (e) => {
		for (let at = e; at; at = at.parentElement) {
			const colour = rgb(getComputedStyle(at).backgroundColor);
			if (colour[3] === 255) return colour;
		}
		return rgb(matchMedia('(prefers-color-scheme: dark)').matches ? '#121212' : '#ffffff');
	};
	const faults = [];
	for (const e of document.querySelectorAll('body *')) {
		const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
		if (!own || !e.checkVisibility() || e.closest(':disabled, .unseen, .report, option')) continue;
		const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) faults.push(ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 100));
	}
	return faults;
})()`;

seen.faults = [];
seen.contrast = [];

// Look at the page, wide and narrow, light and dark.
async function look(name) {
	for (const wide of [1280, 390]) {
		for (const dark of [false, true]) {
			await page.prefer(dark);
			await page.resize(wide, 900);
			await page.settle();
			for (const fault of await page.get(AUDIT)) seen.faults.push(`${name}, ${wide}: ${fault}`);
			for (const fault of await page.get(CONTRAST))
				seen.contrast.push(`${name}, ${dark ? 'dark' : 'light'}: ${fault}`);
			if (!pictures) continue;
			const all = await page.get('document.documentElement.scrollHeight');
			await page.resize(wide, Math.min(3000, Math.max(900, all)));
			await page.settle();
			await page.picture(`${pictures}/${name}-${wide}-${dark ? 'dark' : 'light'}.png`);
		}
	}
	await page.prefer(false);
	await page.resize(1280, 900);
	await page.settle();
}

// The browser's own messages about error responses are expected here; other complaints are not.
function takeRefusals() {
	const known = page.complaints.filter((said) => said.startsWith('Failed to load resource'));
	page.complaints = page.complaints.filter((said) => !known.includes(said));
	return known.map((said) => /\b[45]\d\d\b/.exec(said)?.[0]);
}

async function enter(role) {
	await until('the field', shown('#token'));
	await click('#token');
	await page.type(token(role));
	await page.key('Enter');
	await until(
		`the role ${role}`,
		`document.querySelector('#role').textContent === ${quoted(role)}`,
	);
}

async function visit(hash) {
	await page.get(`void (location.hash = ${quoted(hash)})`);
	await page.settle();
}

async function put(selector, value) {
	await click(selector);
	await page.get(`document.querySelector(${quoted(selector)}).select()`);
	await page.type(value);
}

const choose = (selector, value) =>
	page.get(`void (document.querySelector(${quoted(selector)}).value = ${quoted(value)})`);

function load(on = socket) {
	return new Promise((resolve) => {
		const args = ['-s', on, '-n', '60000', '-r', '60000', '-d', '256', '-t', 'set', '-q'];
		spawn('redis-benchmark', args, { stdio: 'ignore' }).on('exit', resolve);
	});
}

async function file(name) {
	for (let tries = 0; tries < 600 && !existsSync(`${folder}/${name}`); tries++) await pause(100);
	return existsSync(`${folder}/${name}`);
}

// --- the parts, in turn ---

async function logsIn() {
	seen.login = {
		shown: await page.get(shown('#login')),
		focused: await page.get('document.activeElement.id'),
		type: await page.get(`document.querySelector('#token').type`),
		asked: page.requests.length,
	};
	await look('login');
	await page.type('12345');
	await page.key('Enter');
	seen.login.short = await text('#login-problem');
	await page.type('0'.repeat(64));
	await page.key('Enter');
	await until('a refusal', contains('#login-problem', 'does not know'));
	seen.login.wrong = await text('#login-problem');
	seen.login.kept = await page.get('sessionStorage.length');
	seen.login.statuses = takeRefusals();
	seen.login.twice = await page.get(shown('#problem'));
	await enter('control');
	seen.login.role = await text('#role');
	seen.login.storage = await page.get(
		'[sessionStorage.length, localStorage.length, document.cookie]',
	);
}

const PIDS = `[...document.querySelectorAll('#processes tbody .pid')].map((e) => Number(e.textContent))`;
const rowOf = (which) =>
	`[...document.querySelectorAll('#processes tbody tr')].find((r) => r.querySelector('.pid').textContent === ${quoted(which)})`;

async function lists() {
	await until('redis', `Boolean(${rowOf(pid)})`);
	seen.list = {
		redis: await page.get(`[...${rowOf(pid)}.children].map((e) => e.textContent)`),
		other: await page.get(`${rowOf(other)}.querySelector('.profiling').textContent`),
		sorted: await page.get(
			`[...document.querySelectorAll('#processes th')].map((e) => e.ariaSort).join(' ')`,
		),
		markup: await page.get(`document.querySelectorAll('#processes tbody :is(b, img)').length`),
		hostile: await page.get(`${rowOf(other)}.querySelector('.comm').textContent`),
	};
	await look('processes');
	await click('#processes th:first-child button');
	seen.list.down = await page.get(PIDS);
	await click('#processes th:first-child button');
	seen.list.up = await page.get(PIDS);
	seen.list.again = await page.get(`document.querySelector('#processes th').ariaSort`);
	await click('#pause');
	seen.list.paused = [
		await page.get(`document.querySelector('#pause').ariaPressed`),
		await text('#counted'),
	];
	await click('#pause');
}

// From the field to the process by keys alone. Each stop must be visible.
async function walks() {
	await click('#filter');
	await page.type(pid);
	seen.keys = { rows: await page.get(PIDS), stops: [], unseen: [] };
	const at = `document.activeElement`;
	for (let i = 0; i < 20; i++) {
		await page.key('Tab');
		const [name, outline] = await page.get(
			`[${at}.textContent, getComputedStyle(${at}).outlineStyle + getComputedStyle(${at}).outlineWidth]`,
		);
		seen.keys.stops.push(name);
		if (/none|0px/.test(outline)) seen.keys.unseen.push(name);
		if (name === 'redis-server') break;
	}
	await page.key('Enter');
	await until('the process', contains('#process-title', `(${pid})`));
	seen.keys.hash = await page.get('location.hash');
	seen.keys.focused = await page.get(`${at}.id`);
}

async function asks() {
	await until('its state', contains('#profiling', 'off'));
	for (const id of ['check', 'explain', 'stats', 'threads']) {
		await click(`#ask-${id}`);
		await until(id, `document.querySelector('#${id}-answer').childElementCount > 0`);
	}
	seen.asked = {
		verdict: await text('#check-answer .verdict'),
		pieces: await page.get(`document.querySelectorAll('.stacked span').length`),
		bar: await page.get(`document.querySelector('.stacked').ariaLabel`),
		parts: await page.get(`document.querySelectorAll('#explain-answer tbody tr').length`),
		bins: await page.get(
			`document.querySelectorAll('#stats-answer table')[0].tBodies[0].rows.length`,
		),
		arenas: await page.get(
			`document.querySelectorAll('#stats-answer table')[1].tBodies[0].rows.length`,
		),
		threads: await text('#threads-answer'),
	};
	await click('#stats-answer th:first-child button');
	await click('#stats-answer th:first-child button');
	seen.asked.smallest = await page.get(`document.querySelector('#stats-answer td').textContent`);
	await look('process');
}

async function switches() {
	const state = `document.querySelector('#switch').ariaChecked`;
	await choose('#rate-of select', '4096');
	await click('#reset');
	await until('the rate', contains('#said', 'one per 4.0 KiB'));
	seen.switched = [await page.get(state)];
	await page.get(`document.querySelector('#switch').focus()`);
	await page.key(' ');
	await until('on', `${state} === 'true'`);
	seen.switched.push(await page.get(state), await text('#profiling'));
	await page.get(`document.querySelector('#switch').focus()`);
	await page.key(' ');
	await until('off', `${state} === 'false'`);
	seen.switched.push(await page.get(state));
}

async function records(duration, kind = 'record') {
	const running = `${shown('#runs-of progress')} && ${contains('#runs-of', 'left')}`;
	await put('#run-duration', duration);
	await click(`#${kind}`);
	await until('a run', running);
	await until('that it is said', contains('#said', 'has begun'));
	return {
		began: await text('#said'),
		left: await text('#runs-of .running'),
		label: await page.get(`document.querySelector('#runs-of progress').ariaLabel`),
		stop: await page.get(shown('#runs-of .acts button')),
	};
}

async function ends() {
	await until('its end', `!${shown('#runs-of progress')}`);
	return [await text('#runs-of .state'), await text('#said')];
}

async function draws() {
	await until(
		'a graph',
		`${shown('.report')} && document.querySelectorAll('#path button').length > 0`,
	);
	await page.settle();
}

async function finds(pattern) {
	await page.key('/');
	await page.type(pattern);
	await page.key('Enter');
	return text('#matched');
}

async function views() {
	seen.recorded = await records('3s');
	const loaded = load();
	seen.recorded.first = await page.get(`document.querySelector('#runs-of progress').value`);
	seen.recorded.ended = await ends();
	await loaded;
	await click('#runs-of .acts a');
	await draws();
	seen.viewed = { hash: await page.get('location.hash'), title: await text('#title') };
	seen.viewed.matched = await finds('^setCommand$');
	await page.key('Escape');
	await page.key('2');
	seen.viewed.table = await page.get('location.hash');
	await page.key('1');
	await look('viewer');
	await page.walk(-1);
	seen.viewed.back = await page.get('location.hash');
	await page.walk(1);
	await visit(`#/process/${pid}`);
	await until('the process', contains('#process-title', `(${pid})`));
}

async function compares() {
	await records('3s');
	const loaded = load();
	await ends();
	await loaded;
	await visit('#/runs');
	await until('two runs', `document.querySelectorAll('#runs .tick input').length === 2`);
	seen.compared = { before: await page.get(`document.querySelector('#compare').disabled`) };
	await click('#runs tbody tr:nth-child(1) .tick input');
	seen.compared.hint = await text('#compare-hint');
	await click('#runs tbody tr:nth-child(2) .tick input');
	await look('runs');
	await click('#compare');
	await draws();
	seen.compared.hash = await page.get('location.hash');
	seen.compared.legend = await text('#legend');
	seen.compared.total = await text('#total');
	await look('difference');
	await page.walk(-1);
	await until('the runs', shown('#all-runs'));
	seen.compared.back = await page.get('location.hash');
	await page.walk(1);
	await draws();
	seen.compared.forward = await page.get('location.hash');
	await click('#viewer-back a');
	await until('the run', shown('#run-download'));
}

async function downloads() {
	seen.run = await page.get(`Number(/\\d+/.exec(location.hash)[0])`);
	seen.downloads = {};
	await look('run');
	for (const format of ['heap', 'pprof', 'folded', 'speedscope', 'html', 'svg', 'json', 'text']) {
		await choose('#run-format select', format);
		await click('#run-download');
		await until(format, `/ was downloaded$/.test(document.querySelector('#said').textContent)`);
		const name = (await text('#said')).replace(/ was downloaded$/, '');
		seen.downloads[format] = { name, there: await file(name) };
		await page.get(`void (document.querySelector('#said').textContent = '')`);
	}
}

async function stops() {
	await visit(`#/process/${pid}`);
	await until('the process', contains('#process-title', `(${pid})`));
	await records('10m');
	await click('#runs-of .acts button');
	seen.stopped = await ends();
}

async function deletes() {
	await visit('#/runs');
	await until('three runs', `document.querySelectorAll('#runs tbody tr').length === 3`);
	const rows = `document.querySelectorAll('#runs tbody tr').length`;
	await click('#runs tbody tr:first-child .acts button');
	seen.deleted = {
		asked: await text('#confirm-text'),
		open: await page.get(`document.querySelector('#confirm').open`),
	};
	await click('#confirm button[value=no]');
	seen.deleted.kept = await page.get(rows);
	await click('#runs tbody tr:first-child .acts button');
	await click('#confirm button[value=yes]');
	await until('two runs', `${rows} === 2`);
	seen.deleted.left = await page.get(rows);
}

async function dumps() {
	await visit(`#/process/${pid}`);
	await click('#dump');
	await draws();
	seen.dumped = { title: await text('#title'), hash: await page.get('location.hash') };
	await page.reload();
	await until('a note', contains('#viewer-note', 'Take another'));
	seen.dumped.reloaded = await text('#viewer-note');
	await visit('#/');
}

async function scrapes() {
	await visit('#/scrape');
	seen.snippets = await page.get(
		`[...document.querySelectorAll('#scrape pre')].map((e) => e.textContent)`,
	);
	await look('scrape');
	await visit('#/runs');
	await page.walk(-1);
	seen.walked = [await page.get('location.hash'), await page.get(shown('#scrape'))];
	await page.walk(-1);
	seen.walked.push(await page.get('location.hash'), await page.get(shown('#processes')));
}

// A process that was started without prof:true.
async function samples() {
	await visit(`#/process/${bare}`);
	await until('it', contains('#process-title', `(${bare})`));
	seen.sampled = await records('3s', 'sample');
	const loaded = load(bareSocket);
	seen.sampled.ended = await ends();
	await loaded;
	await click('#runs-of .acts a');
	await draws();
	seen.sampled.title = await text('#title');
	seen.sampled.matched = await finds('^setCommand$');
	await look('sampled');
}

// A process that ends while it is shown is reported to have ended.
async function loses() {
	await visit(`#/process/${other}`);
	await until('the other one', contains('#process-title', `(${other})`));
	await until('its state', contains('#profiling', 'prof:true'));
	seen.lost = {
		title: await text('#process-title'),
		fix: await text('#profiling .fix'),
		can: await page.get(
			`['switch', 'record', 'sample'].map((id) => !document.getElementById(id).disabled)`,
		),
	};
	process.kill(Number(other), 'SIGKILL');
	await click('#ask-check');
	await until('that it has ended', shown('#problem'));
	seen.lost.said = await text('#problem p');
	seen.lost.statuses = takeRefusals();
	await click('#problem button');
	seen.lost.away = await page.get(`!${shown('#problem')}`);
}

// Rows stay the same elements, and of 500 only those that changed are touched.
async function crowds() {
	seen.crowd = await page.get(`(async () => {
		const real = window.fetch;
		let rss = 0;
		const [one] = await (await real('/api/v1/processes', { headers: { Authorization: 'Bearer ' + sessionStorage.getItem('jeprof-ctl-token') } })).json();
		window.fetch = async (path, options) =>
			path !== '/api/v1/processes' ? real(path, options) :
				new Response(JSON.stringify(Array.from({ length: 500 }, (_, i) =>
					({ ...one, pid: i + 1, comm: 'p' + i, rss_bytes: (i + 1) * 1048576 + rss, limit_bytes: 1 << 30 }))));
		const frame = () => new Promise((done) => requestAnimationFrame(done));
		const shownRows = () => document.querySelectorAll('#processes tbody tr');
		location.hash = '#/';
		while (shownRows().length !== 500) await frame();
		const first = shownRows()[0];
		first.mark = true;
		rss = 1048576;
		let touched = 0;
		const watcher = new MutationObserver((list) => { touched += list.length; });
		watcher.observe(document.querySelector('#processes tbody'), { childList: true, subtree: true });
		document.querySelector('#pause').click();
		const began = performance.now();
		document.querySelector('#pause').click();
		while (!shownRows()[0].textContent.includes('501 MiB')) await frame();
		const took = performance.now() - began;
		await frame();
		const rows = touched;
		touched = 0;
		document.querySelector('#filter').value = 'p49';
		document.querySelector('#filter').dispatchEvent(new Event('input'));
		window.fetch = real;
		return { same: shownRows()[0].mark !== undefined || first.isConnected, cells: rows, took, filtered: shownRows().length };
	})()`);
}

async function mayOnlyRead() {
	await click('#forget');
	await until('the field', shown('#token'));
	seen.forgotten = await page.get('sessionStorage.length');
	await enter('read');
	await visit(`#/process/${pid}`);
	await until('the process', contains('#process-title', `(${pid})`));
	await until('its runs', `document.querySelectorAll('#runs-of tbody tr').length > 0`);
	const buttons = `[...document.querySelectorAll('main button, main a')].filter((e) => e.checkVisibility() && !e.closest('th')).map((e) => e.textContent.replace(/^2.*/, 'run'))`;
	seen.reader = { process: await page.get(buttons), words: await text('#process') };
	await look('reader');
	await visit('#/runs');
	await until('the runs', `document.querySelectorAll('#runs tbody tr').length > 0`);
	seen.reader.runs = await page.get(
		`[...document.querySelectorAll('#runs :is(button, input, .acts a)')].filter((e) => e.checkVisibility() && !e.closest('th')).length`,
	);
	await visit(`#/runs/${seen.run}/profile?`);
	await until('a refusal', shown('#problem'));
	seen.reader.refused = await page.get(
		`[...document.querySelectorAll('#problem p')].map((e) => e.textContent)`,
	);
	seen.reader.statuses = takeRefusals();
}

async function isStill() {
	await visit('#/');
	const how = `getComputedStyle(document.querySelector('#switch i'), '::after').transitionDuration`;
	await page.prefer(false, true);
	seen.still = [await page.get(how)];
	await page.prefer(false, false);
	seen.still.push(await page.get(how));
}

try {
	await logsIn();
	await lists();
	await walks();
	await asks();
	await switches();
	await views();
	await compares();
	await downloads();
	await stops();
	await deletes();
	await dumps();
	await scrapes();
	await samples();
	await loses();
	await crowds();
	await mayOnlyRead();
	await isStill();
} catch (why) {
	seen.failed = why.stack;
	if (pictures) await page.picture(`${pictures}/failed.png`);
}
seen.complaints = page.complaints;
seen.elsewhere = page.requests.filter((to) => !to.startsWith(url) && !to.startsWith(`blob:${url}`));
seen.unpinned = page.requests.filter((to) => /processes\/\d+\/(?!.*start_time=\d)/.test(to));
seen.violations = seen.complaints.filter((said) => /Content Security Policy/.test(said));
console.log(JSON.stringify(seen, null, '\t'));
await page.close();
