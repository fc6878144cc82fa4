// SPDX-License-Identifier: Apache-2.0
// page-leaks.mjs FILE [FOLDER]: what the page of `leaks -f html` shows and does, as one JSON
// document, for tests/system/html.t. Screenshots go to FOLDER.

import { pathToFileURL } from 'node:url';
import { Page } from './browser.mjs';

const [, , file, folder] = process.argv;
const url = pathToFileURL(file).href;
const page = await Page.open(url);
const view = () => page.get(`document.querySelector('#views [aria-pressed=true]').dataset.view`);
const texts = (selector) =>
	page.get(`[...document.querySelectorAll('${selector}')].map((e) => e.textContent)`);
const picture = async (name) => {
	if (folder) await page.picture(`${folder}/leaks-${name}.png`);
};

const seen = { view: await view(), last: await page.text('#total strong') };
seen.moments = (await texts('#time circle')).length;
seen.growers = await texts('.grower');
await picture('time');
await page.clickOn('.chart', 20, 100);
seen.opened = {
	view: await view(),
	hash: await page.get('location.hash'),
	total: await page.text('#total strong'),
};
await page.key(']');
await page.key('d');
seen.since = { total: await page.text('#total strong'), legend: await page.text('#legend') };
await picture('since');
await page.walk(-3);
seen.back = await view();
await page.clickOn('.grower');
seen.grower = {
	view: await view(),
	search: await page.get(`document.getElementById('search').value`),
};
await page.key('Escape');
await page.key('5');
await page.key('End');
await page.key('ArrowLeft');
seen.key = await page.get(`Number(document.getElementById('at').value)`);
await page.resize(390, 800);
await page.settle();
await picture('narrow');
seen.narrow = await page.get('document.documentElement.scrollWidth');
seen.complaints = page.complaints;
seen.requests = [...new Set(page.requests)].filter((asked) => asked !== url);
await page.close();
console.log(JSON.stringify(seen));
