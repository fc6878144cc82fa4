// SPDX-License-Identifier: Apache-2.0
// Timers and buffers; a line on standard output now and then.
'use strict';
const crypto = require('crypto');
const kept = [];
let i = 0;

function digest(data) {
	return crypto.createHash('md5').update(data).digest('hex');
}

setInterval(() => {
	const data = Buffer.alloc(1 + (i * 7919) % 100000, i & 255);

	kept[i % 100] = { data, digest: digest(data) };
	const old = kept[(i + 1) % 100];
	if (old && digest(old.data) !== old.digest)
		throw new Error('memory changed');
	i++;
}, 1);
setInterval(() => crypto.randomBytes(5000, (e) => { if (e) throw e; }), 5);
setInterval(() => process.stdout.write('on\n'), 50);
