// SPDX-License-Identifier: Apache-2.0
// shoot.mjs FILE PICTURE WIDTH HEIGHT: a picture of a page, as a browser draws it.

import { pathToFileURL } from 'node:url';
import { Page } from '../../tests/drivers/browser.mjs';

const [, , file, picture, width, height] = process.argv;
const page = await Page.open(pathToFileURL(file).href, { width: Number(width), height: Number(height) });
await page.picture(picture);
await page.close();
