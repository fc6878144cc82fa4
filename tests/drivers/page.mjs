// SPDX-License-Identifier: Apache-2.0
// page.mjs FILE EXPRESSION [FOLDER]: what a page of `report -f html` shows and does, as one JSON
// document, for tests/system/html.t. EXPRESSION is searched for; without one, the page is only
// looked at. Screenshots go to FOLDER.

import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Page } from './browser.mjs';

const [, , file, expression, folder] = process.argv;
const began = performance.now();
const page = await Page.open('about:blank');
const opened = performance.now();
await page.load(pathToFileURL(file).href);
const seen = { speed: { browser_ms: opened - began, page_ms: performance.now() - opened } };

const CANVAS = '#flame .scroller';
const ROW = 19;
// The middle of the n-th row of the graph.
const row = (n) => [640, n * ROW + ROW / 2];

const text = (selector) => page.text(selector);
const pressed = (selector) => page.get(`document.querySelector('${selector}').ariaPressed`);
const path = () =>
	page.get(`[...document.querySelectorAll('#path button')].map((b) => b.textContent)`);
const search = async (what) => {
	await page.key('/');
	await page.key('Escape');
	if (!what) return;
	await page.key('/');
	await page.type(what);
	await page.key('Enter');
	return text('#matched');
};
// The number of colours on the canvas of a view, and the share of the most frequent one.
const drawn = (view) =>
	page.get(`(() => {
		const canvas = document.querySelector('#${view} canvas');
		const copy = new OffscreenCanvas(canvas.width, canvas.height);
		const context = copy.getContext('2d', { willReadFrequently: true });
		context.drawImage(canvas, 0, 0);
		const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
		const count = new Map();
		for (let i = 0; i < data.length; i += 4) {
			const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
			count.set(colour, (count.get(colour) ?? 0) + 1);
		}
		return { colours: count.size, most: Math.max(...count.values()) / (data.length / 4) };
	})()`);
const picture = async (name) => {
	if (folder) await page.picture(`${folder}/${basename(file, '.html')}-${name}.png`);
};

async function facts() {
	seen.title = await text('#title');
	seen.total = await text('#total');
	seen.facts = await text('#facts');
	seen.builds = await text('#builds');
	seen.legend = await text('#legend');
	seen.types = await page.get(
		`[...document.querySelectorAll('#types button')].map((b) => b.dataset.type)`,
	);
	seen.drawn = await drawn('flame');
	await picture('flame-light');
}

async function zooms() {
	await page.clickOn(CANVAS, ...row(1));
	seen.clicked = { path: await path(), detail: await text('#detail') };
	await page.key('Escape');
	seen.whole = await path();
	await page.key('ArrowDown');
	seen.moved = await text('#detail');
	await page.key('Enter');
	seen.entered = await path();
	await page.key('Backspace');
	seen.left = await path();
	await page.clickOn(CANVAS, ...row(2));
	await page.clickOn('#back');
	seen.button = await path();
}

async function searches() {
	seen.matched = await search(expression);
	seen.dimmed = await drawn('flame');
	await picture('search');
	seen.all = await search('.');
	seen.none = await search('no function has this name');
	seen.wrong = await search('(');
	await search(null);
}

async function inverts() {
	await page.key('i');
	seen.inverted = { pressed: await pressed('#invert'), all: await text('#detail') };
	await page.key('ArrowDown');
	seen.inverted.site = await text('#detail strong');
	seen.inverted.matched = await search(expression);
	await picture('inverted');
	await search(null);
	await page.key('i');
}

async function hides() {
	await search(expression);
	await page.key('Home');
	await page.key('ArrowDown');
	const before = await text('#detail em');
	await page.key('h');
	seen.hidden = {
		summary: await text('#modules summary'),
		module: before,
		total: await text('#total'),
	};
	await page.key('ArrowDown');
	seen.hidden.next = await text('#detail em');
	await page.key('H');
	seen.hidden.after = await text('#modules summary');
	await page.key('m');
	await picture('modules');
	await page.clickOn('#modules input');
	seen.hidden.box = await text('#modules summary');
	await page.clickOn('#modules input');
	await page.key('m');
	await search(null);
}

async function switches() {
	seen.units = [];
	for (let i = 0; i < seen.types.length; i++) {
		seen.units.push(await text('#total'));
		await page.key('u');
	}
	const background = () => page.get('getComputedStyle(document.body).backgroundColor');
	seen.themes = [await background()];
	await page.key('t');
	seen.themes.push(await background());
	await picture('flame-dark');
	await page.clickOn('#theme');
	seen.themes.push(await background());
	await page.prefer(true);
	await page.reload();
	seen.themes.push(await background());
}

