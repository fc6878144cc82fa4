#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""whole_calls.py TRACE: prints each system call in the output of strace -f -o TRACE as "PID CALL".

strace splits a call that is interrupted by one of another process into "<unfinished ...>" and
"<... NAME resumed>". Calls that never returned are kept as they are, except "???": the process was
killed before strace could read which call it was.
"""
import re
import sys

RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)")
UNFINISHED = " <unfinished ...>"  # with a blank that is not part of the call
UNKNOWN = "???("


def calls(path):
    begun = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            pid, _, call = line.rstrip("\n").partition(" ")
            call = call.lstrip()
            if call.endswith(UNFINISHED):
                begun[pid] = call[:-len(UNFINISHED)]
                continue
            resumed = RESUMED.match(call)
            yield pid, begun.pop(pid, "") + resumed.group(1) if resumed else call
    for pid, call in begun.items():
        if call != UNKNOWN:
            yield pid, call + UNFINISHED


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for pair in calls(sys.argv[1]):
        print(*pair)
