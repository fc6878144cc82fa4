// SPDX-License-Identifier: Apache-2.0
// The page of `jeprof-ctl serve`: which part of it is shown, for which role.

import { byId } from '../dom.js';
import { ask, forgetToken, keepToken, may, session } from './api.js';
import { ProcessView } from './process.js';
import { ProcessesView } from './processes.js';
import { routeOf } from './route.js';
import { RunsView, RunView } from './runs.js';
import { makeSnippets } from './scrape.js';
import { calm, say, Task } from './task.js';
import { Viewer } from './viewer.js';

const scrape = { open: () => {}, close: () => {} };
const viewer = new Viewer();
const parts = {
	processes: {
		place: 'processes',
		view: new ProcessesView(),
		tab: 'processes',
		title: 'Processes',
	},
	process: { place: 'process', view: new ProcessView(), tab: 'processes', title: 'Process' },
	runs: { place: 'runs', view: new RunsView(), tab: 'runs', title: 'Runs' },
	run: { place: 'run', view: new RunView(), tab: 'runs', title: 'Run' },
	scrape: { place: 'scrape', view: scrape, tab: 'scrape', title: 'Scraping' },
	dump: { place: 'viewer', view: viewer, tab: 'processes', title: 'Profile' },
	profile: { place: 'viewer', view: viewer, tab: 'runs', title: 'Profile' },
	growth: { place: 'viewer', view: viewer, tab: 'runs', title: 'What grew' },
	difference: { place: 'viewer', view: viewer, tab: 'runs', title: 'Difference' },
};
const places = [...new Set(Object.values(parts).map(({ place }) => place)), 'login'];

let current = null; // the route being shown
const trying = new Task(byId('login-task'));

function reveal(place) {
	for (const other of places) byId(other).hidden = other !== place;
	document.body.classList.toggle('viewing', place === 'viewer');
}

function close() {
	if (current) parts[current.name].view.close();
	current = null;
}

function showTabs(tab) {
	for (const link of byId('tabs').children) {
		if (link.dataset.tab === tab) link.setAttribute('aria-current', 'page');
		else link.removeAttribute('aria-current');
	}
}

// Moves the focus to the heading of another part, for screen readers and the keyboard.
function focusOn(place) {
	byId(place).querySelector('h2')?.focus({ preventScroll: true });
	window.scrollTo(0, 0);
}

function openRoute({ first = false } = {}) {
	const route = routeOf(location.hash);
	if (!session.token) {
		showLogin('');
		return;
	}
	if (current?.before === route.before) return;
	close();
	calm();
	say('');
	current = route;
	const { place, view, tab, title } = parts[route.name];
	document.title = `${title} \u2013 jeprof-ctl on ${location.host}`;
	reveal(place);
	showTabs(tab);
	if (!first) focusOn(place);
	view.open(route);
}

// --- the token ---

function showLogin(why) {
	close();
	calm();
	reveal('login');
	showTabs('');
	document.title = `Token \u2013 jeprof-ctl on ${location.host}`;
	byId('login-problem').textContent = why;
	byId('token').setAttribute('aria-invalid', String(why !== ''));
	byId('token').value = '';
	byId('token').focus();
	showRole();
}

function showRole() {
	byId('session').hidden = !session.token;
	byId('role').textContent = session.role || '...';
	for (const place of document.querySelectorAll('[data-needs]'))
		place.hidden = !may(place.dataset.needs);
	for (const place of document.querySelectorAll('[data-lacks]'))
		place.hidden = !session.role || may(place.dataset.lacks);
}

async function logIn() {
	const token = byId('token').value.trim();
	if (!/^[0-9a-fA-F]{64}$/.test(token)) {
		showLogin('A token has 64 hexadecimal digits.');
		return;
	}
	keepToken(token.toLowerCase());
	showRole();
	const good = await trying.run('Trying the token', (signal) => ask('/api/v1/runs', { signal }));
	if (!good) return;
	openRoute();
	say(`The token has the role ${session.role}`);
}

function forget() {
	forgetToken();
	showLogin('');
	say('The token was forgotten');
}

session.changed = showRole;
session.lost = () => {
	forgetToken();
	showLogin('The service does not know this token. It may have been withdrawn.');
};

function start() {
	makeSnippets();
	byId('host').textContent = location.host;
	byId('use-token').addEventListener('click', logIn);
	byId('token').addEventListener('keydown', (event) => {
		if (event.key === 'Enter') logIn();
	});
	byId('forget').addEventListener('click', forget);
	byId('skip').addEventListener('click', () => byId('content').focus());
	window.addEventListener('hashchange', () => openRoute());
	showRole();
	openRoute({ first: true });
}

start();
