// SPDX-License-Identifier: Apache-2.0
// The page of one report, with its data.

import { byId } from './dom.js';
import { openReport } from './report.js';

// The time is shown with the facts.
openReport(
	JSON.parse(byId('data').textContent),
	document.title.replace(/, [-0-9]+ [:0-9]+ UTC$/, ''),
);
