# SPDX-License-Identifier: Apache-2.0
"""Shared by the drivers of hazard tests: run and kill jeprof-ctl, and read boards."""
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
BEATS = 8  # struct board in tests/target/victim.h: beats follow eight words
SIZE = 8 * BOARD_WORDS
# struct round in tests/target/calls.h, in the place of the beats
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
    """Return (exit status, stderr). Only two run at a time, as more would delay each other.

    A run that mostly sleeps (`waits`) does not count.
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
    """Wait for a random moment of a run: within `span` seconds, or when its tracer attaches."""
    if random.random() < 0.5:
        time.sleep(random.random() * span)
        return
    deadline = time.monotonic() + 10 * span
    while process.poll() is None and time.monotonic() < deadline:
        if field(pid, "TracerPid") not in ("", "0"):
            break


def run_killed(argv, pid, span):
    """Kill a run at a random moment. Return "stopped" or "traced", if the target was, or ""."""
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
    """True if, after a kill, the target is alive, not traced, and has only its own thread."""
    return field(pid, "TracerPid") == "0" and field(pid, "State") in tuple("RSD") and \
        field(pid, "Threads") == "1"
