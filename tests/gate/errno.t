#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our own limits (EMFILE, ENFILE, ENOMEM, EAGAIN, EIO), at any system call of any of our processes:
# the command ends, blames nothing else, leaves no file behind, and leaves the target as it was. For
# each command, the same few places are tried each time; tests/long/errno.t tries all.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/errno.sh
. tests/errno.sh

most=20
start_failing
loop_commands
ok 'there were faults' test "$runs" -ge 80
diag "$runs faults in all"

# --- control: taking what cannot be read for absent is detected. At all places once, as few of them show it. ---
CTL=$ROOT/$B/tests/careless/jeprof-ctl-blaming
said=$(tests/drivers/errno-loop "$VICTIMS/failing" "$CTL" "$pid" "$T/board.$pid" "$T/errno" 10000 \
	activate PID "${patient[@]}" --timeout 20s 2>&1)
is $? 1 'control: a build that blames the target is detected'
like "$said" 'blames the target' 'control: the driver names the fault'

done_testing
