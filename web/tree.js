// SPDX-License-Identifier: Apache-2.0
// The stacks merged into a tree: node 0 is the whole, and parents precede their children.

// Finds the child of a parent by its frame: open addressing with two numbers as the key, for which a
// Map would need an object or a string.
class Children {
	constructor() {
		this.slots = new Int32Array(1 << 12).fill(-1);
		this.frame = new Int32Array(1 << 11);
		this.parent = new Int32Array(1 << 11);
		this.frame[0] = -1;
		this.parent[0] = -1;
		this.n = 1;
	}

	slotOf(parent, frame) {
		const mask = this.slots.length - 1;
		const mixed = Math.imul(parent ^ Math.imul(frame, 0x85ebca6b), 0x9e3779b1);
		let slot = (mixed ^ (mixed >>> 15)) & mask;
		for (;;) {
			const node = this.slots[slot];
			if (node < 0 || (this.parent[node] === parent && this.frame[node] === frame)) return slot;
			slot = (slot + 1) & mask;
		}
	}

	grow() {
		const larger = (old) => {
			const array = new Int32Array(old.length * 2);
			array.set(old);
			return array;
		};
		this.frame = larger(this.frame);
		this.parent = larger(this.parent);
		this.slots = new Int32Array(this.slots.length * 2).fill(-1);
		for (let i = 1; i < this.n; i++) this.slots[this.slotOf(this.parent[i], this.frame[i])] = i;
	}

	get(parent, frame) {
		const slot = this.slotOf(parent, frame);
		if (this.slots[slot] >= 0) return this.slots[slot];
		const node = this.n++;
		this.slots[slot] = node;
		this.parent[node] = parent;
		this.frame[node] = frame;
		if (this.n === this.parent.length) this.grow();
		return node;
	}
}

// kids[first[i]] ... kids[first[i + 1] - 1] are the children of node i.
function listChildren(parent, n) {
	const first = new Uint32Array(n + 1);
	for (let i = 1; i < n; i++) first[parent[i] + 1]++;
	for (let i = 0; i < n; i++) first[i + 1] += first[i];
	const next = first.slice();
	const kids = new Uint32Array(n);
	for (let i = 1; i < n; i++) kids[next[parent[i]]++] = i;
	return { first, kids };
}

/**
 * Merge the stacks, from the outermost call or, inverted, from the allocation site. Calls of hidden
 * modules (a flag for each module) are left out, and count for their callers. With a frame as
 * `root`, stacks begin there, and those without it are empty: its callees, or, inverted, its
 * callers.
 */
export function buildTree(profile, inverted, hidden, root = -1) {
	const children = new Children();
	const { start, path, frameModule } = profile;
	const end = new Uint32Array(profile.nStacks);
	for (let i = 0; i < profile.nStacks; i++) {
		const mirror = start[i] + start[i + 1] - 1;
		let node = 0;
		let k = start[i];
		if (root >= 0) while (k < start[i + 1] && path[inverted ? mirror - k : k] !== root) k++;
		for (; k < start[i + 1]; k++) {
			const frame = path[inverted ? mirror - k : k];
			if (!hidden[frameModule[frame]]) node = children.get(node, frame);
		}
		end[i] = node;
	}
	const n = children.n;
	const parent = children.parent.slice(0, n);
	return {
		n,
		parent,
		frame: children.frame.slice(0, n),
		end,
		inverted,
		...listChildren(parent, n),
	};
}

/** For each node: the sums of its stacks' values, absolute values, and variances. */
export function sumTree(tree, counts) {
	const net = new Float64Array(tree.n);
	const size = new Float64Array(tree.n);
	const variance = new Float64Array(tree.n);
	for (let i = 0; i < tree.end.length; i++) {
		net[tree.end[i]] += counts.value[i];
		size[tree.end[i]] += Math.abs(counts.value[i]);
		variance[tree.end[i]] += counts.variance[i];
	}
	for (let i = tree.n - 1; i > 0; i--) {
		net[tree.parent[i]] += net[i];
		size[tree.parent[i]] += size[i];
		variance[tree.parent[i]] += variance[i];
	}
	return { net, size, variance, sorted: new Uint8Array(tree.n) };
}

/** The children of a node, largest first. They are sorted on first use. */
export function childrenOf(tree, sums, node) {
	const kids = tree.kids.subarray(tree.first[node], tree.first[node + 1]);
	if (!sums.sorted[node]) {
		kids.sort((a, b) => sums.size[b] - sums.size[a] || a - b);
		sums.sorted[node] = 1;
	}
	return kids;
}

