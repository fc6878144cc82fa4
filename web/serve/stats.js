// SPDX-License-Identifier: Apache-2.0
// jemalloc's own statistics: totals, size classes, arenas. Values that a version lacks are left out.

import { element } from '../dom.js';
import { percent } from '../text.js';
import { facts, made, size } from './parts.js';
import { Rows } from './rows.js';

const count = (n) => (Number.isFinite(n) ? n.toLocaleString('en-US') : '');
const figure = (key, title, of, show, hint = '') => ({
	key,
	title,
	right: true,
	hint,
	of: (row) => (Number.isFinite(of(row)) ? of(row) : -1),
	show: (row) => show(of(row)),
});

function binsOf({ arenas, 'stats.arenas': stats }) {
	const { merged } = stats;
	const small = (merged?.bins ?? []).map((bin, i) => {
		const { size: bytes, nregs, slab_size: slab } = arenas.bin?.[i] ?? {};
		const room = bin.curslabs * nregs;
		return {
			...bin,
			bytes,
			slab,
			used: bin.curregs * bytes,
			full: room ? bin.curregs / room : NaN,
		};
	});
	const large = (merged?.lextents ?? []).map((bin, i) => {
		const bytes = arenas.lextent?.[i]?.size;
		return { ...bin, bytes, curregs: bin.curlextents, used: bin.curlextents * bytes, full: NaN };
	});
	return [...small, ...large].filter(({ nmalloc, curregs }) => nmalloc > 0 || curregs > 0);
}

function binRows(said) {
	const rows = new Rows({
		label: 'Size classes',
		sort: '-used',
		key: ({ bytes }) => bytes,
		columns: [
			figure('bytes', 'Size', ({ bytes }) => bytes, size),
			figure('curregs', 'In use', ({ curregs }) => curregs, count, 'regions'),
			figure('used', 'Bytes in use', ({ used }) => used, size),
			figure(
				'full',
				'Full',
				({ full }) => full,
				(full) => (Number.isFinite(full) ? percent(full, 1) : ''),
				'part of its slabs in use',
			),
			figure('slabs', 'Slabs', ({ curslabs }) => curslabs, count),
			figure('nmalloc', 'Allocated', ({ nmalloc }) => nmalloc, count, 'regions, so far'),
			figure('ndalloc', 'Freed', ({ ndalloc }) => ndalloc, count, 'regions, so far'),
			figure('requests', 'Requests', ({ nrequests }) => nrequests, count),
		],
	});
	rows.show(binsOf(said));
	return rows.place;
}

function arenaRows({ arenas, 'stats.arenas': stats }) {
	const page = arenas.page ?? 4096;
	const all = Object.entries(stats)
		.filter(([name]) => /^\d+$/.test(name))
		.map(([name, arena]) => ({ ...arena, number: Number(name) }));
	const rows = new Rows({
		label: 'Arenas',
		sort: 'number',
		key: ({ number }) => number,
		columns: [
			figure('number', 'Arena', ({ number }) => number, String),
			figure('threads', 'Threads', ({ nthreads }) => nthreads, count),
			figure('small', 'Small', ({ small }) => small?.allocated, size, 'allocated'),
			figure('large', 'Large', ({ large }) => large?.allocated, size, 'allocated'),
			figure('active', 'Active', ({ pactive }) => pactive * page, size, 'pages in use'),
			figure('dirty', 'Dirty', ({ pdirty }) => pdirty * page, size, 'free pages, not purged yet'),
			figure('muzzy', 'Muzzy', ({ pmuzzy }) => pmuzzy * page, size),
			figure('mapped', 'Mapped', ({ mapped }) => mapped, size),
			figure('retained', 'Retained', ({ retained }) => retained, size, 'mapped, given back'),
			figure('resident', 'Resident', ({ resident }) => resident, size),
		],
	});
	rows.show(all);
	return rows.place;
}

/** The answer of GET .../stats. */
export function statsOf({ jemalloc: said }) {
	const { allocated, active, metadata, resident, mapped, retained } = said.stats;
	return [
		facts([
			['Allocated', size(allocated)],
			['Active', size(active)],
			['Lost between allocations', size(active - allocated)],
			['Metadata', size(metadata)],
			['Resident', size(resident)],
			['Mapped', size(mapped)],
			['Retained', size(retained)],
			['Arenas', count(said.arenas.narenas)],
		]),
		made('h4', '', 'Size classes'),
		binRows(said),
		made('h4', '', 'Arenas'),
		arenaRows(said),
	];
}

/** The answer of GET .../threads. */
export function threadsOf({ threads }) {
	const rows = new Rows({
		label: 'Threads',
		sort: '-allocated',
		key: ({ tid }) => tid,
		columns: [
			figure('tid', 'Thread', ({ tid }) => tid, String),
			{ key: 'name', title: 'Name', of: ({ name }) => name, show: ({ name }) => name ?? '' },
			{
				key: 'sampled',
				title: 'Sampled',
				of: ({ thread }) => String(thread?.prof?.active),
				show: ({ thread, reason }) =>
					({ true: 'yes', false: 'no' })[thread?.prof?.active] ?? reason ?? 'not known',
			},
			figure('allocated', 'Allocated', ({ thread }) => thread?.allocated, size),
			figure('deallocated', 'Freed', ({ thread }) => thread?.deallocated, size),
		],
	});
	rows.show(threads);
	return [
		element('p', 'While sampling is on, allocations of the sampled threads are in the profile.'),
		rows.place,
	];
}
