#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watch: other versions of jemalloc, with the redis-server of the same Debian suite.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

folder=/mnt
# version SUITE [ARGUMENTS OF REDIS...]: test the watch with that suite
version()
{
	local suite=$1 own=$T/own-$1

	shift
	enter_root "$suite"
	MALLOC_CONF=prof:true,lg_prof_sample:16,lg_prof_interval:20,prof_final:true,prof_prefix:/mnt/own-$suite \
		launch_redis /mnt "$@"
	load_redis
	rm -f "$own".*
	snapshot "$pid"
	start_watch "$suite" "$pid"
	note_early "$own".*
	load_redis
	redis DEBUG MALLCTL-STR prof.dump "/mnt/$suite.heap" >/dev/null
	redis DEBUG MALLCTL-STR prof.dump "/mnt/no/$suite.heap" >/dev/null
	run_ctl dump "$pid" -o "$T/ours-$suite.heap"
	is "$status" 0 "$suite: our own dump" || diag "$err"
	few_stacks
	redis DEBUG MALLCTL prof.gdump 1 >/dev/null
	load_redis 2000
	redis DEBUG MALLCTL prof.gdump 0 >/dev/null
	end_watch "$suite"
	is "$(seen "$suite" 'select(.by == null) | '"$row" | without_early)" \
		"$({ rows_of "$own".*.heap "$T/$suite.heap" && echo "manual false /mnt/no/$suite.heap null"; } | sort | without_early)" \
		"$suite: one event for each dump of its own"
	is "$(seen "$suite" 'select(.by != null) | "\(.by) \(.kind) \(.ok) \(.file) \(.bytes > 2000)"')" \
		"jeprof-ctl manual true $T/ours-$suite.heap true" "$suite: and for ours"
	is "$(seen "$suite" .kind | uniq | paste -sd ' ')" 'gdump interval manual' "$suite: of each kind"
	assert_untouched "$pid" "$suite: untouched"
	rm -f "$own".*
	start_watch "$suite-final" "$pid"
	note_early "$own".*
	redis SHUTDOWN NOSAVE 2>/dev/null
	wait "$pid"
	wait "$watcher"
	is "$(events_of "$suite-final" "$pid" | without_early)" "$(rows_of "$own".*.heap | without_early)" "$suite: one event at the exit"
}
version sid --enable-debug-command yes
version bullseye

done_testing
