#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""invented.py HEAP TABLE: checks the names in a table by address (report -f jeprof --addresses, or
that of jeprof) against symbols. Prints "invented NAME ADDRESS" if no symbol of the file covers the
address, "missing NAME ADDRESS" if one does but the table has no name, and finally the number of
checked addresses. Symbols are read by readelf(1) from the file and its debug file. Addresses in
jemalloc and labels without a size are not checked."""

import bisect
import os
import re
import subprocess
import sys


def mappings_of(heap):
    """Return [(start, end, offset, path)] of mapped files."""
    with open(heap, encoding="utf-8") as file:
        maps = file.read().partition("MAPPED_LIBRARIES:")[2]
    found = re.findall(r"^(\w+)-(\w+) \S+ (\w+) \S+ \d+ +(/.*)$", maps, flags=re.M)
    return [(int(start, 16), int(end, 16), int(offset, 16), path)
            for start, end, offset, path in found if "jemalloc" not in path]


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


class File:
    """The address ranges of the symbols of a file, and its load bias."""

    def __init__(self, path, mappings):
        build_id = re.search(r"Build ID: (..)(\w+)", readelf("-n", path))
        debug = "/usr/lib/debug/.build-id/{}/{}.debug".format(*build_id.groups())
        code = re.search(r"LOAD +0x(\w+) 0x(\w+) .* R E ", readelf("-l", path))
        offset, address = (int(n, 16) for n in code.groups())
        self.bias = min(start - at for start, _, at, of in mappings if of == path) + offset - address
        self.parts, self.labels = [], []
        for file in filter(os.path.exists, (path, debug)):
            for start, size, kind in re.findall(
                    r"^ +\d+: (\w+) +(\w+) (FUNC|IFUNC|NOTYPE) +\w+ +\w+ +\d+ \S", readelf("-s", file),
                    flags=re.M):
                if int(size, 0):
                    self.parts.append((int(start, 16), int(start, 16) + int(size, 0)))
                elif kind == "NOTYPE":
                    self.labels.append(int(start, 16))
        self.parts.sort()
        self.starts = [start for start, _ in self.parts]
        self.longest = max((end - start for start, end in self.parts), default=0)

    def covers(self, address):
        at = bisect.bisect_right(self.starts, address)
        while at and self.starts[at - 1] >= address - self.longest:
            at -= 1
            if address < self.parts[at][1]:
                return True
        return False

    def has_label(self, address):
        """Is the nearest symbol before it a label?"""
        label = max((n for n in self.labels if n <= address), default=-1)
        return label >= max((s for s in self.starts if s <= address), default=0)


def main(heap, table):
    mappings, files, seen = mappings_of(heap), {}, 0
    with open(table, encoding="utf-8") as file:
        rows = re.findall(r"^.*% ([0-9a-f]{16}) (.*) \S+$", file.read(), flags=re.M)
    for text, name in rows:
        address = int(text, 16)
        path = next((m[3] for m in mappings if m[0] <= address < m[1]), None)
        if not path:
            continue
        file = files.setdefault(path, None) or File(path, mappings)
        files[path] = file
        covered = file.covers(address - file.bias)
        nameless = name.startswith(("[", "0x"))
        if not covered and file.has_label(address - file.bias):
            continue
        seen += 1
        if covered == nameless:
            print("missing" if covered else "invented", name, f"{address - file.bias:#x}")
    print("looked at", seen)


if __name__ == "__main__":
    main(*sys.argv[1:])
