// SPDX-License-Identifier: Apache-2.0
// The data of the page, as profile/format/html.c wrote it, in arrays of numbers: a profile
// has too many calls for an object each.

const TYPES = [
	{ key: 'inuse_space', title: 'Bytes in use', bytes: true },
	{ key: 'inuse_objects', title: 'Objects in use', bytes: false },
	{ key: 'alloc_space', title: 'Bytes allocated', bytes: true },
	{ key: 'alloc_objects', title: 'Objects allocated', bytes: false },
];

// Stack i is path[start[i]] ... path[start[i + 1] - 1], the outermost call first. The file
// has of each stack only what it does not share with the one before.
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

function readCounts(data, key) {
	const value = Float64Array.from(data.values[key]);
	const variance = Float64Array.from(data.variances[key]);
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
 * A frame is a function in a module: an index of names, files and frameModule. counts[key]: value and variance
 * of each stack; `size` is the sum of what changed either way, to which shares refer.
 */
export function readProfile(data) {
	const { start, path } = readPaths(data.stacks);
	const types = TYPES.filter((type) => data.values[type.key]);
	const { name: names, file, module } = data.functions;
	return {
		facts: data.facts,
		difference: data.facts.difference,
		modules: data.modules,
		names,
		files: file.map((index) => (index < 0 ? '' : data.files[index])),
		frameModule: Uint32Array.from(module),
		nFrames: names.length,
		nStacks: data.stacks.depth.length,
		start,
		path,
		types,
		counts: Object.fromEntries(types.map(({ key }) => [key, readCounts(data, key)])),
	};
}

export function frameModule(profile, frame) {
	return profile.modules[profile.frameModule[frame]].name;
}

/** Per module, what was allocated by its own functions. Returns { net, size } by module. */
export function moduleSums(profile, key) {
	const { value } = profile.counts[key];
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
