#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""whole_calls.py TRACE: each call of what strace -f -o TRACE wrote, "PID CALL" in one line.

strace cuts a call in two where one of another process comes between: "<unfinished ...>" and
"<... NAME resumed>". Calls that never came back stay as they are; "???", which stands for the call of a
process that was killed before strace could ask which it is, is left out.
"""
import re
import sys

RESUMED = re.compile(r"<\.\.\. \w+ resumed>(.*)")
UNFINISHED = " <unfinished ...>"  # the blank is not the call's
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
