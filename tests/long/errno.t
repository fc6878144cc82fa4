#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Our own limits (EMFILE, ENFILE, ENOMEM, EAGAIN, EIO), at any system call of any of our processes:
# the command ends, blames nothing else, and leaves no file behind and the target as it was.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/errno.sh
. tests/errno.sh

most=0
start_failing
loop_commands
loop threads threads PID
loop stats stats PID
ctl_ok 'profiling is turned off' deactivate "$pid"
loop record record PID -d 10ms -o OUT
like "$runs" '^[1-9][0-9]{3,}$' 'there were faults'
diag "$runs faults in all"

done_testing
