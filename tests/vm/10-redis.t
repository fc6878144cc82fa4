#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# redis-server.service as Debian ships it: with its own user, a read-only file system, a private
# /tmp, no new executable memory, and a system call filter.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
export WATCH_SYSTEM=1
# shellcheck source=tests/watching.sh
. tests/watching.sh

# Few arenas: each command may need one more, which is new memory.
start_redis_service prof:true,prof_active:false,lg_prof_sample:12,prof_prefix:/tmp/own,narenas:2
# Debian 11 has ProtectSystem=true together with ReadOnlyDirectories=/.
like "$(of_unit redis-server MemoryDenyWriteExecute ProtectSystem PrivateTmp NoNewPrivileges)" \
	'^yes (strict|yes) yes yes$' 'the unit is sandboxed'
is "$(stat -c %U "/proc/$pid")" redis 'and runs as its user'
tmp=/proc/$pid/root/tmp
# Enough keys that later ones need no new memory, but too few for redis to save them by a child.
fill_redis 4000
snapshot "$pid"

ctl_ok 'list' list --json
is "$(json ".[] | select(.pid == $pid) | \"\(.comm) \(.linkage) \(.config.prof) \(.opt.prof) \(.prof.active)\"")" \
	'redis-server shared true true false' 'list: it is listed'
feature list
ctl_ok 'check' check "$pid" --json
is "$(json '"\(.ready) \([.checks[] | select(.ok == false)] | length)"')" 'true 0' 'check: ready'
feature check
ctl_ok 'status' status "$pid" --json
is "$(json '[.jemalloc[] | select(. == null)] | length')" 0 'status: all addresses are known'
is "$(json .opt.lg_prof_sample)" 12 'status: what the drop-in says'
feature status
ctl_ok 'activate' activate "$pid" --json
is "$(json '"\(.changed) \(.mode)"')" 'true inline' 'activate: changed, in a borrowed thread'
feature activate
fill_redis 1000
ctl_ok 'dump' dump "$pid" -o "$T/redis.heap" --json
is "$(json .via)" memfd 'dump: through a memfd'
ok 'dump: a profile' is_profile "$T/redis.heap"
like "$(stacks_of "$T/redis.heap" | wc -l)" '^[1-9]' 'dump: with stacks'
feature dump
ctl_ok 'report' report "$T/redis.heap" --json
is "$(json '"\(.pid) \(.comm)"')" "$pid redis-server" 'report: its process'
like "$(json '[.rows[].name] | join(" ")')" 'redis' 'report: names redis'
feature report
ctl_ok 'dump --in-target' dump "$pid" --in-target /tmp/there.heap
ok 'dump --in-target: in the folder /tmp of the service' is_profile "$tmp/there.heap"
ok 'dump --in-target: and not in ours' test ! -e /tmp/there.heap
ctl_fails 10 inside_failed 'dump --in-target where all is read-only' dump "$pid" --in-target /usr/there.heap
feature dump-in-target
ctl_ok 'threads' threads "$pid" --json
is "$(json '"\(.missed) \([.threads[] | select(.thread.prof.active != true)] | length)"')" '0 0' \
	'threads: all are reached, and sampled' || diag "$out"
feature threads
ctl_ok 'stats' stats "$pid" -f json
like "$(json .jemalloc.version)" '^5\.' 'stats: its document'
feature stats
ctl_ok 'deactivate' deactivate "$pid" --json
is "$(json .changed)" true 'deactivate: changed'
feature deactivate
ctl_ok 'record' record "$pid" -d 1s -o "$T/recorded.heap" --json
is "$(json '"\(.early) \(.changed.prof.active)"')" 'false true' 'record: complete, and restored'
ok 'record: a profile' is_profile "$T/recorded.heap"
feature record
assert_untouched "$pid" 'untouched by all that'

# --- the watch shows them, with the paths of files as seen from the host ---
start_watch redis "$pid"
ctl_ok 'watched: dump' dump "$pid" -o "$T/watched.heap"
ctl_ok 'watched: dump --in-target' dump "$pid" --in-target /tmp/watched.heap
ctl_ok 'watched: activate' activate "$pid"
# With few samples there are few stacks, so that jemalloc does not hang: see tests/gate/gdump.t.
ctl_ok 'watched: few samples' reset "$pid" --lg-sample 19
ctl_ok 'watched: gdump on' gdump "$pid" on --force
fill_redis 2000
ctl_ok 'watched: gdump off' gdump "$pid" off
ctl_ok 'watched: deactivate' deactivate "$pid"
end_watch redis
sources=$(seen redis .source | uniq)
is "$(seen redis 'select(.by != null) | "\(.kind) \(.ok) \(.file)"')" "manual true $T/watched.heap" 'watched: our own dump'
is "$(seen redis 'select(.file == "/tmp/watched.heap") | "\(.kind) \(.host_file) \(.bytes)"')" \
	"manual $tmp/watched.heap $(dumped_bytes "$tmp/watched.heap")" 'watched: the path on the host'
ok 'watched: jemalloc dumped by itself' eval 'ls "$tmp"/own.$pid.*.u*.heap' || diag "$(ls "$tmp")"
is "$(seen redis 'select(.kind == "gdump") | "\(.host_file) \(.bytes)"')" \
	"$(stat -c '%n %s' "$tmp"/own.*.u*.heap)" 'watched: what jemalloc dumps by itself'
like "$(seen redis .cgroup | uniq)" 'redis-server.service$' 'watched: its control group'
like "$(tail -n 1 "$T/redis.talk")" ' 0 failed, 0 lost' 'watched: nothing lost'
feature watch "yes, by $sources"
assert_untouched "$pid" 'untouched by the watch'

done_testing
