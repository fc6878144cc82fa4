#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watch: every dump, whoever requested it, is one event that describes it; nothing else is an event.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/watching.sh
. tests/watching.sh

own_conf=prof:true,lg_prof_sample:16,prof_prefix:$T/own

code_is_changed()
{
	! tests/drivers/photo check "$1" "$T/photo.$1" >"$T/said.photo" && grep -q 'code are not the file' "$T/said.photo"
}

# --- redis-server: dumps by itself, by its jemalloc, and by us ---
MALLOC_CONF=$own_conf,lg_prof_interval:20,prof_final:true start_redis
load_redis
rm -f "$T"/own.*
snapshot "$pid"
start_watch redis "$pid"
note_early "$T"/own.*
ok 'control: a watch changes the code' env PHOTO_PATIENCE=1 bash -c "$(declare -f code_is_changed); T=$T; code_is_changed $pid"
load_redis
redis DEBUG MALLCTL-STR prof.dump "$T/manual.heap" >/dev/null
redis DEBUG MALLCTL-STR prof.dump "$T/no/such.heap" >/dev/null
run_ctl dump "$pid" -o "$T/ours.heap"
is "$status" 0 'redis: our own dump'
run_ctl dump "$pid" --in-target "$T/there.heap"
is "$status" 0 'redis: our own dump, by the target'
few_stacks
redis DEBUG MALLCTL prof.gdump 1 >/dev/null
load_redis 2000
redis DEBUG MALLCTL prof.gdump 0 >/dev/null
end_watch redis
ok 'redis: there were interval dumps' eval 'ls "$T"/own.*.i*.heap'
ok 'redis: there were high-water dumps' eval 'ls "$T"/own.*.u*.heap'
is "$(seen redis "select(.pid == $pid and .by == null) | $row" | without_early)" \
	"$({ rows_of "$T"/{own.*,manual,there}.heap && echo "manual false $T/no/such.heap null"; } | sort | without_early)" \
	'redis: one event for each dump'
is "$(seen redis 'select(.by != null) | "\(.by) \(.kind) \(.ok) \(.file) \(.bytes > 2000)"')" \
	"jeprof-ctl manual true $T/ours.heap true" 'redis: our own dump is marked as such'
is "$(seen redis 'select(.source != "uprobe")' | wc -l)" 0 'redis: all were seen by the probe'
is "$(seen redis 'select(.ok and (.file_confirmed | not))' | wc -l)" 0 'redis: each name was confirmed'
is "$(seen redis 'select(.ok | not) | .error')" 'No such file or directory' 'redis: why a dump failed'
is "$(seen redis 'select(.comm != "redis-server" and .by == null)' | wc -l)" 0 'redis: by its name'
like "$(tail -n 1 "$T/redis.talk")" "^$(wc -l <"$T/redis.events") dumps, 1 failed, 0 lost" 'redis: the summary'
assert_untouched "$pid" 'redis: untouched'

# The last dump, at exit: it ends, and the watch with it.
rm -f "$T"/own.*
start_watch final "$pid"
note_early "$T"/own.*
redis SHUTDOWN NOSAVE 2>/dev/null
wait "$pid"
ok 'at-exit: the watch ends when nobody is left' within 60 eval "! kill -0 $watcher"
wait "$watcher"
is "$?" 0 'at-exit: exit status 0'
is "$(events_of final "$pid" | without_early)" "$(rows_of "$T"/own.*.heap | without_early)" 'at-exit: one event'
like "$(events_of final "$pid")" '(^|'$'\n'')final true ' 'at-exit: the kind is final'

# --- a program of ours: other threads, children, names ---
MALLOC_CONF=$own_conf,prof_final:true start_dumper dumper
main=$pid
MALLOC_CONF=$own_conf start_dumper dumper-plain
plain=$pid
snapshot "$main"
snapshot "$plain"
start_watch one "$main"
one=$watcher
start_watch other "$main"
other=$watcher
start_watch all --all
names=("$T/manual2.heap" "$T/"$'a\e[31m\tb\x01.heap' "$T/ü \"quoted\" \\.heap" "$T/not-utf-8"$'\xff'.heap
	"$T/$(printf 'x%.0s' {1..200}).heap")
