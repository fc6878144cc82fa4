// SPDX-License-Identifier: Apache-2.0
// How other programs scrape this host: the snippets of doc/http-api.md, with its address.

import { button, byId, element } from '../dom.js';
import { made } from './parts.js';
import { say } from './task.js';

const secure = location.protocol === 'https:';
const scheme = secure ? '\n    scheme: https' : '';

const PROMETHEUS = `scrape_configs:
  - job_name: jeprof-ctl${scheme}
    authorization: {credentials_file: /etc/prometheus/jeprof-ctl.token}
    static_configs: [{targets: ["${location.host}"]}]
`;

const PARCA = `scrape_configs:
  - job_name: jeprof-ctl${scheme}
    scrape_interval: 60s
    scrape_timeout: 63s
    authorization: {credentials_file: /etc/parca/jeprof-ctl.token}
    http_sd_configs:
      - url: ${location.origin}/sd
        authorization: {type: Bearer, credentials_file: /etc/parca/jeprof-ctl.token}
    profiling_config:
      pprof_config:
        memory: {enabled: true, path: /debug/pprof/allocs}
        block: {enabled: false}
        goroutine: {enabled: false}
        mutex: {enabled: false}
        process_cpu: {enabled: false}
`;

const ALLOY = `discovery.http "jeprof_ctl" {
  url = "${location.origin}/sd"
  bearer_token_file = "/etc/alloy/jeprof-ctl.token"
}
pyroscope.scrape "jeprof_ctl" {
  targets = discovery.http.jeprof_ctl.targets
  forward_to = [pyroscope.write.default.receiver]
  bearer_token_file = "/etc/alloy/jeprof-ctl.token"
  scrape_interval = "60s"
  scrape_timeout = "30s"
  profiling_config {
    profile.memory { enabled = true }
    profile.process_cpu { enabled = false }
    profile.goroutine { enabled = false }
    profile.block { enabled = false }
    profile.mutex { enabled = false }
  }
}
`;

const SNIPPETS = [
	{
		name: 'Prometheus',
		text: PROMETHEUS,
		about: 'Metrics. The role read suffices for the token; no process is touched.',
	},
	{
		name: 'Parca',
		text: PARCA,
		about: 'Profiles of all sampled processes, by service discovery. Needs the role profile.',
	},
	{
		name: 'Grafana Alloy',
		text: ALLOY,
		about: 'The same for Pyroscope. Each scrape stops one thread of a process for about 0.3 ms.',
	},
];

async function copy({ name, text }) {
	try {
		await navigator.clipboard.writeText(text);
		say(`Copied: ${name}`);
	} catch {
		say('The browser does not allow this page to copy: select the text');
	}
}

export function makeSnippets() {
	for (const snippet of SNIPPETS) {
		const text = element('pre', snippet.text);
		text.tabIndex = 0;
		text.setAttribute('aria-label', `configuration of ${snippet.name}`);
		byId('scrape').append(
			made(
				'section',
				'card',
				element('h3', snippet.name),
				element('p', snippet.about),
				text,
				button(`Copy for ${snippet.name}`, () => copy(snippet)),
			),
		);
	}
}
