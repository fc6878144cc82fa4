#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# guard --do sample, for a process that was not started for profiling.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh
# shellcheck source=tests/sample.sh
. tests/sample.sh
# shellcheck source=tests/guard.sh
. tests/guard.sh

start_grower "${GROWS/prof:true/prof:false}"
as_before 200

# It grows while it is sampled: the profile has what it holds then.
start_guard sample "$pid" --when 'rss>40M' --do 'sample 10m' --json
is "$(blocks_of "$pid")" 0 'before: nothing is mapped'
hold 60
ok 'it is sampled' within 60 eval '[[ $(state_of "$pid") == "$in_phase "* ]]'
hold 160
end_guard sample
is "$(line sample 1 '[.action, .ok, .before, .error] | tostring')" '["sample",true,null,null]' 'a line'
file=$(line sample 1 .file)
ok 'a profile' is_profile "$file"
is "$(heaviest "$file")" hoard 'the heaviest function'
is_out sample
hold 0
assert_untouched "$pid"

start_guard killed "$pid" --when 'rss>40M' --do 'sample 10m' --json
hold 60
ok 'killed: control: it is sampled' within 60 eval '[[ $(state_of "$pid") == "$in_phase "* ]]'
kill_guard
ok 'killed: sampling ends anyway' within 60 eval '[[ $(state_of "$pid") == "$out_phase 0 0" ]]'
hold 0
is_out killed
assert_untouched "$pid" 'killed: untouched'

done_testing