for name in "${names[@]}"; do
	order "$main" dump "$name"
	is "$answer" 0 'a dump'
done
order "$main" cold "$T/cold.heap"
order "$main" thread "$T/thread.heap"
order "$main" fork "$T/fork.heap"
order "$main" auto
order "$main" dump "$T"
is "$answer" 14 'a dump to a folder fails'
order "$main" dump "$(realpath --relative-to=. "$T")/relative.heap"
order "$main" files 500 "$T/no.heap"
order "$plain" files 500 "$T/no.heap"
end_watch one "$one"
end_watch other "$other"
end_watch all
for watch in one other all; do
	# Names that are not text may be shown differently: only their number counts.
	is "$(seen "$watch" "select(.pid == $main and .ok) | .bytes" | sort)" \
		"$(stat -c %s "${names[@]}" "$T"/{cold,thread,relative}.heap "$T"/own.*.m0.heap | sort)" \
		"$watch: one event for each dump"
	is "$(seen "$watch" "select(.pid == $main and .kind != \"manual\")" | wc -l)" 0 "$watch: all manual"
	is "$(seen "$watch" "select(.pid == $main and (.ok | not)) | \"\(.file) \(.error)\"")" "$T Is a directory" \
		"$watch: and one that failed"
	is "$(seen "$watch" "select(.pid == $plain)")" '' "$watch: no event of a program that only creates files"
	is "$(seen "$watch" "select(.file == \"$T/no.heap\")")" '' "$watch: nor of such files by one with jemalloc"
	is "$(seen "$watch" "select(.file == \"$T/cold.heap\") | .file_confirmed")" true \
		"$watch: a name that was not in memory"
	is "$(seen "$watch" "select(.file == \"$T/thread.heap\") | \"\(.comm) \(.tid != .pid)\"")" 'dumper true' \
		"$watch: the thread that did it"
	unlike "$(LC_ALL=C tr -d '\n' <"$T/$watch.events")" $'[\x01-\x1f]' "$watch: no control characters"
	ok "$watch: names are exact" jq -se --arg a "$T/"'a\x1b[31m\x09b\x01.heap' --arg b "${names[2]}" --arg c "${names[4]}" \
		'[.[].file] | contains([$a, $b, $c])' "$T/$watch.events"
	is "$(realpath "$(seen "$watch" "select(.pid == $main) | .file" | grep '/relative.heap$')")" \
		"$T/relative.heap" "$watch: a relative name"
done
is "$(seen one 'select(.file | endswith("fork.heap"))')" '' 'one: none of a child, which is another process'
is "$(seen all "select(.file == \"$T/fork.heap\") | \"\(.kind) \(.ok) \(.pid != $main)\"")" 'manual true true' \
	'all: one of a child'
is "$(seen one 'select(.file == "'"$T"'/manual2.heap") | .stack[0].name')" prof_dump+0x0 'the stack: it begins in prof_dump'
like "$(seen one 'select(.file == "'"$T"'/manual2.heap") | .stack[1].image')" '/libjemalloc\.so' 'the stack: the caller'
like "$(seen one 'select(.file == "'"$T"'/manual2.heap") | .stack[].name')" 'dumper::dump\(char const\*\)\+0x' \
	'the stack: names as in the source'
like "$(seen one 'select(.file == "'"$T"'/manual2.heap") | .cgroup')" '^/' 'the control group'
like "$(seen one 'select(.file == "'"$T"'/manual2.heap") | .time')" \
	'^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]+Z$' 'the time'
is "$(seen one 'select((.duration_us | type) != "number" or .duration_us < 1)')" '' 'how long it took'
assert_untouched "$main" 'dumper: untouched'
assert_untouched "$plain" 'a program without jemalloc: untouched'

# --- dumps by jemalloc itself ---
rm -f "$T"/own.*
snapshot "$main"
start_watch kinds "$main"
order "$main" gdump
order "$main" grow 20
tell "$main" exit
wait "$main"
wait "$watcher"
is "$(events_of kinds "$main")" "$(rows_of "$T"/own.*.heap)" 'gdump and final: one event for each'
like "$(events_of kinds "$main")" 'gdump true ' 'gdump: there is one'
like "$(events_of kinds "$main")" 'final true ' 'final: there is one'
stop_target "$plain"

done_testing
