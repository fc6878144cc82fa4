#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// formats.mjs pprof|speedscope|svg FILE [NAME]: what other programs make of a file that jeprof-ctl
// wrote, as one JSON document. pprof-format and speedscope are npm packages; the flame graph is
// opened in Chromium, searched for NAME, and zoomed.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Page } from './browser.mjs';

const packages = new URL('../../build/npm/node_modules', import.meta.url).pathname;
const [what, file, name] = process.argv.slice(2);

function pprof() {
	const { Profile } = createRequire(join(packages, 'x.js'))('pprof-format');
	const profile = Profile.decode(gunzipSync(readFileSync(file)));
	const text = (at) => profile.stringTable.strings[Number(at)];
	const functions = new Map(profile.function.map((f) => [Number(f.id), text(f.name)]));
	const locations = new Map(profile.location.map((l) => [Number(l.id), l]));
	const totals = profile.sampleType.map((_, i) =>
		Number(profile.sample.reduce((sum, s) => sum + BigInt(s.value[i]), 0n)),
	);
	const calls = (sample) =>
		sample.locationId.flatMap((id) =>
			locations.get(Number(id)).line.map((l) => functions.get(Number(l.functionId))),
		);
	const labels = profile.sample.flatMap((s) => s.label.map((l) => [text(l.key), Number(l.num)]));
	return {
		types: profile.sampleType.map((t) => text(t.type)),
		totals,
		default: text(profile.defaultSampleType),
		period: Number(profile.period),
		period_type: text(profile.periodType.type),
		drop: text(profile.dropFrames),
		time_ns: String(profile.timeNanos),
		comments: profile.comment.map(text),
		build_ids: profile.mapping.map((m) => text(m.buildId)).filter((id) => id !== ''),
		symbolized: profile.mapping.every((m) => m.hasFunctions),
		inner: [...new Set(profile.sample.map((s) => calls(s)[0]))],
		threads: [...new Set(labels.filter(([key]) => key === 'thread_id').map(([, value]) => value))],
	};
}

// Like its own command line opens a file.
async function speedscope() {
	const script = join(process.env.T, 'speedscope.js');
	const bytes = readFileSync(file).toString('base64');
	writeFileSync(script, `speedscope.loadFileFromBase64('it.json', ${JSON.stringify(bytes)})`);
	const index = join(packages, 'speedscope/dist/release/index.html');
	const page = await Page.open(`file://${index}#localProfilePath=${script}`);
	const shown = () => page.get('document.body.innerText');
	const until = async (pattern) => {
		for (let i = 0; i < 600 && !pattern.test(await shown()); i++)
			await new Promise((done) => setTimeout(done, 100));
	};
	await until(/\(\d+\/\d+\)/);
	const said = await shown();
	await page.get(
		"Array.from(document.querySelectorAll('div')).find((d) => d.textContent.endsWith('Sandwich') && !d.children[2]).click()",
	);
	await until(/Total/);
	const sandwich = await shown();
	const title = await page.get('document.title');
	await page.close();
	return { title, said, sandwich };
}

async function svg() {
	const page = await Page.open(`file://${resolve(file)}`, { width: 1240 });
	const count = (selector) => page.get(`document.querySelectorAll('${selector}').length`);
	const status = () => page.text('#status');
	const frames = await count('g.f');
	const scripts = await count('script');
	const odd = await count('img, iframe, a, b');
	await page.clickOn('input');
	await page.type(name);
	const found = await status();
	const hits = await count('g.hit');
	await page.get(
		"document.querySelector('g.hit').dispatchEvent(new MouseEvent('click', { bubbles: true }))",
	);
	const wide = await page.get(
		"Math.round(document.querySelector('g.hit rect').getAttribute('width'))",
	);
	const hidden = await page.get(
		"Array.from(document.querySelectorAll('g.f')).filter((g) => g.style.display === 'none').length",
	);
	await page.get(
		"document.querySelector('g.hit').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))",
	);
	const hovered = await status();
	await page.key('Escape');
	const back = await page.get(
		"Array.from(document.querySelectorAll('g.f')).filter((g) => g.style.display === 'none').length",
	);
	const others = page.requests.filter((url) => !url.startsWith('file://'));
	const complaints = page.complaints;
	if (process.env.PICTURE) await page.picture(process.env.PICTURE);
	await page.close();
	return { frames, scripts, odd, found, hits, wide, hidden, hovered, back, others, complaints };
}

console.log(JSON.stringify(await { pprof, speedscope, svg }[what]()));
