// SPDX-License-Identifier: Apache-2.0
// The page: what is chosen, and what follows from it.

import { Colours, shadeOf } from './colour.js';
import { showFacts, showTotal } from './facts.js';
import { FlameView } from './flame.js';
import { frameModule, moduleSums, readProfile } from './profile.js';
import { TableView } from './table.js';
import { amount, error, percent } from './text.js';
import { buildTree, pathTo, sumFrames, sumMatched, sumTree } from './tree.js';
import { TreemapView } from './treemap.js';

const KEYS = [
	['1 2 3', 'flame graph, table, map of modules'],
	['u', 'bytes, objects (and those allocated, where they were counted)'],
	['i', 'invert: begin at the allocation sites'],
	['/', 'search (what is all lower case finds upper case too); there Esc: no more'],
	['m', 'choose the modules whose calls are shown'],
	['h  H', "hide the selected box's module; show all again"],
	['\u2190 \u2192 \u2191 \u2193', 'move between boxes, rows, areas'],
	['Enter', 'zoom to the selected box; in the table: show the function in the graph'],
	['Backspace', 'zoom out by one call'],
	['Home  Esc', 'the whole graph'],
	['t', 'light or dark'],
	['?', 'this list'],
];

const byId = (id) => document.getElementById(id);
const profile = readProfile(JSON.parse(byId('data').textContent));
const colours = new Colours();
const shades = profile.names.map(shadeOf);
const calling = new Set(profile.frameModule); // the modules that have any call
const state = {
	view: 'flame',
	type: profile.types[0],
	inverted: false,
	hidden: new Uint8Array(profile.modules.length),
	marked: null,
};
let tree;
let sums;
let ranks;
let selectedFrame = -1;
const stale = new Set();

// --- what a frame is called, and what it amounts to ---

const nameOf = (frame) => profile.names[frame];
const moduleOf = (frame) => frameModule(profile, frame);
const signed = profile.difference;
const counts = () => profile.counts[state.type.key];

function shown(net, variance) {
	const parts = [amount(net, state.type, signed), error(Math.sqrt(variance), state.type)];
	return `${parts.filter(Boolean).join(' ')}, ${percent(net, counts().size, signed) || '0%'}`;
}

function nodeName(node) {
	if (node > 0) return nameOf(tree.frame[node]);
	return `all: ${amount(sums.net[0], state.type, signed)}`;
}

function describeFrame(frame) {
	const file = profile.files[frame];
	return [moduleOf(frame), file].filter(Boolean).join(' \u00b7 ');
}

function describeNode(node) {
	const amounts = shown(sums.net[node], sums.variance[node]);
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
	if (signed) return colours.ofChange(net, size);
	if (frame < 0) return colours.ofModule(-1, 0);
	return colours.ofModule(ranks[profile.frameModule[frame]], shades[frame]);
}

// --- the line below, and the box at the mouse ---

