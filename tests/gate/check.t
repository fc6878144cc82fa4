#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: each row, when all is well and when it is not.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/checking.sh
. tests/checking.sh

# --- all is well ---
export MALLOC_CONF=$PROF
start_redis
checked
is "$status $(json .ready)" '0 true' 'redis: ready'
is "$(json '[.checks[] | select(.ok != true)] | length')" 0 'redis: every row is ok'
is "$(json '[.checks[].name] | unique | length')" "$(json '.checks | length')" 'redis: no two rows have the same name'
row_is capability true 'CAP_SYS_PTRACE is held' redis
row_is user-namespace true 'same' redis
row_is seccomp true 'no thread' redis
row_is yama true 'ama' redis
row_is prefix true 'mallctl.* MALLOC_CONF$' redis
row_is conf.build true nothing redis
row_is conf.symbol true 'not set' redis
row_is conf.link true 'is not a link' redis
row_is conf.environment true "MALLOC_CONF is \"$PROF\" now" 'redis, which overwrites its environment'
row_is conf true 'true by MALLOC_CONF' redis
row_is conf.mistakes true none redis
row_is prof.active true '^false' redis
row_is prof.thread_active_init true '^true' redis
row_is prof.lg_sample true '^12, .*every 4\.0K' redis
row_is unwinder true libgcc redis
row_is version true '^5\.3\.0: ' redis
row_is dump true memfd redis
row_is dump.prefix true 'can write there: jeprof$' redis
is "$(json '.memory | ([.parts[]] | add) == .rss_bytes')" true 'redis: its memory adds up'
left redis

# --- no call can be made: the memory of the target is read instead ---
MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:12,lg_prof_interval:30,prof_prefix:/x start_victim busy
kill -STOP "$pid"
checked
row_is injection false 'stopped' 'stopped' 'kill -CONT'
row_is opt.prof true '^true' 'stopped'
row_is prof.active true '^false' 'stopped'
row_is prof.lg_sample true '^12, ' 'stopped'
row_is unwinder true '^libgcc' 'stopped'
row_is dump null 'no call could be made' 'stopped'
ok 'stopped: it is as before' tests/drivers/photo check "$pid" "$T/photo.$pid"
kill -CONT "$pid"
snapshot "$pid"
left 'stopped'

# --- mistakes ---
MALLOC_CONF=prof:true,prof_actve:false start_redis
checked
is "$status $(json .ready)" '0 true' 'a typo: profiling works'
row_is conf.mistakes true '1 error, 0 warnings: .*"prof_actve"' 'a typo' 'prof_active'
row_is prof.active true '^true' 'a typo'
row_is prof.lg_sample true '^19, .*too few' 'the usual rate and a small heap' 'reset --lg-sample [0-9]+'
run_ctl check "$pid"
like "$out" $'\nwarning conf.mistakes ' 'a typo: a warning for people'
left 'a typo'

MALLOC_CONF=prof=true start_victim idle
checked
is "$status $(json .ready)" '6 false' "'=': not ready"
row_is conf true 'opt.prof is false by default' "'='"
row_is conf.mistakes true "1 error, .*'='" "'='" "':'"
row_is opt.prof false 'opt.prof is false' "'='" 'MALLOC_CONF=prof:true'
row_is prof.active null 'skipped' "'='"
left "'='"

MALLOC_CONF=prof:true,prof_thread_active_init:false,lg_prof_sample:0 start_victim idle 2
checked
row_is prof.thread_active_init true 'not sampled' 'thread_active_init:false' 'threads --activate'
row_is conf.mistakes true 'prof_thread_active_init:false' 'thread_active_init:false' 'leave it out'
left 'thread_active_init:false'
MALLOC_CONF=prof:true,prof_active:false,prof_thread_active_init:false start_victim idle
checked
row_is prof.thread_active_init true 'activate sets it to true' 'both false' 'without prof_thread_active_init'
left 'both false'

MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:3,lg_prof_interval:50,prof_prefix:/nonexistent/x start_redis
load_redis 10000 1000
checked
row_is prof.lg_sample true 'dumps are large' 'too many samples' 'reset --lg-sample'
row_is dump.prefix true 'cannot write there: /nonexistent/x, and tries to by lg_prof_interval' 'a prefix in a missing folder' 'prof_prefix'
left 'too many samples'

