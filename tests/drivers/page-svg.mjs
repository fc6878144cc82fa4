// SPDX-License-Identifier: Apache-2.0
// page-svg.mjs FILE EXPRESSION: what a flame graph of `report -f svg` does in its own window, as
// one JSON document, for tests/system/html.t.

import { pathToFileURL } from 'node:url';
import { Page } from './browser.mjs';

const [, , file, expression] = process.argv;
const page = await Page.open(pathToFileURL(file).href, { width: 1400 });
const width = (at) =>
	page.get(`document.querySelectorAll('g.f rect')[${at}].getBoundingClientRect().width`);
const widest = () =>
	page.get(
		`Math.max(...[...document.querySelectorAll('g.f rect')].map((r) => r.getBoundingClientRect().width))`,
	);

const seen = { wide: [Math.round(await widest())] };
await page.resize(700, 600);
await page.settle();
seen.wide.push(Math.round(await widest()));
await page.get(
	`document.querySelectorAll('g.f')[3].dispatchEvent(new MouseEvent('click', { bubbles: true }))`,
);
await page.settle();
seen.zoomed = Math.round(await width(3));
await page.key('/');
await page.type(expression);
seen.found = await page.text('#status');
seen.complaints = page.complaints;
await page.close();
console.log(JSON.stringify(seen));
