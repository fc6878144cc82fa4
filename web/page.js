// SPDX-License-Identifier: Apache-2.0
// The page of one report, whose data it holds.

import { byId } from './dom.js';
import { openReport } from './report.js';

// The time is among the facts.
openReport(
	JSON.parse(byId('data').textContent),
	document.title.replace(/, [-0-9]+ [:0-9]+ UTC$/, ''),
);
