#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every jemalloc of Debian's suites, with the C library and the redis-server of the same suite.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# objects_of FILE: print the number of live objects that a profile counts
objects_of()
{
	awk '/^ *t\*:/ { print $2 + 0; exit }' "$1"
}

stacks()
{
	stacks_of "$T/$1.heap" | wc -l
}

# cycle NAME: activate, load from the main thread, which is older, dump, deactivate
cycle()
{
	snapshot "$pid"
	ctl_ok "$1: activate" activate "$pid" --json
	is "$(json .changed)" true "$1: changed"
	unlike "$(json .warning)" 'could not be reached' "$1: every thread was reached"
	assert_untouched "$pid" "$1: activate leaves it untouched"
	load_redis 20000 300
	snapshot "$pid"
	ctl_ok "$1: dump" dump "$pid" -o "$T/$1.heap"
	ok "$1: is a profile" is_profile "$T/$1.heap"
	like "$(stacks "$1")" '^[1-9]' "$1: has stacks"
	like "$(objects_of "$T/$1.heap")" '^[1-9][0-9]{2}' "$1: has what the main thread allocated since"
	ctl_ok "$1: deactivate" deactivate "$pid" --json
	is "$(json .changed)" true "$1: changed back"
	assert_untouched "$pid" "$1: untouched"
}

is_on()
{
	[ "$("$CTL" "${patient[@]}" get "$pid" prof.active -q)" = true ]
}

# poke NAME: activate without a call; the main thread, which is older, is sampled
poke()
{
	snapshot "$pid"
	if [ "$1" = 5.2.1 ]; then
		ctl_fails 8 threads_forgotten "$1: poke is refused" \
			activate --mode poke "$pid"
		like "$err" "jemalloc ${1//./\\.}" "$1: poke: the version is named"
		assert_untouched "$pid" "$1: poke leaves it untouched"
		return
	fi
	ctl_ok "$1: poke" activate --mode poke "$pid" --json
	is "$(json .changed)" true "$1: poke: changed"
	assert_untouched "$pid" "$1: poke leaves it untouched"
	load_redis 20000 300
	ctl_ok "$1: poke: dump" dump "$pid" -o "$T/$1.poke.heap"
	like "$(objects_of "$T/$1.poke.heap")" '^[1-9][0-9]{2}' "$1: poke: has what the main thread allocated since"
	ctl_ok "$1: poke back" deactivate --mode poke "$pid" --json
	is "$(json .changed)" true "$1: poke back: changed"
	ok "$1: poke back: off" not_on
}

# recording NAME: its growth is what is allocated meanwhile, and nothing that was sampled before
recording()
{
	local recorder

	snapshot "$pid"
	"$CTL" "${patient[@]}" record "$pid" --wait 30s -d 300s -o "$T/$1.rec.heap" --json >"$T/rec.out" 2>"$T/rec.err" &
	recorder=$!
	own "$recorder"
	ok "$1: record begins" within 60 is_on
	assert_untouched "$pid" "$1: record: untouched while it goes on"
	load_redis 20000 300
	snapshot "$pid"
	kill -TERM "$recorder"
	wait "$recorder"
	is "$?" 0 "$1: record" || diag "$(<"$T/rec.err")"
	is "$(jq '[.difference.in_use | (.after - .before) > 5e6, .before >= 0] | all' "$T/rec.out")" true "$1: record: what grew"
	ok "$1: record: off again" not_on
	assert_untouched "$pid" "$1: record leaves it untouched"
}

not_on()
{
	! is_on
}

# When the target writes the dumps itself, the prefix can be set since 5.3.0.
own_dumps()
{
	snapshot "$pid"
	if [ "$1" = 5.2.1 ]; then
		ctl_fails 1 'prefix_too_old dump_in_target_each' "$1: prefix is refused, with a fix" \
			prefix "$pid" "$folder/own"
		like "$err" "5\.3\.0 or later; .* has ${1//./\\.}" "$1: prefix: both are named"
	else
		ctl_ok "$1: prefix" prefix "$pid" "$folder/own"
		ctl_ok "$1: dump by that prefix" dump "$pid" --in-target --json
		ok "$1: dump by that prefix: is a profile" is_profile "$(ls "$T"/own.*.m0.heap)"
		rm -f "$T"/own.*
	fi
	ctl_ok "$1: dump --in-target PATH" dump "$pid" --in-target "$folder/chosen.heap" --json
	ok "$1: dump --in-target PATH: is a profile" is_profile "$T/chosen.heap"
	rm -f "$T/chosen.heap"
	assert_untouched "$pid" "$1: its own dumps leave it untouched"
}