# --- where the configuration comes from, and which source has precedence ---
MALLOC_CONF='' start_victim idle-conf
checked
row_is conf.symbol true 'malloc_conf is "prof:true,prof_active:false,lg_prof_sample:16"' 'the symbol'
row_is conf true 'opt.prof is true by the variable malloc_conf' 'the symbol'
row_is prof.lg_sample true '^16, ' 'the symbol' 'reset'
left 'the symbol'
MALLOC_CONF=prof:false start_victim idle-conf
checked
is "$status" 6 'symbol and environment: not ready'
row_is conf true 'opt.prof is false by MALLOC_CONF' 'symbol and environment'
left 'symbol and environment'

cp -r /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d "$T/" && mkdir "$T/etc" &&
	mv "$T"/ld.so.* "$T/etc/"
ln -s prof:true,prof_active:false "$T/etc/malloc.conf"
# shellcheck disable=SC2016
wrap=(unshare -m --propagation private bash -c 'mount --bind "$1" /etc && shift && exec "$@"' sh "$T/etc")
MALLOC_CONF=lg_prof_sample:12 start_victim idle
wrap=()
checked
row_is conf.link true '/etc/malloc.conf links to "prof:true,prof_active:false"' 'the link'
row_is conf true 'opt.prof is true by the link' 'the link'
row_is conf.environment true 'lg_prof_sample:12' 'the link'
row_is conf.mistakes true none 'the link: options that are spread over two sources'
left 'the link'

wrap=(env LD_PRELOAD=libjemalloc.so.2)
start_victim idle-plain
wrap=()
checked
row_is jemalloc true preload 'LD_PRELOAD'
row_is conf true 'true by MALLOC_CONF' 'LD_PRELOAD'
left 'LD_PRELOAD'

# Their jemalloc reads MALLOC_CONF in spite of the prefix: what cannot be explained is not guessed.
for v in je:je_:JE_MALLOC_CONF rjem:_rjem_:_RJEM_MALLOC_CONF; do
	IFS=: read -r v prefix name <<<"$v"
	start_victim "idle-$v"
	checked
	row_is prefix true "to ${prefix}mallctl, .* from $name" "$v"
	row_is conf.symbol true "^${prefix}malloc_conf is not set" "$v"
	row_is conf.environment true "^$name is not set; MALLOC_CONF is" "$v" "$name instead of MALLOC_CONF"
	row_is conf null 'opt.prof is true, but would be false by default' "$v"
	left "$v"
	wrap=(env "$name=prof:true")
	start_victim "idle-$v"
	wrap=()
	checked
	row_is conf.environment true "^$name is \"prof:true\"\$" "$v, its own name"
	row_is conf true "true by $name" "$v, its own name"
	left "$v, its own name"
done

# --- a program with more rights than its user ignores options from that user ---
install -m 4755 "$VICTIMS/idle" "$T/set-uid"
wrap=(env setpriv --reuid 65534 --regid 65534 --clear-groups)
start_victim "$T/set-uid"
wrap=()
checked
row_is conf.environment true 'ignored in a set-uid program' 'set-uid'
row_is conf true 'false by default' 'set-uid'
left 'set-uid'

# --- fences ---
wrap=("$VICTIMS/fenced" open-errno)
start_victim idle
wrap=()
checked
row_is seccomp true 'filtered' 'seccomp'
left seccomp

start_victim idle
snapshot "$pid"
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
	"$CTL" "${patient[@]}" check "$pid" --json >"$T/out" 2>"$T/err" </dev/null
is "$?" 4 'another user: exit 4'
row_is permission false 'uid' 'another user' root
row_is capability false 'belongs to another user' 'another user' root
row_is conf null . 'another user'
is "$(json .memory)" null 'another user: its memory is unknown'
left 'another user'

if unshare --user --map-root-user true 2>/dev/null; then
	wrap=(unshare --user --map-root-user)
	start_victim idle
	wrap=()
	checked
	row_is user-namespace true 'different from ours' 'a user namespace'
	left 'a user namespace'
else
	skip 'user namespaces are switched off' 'a user namespace'
fi

done_testing