function fill(place, { name, amounts, place: where }) {
	const part = (tag, text) => {
		const made = document.createElement(tag);
		made.textContent = text;
		return made;
	};
	place.replaceChildren(part('strong', name), part('span', amounts), part('em', where));
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

function selectNode(node) {
	selectedFrame = tree.frame[node];
	fill(byId('detail'), describeNode(node));
}

// --- the three views ---

function showPath(node) {
	const steps = pathTo(tree, node).map((step) => {
		const button = document.createElement('button');
		button.type = 'button';
		button.textContent = step === 0 ? 'all' : nameOf(tree.frame[step]);
		button.addEventListener('click', () => flame.zoom(step));
		return button;
	});
	byId('path').replaceChildren(...steps);
	byId('path').scrollLeft = byId('path').scrollWidth;
	byId('back').disabled = node === 0;
}

const flame = new FlameView(byId('flame'), {
	hover: (node, event) => showTip(node === null ? null : describeNode(node), event),
	select: selectNode,
	zoom: showPath,
});
const table = new TableView(byId('table'), {
	pick: (frame) => find(frame),
	select: (frame) => {
		selectedFrame = frame;
		byId('detail').textContent = `${nameOf(frame)} \u00b7 ${describeFrame(frame)}`;
	},
});
const map = new TreemapView(byId('map'), {
	hover: (area, event) => showTip(area && describeArea(area), event),
	select: (area) => {
		selectedFrame = area.frame;
		fill(byId('detail'), describeArea(area));
	},
	pick: (area) => find(area.frame),
	zoom: (module) => {
		byId('back').disabled = module === null;
		byId('map-path').textContent = module === null ? '' : profile.modules[module].path;
	},
});

// Search for exactly this function, in the graph.
function find(frame) {
	byId('search').value = `^${nameOf(frame).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`;
	showView('flame');
	search();
}

function mapModules(rows) {
	const modules = new Map();
	for (let frame = 0; frame < profile.nFrames; frame++) {
		if (!(rows.flatSize[frame] > 0)) continue;
		const module = profile.frameModule[frame];
		const item = {
			frame,
			name: nameOf(frame),
			net: rows.flat[frame],
			variance: rows.flatVariance[frame],
		};
		item.size = signed ? Math.abs(item.net) : rows.flatSize[frame];
		if (!modules.has(module))
			modules.set(module, {
				module,
				name: profile.modules[module].name,
				size: 0,
				net: 0,
				variance: 0,
				frames: [],
			});
		const sum = modules.get(module);
		sum.size += item.size;
		sum.net += item.net;
		sum.variance += item.variance;
		sum.frames.push(item);
	}
	const bySize = (a, b) => b.size - a.size;
	for (const { frames } of modules.values()) frames.sort(bySize);
	return [...modules.values()].sort(bySize);
}

const painters = {
	flame: () =>
		flame.show({
			tree,
			sums,
			marked: state.marked,
			colours,
			name: nodeName,
			colour: (node) => colourOf(tree.frame[node], sums.net[node], sums.size[node]),
		}),
	table: () =>
		table.show({
			profile,
			rows: sumFrames(profile, counts(), state.hidden),
			type: state.type,
			marked: state.marked,
			size: counts().size,
			frameName: nameOf,
			frameModule: moduleOf,
		}),
	map: () =>
		map.show({
			modules: mapModules(sumFrames(profile, counts(), state.hidden)),
			marked: state.marked,
			colours,
			colour: (area) => colourOf(area.frame, area.net, area.size),
			label: (area) => `${area.name}  ${amount(area.net, state.type, signed)}`,
		}),
};

// What cannot be seen is not worked out before it is.
function paint() {
	if (stale.delete(state.view)) painters[state.view]();
}

function refresh() {
	for (const view of Object.keys(painters)) stale.add(view);
	painters.flame();
	stale.delete('flame');
	paint();
	showPath(flame.zoomed);
	selectNode(flame.selected);
	showTotal(profile, state.type);
	showLegend();
}

function showLegend() {
	const chip = (colour, text) => {
		const made = document.createElement('span');
		const square = document.createElement('i');
		square.style.background = colour.fill;
		made.append(square, text);
		return made;
	};
	const top = [...ranks.keys()].filter((module) => ranks[module] < Math.min(calling.size, 8));
	top.sort((a, b) => ranks[a] - ranks[b]);
	const chips = signed
		? [
				chip(colours.ofChange(-1, 1), 'less than before'),
				chip(colours.ofChange(0, 1), 'as much'),
				chip(colours.ofChange(1, 1), 'more; width: how much changed'),
			]
		: top.map((module) => chip(colours.ofModule(ranks[module], 1), profile.modules[module].name));
	byId('legend').replaceChildren(...chips);
}

// --- what can be chosen ---

function showView(name) {
	state.view = name;
	for (const button of byId('views').children)
		button.setAttribute('aria-pressed', String(button.dataset.view === name));
	for (const id of ['flame', 'table', 'map']) byId(id).hidden = id !== name;
	byId('back').disabled =
		name === 'map' ? map.zoomed === null : name === 'table' || flame.zoomed === 0;
	showTip(null);
	paint();
	byId(name).querySelector('.scroller').focus({ preventScroll: true });
}

function rebuild() {
	tree = buildTree(profile, state.inverted, state.hidden);
	measure();
}

function measure() {
	sums = sumTree(tree, counts());
	for (const button of byId('types').children)
		button.setAttribute('aria-pressed', String(button.dataset.type === state.type.key));
	rankModules();
	search();
}

// The modules by what they allocated, so that the largest have the colours that differ most; then
// those that only call others, and those that have no call at all.
function rankModules() {
	const { size } = moduleSums(profile, state.type.key);
	const calls = (module) => Number(calling.has(module));
	const order = [...size.keys()].sort((a, b) => size[b] - size[a] || calls(b) - calls(a));
	ranks = new Int32Array(size.length);
	order.forEach((module, rank) => {
		ranks[module] = rank;
	});
}

function readExpression() {
	const text = byId('search').value;
	if (!text) return null;
	return new RegExp(text, text === text.toLowerCase() ? 'i' : '');
}

function search() {
	let expression = null;
	let said = '';
	try {
		expression = readExpression();
	} catch {
		said = 'not a regular expression';
	}
	byId('search').setAttribute('aria-invalid', String(said !== ''));
	state.marked = null;
	if (expression) {
		state.marked = Uint8Array.from(profile.names, (name) => Number(expression.test(name)));
		const { net, error: spread } = sumMatched(tree, sums, state.marked);
		said = `matched ${shown(net, spread * spread)}`;
	}
	byId('matched').textContent = said;
	refresh();
}

function setInverted(inverted) {
	state.inverted = inverted;
	byId('invert').setAttribute('aria-pressed', String(inverted));
	rebuild();
}

function nextType() {
	const at = profile.types.indexOf(state.type);
	state.type = profile.types[(at + 1) % profile.types.length];
	measure();
}

function setHidden(module, hidden) {
	state.hidden[module] = hidden ? 1 : 0;
	for (const box of document.querySelectorAll('#modules input'))
		box.checked = !state.hidden[Number(box.value)];
	const n = state.hidden.reduce((sum, flag) => sum + flag, 0);
	document.querySelector('#modules summary').textContent =
		n > 0 ? `Modules (${n} hidden)` : 'Modules';
	rebuild();
}

function showAllModules() {
	state.hidden.fill(0);
	setHidden(0, false);
}

function setTheme() {
	document.documentElement.dataset.theme = colours.dark ? 'light' : 'dark';
	colours.update();
	refresh();
}

function zoomOut() {
	if (state.view === 'map') map.zoom(null);
	else flame.zoom(0);
}

// --- the parts that depend on the profile, made once ---

function makeTypes() {
	for (const type of profile.types) {
		const button = document.createElement('button');
		button.type = 'button';
		button.dataset.type = type.key;
		button.textContent = type.title;
		button.title = 'u';
		button.addEventListener('click', () => {
			state.type = type;
			measure();
		});
		byId('types').append(button);
	}
}

function makeModules() {
	const { net, size } = moduleSums(profile, profile.types[0].key);
	const order = [...size.keys()].sort((a, b) => size[b] - size[a]);
	const used = new Set(profile.frameModule);
	for (const module of order.filter((index) => used.has(index))) {
		const label = document.createElement('label');
		const box = document.createElement('input');
		const name = document.createElement('span');
		const part = document.createElement('em');
		box.type = 'checkbox';
		box.checked = true;
		box.value = String(module);
		box.addEventListener('change', () => setHidden(module, !box.checked));
		name.textContent = profile.modules[module].name;
		part.textContent = amount(net[module], profile.types[0], signed);
		label.title = profile.modules[module].path;
		label.append(box, name, part);
		document.querySelector('#modules .panel').append(label);
	}
}

function makeHelp() {
	for (const [key, what] of KEYS) {
		const row = document.createElement('tr');
		const left = document.createElement('th');
		const right = document.createElement('td');
		left.textContent = key;
		right.textContent = what;
		row.append(left, right);
		document.querySelector('#help tbody').append(row);
	}
}

const commands = {
	1: () => showView('flame'),
	2: () => showView('table'),
	3: () => showView('map'),
	u: nextType,
	i: () => setInverted(!state.inverted),
	'/': () => byId('search').focus(),
	m: () => byId('modules').toggleAttribute('open'),
	h: () => selectedFrame >= 0 && setHidden(profile.frameModule[selectedFrame], true),
	H: showAllModules,
	t: setTheme,
	'?': () => byId('help').showModal(),
	Escape: zoomOut,
};

function onKey(event) {
	if (event.ctrlKey || event.altKey || event.metaKey || byId('help').open) return;
	if (event.target.id === 'search') {
		if (event.key !== 'Escape' && event.key !== 'Enter') return;
		if (event.key === 'Escape') {
			event.target.value = '';
			search();
		}
		byId(state.view).querySelector('.scroller').focus();
	} else if (event.key === 'Escape' && byId('modules').open) byId('modules').open = false;
	else if (Object.hasOwn(commands, event.key)) commands[event.key]();
	else return;
	event.preventDefault();
}

function listen() {
	for (const button of byId('views').children)
		button.addEventListener('click', () => showView(button.dataset.view));
	byId('invert').addEventListener('click', () => setInverted(!state.inverted));
	byId('search').addEventListener('input', search);
	byId('back').addEventListener('click', zoomOut);
	byId('theme').addEventListener('click', setTheme);
	byId('help-open').addEventListener('click', commands['?']);
	document.addEventListener('keydown', onKey);
	document.addEventListener('click', (event) => {
		if (!byId('modules').contains(event.target)) byId('modules').open = false;
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
		colours.update();
		refresh();
	});
}

makeTypes();
makeModules();
makeHelp();
listen();
showFacts(profile);
showView('flame');
rebuild();