async function tables() {
	const cells = (at) =>
		page.get(
			`[...document.querySelectorAll('#table .row')[${at}].children].map((c) => c.textContent)`,
		);
	await page.key('Escape');
	await page.key('2');
	seen.rows = await page.get(
		`Number(document.querySelector('#table .scroller').ariaRowCount ?? document.querySelector('#table .scroller').getAttribute('aria-rowcount')) - 1`,
	);
	seen.first = await cells(0);
	await page.key('ArrowDown');
	seen.second = { cells: await cells(1), detail: await text('#detail') };
	await picture('table-dark');
	await page.clickOn('#table [data-column="name"]');
	seen.byName = await cells(0);
	await page.clickOn('#table [data-column="name"]');
	seen.byNameDown = await cells(0);
	await page.clickOn('#table [data-column="cum"]');
	seen.byCum = await cells(0);
	await page.clickOn('#table .row .name');
	seen.picked = await text('#matched');
	await search(null);
}

async function maps() {
	await page.key('3');
	seen.map = await drawn('map');
	await picture('map-dark');
	await page.key('ArrowRight');
	seen.area = await text('#detail');
	await page.clickOn('#map .scroller', 100, 60);
	seen.mapped = await text('#map-path');
	await picture('map-module');
	await page.key('Escape');
	seen.unmapped = await text('#map-path');
	await page.key('1');
}

const names = (selector) =>
	page.get(`[...document.querySelectorAll('${selector}')].map((e) => e.textContent)`);
const hash = () => page.get('location.hash');
const view = () => page.get(`document.querySelector('#views [aria-pressed=true]').dataset.view`);

// One function between its callers and its callees: both ways by clicks.
async function neighbours() {
	await page.key('1');
	await page.key('Escape');
	await page.clickOn(CANVAS, ...row(2));
	seen.middle = { of: await text('#detail strong') };
	await page.key('c');
	seen.middle.view = await view();
	seen.middle.self = await text('#callers .self .name');
	seen.middle.amounts = await names('#callers .self span:not(.name, .module)');
	seen.middle.all = await names('#callers .relative .name');
	await picture('callers');
	await page.clickOn('#callers .link');
	seen.rooted = { view: await view(), path: await path(), invert: await pressed('#invert') };
	await page.key('ArrowDown');
	seen.rooted.below = await text('#detail strong');
	await page.walk(-1);
	await page.clickOn('#callers button.relative');
	seen.caller = {
		self: await text('#callers .self .name'),
		all: await names('#callers .relative .name'),
	};
	await page.walk(-1);
	seen.middle.again = await text('#callers .self .name');
	const before = await page.get(`document.querySelectorAll('#callers .self ~ button').length`);
	if (before > 0) await page.clickOn('#callers .self ~ button');
	seen.callee = { some: before > 0, all: await names('#callers .relative .name') };
	await page.key('1');
	await page.key('Escape');
}