other_commands()
{
	snapshot "$pid"
	ctl_ok "$1: reset --lg-sample" reset "$pid" --lg-sample 14 --json
	ctl_ok "$1: get" get "$pid" prof.lg_sample version --json
	is "$(json .prof.lg_sample)" 14 "$1: the rate is the new one"
	like "$(json .version)" "^$2" "$1: get: version"
	ctl_ok "$1: gdump on" gdump "$pid" on --force --json
	is "$(json '[.changed, .before, .after] | @csv')" true,false,true "$1: gdump on: changed"
	ctl_ok "$1: gdump off" gdump "$pid" off
	ctl_ok "$1: set" set "$pid" prof.active true --json
	is "$(json .after)" true "$1: set: reads back"
	ctl_ok "$1: set back" set "$pid" prof.active false
	ctl_ok "$1: stats" stats "$pid" -f json
	like "$(json .jemalloc.version)" "^$2" "$1: stats is jemalloc's document"
	ctl_ok "$1: threads" threads "$pid" --json
	is "$(json '[.threads[] | select(.thread.prof.active != true or .reason)] | length')" 0 \
		"$1: threads: each is read, and active"
	like "$(json '[.threads[] | .thread.allocated] | add')" '^[1-9][0-9]{6}' "$1: threads: what they allocated"
	assert_untouched "$pid" "$1: these leave it untouched"
}

# version NAME REGEX: run everything on the redis-server that was just started
version()
{
	load_redis 1000
	snapshot "$pid"
	ctl_ok "$1: check" check "$pid" --json
	is "$(json .ready)" true "$1: check: ready"
	ctl_ok "$1: status" status "$pid" --json
	like "$(jq -r '[.. | objects | .version? // empty][0]' "$T/out")" "^$2" "$1: its version"
	assert_untouched "$pid" "$1: inspection leaves it untouched"
	cycle "$1.first"
	cycle "$1.second"
	poke "$1"
	recording "$1"
	own_dumps "$1"
	other_commands "$1" "$2"
	stop_target "$pid"
}

export MALLOC_CONF=$PROF
folder=$T
start_redis
version 5.3.0 '5\.3\.0-'

folder=/mnt
enter_root trixie
launch_redis /mnt --enable-debug-command yes
version 5.3.0-3 '5\.3\.0-'

enter_root sid
launch_redis /mnt --enable-debug-command yes
version 5.3.1 '5\.[3-9]\.[1-9]'

enter_root bullseye
launch_redis /mnt
version 5.2.1 '5\.2\.1-'

# What 5.2.1 does without a call in each thread: prof.active is true, and nothing is sampled.
launch_redis /mnt
load_redis 1000
snapshot "$pid"
ctl_ok 'control: prof.active alone' set "$pid" prof.active true --json
is "$(json .after)" true 'control: reads back'
load_redis 20000 300
ctl_ok 'control: dump' dump "$pid" -o "$T/control.heap"
is "$(objects_of "$T/control.heap")" 0 'control: nothing was sampled'
ctl_ok 'control: activate' activate "$pid" --json
is "$(json .changed)" false 'control: activate finds it active'
load_redis 20000 300
ctl_ok 'control: dump again' dump "$pid" -o "$T/control2.heap"
like "$(objects_of "$T/control2.heap")" '^[1-9][0-9]{2}' 'control: activate reached the threads all the same'
stop_target "$pid"

# A thread that cannot be reached is counted, and the others sample.
build_for_root crowd
start_victim /mnt/crowd 3 stuck
snapshot "$pid"
ctl_ok '5.2.1, a thread that cannot be reached: activate' activate "$pid" --json
like "$(json .warning)" '1 of 5 threads could not be reached' '5.2.1, a thread that cannot be reached: it is counted'
assert_untouched "$pid" '5.2.1, a thread that cannot be reached: untouched'
stop_target "$pid"

# Without opt.prof, 5.2.1 accepts prof.active, but reading thread.prof.active ends the thread.
MALLOC_CONF=prof:false launch_redis /mnt
load_redis 1000
snapshot "$pid"
ctl_fails 6 opt_prof_false '5.2.1 without opt.prof: activate is refused' activate "$pid"
ctl_fails 6 opt_prof_false '5.2.1 without opt.prof: threads --activate is refused' \
	threads "$pid" --activate all
ctl_ok '5.2.1 without opt.prof: threads' threads "$pid" --json
is "$(json '[.threads[] | .thread.prof.active] | unique | tostring')" '[null]' \
	'5.2.1 without opt.prof: thread.prof.active is not read'
is "$(json '[.threads[] | select(.thread.allocated == null)] | length')" 0 \
	'5.2.1 without opt.prof: what they allocated is read'
assert_untouched "$pid" '5.2.1 without opt.prof: untouched'
redis SHUTDOWN NOSAVE 2>/dev/null
wait "$pid"
is "$?" 0 '5.2.1 without opt.prof: it exits normally'

done_testing
