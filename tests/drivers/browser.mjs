// SPDX-License-Identifier: Apache-2.0
// Headless Chromium, driven with the DevTools protocol through a pipe (descriptors 3 and 4, a NUL
// after each message): only node, no packages.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FLAGS = [
	'--headless=new',
	'--no-sandbox',
	'--disable-gpu',
	'--disable-dev-shm-usage',
	'--no-first-run',
	'--disable-extensions',
	'--disable-background-networking',
	'--disable-component-update',
	'--hide-scrollbars',
	'--remote-debugging-pipe',
];
const KEYS = {
	Tab: 9,
	Enter: 13,
	Escape: 27,
	Backspace: 8,
	Home: 36,
	ArrowLeft: 37,
	ArrowUp: 38,
	ArrowRight: 39,
	ArrowDown: 40,
};

class Connection {
	constructor(child) {
		this.pipe = child.stdio[3];
		this.waiting = new Map();
		this.heard = () => {};
		this.next = 1;
		let rest = '';
		child.stdio[4].setEncoding('utf8');
		child.stdio[4].on('data', (text) => {
			const messages = (rest + text).split('\0');
			rest = messages.pop();
			for (const message of messages) this.take(JSON.parse(message));
		});
	}

	take(message) {
		const wait = this.waiting.get(message.id);
		this.waiting.delete(message.id);
		if (!wait) this.heard(message);
		else if (message.error) wait.reject(new Error(message.error.message));
		else wait.resolve(message.result);
	}

	send(method, params = {}, sessionId = undefined) {
		const id = this.next++;
		this.pipe.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
	}
}

/** A page in a browser of its own. `complaints` and `requests` fill while it lives. */
export class Page {
	static async open(url, { width = 1280, height = 800, dark = false } = {}) {
		const page = new Page();
		page.home = mkdtempSync(join(process.env.T ?? tmpdir(), 'chromium.'));
		page.child = spawn(
			'chromium',
			[...FLAGS, `--user-data-dir=${page.home}`, `--window-size=${width},${height}`, 'about:blank'],
			{
				stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
				env: { ...process.env, HOME: page.home },
			},
		);
		page.connection = new Connection(page.child);
		page.connection.heard = (message) => page.hear(message);
		page.complaints = [];
		page.requests = [];
		const { targetId } = await page.connection.send('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await page.connection.send('Target.attachToTarget', {
			targetId,
			flatten: true,
		});
		page.session = sessionId;
		for (const domain of ['Runtime', 'Log', 'Network', 'Page']) await page.send(`${domain}.enable`);
		await page.resize(width, height);
		await page.prefer(dark);
		await page.load(url);
		return page;
	}

	send(method, params) {
		return this.connection.send(method, params, this.session);
	}

	hear({ method, params }) {
		if (method === 'Page.loadEventFired') this.loaded?.();
		else if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
		else if (method === 'Log.entryAdded') this.complaints.push(params.entry.text);
		else if (method === 'Runtime.consoleAPICalled')
			this.complaints.push(JSON.stringify(params.args));
		else if (method === 'Runtime.exceptionThrown')
			this.complaints.push(
				params.exceptionDetails.exception?.description ?? params.exceptionDetails.text,
			);
	}

	async loadBy(method, params) {
		const loaded = new Promise((resolve) => {
			this.loaded = resolve;
		});
		await this.send(method, params);
		await loaded;
		await this.settle();
	}

	/** Go there; when it returns, it is drawn. */
	load(url) {
		return this.loadBy('Page.navigate', { url });
	}

	reload() {
		return this.loadBy('Page.reload', {});
	}

	async resize(width, height) {
		const size = { width, height, deviceScaleFactor: 1, mobile: false };
		await this.send('Emulation.setDeviceMetricsOverride', size);
	}

	prefer(dark, still = false) {
		const features = [
			{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
			{ name: 'prefers-reduced-motion', value: still ? 'reduce' : 'no-preference' },
		];
		return this.send('Emulation.setEmulatedMedia', { features });
	}

	/** Back (-1) or forward (1) in the history of the page. */
	async walk(by) {
		await this.get(`new Promise((done) => {
			addEventListener('popstate', () => done(0), { once: true });
			history.go(${by});
		})`);
		await this.settle();
	}

	/** What an expression is worth in the page. */
	async get(expression) {
		const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
			expression,
			returnByValue: true,
			awaitPromise: true,
		});
		if (exceptionDetails)
			throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
		return result.value;
	}

	/** Two frames later whatever was asked for is drawn. */
	settle() {
		return this.get(
			'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))',
		);
	}

	text(selector) {
		return this.get(`document.querySelector(${JSON.stringify(selector)}).textContent`);
	}

	async move(x, y) {
		await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
		await this.settle();
	}

	async click(x, y) {
		await this.move(x, y);
		for (const type of ['mousePressed', 'mouseReleased'])
			await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
		await this.settle();
	}

	/** Click the middle of an element, or of the part of it that is at (x, y). */
	async clickOn(selector, x = null, y = null) {
		const box = await this.get(
			`(({ left, top, width, height }) => ({ left, top, width, height }))(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`,
		);
		await this.click(box.left + (x ?? box.width / 2), box.top + (y ?? box.height / 2));
	}

	async key(key) {
		const event = { key, windowsVirtualKeyCode: KEYS[key] ?? key.toUpperCase().charCodeAt(0) };
		if (key.length === 1) event.text = key;
		else if (key === 'Enter') event.text = '\r';
		await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
		await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
		await this.settle();
	}

	async type(text) {
		await this.send('Input.insertText', { text });
		await this.settle();
	}

	/** What the page has the browser keep goes to this folder. */
	async keepFiles(folder) {
		await this.connection.send('Browser.setDownloadBehavior', {
			behavior: 'allow',
			downloadPath: folder,
		});
	}

	async picture(file) {
		const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
		writeFileSync(file, Buffer.from(data, 'base64'));
	}

	async close() {
		const ended = new Promise((resolve) => {
			this.child.once('exit', resolve);
		});
		this.connection.send('Browser.close').catch(() => {});
		await ended;
		rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
	}
}
