// SPDX-License-Identifier: Apache-2.0
// A report: its state, and what follows from it. All choices are one state, which the address holds
// (address.js): go() changes it, show() draws it. There is one report at a time, in the elements of
// report.html.

import { Address } from './address.js';
import { CallersView } from './callers.js';
import { Colours, shadeOf } from './colour.js';
import { button, byId, element } from './dom.js';
import { showFacts, showTotal } from './facts.js';
import { FlameView } from './flame.js';
import { fieldsOf } from './fragment.js';
import { makeHelp } from './help.js';
import { countsOf, frameModule, moduleSums, readProfile } from './profile.js';
import { columns, TableView } from './table.js';
import { amount, error, percent } from './text.js';
import { momentName, TimeView } from './time.js';
import {
	buildTree,
	markEnds,
	pathTo,
	stacksOf,
	sumFrames,
	sumMatched,
	sumNeighbours,
	sumTree,
} from './tree.js';
import { areasOf, TreemapView } from './treemap.js';

const NARROW_SHARE = 0.004; // of the graph: narrower boxes are hard to see

let profile;
let series;
let viewNames;
let colours;
let shades;
let calling; // the modules that have any call
let address;
let flame;
let table;
let map;
let callers;
let time;

// What follows from the state.
let state;
let counts;
let hidden;
let tree;
let nodeStack; // of each node, a stack through it; null: not computed
let starredNodes;
let sums;
let ranks;
let marked;
let confirmed; // the search confirmed with Enter
let lastSelected;
let moving; // the view that moved its own selection, and need not be redrawn
const stale = new Set();

function go(changes, kind) {
	address.go({ ...state, ...changes }, kind);
}

function select(view, frame) {
	moving = view;
	go({ function: frame }, 'select');
	moving = null;
}

function show(next) {
	const before = state;
	const changed = (...names) => !before || names.some((name) => before[name] !== next[name]);
	const counted = changed('type', 'at', 'since');
	const built = changed('invert', 'hide', 'root');
	state = next;
	if (counted) counts = countsOf(profile, state.type, state.at, state.since);
	if (built) rebuild();
	if (counted || built) sums = sumTree(tree, counts);
	if (counted) rankModules();
	if (counted || built || changed('search')) search();
	if (counted || built || changed('search')) for (const view of viewNames) stale.add(view);
	if (changed('zoom', 'function')) stale.add('flame');
	if (changed('sort', 'function')) stale.add('table');
	if (changed('module')) stale.add('map');
	if (changed('function')) stale.add('callers');
	if (!changed('view')) stale.delete(moving);
	if (counted) showTotal(counts, type(), signed(), series ? momentWords() : '');
	if (counted) showLegend();
	showControls();
	if (changed('view')) showView();
	paint();
}

const type = () => profile.types.find(({ key }) => key === state.type);
const signed = () => profile.difference || state.since >= 0;

function momentWords() {
	const at = momentName(series, state.at);
	return state.since < 0 ? at : `${at}, less ${momentName(series, state.since)}`;
}

function rebuild() {
	hidden = new Uint8Array(profile.modules.length);
	for (const module of state.hide.split('.').filter(Boolean)) hidden[module] = 1;
	tree = buildTree(profile, Boolean(state.invert), hidden, state.root);
	nodeStack = null;
	starredNodes = profile.significance && markEnds(tree, profile.significance.stack);
}

// The modules by what they allocated, so that the largest have the most distinct colors; then those
// that only call others, and those without any call.
function rankModules() {
	const { size } = moduleSums(profile, counts);
	const calls = (module) => Number(calling.has(module));
	const order = [...size.keys()].sort((a, b) => size[b] - size[a] || calls(b) - calls(a));
	ranks = new Int32Array(size.length);
	order.forEach((module, rank) => {
		ranks[module] = rank;
	});
}

