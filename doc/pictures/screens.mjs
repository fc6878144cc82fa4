// SPDX-License-Identifier: Apache-2.0
// screens.mjs FOLDER FILE...: pictures of pages of `-f html`, in each view, in wide and narrow windows,
// light and dark, for people to look at.

import { mkdirSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Page } from '../../tests/drivers/browser.mjs';

const [, , folder, ...files] = process.argv;
const WINDOWS = [
	[1400, 800, false],
	[1400, 800, true],
	[800, 700, false],
	[390, 800, false],
];

mkdirSync(folder, { recursive: true });
const page = await Page.open('about:blank');
for (const file of files) {
	const url = pathToFileURL(file).href;
	await page.load(url);
	const views = await page.get(
		`[...document.querySelectorAll('#views button:not([hidden])')].map((b) => b.dataset.view)`,
	);
	for (const [width, height, dark] of WINDOWS) {
		await page.resize(width, height);
		await page.prefer(dark);
		for (const view of views) {
			await page.load('about:blank');
			await page.load(`${url}#view=${view}`);
			const name = `${basename(file, '.html')}-${view}-${width}${dark ? '-dark' : ''}`;
			await page.picture(`${folder}/${name}.png`);
		}
	}
}
await page.close();
