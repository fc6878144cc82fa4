#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# serve: sampling a process that was not started for profiling; the result is kept.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh
# shellcheck source=tests/serve.sh
. tests/serve.sh

start_keepers
start_serve main
at main -X POST "/api/v1/processes/$pid/sample?duration=24h&sample_rate=64K"
is "$code" 202 'it begins' || diag "$(<"$T/body")"
ok 'as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json run "$T/body"
id=$(jq -r .id "$T/body")
is "$(jq -c '[.kind, .state, .sample_bytes, .base_bytes]' "$T/body")" '["sample","running",65536,null]' 'its description'
is "$(state_of "$pid")" "$in_phase 1 1" 'it is sampled'
at main -X POST "/api/v1/processes/$pid/sample"
is "$code $(jq -c '[.error.code, .error.about.number]' "$T/body")" "409 [\"busy\",$id]" 'a second one: the running one is named'
keep_going leak 32
at main -X POST "/api/v1/runs/$id/stop"
is "$code $(jq -r .state "$T/body")" '200 stopped' 'it ends'
ok 'as the schema says, at its end' tests/drivers/schema-check doc/schema/jeprof-ctl.json run "$T/body"
is_near "$(jq .result.live_bytes "$T/body")" 32 'live memory was found'
is "$(state_of "$pid")" "$out_phase 0 0" 'it is no longer sampled' || diag "$(state_of "$pid")"
at main "/api/v1/runs/$id/profile?format=folded"
like "$(<"$T/body")" 'leak_blocks' 'its profile has names'
at main "/api/v1/runs/$id/diff"
is "$code $(jq -r .error.id "$T/body")" '404 no_run_profile' 'it has no base to compare with'

# --- the worker is killed ---
at main -X POST "/api/v1/processes/$pid/sample?duration=24h&sample_rate=64K"
is "$code" 202 'another one begins'
id=$(jq -r .id "$T/body")
for p in $(pgrep -P "$serve"); do
	find "/proc/$p/fd" -lname "$T/main.runs/$id" 2>/dev/null | grep -q . && kill -KILL "$p"
done
is_interrupted()
{
	grep -q interrupted "$T/main.runs/$id/run.json"
}
within 60 is_interrupted
ok 'killed: the run is marked as interrupted' is_interrupted
is "$(state_of "$pid")" "$out_phase 0 0" 'killed: it is no longer sampled'
end_serve main
assert_untouched "$pid"

# --- by a rule ---
snapshot "$pid"
echo "s: --children $pid --when 'rss>1' --do 'sample 24h' --cooldown 24h --again 0" >"$T/rules"
chmod 600 "$T/rules"
is_sampled()
{
	[ "$(state_of "$pid")" = "$in_phase 1 1" ]
}
start_serve ruled --rules "$T/rules"
ok 'a rule: it is sampled' within 60 is_sampled
# At the usual rate, one per 512 KiB, 128 MiB are 256 samples.
keep_going leak 128
at ruled /api/v1/runs
id=$(jq -r '.runs[0].id' "$T/body")
is "$(jq -c '.runs[0] | [.kind, .state, .rule.name, .rule.action]' "$T/body")" '["guard","running","s","sample"]' 'a rule: its run'
end_serve ruled
is "$(state_of "$pid")" "$out_phase 0 0" 'a rule: it is no longer sampled' || diag "$(state_of "$pid")"
start_serve ruled --runs "$T/ruled.runs"
at ruled "/api/v1/runs/$id"
ok 'a rule: as the schema says' tests/drivers/schema-check doc/schema/jeprof-ctl.json run "$T/body"
is "$(jq -r .state "$T/body")" stopped 'a rule: it ended with the service'
rate_bytes=$((512 << 10)) is_near "$(jq .result.live_bytes "$T/body")" 128 'a rule: live memory was found'
at ruled "/api/v1/runs/$id/profile?format=folded"
like "$(<"$T/body")" 'leak_blocks' 'a rule: its profile has names'
end_serve ruled
assert_untouched "$pid" 'a rule: untouched'

done_testing
