// SPDX-License-Identifier: Apache-2.0
// The part of the page that the address selects. Addresses are untrusted: any that has none of
// these forms selects the first page.

const FORMS = [
	{ name: 'processes', form: /^#?\/?$/, keys: [] },
	{ name: 'process', form: /^#\/process\/(\d{1,7})$/, keys: ['pid'] },
	{ name: 'dump', form: /^#\/process\/(\d{1,7})\/profile(\?|$)/, keys: ['pid'] },
	{ name: 'runs', form: /^#\/runs$/, keys: [] },
	{ name: 'run', form: /^#\/runs\/(\d{1,16})$/, keys: ['run'] },
	{ name: 'profile', form: /^#\/runs\/(\d{1,16})\/profile(\?|$)/, keys: ['run'] },
	{ name: 'growth', form: /^#\/runs\/(\d{1,16})\/growth(\?|$)/, keys: ['run'] },
	{
		name: 'difference',
		form: /^#\/runs\/(\d{1,16})\/since\/(\d{1,16})(\?|$)/,
		keys: ['run', 'base'],
	},
	{ name: 'scrape', form: /^#\/scrape$/, keys: [] },
];

/** { name, before, pid, run, base }: `before` is the part of the address that selects the route. */
export function routeOf(text) {
	for (const { name, form, keys } of FORMS) {
		const [before, ...values] = form.exec(text) ?? [];
		if (before === undefined) continue;
		const named = Object.fromEntries(keys.map((key, i) => [key, Number(values[i])]));
		return { name, before: before.replace(/\?$/, ''), ...named };
	}
	return { name: 'processes', before: '#/' };
}

export const to = {
	processes: () => '#/',
	process: (pid) => `#/process/${pid}`,
	dump: (pid) => `#/process/${pid}/profile?`,
	runs: () => '#/runs',
	run: (run) => `#/runs/${run}`,
	profile: (run) => `#/runs/${run}/profile?`,
	growth: (run) => `#/runs/${run}/growth?`,
	difference: (run, base) => `#/runs/${run}/since/${base}?`,
};
