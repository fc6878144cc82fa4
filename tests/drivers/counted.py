#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""counted.py HEAP [OPTION=VALUE]...: prints "NAME FLAT CUM" in bytes for each function in a heap
profile, independently of jeprof-ctl, with names from addr2line. Options as of report: show, hide,
focus, ignore, retain, exclude (regular expressions) and thread (a number). Calls in stripped files
have no name. The innermost calls, in libjemalloc and of calloc() and the like, are omitted."""

import collections
import math
import os
import re
import subprocess
import sys

UNKNOWN = None, "??"
ALLOCATOR = {"malloc", "calloc", "realloc"}


def parse(path):
    """Return the sampling rate, [(addresses, {thread: (objects, bytes)})], and the mappings."""
    text = open(path, encoding="utf-8").read()
    records, _, maps = text.partition("MAPPED_LIBRARIES:")
    rate = int(re.match(r"heap_v2/(\d+)", records)[1])
    stacks = []
    for line in records.splitlines()[1:]:
        count = re.match(r" +t(\*|\d+): (\d+): (\d+) ", line)
        if line.startswith("@"):
            stacks.append(([int(a, 16) for a in line[1:].split()], {}))
        elif count and stacks:
            stacks[-1][1][count[1]] = int(count[2]), int(count[3])
    return rate, stacks, maps


def mappings_of(maps):
    """Return {path: [(start, end, offset)]}."""
    files = collections.defaultdict(list)
    for line in maps.splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and words[5].startswith("/"):
            start, end = (int(a, 16) for a in words[0].split("-"))
            files[words[5]].append((start, end, int(words[2], 16)))
    return files


def within(mappings, address):
    return any(start < address <= end for start, end, _ in mappings)


def is_stripped(path):
    """True if it has neither symbols nor a debug file with its build id."""
    said = subprocess.run(["readelf", "-n", "-S", "-W", path], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    build_id = re.search(r"Build ID: (..)(\w+)", said)
    debug = "/usr/lib/debug/.build-id/{}/{}.debug".format(*build_id.groups()) if build_id else ""
    return " .symtab " not in said and not os.path.exists(debug)


def outside(calls):
    """Return the callers of the outermost allocator function."""
    inner = [i for i, call in enumerate(calls) if call in ALLOCATOR]
    return calls[inner[-1] + 1:] if inner else calls


def names_in(path, mappings, addresses):
    """Return {address: [names]}, the innermost inlined call first."""
    with open(path, "rb") as file:
        moved = int.from_bytes(file.read(18)[16:], sys.byteorder) == 3
    bias = mappings[0][0] - mappings[0][2] if moved else 0
    said = subprocess.run(["addr2line", "-a", "-f", "-i", "-e", path], check=True, text=True,
                          input="".join(f"{a - 1 - bias:#x}\n" for a in addresses),
                          stdout=subprocess.PIPE).stdout
    answers = re.split(r"^0x[0-9a-f]+\n", said, flags=re.M)[1:]
    # A label without a size, so its extent is unknown.
    return {a: outside(answer.replace("_dl_start_user", "??").splitlines()[::2])
            for a, answer in zip(addresses, answers)}


def names_of(files, stacks):
    names = {}
    asked = {a for addresses, _ in stacks for a in addresses}
    for path, mappings in files.items():
        mine = sorted(a for a in asked if within(mappings, a))
        if mine and not is_stripped(path):
            names.update(names_in(path, mappings, mine))
    return names


def matches(how, option, name):
    return name not in UNKNOWN and re.search(how[option], name) is not None


def chosen(addresses, names, how):
    """Return the calls that pass the options, the innermost first; None for one without a name."""
    located = [names.get(a, [None]) for a in addresses]
    if "retain" in how:
        located = [calls for calls in located if calls and matches(how, "retain", calls[-1])]
    if "exclude" in how:
        located = [calls for calls in located if calls and not matches(how, "exclude", calls[-1])]
    calls = [call for calls in located for call in calls]
    if "focus" in how and not any(matches(how, "focus", c) for c in calls):
        return []
    if "ignore" in how and any(matches(how, "ignore", c) for c in calls):
        return []
    if "show" in how:
        calls = [c for c in calls if matches(how, "show", c)]
    if "hide" in how:
        calls = [c for c in calls if not matches(how, "hide", c)]
    return calls


def main(heap, *options):
    how = dict(option.split("=", 1) for option in options)
    rate, stacks, maps = parse(heap)
    files = mappings_of(maps)
    names = names_of(files, stacks)
    allocator = [m for path in files if "/libjemalloc" in path for m in files[path]]
    flat, cum = collections.Counter(), collections.Counter()
    for addresses, counts in stacks:
        objects, size = counts.get(how.get("thread", "*"), (0, 0))
        if not size:
            continue
        size /= 1 - math.exp(-size / objects / rate)
        while addresses and within(allocator, addresses[0]):
            addresses = addresses[1:]
        calls = chosen(addresses, names, how)
        if calls:
            flat[calls[0]] += size
        for call in set(calls):
            cum[call] += size
    for name in sorted(cum.keys() - UNKNOWN):
        print(name, round(flat[name]), round(cum[name]))


if __name__ == "__main__":
    main(*sys.argv[1:])
