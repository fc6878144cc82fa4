// SPDX-License-Identifier: Apache-2.0
// Shortens names. In C++ and Rust the end of a name distinguishes functions, so arguments go first,
// then template arguments, then leading namespaces; only names that are still too long are cut.

const ANONYMOUS = '(anonymous namespace)';
// Brackets that do not form a group: in an operator, an arrow, or the receiver of a Go method.
const OPERATOR = /operator *(\(\)|<=>|->\*|<<=|>>=|<<|>>|<=|>=|<|>)|->|\.\([^()]*\)/y;
const known = new Map(); // the forms of names that were too long

// Removes everything between a pair of brackets; unchanged if brackets do not match.
function withoutGroups(name, open, close) {
	let out = '';
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		OPERATOR.lastIndex = i;
		const whole = name.startsWith(ANONYMOUS, i) ? ANONYMOUS : OPERATOR.exec(name)?.[0];
		if (whole) {
			if (depth === 0) out += whole;
			i += whole.length - 1;
		} else if (name[i] === open) depth++;
		else if (name[i] === close && depth > 0) depth--;
		else if (depth === 0) out += name[i];
	}
	return depth === 0 ? out : name;
}

function withoutArguments(name) {
	return withoutGroups(name.replace(/ \[clone [^\]]*\]/g, ''), '(', ')').replace(
		/( const| volatile|[ &])+$/,
		'',
	);
}

// Keeps the type of Rust's "<Type as Trait>::method".
function ofType(name) {
	const at = name.startsWith('<') ? name.lastIndexOf(' as ') : -1;
	const end = at < 0 ? -1 : name.indexOf('>::', at);
	return end < 0 ? name : name.slice(1, at) + name.slice(end + 1);
}

// The symbol of a template instance begins with its return type.
function withoutTemplates(name) {
	const bare = withoutGroups(ofType(name), '<', '>').trimEnd();
	if (bare === name) return name;
	const end = bare.search(/\boperator\b/);
	const before = (end < 0 ? bare : bare.slice(0, end)).replaceAll(ANONYMOUS, (text) =>
		'.'.repeat(text.length),
	);
	return bare.slice(before.lastIndexOf(' ') + 1);
}

/** The forms of a name, from the whole to its last part, each shorter than the previous one. */
function formsOf(name) {
	const forms = [name];
	const add = (form) => {
		if (form && form.length < forms.at(-1).length) forms.push(form);
	};
	add(withoutArguments(name));
	add(withoutTemplates(forms.at(-1)));
	const bare = forms.at(-1);
	for (let at = bare.indexOf('::'); at >= 0; at = bare.indexOf('::', at + 2))
		add(bare.slice(at + 2));
	return forms;
}

/** At most n characters of a name; none if they would be meaningless. */
export function shorten(name, n) {
	if (name.length <= n) return name;
	if (n < 4) return '';
	let forms = known.get(name);
	if (!forms) {
		forms = formsOf(name);
		known.set(name, forms);
	}
	const fits = forms.find((form) => form.length <= n);
	if (fits) return fits;
	const last = forms.at(-1);
	const head = Math.ceil((n - 1) / 2);
	return `${last.slice(0, head)}\u2026${last.slice(last.length - (n - 1 - head))}`;
}

/** The same for the width of an element with a monospaced font (report.css: 12 px). */
export function shortenTo(name, width) {
	return width > 0 ? shorten(name, Math.floor(width / 7.23)) : name;
}
