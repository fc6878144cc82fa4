// SPDX-License-Identifier: Apache-2.0
// Elements. Text is only ever set as textContent, as all names are untrusted.

export const byId = (id) => document.getElementById(id);

export function element(name, text = '', className = '') {
	const made = document.createElement(name);
	made.textContent = text;
	made.className = className;
	return made;
}

export function button(text, onClick, className = '') {
	const made = element('button', text, className);
	made.type = 'button';
	made.addEventListener('click', onClick);
	return made;
}
