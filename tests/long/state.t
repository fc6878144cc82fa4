#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A thread in user mode with random data in all its registers, its flags and its red zone is
# borrowed again and again, even by runs that are killed: nothing may change in its state, or in
# what the kernel keeps for it. ROUNDS sets how often (100; 2000 with LONG=1).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

rounds=${ROUNDS:-$([ -n "${LONG:-}" ] && echo 2000 || echo 100)}
export MALLOC_CONF=$PROF

start_victim state
registers=$(on_board .reserved)
# The victim changes its signal mask itself, and compares it.
export OWN_CHANGES='SigBlk'
tests/drivers/rounds "$CTL" "$pid" "$T/board.$pid" "$rounds" "$T" >"$T/rounds" 2>"$T/rounds.err"
is $? 0 "$rounds rounds: all state as it was" ||
	diag "$(<"$T/rounds.err")" "$(grep state: "$T/victims.log" | sort | uniq -c)"
diag "$(<"$T/rounds")"
like "$(json .done "$T/rounds")" '^[1-9]' 'some were done'
stop_target "$pid"

# The control: a tracer that leaves one kind of state changed is detected.
noticed()
{
	! kill -0 "$pid" 2>/dev/null || tests/drivers/photo board "$T/board.$pid" | grep -Eq "(corrupt|altstack|failed)\W+[1-9]"
}

kinds=(xmm x87 mxcsr gpr flags redzone mask gs)
if [ "$registers" = 3 ]; then
	kinds+=(tile)
else
	skip 'the processor or the kernel does not have AMX' 'a tracer that changes tile is noticed'
fi
for what in "${kinds[@]}"; do
	start_victim state
	for ((tries = 0; tries < 10; tries++)); do
		"$VICTIMS/attach" "$pid" "$what" 2>/dev/null
		sleep 0.02
		noticed && break
	done
	ok "a tracer that changes $what is noticed" within 60 noticed
	stop_target "$pid" 2>/dev/null
done

done_testing
