#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""confinement.py TRACE PATTERN...: checks that files are only read by confined processes.

TRACE is the output of strace -f -y for one command. A process that reads or maps a file whose path
matches a PATTERN must have loaded a seccomp filter and dropped all capabilities before. Any process
may read the first four bytes, the magic number. A process that creates a session and then opens a
process's memory for writing is the tracer, which is confined differently; it may end before its
first ptrace(2). Prints each process that violates this, and "read by N confined processes".
"""
import collections
import re
import sys

from whole_calls import calls

READS = re.compile(r"^(?:read|pread64|readv|preadv|mmap|getdents64|process_vm_readv)\(.*?\d+<([^>]*)>")
MAGIC = re.compile(r"^pread64\(.*, [1-4], 0\)\s+= [0-4]$")
WRITABLE = re.compile(r'^openat\([^"]*"/proc/\d+/mem", O_RDWR\b')
MEMORY = re.compile(r"^process_vm_readv\(")


def main(path, patterns):
    wanted = re.compile("|".join(patterns))
    fenced, bare, leaders, tracers = set(), set(), set(), set()
    readers, faults = collections.Counter(), {}
    for pid, call in calls(path):
        if call.startswith("seccomp(SECCOMP_SET_MODE_FILTER") and call.endswith("= 0"):
            fenced.add(pid)
        if call.startswith("capset(") and "effective=0, permitted=0" in call:
            bare.add(pid)
        if call.startswith("setsid("):
            leaders.add(pid)
        if WRITABLE.match(call) and pid in leaders:
            tracers.add(pid)
        read = READS.match(call)
        if (read and wanted.search(read.group(1))) or MEMORY.match(call):
            if MAGIC.match(call):
                continue
            readers[pid] += 1
            if pid not in fenced or pid not in bare:
                faults.setdefault(pid, call[:160])
    for pid, call in faults.items():
        if pid not in tracers:
            print(f"process {pid} was not confined: {call}")
    print(f"read by {len(set(readers) - set(faults))} confined processes")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
