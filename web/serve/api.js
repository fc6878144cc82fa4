// SPDX-License-Identifier: Apache-2.0
// Requests to the service. The token is kept for this tab only, and sent with each request. As it is
// not a cookie, no other page can make a browser send it.

const KEPT = 'jeprof-ctl-token';
const ROLES = ['', 'read', 'profile', 'control'];

export const session = {
	token: sessionStorage.getItem(KEPT) ?? '',
	role: '', // as reported by the service; "": not yet
	changed: () => {}, // called when the role changes
	lost: () => {}, // called when a token is missing or invalid: (why)
};

export function keepToken(token) {
	session.token = token;
	session.role = '';
	sessionStorage.setItem(KEPT, token);
}

export function forgetToken() {
	session.token = '';
	session.role = '';
	sessionStorage.removeItem(KEPT);
	session.changed();
}

/** Does the role suffice? */
export const may = (role) => ROLES.indexOf(session.role) >= ROLES.indexOf(role);

/** Why a request was refused, in the service's words. */
export class Refused extends Error {
	constructor(status, { id = '', message, fix = null }) {
		super(message);
		this.status = status;
		this.id = id;
		this.fix = fix;
		this.told = false; // by the request for a token
	}
}

async function refusal(response, needs) {
	const text = await response.text();
	let said = { message: text.trim() || `HTTP status ${response.status}` };
	try {
		said = JSON.parse(text).error ?? said;
	} catch {
		// a line of text, as it is
	}
	if (response.status === 403 && said.id === 'request_not_allowed')
		said = {
			...said,
			message: `this needs a token with the role ${needs}; yours has the role ${session.role || 'none'}`,
			fix: `use another token: jeprof-ctl serve --new-token ${needs}`,
		};
	return new Refused(response.status, said);
}

function learnRole(response) {
	const role = response.headers.get('X-Jeprof-Role') ?? '';
	if (!ROLES.includes(role) || !role || role === session.role) return;
	session.role = role;
	session.changed();
}

/** Returns a successful response, or throws a Refused. `needs`: the role required. */
export async function ask(path, { method = 'GET', needs = 'read', signal = undefined } = {}) {
	const { token } = session;
	let response;
	try {
		response = await fetch(path, {
			method,
			signal,
			headers: token ? { Authorization: `Bearer ${token}` } : {},
			credentials: 'omit',
			redirect: 'error',
		});
	} catch (why) {
		if (why.name === 'AbortError') throw why;
		throw new Refused(0, {
			message: 'the service does not answer',
			fix: 'is jeprof-ctl serve running, and does it listen at this address?',
		});
	}
	learnRole(response);
	if (response.ok) return response;
	const why = await refusal(response, needs);
	why.told = response.status === 401;
	if (why.told && token === session.token) session.lost(why);
	throw why;
}

export async function askJson(path, options) {
	return (await ask(path, options)).json();
}

/** Reads the bytes of an answer in pieces: heard(bytes so far, bytes in all or 0). */
export async function readAll(response, heard) {
	const all = Number(response.headers.get('Content-Length')) || 0;
	const reader = response.body.getReader();
	const pieces = [];
	let n = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		pieces.push(value);
		n += value.length;
		heard(n, all);
	}
	return new Blob(pieces, { type: response.headers.get('Content-Type') ?? '' });
}

function nameIn(response) {
	const said = response.headers.get('Content-Disposition') ?? '';
	return /filename="([A-Za-z0-9._-]+)"/.exec(said)?.[1] ?? 'profile';
}

/** Fetches a file, and has the browser save it. Returns its name. */
export async function download(path, options, heard) {
	const response = await ask(path, options);
	const url = URL.createObjectURL(await readAll(response, heard));
	const link = document.createElement('a');
	link.href = url;
	link.download = nameIn(response);
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 60_000);
	return link.download;
}
