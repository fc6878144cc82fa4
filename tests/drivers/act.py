# SPDX-License-Identifier: Apache-2.0
"""What the drivers of the hazard tests share: running jeprof-ctl, killing it, reading boards."""
import contextlib
import mmap
import os
import random
import signal
import struct
import subprocess
import threading
import time

BOARD_WORDS = 72
BEATS = 8  # struct board of tests/target/victim.h: the beats follow eight words
SIZE = 8 * BOARD_WORDS
# struct round of tests/target/calls.h, which lies over the beats
ROUND = ("go", "release", "begun", "back", "done", "began_ns", "elapsed_ns", "ret", "error",
         "remains_ns", "intact", "held")
_cpus = threading.Semaphore(2)


class Board:
    """The shared mapping of a victim."""

    def __init__(self, path):
        with open(path, "r+b") as f:
            f.truncate(SIZE)
            self.map = mmap.mmap(f.fileno(), SIZE)

    def word(self, i):
        return struct.unpack_from("Q", self.map, 8 * i)[0]

    def __getattr__(self, name):
        return self.word(BEATS + ROUND.index(name))

    def set(self, name, value):
        struct.pack_into("Q", self.map, 8 * (BEATS + ROUND.index(name)), value)

    def beats(self):
        return [self.word(BEATS + i) for i in range(self.word(1))]

    def went_on(self, beats, by):
        return all(now >= was + by for now, was in zip(self.beats(), beats))

    def findings(self):
        names = ("eintr", "corrupt", "altstack", "failed")
        return {n: self.word(2 + i) for i, n in enumerate(names) if self.word(2 + i)}


def wait_until(true, seconds):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.004)
    return True


def start(argv):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, start_new_session=True)


def run(argv, waits=False):
    """(exit status, what it said); two at a time, or each would wait for the others.

    A run that mostly waits takes nobody's place.
    """
    with contextlib.nullcontext() if waits else _cpus:
        process = start(argv)
        said = process.communicate(timeout=120)[1]
    return process.returncode, said.decode(errors="replace")


def field(pid, name):
    try:
        with open(f"/proc/{pid}/status", encoding="latin-1") as f:
            for line in f:
                if line.startswith(name + ":"):
                    return line.split()[1]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return ""


def wait_moment(process, pid, span):
    """A moment of a run: within `span` seconds, or as soon as its tracer shows."""
    if random.random() < 0.5:
        time.sleep(random.random() * span)
        return
    deadline = time.monotonic() + 10 * span
    while process.poll() is None and time.monotonic() < deadline:
        if field(pid, "TracerPid") not in ("", "0"):
            break


def run_killed(argv, pid, span):
    """Kill a run at some moment; what was hit: "stopped" while the target was stopped, "traced", ""."""
    with _cpus:
        process = start(argv)
        hit = ""
        wait_moment(process, pid, span)
        if process.poll() is None:
            if field(pid, "TracerPid") not in ("", "0"):
                hit = "traced"
            if field(pid, "State") == "t":
                hit = "stopped"
            os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=120)
    return hit


def mended(pid):
    """After a kill: alive, nobody's tracee, no thread but those of its own (one)."""
    return field(pid, "TracerPid") == "0" and field(pid, "State") in tuple("RSD") and \
        field(pid, "Threads") == "1"