// The address contains all choices, and a copy of it shows the same.
async function addresses() {
	const all = async () => ({
		view: await view(),
		path: await path(),
		detail: await text('#detail'),
		search: await page.get(`document.getElementById('search').value`),
		matched: await text('#matched'),
		modules: await text('#modules summary'),
		type: await text('#types [aria-pressed=true]'),
		invert: await pressed('#invert'),
	});
	await page.load('about:blank');
	await page.load(pathToFileURL(file).href);
	seen.address = { first: await hash() };
	await page.clickOn(CANVAS, ...row(1));
	seen.address.zoomed = await hash();
	await page.clickOn(CANVAS, ...row(2));
	const deep = await path();
	await page.key('2');
	await page.clickOn('#table [data-column="cum"]');
	await page.key('1');
	await page.walk(-1);
	seen.address.back = [await view()];
	await page.walk(-3);
	seen.address.back.push(await view(), (await path()).length);
	await page.walk(3);
	seen.address.forward = await view();
	await page.key('u');
	await page.key('1');
	await search(expression);
	await page.get('new Promise((done) => setTimeout(done, 400))');
	const url = await page.get('location.href');
	const before = await all();
	seen.address.deep = [deep.length, before.path.length];
	await page.load('about:blank');
	await page.load(url);
	seen.address.url = url.replace(/.*#/, '');
	seen.address.copied = [before, await all()];
	await page.key('Escape');
	seen.address.reset = await all();
}

// A fragment from elsewhere.
async function hostile() {
	const home = pathToFileURL(file).href;
	const evil = [
		'#view=%3Cimg%20src=x%20onerror=alert(1)%3E&zoom=99999999.3&function=-1&hide=1.x.<b>&sort=__proto__',
		'#view=constructor&type=toString&zoom=0.99999&at=7&since=%00&module=1e3&invert=2',
		'#search=%3Cscript%3Ealert(1)%3C/script%3E&view=table&%E0%A4%A=%',
		'#search=(a%2B)%2B%24&function=4294967296',
		`#search=${'x'.repeat(100000)}&zoom=0.1`,
		'#search=a%3Fa%3Faa',
		'#search=x.*x.*y',
		'#search=%5Ef%5C(a%5C*%2C%20b%5C*%5C)%24',
	];
	seen.hostile = [];
	for (const fragment of evil) {
		await page.load('about:blank');
		await page.load(home + fragment);
		seen.hostile.push({
			view: await view(),
			matched: await text('#matched'),
			search: await page.get(`document.getElementById('search').value.length`),
			elements: await page.get(`document.querySelectorAll('img, script:not([id=data])').length`),
		});
	}
	await page.load('about:blank');
	await page.load(home);
}

// Whatever is zoomed in on, a row of the table is found, and / selects the previous search.
async function finds() {
	await page.key('1');
	await page.key('Escape');
	await page.clickOn(CANVAS, ...row(2));
	await page.key('2');
	await page.clickOn('#table [data-column="name"]');
	await page.key('Tab');
	await page.get(`document.querySelector('#table .scroller').focus()`);
	await page.key('ArrowDown');
	await page.key('ArrowDown');
	seen.found = { row: await text('#table .row.selected .name') };
	await page.key('Enter');
	seen.found.view = await view();
	seen.found.detail = await text('#detail strong');
	seen.found.drawn = await page.get('document.activeElement.parentElement.id');
	await page.key('/');
	seen.found.selected = await page.get(
		`(({ value, selectionStart: a, selectionEnd: b }) => value.slice(a, b) === value && b > 0)(document.getElementById('search'))`,
	);
	await page.key('Escape');
	await page.key('Escape');
	seen.found.reset = [
		await page.get(`document.getElementById('search').value`),
		(await path()).length,
	];
}

// On a phone: nothing extends beyond the right edge, and the table has names and figures in sight.
async function narrows() {
	await page.resize(390, 800);
	seen.narrow = {};
	for (const button of ['flame', 'table', 'map', 'callers']) {
		await page.get(`document.querySelector('[data-view=${button}]').click()`);
		await page.settle();
		seen.narrow[button] = await page.get('document.documentElement.scrollWidth');
		await picture(`narrow-${button}`);
	}
	await page.get(`document.querySelector('[data-view=table]').click()`);
	await page.settle();
	seen.narrow.cells = await page.get(`[...document.querySelectorAll('#table .row')].slice(0, 8)
		.flatMap((row) => [...row.children].slice(0, 6))
		.filter((cell) => cell.offsetWidth > 0)
		.map((cell) => {
			const { left, right, width } = cell.getBoundingClientRect();
			const whole = cell.classList.contains('name') || cell.scrollWidth <= cell.clientWidth;
			return left >= 0 && right <= 390 && width > 30 && whole;
		})`);
	await page.resize(1280, 800);
	await page.get(`document.querySelector('[data-view=flame]').click()`);
}

// The duration of a frame while the mouse moves over the graph and while it scrolls.
async function moves() {
	const frames = await page.get(`(async () => {
		const scroller = document.querySelector('${CANVAS}');
		const canvas = scroller.querySelector('canvas');
		const times = [];
		const frame = () => new Promise((done) => requestAnimationFrame(done));
		let last = await frame();
		for (let i = 0; i < 60; i++) {
			canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: i * 20, clientY: 220 + i * 2 }));
			scroller.scrollTop = i * 3;
			const now = await frame();
			times.push(now - last);
			last = now;
		}
		scroller.scrollTop = 0;
		return times.sort((a, b) => a - b);
	})()`);
	seen.speed.frame_ms = frames[30];
	seen.speed.slowest_frame_ms = frames[59];
}

async function helps() {
	const open = () => page.get(`document.getElementById('help').open`);
	await page.key('?');
	seen.help = [await open(), await text('#help')];
	await picture('help');
	await page.key('Escape');
	seen.help.push(await open());
}

const parts = expression
	? [
			facts,
			moves,
			zooms,
			searches,
			inverts,
			hides,
			switches,
			tables,
			maps,
			neighbours,
			addresses,
			finds,
			hostile,
			narrows,
			helps,
		]
	: [facts, moves, zooms, switches, maps, narrows, helps];
for (const part of parts) {
	const before = page.complaints.length;
	try {
		await part();
	} catch (error) {
		page.complaints.push(`${part.name}: ${error.message}`);
	}
	if (page.complaints.length > before) page.complaints.push(`... in ${part.name}()`);
}
seen.complaints = page.complaints;
seen.requests = [...new Set(page.requests)].filter((url) => url !== pathToFileURL(file).href);
for (const name of Object.keys(seen.speed))
	seen.speed[name] = Math.round(seen.speed[name] * 10) / 10;
seen.images = await page.get('document.images.length');
await page.close();
console.log(JSON.stringify(seen));
