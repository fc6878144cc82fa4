#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Unusual stacks: of a signal handler on another stack, of a coroutine, of a thread with the
# smallest stack or one that the program provides, at the end of a stack. We borrow another thread
# or none; the canaries below those stacks stay intact.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

careless=$ROOT/build/tests/careless/jeprof-ctl
export MALLOC_CONF=prof:true,prof_active:false
kinds=(altstack altstack-within altstack-thread coroutine tiny-coroutine deep-main deep-thread
	smallest-thread given-stack)

for kind in "${kinds[@]}"; do
	case $kind in
	altstack | *coroutine) why='a custom stack' ;;
	altstack-*) why='signal handler on an alternate stack' ;;
	*) why='not enough space on its stack' ;;
	esac
	start_victim stacks "$kind"
	within 60 eval '[ "$(on_board ".beats[0]")" -gt 0 ]'
	snapshot "$pid"
	for mode in thread inline; do
		is_left_alone "$why" "$kind: refused ($mode)" activate "$pid" --timeout 2s --mode "$mode"
		[[ $kind != *coroutine ]] || like "$err" 'fix: trying again will not help' "$kind: another try is not suggested ($mode)"
	done
	[[ $kind != *coroutine ]] || ctl_fails 8 'no_safe_moment another_try_will_not_help poke' "$kind: the fix is --mode poke" \
		activate "$pid" --timeout 2s
	assert_untouched "$pid" "$kind: untouched"
	ok "$kind: the canaries are intact" is_unharmed
	stop_target "$pid"

	start_victim stacks "$kind" idle
	snapshot "$pid"
	ctl_ok "$kind: another thread is borrowed" activate "$pid"
	assert_untouched "$pid" "$kind: untouched beside another thread"
	stop_target "$pid"
done

# Leftovers on a stack are not taken for a handler's frame; a real one is, even if no symbol tells
# which code is dangerous.
for victim in stacks stacks-rjem.stripped; do
	_RJEM_MALLOC_CONF=$MALLOC_CONF start_victim "$victim" leftovers
	snapshot "$pid"
	for mode in thread inline; do
		ctl_ok "$victim: leftovers of a handler do not count ($mode)" \
			activate "$pid" --mode "$mode" --timeout 5s
	done
	assert_untouched "$pid" "$victim: untouched"
	stop_target "$pid"
done
_RJEM_MALLOC_CONF=$MALLOC_CONF start_victim stacks-rjem.stripped handler
snapshot "$pid"
is_left_alone 'it may be in a signal handler' 'a thread in a handler is refused without symbols' \
	activate "$pid" --timeout 2s
assert_untouched "$pid" 'untouched in its handler'
stop_target "$pid"

# A stack with just the room that a call needs is enough.
start_victim stacks small-thread
snapshot "$pid"
for mode in thread inline; do
	ctl_ok "small-thread: has room ($mode)" activate "$pid" --mode "$mode" --timeout 5s
done
ctl_ok 'small-thread: has room for the deepest call' dump "$pid" --force --mode inline --in-target "$T/small.heap" --timeout 5s
assert_untouched "$pid" 'small-thread: untouched'
stop_target "$pid"

# That room is twice the most that a call was seen to use, including the frame that leads back.
ROOM=$((52 << 10))
beats()
{
	on_board '.beats[0]'
}

# deepest NAME STACKS: measure the stack that each command uses, in each mode
deepest()
{
	local kind command used

	# Every allocation of a call is sampled, which walks the stack.
	MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:0 start_victim "$2" painted
	for kind in thread inline; do
		for command in status 'activate --force' threads "dump --force --in-target $there/deep.heap" deactivate; do
			# shellcheck disable=SC2086 # a command and its options
			ctl_ok "$1: $command ($kind)" $command "$pid" --mode "$kind"
		done
	done
	within 60 eval "[ \"\$(beats)\" -gt $(($(beats) + 1)) ]"
	used=$(od -An -t u8 -j 56 -N 8 "$T/board.$pid" | tr -d ' ')
	ok "$1: at most $used bytes of stack, half of what must be there" [ "$((used * 2))" -le "$ROOM" ]
	stop_target "$pid"
}
there=$T
deepest 5.3.0 stacks
there=/mnt
for suite in bullseye sid; do
	enter_root "$suite"
	build_for_root stacks
	deepest "$suite" /mnt/stacks
	wrap=()
done

# The control: canaries, or the end of the stack, are where an inline call writes, and without the
# safety check it does.
hurt=()
for kind in altstack altstack-within tiny-coroutine smallest-thread given-stack; do
	start_victim stacks "$kind"
	within 60 eval '[ "$(on_board ".beats[0]")" -gt 0 ]'
	timeout -k 5 20 "$careless" dump "$pid" --force --in-target "$T/careless.heap" --mode inline --timeout 3s \
		>"$T/careless" 2>&1
	within 3 eval 'is_harmed || ! kill -0 "$pid" || grep -q "killed by Segmentation fault" "$T/careless"' && hurt+=("$kind")
	stop_target "$pid" -KILL
done
is "${hurt[*]}" 'altstack altstack-within tiny-coroutine smallest-thread given-stack' \
	'without the safety check these are harmed'

done_testing