/** What is in or below nodes with a marked frame; nothing is counted twice. */
export function sumMatched(tree, sums, marked) {
	const covered = new Uint8Array(tree.n);
	let net = 0;
	let size = 0;
	let variance = 0;
	for (let i = 1; i < tree.n; i++) {
		covered[i] = covered[tree.parent[i]];
		if (covered[i] || !marked[tree.frame[i]]) continue;
		covered[i] = 1;
		net += sums.net[i];
		size += sums.size[i];
		variance += sums.variance[i];
	}
	return { net, size, error: Math.sqrt(variance) };
}

/** The nodes from node 0 to `node`, inclusive. */
export function pathTo(tree, node) {
	const path = [];
	for (let i = node; i >= 0; i = tree.parent[i]) path.push(i);
	return path.reverse();
}

/**
 * Per frame: flat (allocated by itself) and cum (by itself or its callees). Each stack counts once,
 * however often the frame is in it.
 */
export function sumFrames(profile, counts, hidden) {
	const fields = ['flat', 'flatSize', 'flatVariance', 'cum', 'cumSize', 'cumVariance'];
	const sums = Object.fromEntries(fields.map((name) => [name, new Float64Array(profile.nFrames)]));
	const seen = new Int32Array(profile.nFrames).fill(-1);
	for (let i = 0; i < profile.nStacks; i++) {
		const value = counts.value[i];
		let innermost = true;
		for (let k = profile.start[i + 1] - 1; k >= profile.start[i]; k--) {
			const frame = profile.path[k];
			if (hidden[profile.frameModule[frame]]) continue;
			if (innermost) {
				sums.flat[frame] += value;
				sums.flatSize[frame] += Math.abs(value);
				sums.flatVariance[frame] += counts.variance[i];
				innermost = false;
			}
			if (seen[frame] === i) continue;
			seen[frame] = i;
			sums.cum[frame] += value;
			sums.cumSize[frame] += Math.abs(value);
			sums.cumVariance[frame] += counts.variance[i];
		}
	}
	return { ...sums, seen };
}

/** For each node, the first stack that goes through it. */
export function stacksOf(tree) {
	const stack = new Int32Array(tree.n).fill(-1);
	for (let i = tree.end.length - 1; i >= 0; i--) stack[tree.end[i]] = i;
	for (let i = tree.n - 1; i > 0; i--) {
		const up = tree.parent[i];
		if (stack[i] >= 0 && (stack[up] < 0 || stack[up] > stack[i])) stack[up] = stack[i];
	}
	return stack;
}

/** For each node, whether a marked stack ends there. */
export function markEnds(tree, marked) {
	const ends = new Uint8Array(tree.n);
	for (let i = 0; i < marked.length; i++) if (marked[i]) ends[tree.end[i]] = 1;
	return ends;
}

/**
 * The callers and callees of a function: maps from frames to { net, size, variance }. Caller -1: it
 * is the outermost call; the function itself as a callee: what it allocated itself. A stack counts
 * once for each neighbor, so that with recursion the sum may exceed the whole.
 */
export function sumNeighbours(profile, counts, hidden, frame) {
	const callers = new Map();
	const called = new Map();
	const whole = { net: 0, size: 0, variance: 0 };
	const add = (sum, i) => {
		sum.net += counts.value[i];
		sum.size += Math.abs(counts.value[i]);
		sum.variance += counts.variance[i];
	};
	const addTo = (map, neighbours, i) => {
		for (const key of neighbours) {
			if (!map.has(key)) map.set(key, { net: 0, size: 0, variance: 0 });
			add(map.get(key), i);
		}
	};
	for (let i = 0; i < profile.nStacks; i++) {
		if (!profile.path.subarray(profile.start[i], profile.start[i + 1]).includes(frame)) continue;
		const before = new Set();
		const after = new Set();
		let last = -1;
		for (let k = profile.start[i]; k < profile.start[i + 1]; k++) {
			const at = profile.path[k];
			if (hidden[profile.frameModule[at]]) continue;
			if (at === frame && last !== frame) before.add(last);
			if (last === frame && at !== frame) after.add(at);
			last = at;
		}
		if (last === frame) after.add(frame);
		if (before.size === 0) continue;
		add(whole, i);
		addTo(callers, before, i);
		addTo(called, after, i);
	}
	return { callers, called, whole };
}
