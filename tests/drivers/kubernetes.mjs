#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// kubernetes.mjs FILE [CAPABILITY...]: what an API server would reject in the objects of FILE (an
// array, as JSON): unknown fields, values of another type, and what it checks beyond that in what
// we write. A container may add these capabilities, all of them and no others. The schemas are
// those of the npm package kubernetes-models, which accept unknown fields: so a field that
// they never look at counts as unknown.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const schemas = new URL('../../build/npm/node_modules/kubernetes-models/_schemas', import.meta.url);
const [file, ...capabilities] = process.argv.slice(2);
const kinds = {
	'apps/v1 DaemonSet': 'IoK8sApiAppsV1DaemonSet',
	'v1 Namespace': 'IoK8sApiCoreV1Namespace',
	'v1 Service': 'IoK8sApiCoreV1Service',
	'v1 Container': 'IoK8sApiCoreV1Container',
};
const said = [];
let inside = '';
const say = (text) => said.push(`${inside}: ${text}`);

/* --- the schemas --- */

// `seen` has the path of each field that was looked at.
function watched(value, path, seen) {
	if (typeof value !== 'object' || value === null) return value;
	return new Proxy(value, {
		get(object, key) {
			if (typeof key === 'symbol') return object[key];
			seen.add(`${path}/${key}`);
			return watched(object[key], `${path}/${key}`, seen);
		},
	});
}

function unknown(value, path, seen) {
	if (typeof value !== 'object' || value === null) return;
	for (const [key, inner] of Object.entries(value)) {
		if (seen.has(`${path}/${key}`)) unknown(inner, `${path}/${key}`, seen);
		else say(`${path}/${key}: it is not known`);
	}
}

async function check(object) {
	const name = kinds[`${object.apiVersion} ${object.kind}`];
	if (!name) return say('such an object is not known');
	const seen = new Set();
	const { validate } = await import(join(schemas.href, `${name}.js`));
	const { apiVersion, kind, ...rest } = object;
	const taken = kind === 'Container' ? rest : object;
	validate(watched(taken, '', seen));
	for (const e of validate.errors ?? [])
		say(`${e.instancePath}: ${e.keyword}: ${JSON.stringify(e.params)}`);
	unknown(taken, '', seen);
}

/* --- what it checks besides --- */

const within = (some, all) => Object.entries(some).every(([k, v]) => all[k] === v);

function checkContainer(c) {
	const security = c.securityContext ?? {};
	const added = security.capabilities?.add ?? [];
	for (const name of added)
		if (!/^[A-Z_]+$/.test(name) || name.startsWith('CAP_')) say(`capability ${name}: no such name`);
	if (
		security.allowPrivilegeEscalation === false &&
		(added.includes('CAP_SYS_ADMIN') || security.privileged)
	)
		say('allowPrivilegeEscalation: false is refused here');
	if (!security.capabilities?.drop?.includes('ALL')) say('the other capabilities are not dropped');
	const wanted = [...capabilities].sort().join(' ');
	const has = [...added].sort().join(' ');
	if (has !== wanted) say(`capabilities: ${has}; wanted: ${wanted}`);
	if (security.runAsUser === 0 && security.runAsNonRoot) say('root is not root');
}

function checkPod(pod, labels, selector) {
	if (!within(selector, labels)) say('the selector does not select it');
	const volumes = (pod.volumes ?? []).map((v) => v.name);
	for (const c of pod.containers) {
		checkContainer(c);
		const ports = (c.ports ?? []).map((p) => p.name);
		const mounts = (c.volumeMounts ?? []).map((m) => m.name);
		for (const m of mounts) if (!volumes.includes(m)) say(`there is no volume ${m}`);
		for (const v of volumes) if (!mounts.includes(v)) say(`volume ${v} is mounted nowhere`);
		for (const probe of [c.livenessProbe, c.readinessProbe])
			if (probe && !ports.includes(probe.httpGet.port))
				say(`there is no port ${probe.httpGet.port}`);
		for (const p of c.ports ?? []) if (p.hostPort) say('a port of the host');
		const set = (c.env ?? []).map((e) => e.name);
		for (const [, variable] of (c.args ?? []).join(' ').matchAll(/\$\((\w+)\)/g))
			if (!set.includes(variable)) say(`there is no variable ${variable}`);
	}
}

function checkService(service, sets) {
	const set = sets.find((s) => within(service.spec.selector, s.spec.template.metadata.labels));
	if (!set) return say('it selects nothing');
	const ports = set.spec.template.spec.containers.flatMap((c) => c.ports.map((p) => p.name));
	for (const p of service.spec.ports)
		if (!ports.includes(p.targetPort)) say(`there is no port ${p.targetPort}`);
}

const objects = JSON.parse(readFileSync(file, 'utf8'));
for (const object of objects) {
	inside = `${object.kind} ${object.metadata?.name ?? object.name}`;
	await check(object);
	if (object.kind === 'DaemonSet') {
		const { template, selector } = object.spec;
		checkPod(template.spec, template.metadata.labels, selector?.matchLabels ?? {});
	}
	if (object.kind === 'Container') checkContainer(object);
	if (object.kind === 'Service')
		checkService(
			object,
			objects.filter((o) => o.kind === 'DaemonSet'),
		);
}
console.log(said.join('\n') || 'as it should be');
process.exitCode = said.length ? 1 : 0;
