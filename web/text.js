// SPDX-License-Identifier: Apache-2.0
// Numbers for people.

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

function sign(value, signed) {
	if (value < 0) return '\u2212';
	return signed && value > 0 ? '+' : '';
}

function bytes(amount) {
	let unit = 0;
	let n = amount;
	while (n >= 1023.95 && unit < UNITS.length - 1) {
		n /= 1024;
		unit++;
	}
	if (unit === 0) return `${whole.format(n)} ${UNITS[0]}`;
	return `${n < 99.95 ? n.toFixed(1) : n.toFixed(0)} ${UNITS[unit]}`;
}

/** "12.3 MiB" or "1,234"; with `signed`, growth has a plus. */
export function amount(value, type, signed = false) {
	const size = Math.abs(value);
	return sign(value, signed) + (type.bytes ? bytes(size) : whole.format(size));
}

/** To the last byte. */
export function exact(value, type, signed = false) {
	return `${sign(value, signed)}${whole.format(Math.abs(value))} ${type.bytes ? 'bytes' : 'objects'}`;
}

export function percent(part, of, signed = false) {
	if (!(of > 0)) return '';
	const share = (100 * part) / of;
	const size = Math.abs(share);
	if (size > 0 && size < 0.01) return `${sign(share, false)}<0.01%`;
	return `${sign(share, signed)}${size.toFixed(size < 9.995 ? 2 : 1)}%`;
}

export function error(value, type) {
	return value > 0 ? `\u00b1${type.bytes ? bytes(value) : whole.format(value)}` : '';
}

/** "2026-11-22 11:10:24 UTC" */
export function stamp(time) {
	const date = new Date(time);
	if (Number.isNaN(date.getTime())) return '';
	return date
		.toISOString()
		.replace('T', ' ')
		.replace(/\.\d+Z$/, ' UTC');
}
