// SPDX-License-Identifier: Apache-2.0
// The data of the page, as written by profile/format/html.c, in arrays of numbers: a profile has too
// many calls for one object each.

const TYPES = [
	{ key: 'inuse_space', title: 'Bytes in use', bytes: true },
	{ key: 'inuse_objects', title: 'Objects in use', bytes: false },
	{ key: 'alloc_space', title: 'Bytes allocated', bytes: true },
	{ key: 'alloc_objects', title: 'Objects allocated', bytes: false },
];

// Stack i is path[start[i]] ... path[start[i + 1] - 1], outermost call first. The data has only the
// calls of each stack that it does not share with the previous one.
function readPaths(stacks) {
	const n = stacks.depth.length;
	const start = new Uint32Array(n + 1);
	for (let i = 0; i < n; i++) start[i + 1] = start[i] + stacks.depth[i];
	const path = new Uint32Array(start[n]);
	for (let i = 0, from = 0; i < n; i++) {
		const shared = stacks.shared[i];
		if (shared > 0) path.copyWithin(start[i], start[i - 1], start[i - 1] + shared);
		for (let at = start[i] + shared; at < start[i + 1]; at++) path[at] = stacks.functions[from++];
	}
	return { start, path };
}

function addUp(value, variance) {
	let total = 0;
	let size = 0;
	let spread = 0;
	for (let i = 0; i < value.length; i++) {
		total += value[i];
		size += Math.abs(value[i]);
		spread += variance[i];
	}
	return { value, variance, total, size, error: Math.sqrt(spread) };
}

/**
 * Value and variance of each stack; `size` is the sum of absolute changes, the basis of shares. In a
 * series: at the moment `at`, minus the values at `since` unless that is negative.
 */
export function countsOf(profile, key, at, since) {
	const { data, moments } = profile;
	if (moments.length === 0)
		return addUp(Float64Array.from(data.values[key]), Float64Array.from(data.variances[key]));
	const value = Float64Array.from(moments[at].value);
	const variance = Float64Array.from(moments[at].variance);
	for (let i = 0; since >= 0 && i < value.length; i++) {
		value[i] -= moments[since].value[i];
		variance[i] += moments[since].variance[i];
	}
	return addUp(value, variance);
}

// A flag for each of n, set for those in the list.
function flags(n, list) {
	const set = new Uint8Array(n);
	for (const i of list) set[i] = 1;
	return set;
}

// The significant changes of a difference, by stack and by function; null: not tested.
function readSignificance({ significance, stacks, functions }) {
	if (!significance) return null;
	return {
		confidence: significance.confidence,
		stack: flags(stacks.depth.length, significance.stacks),
		frame: flags(functions.name.length, significance.functions),
	};
}

/** A frame is a function in a module: an index of names, files and frameModule. */
export function readProfile(data) {
	const { start, path } = readPaths(data.stacks);
	const { name: names, file, module } = data.functions;
	return {
		data,
		facts: data.facts,
		difference: data.facts.difference,
		significance: readSignificance(data),
		series: data.series ?? null,
		moments: data.series?.moments ?? [],
		modules: data.modules,
		names,
		files: file.map((index) => (index < 0 ? '' : data.files[index])),
		frameModule: Uint32Array.from(module),
		nFrames: names.length,
		nStacks: data.stacks.depth.length,
		start,
		path,
		types: TYPES.filter((type) => data.series?.type === type.key || data.values?.[type.key]),
	};
}

export function frameModule(profile, frame) {
	return profile.modules[profile.frameModule[frame]].name;
}

/** What each module's own functions allocated. Returns { net, size } by module. */
export function moduleSums(profile, { value }) {
	const net = new Float64Array(profile.modules.length);
	const size = new Float64Array(profile.modules.length);
	for (let i = 0; i < profile.nStacks; i++) {
		if (profile.start[i + 1] === profile.start[i]) continue;
		const module = profile.frameModule[profile.path[profile.start[i + 1] - 1]];
		net[module] += value[i];
		size[module] += Math.abs(value[i]);
	}
	return { net, size };
}