// Backtracking may take forever, and an address may be malicious: such a search waits for the user.
// With two repeated parts, a name of 2,000 letters takes seconds.
function mayTakeLong(text) {
	const plain = text.replace(/\\[^1-9k]/g, '');
	return /\)[*+?{]|\\[1-9k]/.test(plain) || (plain.match(/[*+?{]/g) ?? []).length > 1;
}

function search() {
	const text = state.search;
	const field = byId('search');
	let expression = null;
	let said = '';
	if (field.value !== text) field.value = text;
	if (text !== confirmed && mayTakeLong(text)) said = 'press Enter in the field to search for it';
	else {
		try {
			expression = text && new RegExp(text, text === text.toLowerCase() ? 'i' : '');
		} catch {
			said = 'not a regular expression';
		}
	}
	field.setAttribute('aria-invalid', String(said !== ''));
	marked = null;
	if (expression) {
		marked = Uint8Array.from(profile.names, (name) => Number(expression.test(name)));
		const { net, error: spread } = sumMatched(tree, sums, marked);
		said = `matched ${shown(net, spread * spread)}`;
	}
	byId('matched').textContent = said;
}

// --- nodes of the tree, and their names in the state ---

// "12.3": the third call of the stack 12. "" is the whole.
function codeOf(node) {
	nodeStack ??= stacksOf(tree);
	return node > 0 ? `${nodeStack[node]}.${pathTo(tree, node).length - 1}` : '';
}

function zoomedNode() {
	if (!state.zoom) return 0;
	const [stack, depth] = state.zoom.split('.').map(Number);
	const path = pathTo(tree, tree.end[stack]);
	return path[Math.min(depth, path.length - 1)];
}

function isWithin(node, top) {
	let at = node;
	while (at > top) at = tree.parent[at];
	return at === top;
}

// The largest box of a function.
function nodeOf(frame, top) {
	let best = -1;
	for (let node = 1; node < tree.n; node++) {
		if (tree.frame[node] !== frame || (best >= 0 && sums.size[node] <= sums.size[best])) continue;
		if (isWithin(node, top)) best = node;
	}
	return best;
}

// The selected node within the zoom: the last box, or another one of the same function.
function selectedNode(zoomed) {
	const frame = state.function;
	if (frame < 0) return zoomed;
	if (tree.frame[zoomed] === frame) return zoomed;
	if (tree.frame[lastSelected] === frame && isWithin(lastSelected, zoomed)) return lastSelected;
	return Math.max(nodeOf(frame, zoomed), zoomed);
}

// --- names and amounts of frames ---

const nameOf = (frame) => profile.names[frame];
const moduleOf = (frame) => frameModule(profile, frame);
const isStarred = (frame) => Boolean(profile.significance?.frame[frame]);

// Only stacks, which end in a box, and functions that allocate were tested.
function isStarredNode(node) {
	if (!starredNodes || node === 0) return false;
	return state.invert && tree.parent[node] === 0
		? isStarred(tree.frame[node])
		: !state.invert && starredNodes[node] === 1;
}

function shown(net, variance) {
	const parts = [amount(net, type(), signed()), error(Math.sqrt(variance), type())];
	return `${parts.filter(Boolean).join(' ')}, ${percent(net, counts.size, signed()) || '0%'}`;
}

function nodeName(node) {
	if (node > 0) return nameOf(tree.frame[node]);
	return `all: ${amount(sums.net[0], type(), signed())}`;
}

function describeFrame(frame) {
	return [moduleOf(frame), profile.files[frame]].filter(Boolean).join(' \u00b7 ');
}

function describeNode(node) {
	const star = isStarredNode(node) ? '; * significant' : '';
	const amounts = shown(sums.net[node], sums.variance[node]) + star;
	if (node === 0) return { name: 'all', amounts, place: '' };
	const frame = tree.frame[node];
	return { name: nameOf(frame), amounts, place: describeFrame(frame) };
}

function describeArea(area) {
	const of =
		area.frame === undefined ? profile.modules[area.module].path : describeFrame(area.frame);
	return { name: area.name, amounts: shown(area.net, area.variance), place: of };
}

function colourOf(frame, net, size) {
	if (signed()) return colours.ofChange(net, size);
	if (frame < 0) return colours.ofModule(-1, 0);
	return colours.ofModule(ranks[profile.frameModule[frame]], shades[frame]);
}

// --- the line below, and the tooltip ---

function fill(place, { name, amounts, place: where }) {
	place.replaceChildren(element('strong', name), element('span', amounts), element('em', where));
}

function showTip(text, event) {
	const tip = byId('tip');
	tip.hidden = !text;
	if (!text) return;
	fill(tip, text);
	const { innerWidth, innerHeight } = window;
	const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
	const y =
		event.clientY + 18 + tip.offsetHeight > innerHeight
			? event.clientY - tip.offsetHeight - 10
			: event.clientY + 18;
	tip.style.left = `${Math.max(4, x)}px`;
	tip.style.top = `${Math.max(4, y)}px`;
}

// --- the views ---

function makeViews() {
	flame = new FlameView(byId('flame'), {
		hover: (node, event) => showTip(node === null ? null : describeNode(node), event),
		select: (node) => {
			lastSelected = node;
			fill(byId('detail'), describeNode(node));
			select('flame', tree.frame[node]);
		},
		zoom: (node) => {
			lastSelected = node;
			go({ zoom: codeOf(node), function: tree.frame[node] });
		},
	});
	table = new TableView(byId('table'), {
		pick: find,
		select: (frame) => {
			byId('detail').textContent = `${nameOf(frame)} \u00b7 ${describeFrame(frame)}`;
			select('table', frame);
		},
		sort: (sort) => go({ sort }),
	});
	map = new TreemapView(byId('map'), {
		hover: (area, event) => showTip(area && describeArea(area), event),
		select: (area) => {
			fill(byId('detail'), describeArea(area));
			select('map', area.frame ?? -1);
		},
		pick: (area) => find(area.frame),
		zoom: (module) => go({ module: module ?? -1 }),
	});
	callers = new CallersView(byId('callers'), {
		pick: (frame) => go({ function: frame }),
		graph: (root, inverted) => {
			const at = profile.path.indexOf(root);
			const through = profile.start.findLastIndex((start) => start <= at);
			const changes = { view: 'flame', root, function: root, zoom: `${through}.1` };
			go({ ...changes, invert: Number(inverted), search: '' });
		},
	});
	time =
		series &&
		new TimeView(byId('time'), series, profile.types[0], {
			hover: (text, event) => showTip(text, event),
			select: (at) => go({ at }, 'select'),
			open: (at) => go({ view: 'flame', at, zoom: '' }),
			grower: showGrower,
		});
}

function namesOnly(frame) {
	return `^${nameOf(frame).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`.slice(0, 500);
}

/** Search for exactly this function in the graph, and make it visible. */
function find(frame) {
	if (state.root >= 0) show({ ...state, root: -1 });
	const node = nodeOf(frame, 0);
	const narrow = node > 0 && sums.size[node] < NARROW_SHARE * sums.size[0];
	lastSelected = Math.max(0, node);
	confirmed = namesOnly(frame);
	go({
		view: 'flame',
		root: -1,
		function: frame,
		zoom: narrow ? codeOf(node) : '',
		search: confirmed,
	});
}

// Show what grows, in the last profile; the whole graph if it has no function.
function showGrower({ stack, function: frame }) {
	const at = profile.moments.length - 1;
	const depth = stack < 0 ? 0 : profile.start[stack + 1] - profile.start[stack];
	confirmed = frame < 0 ? '' : namesOnly(frame);
	go({
		view: 'flame',
		at,
		root: -1,
		invert: 0,
		function: frame,
		zoom: depth > 0 ? `${stack}.${depth}` : '',
		search: confirmed,
	});
}

// Without a selected function, callers are those of the largest allocation site.
function centre() {
	if (state.function >= 0) return state.function;
	const { flatSize } = sumFrames(profile, counts, hidden);
	return flatSize.reduce((best, size, frame) => (size > flatSize[best] ? frame : best), 0);
}

function showPath(node) {
	const steps = pathTo(tree, node).map((step) =>
		button(step === 0 ? 'all' : nameOf(tree.frame[step]), () =>
			go({ zoom: codeOf(step), function: tree.frame[step] }),
		),
	);
	byId('path').replaceChildren(...steps);
	byId('path').scrollLeft = byId('path').scrollWidth;
}

const painters = {
	time: () => time.show(state.at),
	flame: () => {
		const zoomed = zoomedNode();
		const selected = selectedNode(zoomed);
		showPath(zoomed);
		fill(byId('detail'), describeNode(selected));
		flame.show({
			tree,
			sums,
			zoomed,
			selected,
			marked,
			colours,
			name: nodeName,
			colour: (node) => colourOf(tree.frame[node], sums.net[node], sums.size[node]),
			starred: isStarredNode,
		});
	},
	table: () =>
		table.show({
			profile,
			rows: sumFrames(profile, counts, hidden),
			type: type(),
			signed: signed(),
			marked,
			size: counts.size,
			sort: state.sort,
			frame: state.function,
			frameName: nameOf,
			frameModule: moduleOf,
			starred: isStarred,
		}),
	map: () => {
		map.show({
			modules: areasOf(profile, sumFrames(profile, counts, hidden), signed(), isStarred),
			marked,
			colours,
			zoomed: state.module < 0 ? null : state.module,
			colour: (area) => colourOf(area.frame, area.net, area.size),
			label: (area) => `${area.name}  ${amount(area.net, type(), signed())}`,
		});
		byId('map-path').textContent = map.zoomed === null ? '' : profile.modules[map.zoomed].path;
	},
	callers: () => {
		if (profile.nFrames === 0) return;
		const frame = centre();
		byId('detail').textContent = `${nameOf(frame)} \u00b7 ${describeFrame(frame)}`;
		callers.show({
			frame,
			...sumNeighbours(profile, counts, hidden, frame),
			type: type(),
			signed: signed(),
			name: nameOf,
			module: moduleOf,
			starred: isStarred,
		});
	},
};

// Views are only updated when they are visible.
function paint() {
	if (stale.delete(state.view)) painters[state.view]();
}

function repaint() {
	colours.update();
	for (const view of viewNames) stale.add(view);
	showLegend();
	paint();
}

function showLegend() {
	const chip = (colour, text) => {
		const made = element('span');
		const square = element('i');
		square.style.background = colour.fill;
		made.append(square, text);
		return made;
	};
	const top = [...ranks.keys()].filter((module) => ranks[module] < Math.min(calling.size, 8));
	top.sort((a, b) => ranks[a] - ranks[b]);
	const chips = signed()
		? [
				chip(colours.ofChange(-1, 1), 'less than before'),
				chip(colours.ofChange(0, 1), 'as much'),
				chip(colours.ofChange(1, 1), 'more; width: amount of change'),
			]
		: top.map((module) => chip(colours.ofModule(ranks[module], 1), profile.modules[module].name));
	if (profile.significance) {
		const sure = `${(100 * profile.significance.confidence).toFixed(0)}%`;
		chips.push(element('span', `* significant at ${sure}, in bytes: more than sampling noise`));
	}
	if (series?.growers.some(({ certain }) => certain))
		chips.push(element('span', '* certain to grow, among all that was tested'));
	byId('legend').replaceChildren(...chips);
}

// --- what can be chosen ---

function showView() {
	for (const view of viewNames) byId(view).hidden = view !== state.view;
	showTip(null);
	focusView();
}

function focusView() {
	byId(state.view).querySelector('[tabindex="0"]').focus({ preventScroll: true });
}

function setPressed(made, pressed) {
	made.setAttribute('aria-pressed', String(pressed));
}

function showControls() {
	for (const made of byId('views').children) setPressed(made, made.dataset.view === state.view);
	for (const made of byId('types').children) setPressed(made, made.dataset.type === state.type);
	setPressed(byId('invert'), state.invert === 1);
	setPressed(byId('since'), state.since >= 0);
	byId('back').disabled = !(state.zoom || state.search || state.module >= 0 || state.root >= 0);
	byId('at').value = String(state.at);
	for (const box of document.querySelectorAll('#modules input'))
		box.checked = !hidden[Number(box.value)];
	const n = hidden.reduce((sum, flag) => sum + flag, 0);
	document.querySelector('#modules summary').textContent =
		n > 0 ? `Modules (${n} hidden)` : 'Modules';
}

function typed() {
	confirmed = byId('search').value;
	go({ search: confirmed }, 'search');
}

function invert() {
	go({ invert: 1 - state.invert, zoom: '' });
}

function nextType() {
	const at = profile.types.findIndex(({ key }) => key === state.type);
	go({ type: profile.types[(at + 1) % profile.types.length].key });
}

function hide(module, flag) {
	const all = new Set(state.hide.split('.').filter(Boolean).map(Number));
	if (flag) all.add(module);
	else all.delete(module);
	go({ hide: [...all].sort((a, b) => a - b).join('.'), zoom: '' });
}

function step(by) {
	const at = Math.max(0, Math.min(profile.moments.length - 1, state.at + by));
	if (series) go({ at });
}

function setTheme() {
	document.documentElement.dataset.theme = colours.dark ? 'light' : 'dark';
	repaint();
}

const reset = () => go({ zoom: '', search: '', module: -1, function: -1, root: -1 });

// --- parts that depend on the profile, created once ---

function makeTypes() {
	byId('types').hidden = profile.types.length < 2;
	for (const { key, title } of profile.types) {
		const made = button(title, () => go({ type: key }));
		made.dataset.type = key;
		made.title = 'u';
		byId('types').append(made);
	}
}

function makeModules() {
	const { net, size } = moduleSums(profile, counts);
	const order = [...size.keys()].sort((a, b) => size[b] - size[a]);
	for (const module of order.filter((index) => calling.has(index))) {
		const label = element('label');
		const box = element('input');
		box.type = 'checkbox';
		box.checked = true;
		box.value = String(module);
		box.addEventListener('change', () => hide(module, !box.checked));
		label.title = profile.modules[module].path;
		label.append(
			box,
			element('span', profile.modules[module].name),
			element('em', amount(net[module], type(), signed())),
		);
		document.querySelector('#modules .panel').append(label);
	}
}

function makeMoments() {
	if (!series) return;
	byId('moments').hidden = false;
	byId('views').querySelector('[data-view=time]').hidden = false;
	profile.moments.forEach((_, i) => {
		const option = element('option', momentName(series, i));
		option.value = String(i);
		byId('at').append(option);
	});
	byId('at').addEventListener('change', () => go({ at: Number(byId('at').value) }));
	byId('since').addEventListener('click', commands.d);
}

const commands = {
	1: () => go({ view: 'flame' }),
	2: () => go({ view: 'table' }),
	3: () => go({ view: 'map' }),
	4: () => go({ view: 'callers' }),
	5: () => series && go({ view: 'time' }),
	c: () => go({ view: 'callers' }),
	'[': () => step(-1),
	']': () => step(1),
	d: () => series && go({ since: state.since < 0 ? 0 : -1 }),
	u: nextType,
	i: invert,
	'/': () => {
		byId('search').focus();
		byId('search').select();
	},
	m: () => byId('modules').toggleAttribute('open'),
	h: () => state.function >= 0 && hide(profile.frameModule[state.function], true),
	H: () => go({ hide: '', zoom: '' }),
	t: setTheme,
	'?': () => byId('help').showModal(),
	Escape: reset,
};

function onKey(event) {
	if (event.ctrlKey || event.altKey || event.metaKey || byId('help').open) return;
	if (event.target !== document.body && !event.target.closest('.report')) return;
	if (event.target.id === 'search') {
		if (event.key !== 'Escape' && event.key !== 'Enter') return;
		if (event.key === 'Enter' && state.search !== confirmed) {
			confirmed = state.search;
			search();
			repaint();
		}
		if (event.key === 'Escape') go({ search: '' });
		focusView();
	} else if (event.target.id === 'at' && event.key !== 'Escape') return;
	else if (event.key === 'Escape' && byId('modules').open) byId('modules').open = false;
	else if (Object.hasOwn(commands, event.key)) commands[event.key]();
	else return;
	event.preventDefault();
}

function listen(signal) {
	for (const made of byId('views').children)
		made.addEventListener('click', () => go({ view: made.dataset.view }));
	byId('invert').addEventListener('click', invert);
	byId('search').addEventListener('input', typed);
	byId('back').addEventListener('click', reset);
	byId('theme').addEventListener('click', setTheme);
	byId('help-open').addEventListener('click', commands['?']);
	document.addEventListener('keydown', onKey, { signal });
	document.addEventListener(
		'click',
		(event) => {
			if (!byId('modules').contains(event.target)) byId('modules').open = false;
		},
		{ signal },
	);
	const dark = matchMedia('(prefers-color-scheme: dark)');
	dark.addEventListener('change', repaint, { signal });
}

function begin() {
	state = null;
	marked = null;
	moving = null;
	confirmed = '';
	lastSelected = 0;
	stale.clear();
}

/**
 * Show a report of `data`, as written by profile/format/html.c. The address holds its state after
 * `before`. After `signal` is aborted, keys are ignored.
 */
export function openReport(data, title, { before = '#', signal } = {}) {
	profile = readProfile(data);
	series = profile.series;
	viewNames = ['flame', 'table', 'map', 'callers'];
	if (series) viewNames.unshift('time');
	colours = new Colours();
	shades = profile.names.map(shadeOf);
	calling = new Set(profile.frameModule);
	begin();
	address = new Address(fieldsOf(profile, viewNames, columns), show, { before, signal });
	makeViews();
	byId('title').textContent = title;
	showFacts(profile);
	makeTypes();
	makeMoments();
	makeHelp();
	listen(signal);
	address.read();
	makeModules();
	showControls();
}
